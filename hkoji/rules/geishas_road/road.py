"""The road: where the five geisha stand, how often they came home, and what lanterns that brought.

Everything here is public. A geisha moves clockwise by a card's number and is home exactly when the sum of her moves
in the round is a multiple of five; the places of the other teahouses are only for show.

Source: rulebook (2021), "Returning Home".
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from hkoji.rules.geishas_road.actions import COLOURS, GIFT, PACK, pairs

TEAHOUSES: Final = 5
LIGHT: Final = (3, 3, 4, 4, 4)
"""Prestige of the lanterns for first homecomings in a round, in the order in which they are taken."""
DARK: Final = (3, 2, 2, 2)
"""Prestige of the lanterns for second homecomings."""

_STEPS: Final = {name: (COLOURS.index(name[0]), int(name[1])) for name in PACK.kinds}


class Road(NamedTuple):
    """Tuples of five, one a colour: steps from home (0 to 4), homecomings this round, prestige of her lanterns."""

    places: tuple[int, ...] = (0,) * 5
    homes: tuple[int, ...] = (0,) * 5
    lanterns: tuple[int, ...] = (0,) * 5

    def guests(self, teahouse: int) -> str:
        """The geisha who stand at a teahouse, by their colours."""
        return "".join(colour for at, colour in enumerate(COLOURS) if (at + self.places[at]) % TEAHOUSES == teahouse)

    @property
    def light(self) -> tuple[int, ...]:
        """The Light lanterns that are left, top first."""
        return LIGHT[sum(home > 0 for home in self.homes) :]

    @property
    def dark(self) -> tuple[int, ...]:
        """The Dark lanterns that are left, top first."""
        return DARK[sum(home > 1 for home in self.homes) :]

    def walk(self, cards: Iterable[str]) -> Road:
        """The road after `cards` (names) have been played in this order.

        A colour's cards sum to ten, so no geisha comes home three times in a round. Two cards of each round are
        discarded, so at most four geisha come home twice, and there are enough Dark lanterns.
        """
        places, homes, lanterns = self
        for card in cards:
            colour, number = _STEPS[card]
            place = (places[colour] + number) % TEAHOUSES
            places = (*places[:colour], place, *places[colour + 1 :])
            if place == 0:
                before = homes[colour]
                assert before < 2
                left = LIGHT[sum(home > 0 for home in homes) :] if before == 0 else DARK[sum(h > 1 for h in homes) :]
                assert left
                homes = (*homes[:colour], before + 1, *homes[colour + 1 :])
                lanterns = (*lanterns[:colour], lanterns[colour] + left[0], *lanterns[colour + 1 :])
        return Road(places, homes, lanterns)

    def orders(self, pair: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        """The orders in which a pair can be played from here, sorted: just one if both come to the same.

        They come to the same if places, homecomings, each colour's lanterns and the lanterns left are the same.
        """
        first, second = sorted(pair)
        forth, back = (first, second), (second, first)
        if first[0] != second[0] and not (self._reaches_home(first) and self._reaches_home(second)):
            return (forth,)  # The order of two geisha matters only when both would take a lantern.
        return (forth,) if self.walk(forth) == self.walk(back) else (forth, back)

    def _reaches_home(self, card: str) -> bool:
        colour, number = _STEPS[card]
        return (self.places[colour] + number) % TEAHOUSES == 0


# Called when legal answers are listed, and again when an answer is applied.
@lru_cache(maxsize=1024)
def answers(proposal: str, road: Road) -> tuple[str, ...]:
    """All answers to an offered gift or competition, sorted; a pair is listed in each order that makes a difference."""
    if proposal[0] == GIFT:
        return tuple(f"-{card}" for card in PACK.split(proposal[1:]))
    return tuple(sorted(f"-{a}{b}" for pair in pairs(proposal) for a, b in road.orders(pair)))
