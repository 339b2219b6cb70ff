"""The games: pure rules over partial knowledge. Knows no log, no key, no clock and no chance of its own.

One engine serves the referee (everything known), a player's view (one hand known) and a spectator's view (no hand
known): a card that the observer cannot see is `X`. See docs/adr/0002-rules-over-partial-knowledge.md.
"""
