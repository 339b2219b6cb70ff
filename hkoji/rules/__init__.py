"""The games: pure rules over partial knowledge. This package knows no log, key or clock, and draws nothing at random.

One engine serves the referee (everything known), a player's view (one hand known) and a spectator's view (no hand
known): a card that the observer cannot see is `X`. See docs/adr/0002-rules-over-partial-knowledge.md.
"""
