"""Play by mail: mails of players become entries, and events become letters.

A mail is kept before anything else is done with it. Then it is read and judged (`orders`, `rights`), and each command
that counts is carried out (`commands`, `game_commands`). A command that needs a signature keeps a draft first
(`entries`), so that a mail makes at most one entry, whatever is killed when. One transaction closes the mail with its
result (`cases`) and writes the answer into the outbox. A letter is made when it is sent, from the game as it is then
(`letter_facts`, `answer_facts`); its token says what an answer to it is about (`tokens`).
"""
