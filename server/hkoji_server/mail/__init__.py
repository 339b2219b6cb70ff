"""The edges of play by mail: how mail comes in and letters go out. Only here are the protocols of mail spoken.

From a mail to a move, and to the letter that answers it:

1. `lmtp` takes a mail from the mail server, or `hkoji_server.mail_admin` reads it from a pipe, or `imap` fetches it
   from a mailbox. There it is read, once, into a `hkoji.mail.mail.Mail`. `receiving` drops it, or keeps it as a row of
   the table `incoming`.
2. `worker` gives each kept mail to `hkoji_server.service.mail.orders`, with the `Mail` if this process has kept it. Its
   order is read with `hkoji.mail.orders`, and `service.mail.rights` says if it counts.
3. `service.mail.commands` does what the mail orders. For a move, `service.mail.entries` signs an entry with the
   player's held key, and `service.games.games` appends it to the log, as it does with a move that came by HTTP.
4. The answer waits in the outbox, as a row that names what it is about. `courier` asks `service.mail.letter_facts` what
   is to be told, has `hkoji.mail.letters` make a letter of it, and hands that to the mail server.
"""
