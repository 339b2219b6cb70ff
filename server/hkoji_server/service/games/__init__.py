"""Games: what is appended to their logs, who may read them, and how clients wait for new entries.

A game in memory is a value (`loaded_games`), which may be behind the store. A submission is decided by the referee on
that value, and the store appends the result only if the head, the deadline and the number of outages are still those
of the value; if not, the game is read again and the submission decided anew (`games`). So any number of processes
serve the same games without locks between them. Notices are written in the transaction of the entry that they are
about (`notice_rules`): that is the outbox. Each append also sends a hint, which wakes the clients that wait
(`waiting_hub`, `followers`); a hint may be lost, so waiting clients look at intervals too. At intervals each process
ends games whose time is over (`keeper`).
"""
