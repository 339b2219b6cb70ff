"""Hanamikoji for people: introduction, board, drawing, and its cards on the Everdeck."""

from __future__ import annotations

from typing import Final

from hkoji.messages.text import tell

INTRODUCTION: Final = tell(
    """\
Hanamikoji. Seven geisha, A to G, have 2 2 2 3 3 4 5 charm, and as many cards.
The player with more cards on their side of a geisha at the end of a round has
her favor. With the favor of 4 geisha, or with 11 charm, you win. If neither
player wins, another round begins; favors stay until the other has more cards.
In a round you draw a card and take an action four times, each action once:
  1 secret       one card face down; it counts at the end of the round
  2 trade-off    two cards face down; neither player gets them
  3 gift         you show three cards; the other takes one, two are yours
  4 competition  you show two pairs; the other takes one pair, one is yours
3BCC offers B, C and C; -C takes the C. Type ? to see what you can type."""
)
