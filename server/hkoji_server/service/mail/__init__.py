"""Play by mail: mails of players become entries, and events become letters.

A mail is kept before anything else is done with it. It is then decided once: `orders` reads it, `rights` says whether
it counts, and `commands`, `entries` and `new_games` prepare what it orders. Nothing is written meanwhile, but the
mailbox of a person whom `new` invites. Then one transaction writes the entry, game or statement that it leads to, and
one value, `hkoji_server.store.closing.Closing`: the end of the mail with its result (`cases`), its answers in the
outbox, and all else. After a crash a mail has led to nothing and is decided anew, or it is closed.

A letter is made when it is sent, from the game as it is then (`letter_facts`, `answer_facts`, `seat_games`). Its rows
are written with the lease of its notice, just before it goes out. One of them is its token (`tokens`), which says what
an answer to it is about.
"""
