"""What a newcomer reads before the first game: ten lines a game or so, no more than is needed to begin."""

from __future__ import annotations

from typing import Final

from hkoji.messages.text import Text, tell

_HANAMIKOJI: Final = tell(
    """\
Hanamikoji. Seven geisha, A to G, have 2 2 2 3 3 4 5 charm, and as many cards.
Who has more cards on their side of a geisha when a round ends has her favor.
With the favor of 4 geisha, or with 11 charm, you win. If nobody does, there is
a new round; favors stay until somebody has more cards there.
In a round each of you four times draws a card and takes an action, each once:
  1 secret       one card face down; it counts when the round ends
  2 trade-off    two cards face down; nobody gets them
  3 gift         you show three cards; the other takes one, two are yours
  4 competition  you show two pairs; the other takes one pair, one is yours
3BCC offers B, C and C; -C takes the C. Type ? to see what can be typed."""
)

_GEISHAS_ROAD: Final = tell(
    """\
Geisha's Road. Five geisha, A to E, walk round five teahouses; each has the
cards 1 to 4. A card that is played moves its geisha so many houses on, and
each time she comes exactly home a lantern with points is hung up for her.
At the end of a round the higher numbers on one's side of a geisha win her
points and her marker; more points win the round, two rounds the game.
In a round each of you four times draws a card and takes an action, each once:
  R reveal       one card, open, on your side
  I intrigue     two face down: the first counts at the end, the second is out
  G gift         you show three cards; the other plays one, you the other two
  C competition  you show two pairs; the other plays one pair, you one
RA3 reveals A3; -B2 answers with B2; >C4A1 is an order. Type ? to see what can
be typed."""
)

_TEXTS: Final = {"hanamikoji": _HANAMIKOJI, "geishas-road": _GEISHAS_ROAD}


def introduction(ruleset: str) -> Text:
    """The introduction to a game."""
    return _TEXTS[ruleset]
