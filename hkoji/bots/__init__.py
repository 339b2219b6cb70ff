"""Programs that play. A bot sees what its seat sees, an information state, and never a referee's position.

Knows the rules and nothing above them: no log, no key, no server. Who seats a bot at a table is another layer's affair.
"""
