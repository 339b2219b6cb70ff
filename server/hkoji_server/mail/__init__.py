"""The edges of play by mail: how mail comes in and letters go out. Only here are the protocols of mail spoken.

From a mail to a move, and to the letter that answers it:

1. `lmtp` or `pipe` takes a mail from the mail server, or `imap` fetches it from a mailbox. `receiving` drops it, or
   keeps it as a row of the table `incoming`.
2. `worker` gives each kept mail to `hkoji_server.service.mail.orders`, which reads it with `hkoji.mail.message` and
   `hkoji.mail.orders`, and asks `service.mail_verdicts` if it counts.
3. `service.mail_commands` does what the mail orders. For a move, `service.mail_entries` signs an entry with the
   player's held key, and `service.games` appends it to the log, as it does with a move that came by HTTP.
4. The answer waits in the outbox, as a row that names what it is about. `courier` lets `service.letter_facts` say what
   is to be told, `hkoji.mail.letters` makes a letter of it, and `submission` hands that to the mail server.
"""
