"""What a newcomer reads before the first game: ten lines a game, no more than is needed to begin."""

from __future__ import annotations

from typing import Final

_HANAMIKOJI: Final = """\
Hanamikoji. Seven geisha, A to G, are worth 2 2 2 3 3 4 5 charm, and each has as many cards.
Whoever has more cards on their side of a geisha at the end of a round has her favor.
You win with the favor of 4 geisha, or with 11 charm. If nobody does, a new round is dealt;
favors stay where they are until somebody has more cards there.
In a round each of you draws a card and takes an action, four times, each action once:
  1 secret       one card face down; it counts at the end of the round
  2 trade-off    two cards face down; nobody gets them
  3 gift         you show three cards; the other takes one, you get two
  4 competition  you show two pairs; the other takes one pair, you get the other
So 3BCC offers B, C and C, and -C takes the C. Type ? whenever you want to know what can be typed."""

_GEISHAS_ROAD: Final = """\
Geisha's Road. Five geisha, A to E, walk round a circle of five teahouses; each has cards 1 to 4.
A card that is played moves its geisha by its number. Where she comes exactly home, a lantern waits:
a light one the first time in a round, a dark one the second time. A geisha's lanterns are worth influence.
The cards on your side say how much of her you get. Before the first round each of you picks a marker.
In a round each of you draws a card and takes an action, four times, each action once:
  R reveal       one card, open, on your side
  I intrigue     two cards face down: one counts at the end of the round, one is gone
  G gift         you show three cards; the other plays one, you the other two
  C competition  you show two pairs; the other plays one pair, you the other
A card is a letter and a number: RA3 reveals A3. Where the order of two cards matters you choose it,
as in >C4A1. Type ? whenever you want to know what can be typed."""

_TEXTS: Final = {"hanamikoji": _HANAMIKOJI, "geishas-road": _GEISHAS_ROAD}


def introduction(ruleset: str) -> str:
    """The introduction to a game; empty if there is none."""
    return _TEXTS.get(ruleset, "")
