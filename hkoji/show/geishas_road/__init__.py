"""Geisha's Road for people: introduction, board and drawing."""

from __future__ import annotations

from typing import Final

from hkoji.messages.text import tell

INTRODUCTION: Final = tell(
    """\
Geisha's Road. Five geisha, A to E, walk round five teahouses; each has the
cards 1 to 4. Playing a card moves its geisha by as many houses; each time she
stops exactly at home, a lantern with points is hung up for her.
At the end of a round, the player with the higher total on their side of a
geisha wins her points and marker; more points win a round, two rounds the game.
In a round you draw a card and take an action four times, each action once:
  R reveal       one card, open, on your side
  I intrigue     two face down: the first counts at the end, the second is out
  G gift         you show three cards; the other plays one, you the other two
  C competition  you show two pairs; the other plays one pair, you one
RA3 reveals A3; -B2 answers with B2; >C4A1 is an order. Type ? to see what you
can type."""
)


def halves(number: int) -> str:
    """Returns half points as people write them: `5½` for 11."""
    whole, half = divmod(number, 2)
    return f"{whole or ('' if half else 0)}{'½' * half}"
