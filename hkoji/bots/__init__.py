"""Programs that play. A bot sees what its seat sees, an information state, and never a referee's position.

This package depends on the rules only: it knows no log, key or server. Other layers seat a bot at a table.
"""
