"""The edges of play by mail: how mail comes in and letters go out. Only here are the protocols of mail spoken.

From a mail to a move, and to the letter that answers it, in four write transactions:

1. `lmtp` takes a mail from the mail server, or `hkoji_server.mail_admin` reads it from a pipe, or `imap` fetches it
   from a mailbox. There it is read, once, into a `hkoji.mail.mail.Mail`. `receiving` drops it, or keeps it as a row of
   the table `incoming`. If this process works on it too, its first try is kept with it.
2. `worker` gives each kept mail to `hkoji_server.service.mail.orders`, with the `Mail` if this process has kept it. A
   further try is counted before it begins; after three tries a mail is set aside. `service.mail.rights` says whether
   the order counts, and `service.mail.entries` signs a move with the player's held key. Then
   `service.games.games` appends it to the log, as it does with a move that came by HTTP. In the same transaction the
   mail is closed, and its answer is written into the outbox.
3. `courier` asks `service.mail.letter_facts` what is to be told. The lease of the letter is written with all its rows.
   Then `hkoji.mail.letters` makes a letter, which goes to the mail server.
4. The row of the outbox is deleted.
"""
