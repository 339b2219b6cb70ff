"""A quick estimate of a position of Geisha's Road: the worth of each geisha to a player, from what that player sees.

A geisha's worth is the prestige that she can be expected to bring, times how far she seems won, between -1 and 1. The
worths of the five are added up. The effect of a card is computed once for each state of its geisha and kept. Two cards
of one geisha in the same move count as if each were played alone: this is inaccurate, but fast.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import combinations, permutations
from math import sqrt, tanh
from typing import Final, NamedTuple, TypeAlias

from hkoji.bots.geishas_road.model import (
    COLOURS,
    COMPETITIONS,
    GIFTS,
    INTRIGUES,
    REVEALS,
    Card,
    GeishasRoadMove,
    GeishasRoadSide,
    Play,
    Road,
    make,
    plays,
)

HELD: Final = 0.3
"""The weight of a point of influence in hand, where one in a tableau is 1."""

KEPT: Final = 0.5
"""The weight of the marker: half a point of influence."""

LIGHT: Final = 3.6
"""The expected prestige of a first homecoming that is still to come."""

DARK: Final = 2.2
"""The expected prestige of a second homecoming that is still to come."""

MARKER: Final = 0.5
"""The value of a geisha's marker in addition to her lanterns, in points of prestige."""

PLAYED: Final = 0.9
"""The probability that a card still to come is played: two of twenty are discarded."""

_SPREAD: Final = 0.3
_LEVEL: Final = sum(64 << 8 * colour for colour in range(COLOURS))
_SUM: Final = tuple(sum(n for n in (1, 2, 3, 4) if mask >> n - 1 & 1) for mask in range(16))
_SQUARES: Final = tuple(sum(n * n for n in (1, 2, 3, 4) if mask >> n - 1 & 1) for mask in range(16))


@cache
def homecomings(place: int, mask: int) -> float:
    """Returns the expected homecomings of a geisha `place` steps from home, with the cards of `mask` still to come."""
    numbers = [n for n in (1, 2, 3, 4) if mask >> n - 1 & 1]
    total = 0.0
    for size in range(len(numbers) + 1):
        share = PLAYED**size * (1 - PLAYED) ** (len(numbers) - size)
        for some in combinations(numbers, size):
            orders = list(permutations(some))
            home = sum((place + sum(order[:i])) % 5 == 0 for order in orders for i in range(1, size + 1))
            total += share * home / len(orders)
    return total


@cache
def prestige(geisha: int, mask: int) -> float:
    """Returns the expected prestige of a geisha at the end of the round; `geisha` is her part of a road."""
    place, homes, points = geisha & 7, geisha >> 3 & 3, geisha >> 5
    expected = homecomings(place, mask)
    if homes:
        return points + DARK * expected
    return points + LIGHT * min(1.0, expected) + DARK * max(0.0, expected - 1.0)


@cache
def hope(ahead: int, held: int, coming: int, marker: int) -> float:
    """Estimates how far a geisha seems won. `held` and `coming` are masks of her cards, `marker` is 1, 0 or -1."""
    return tanh((ahead + HELD * _SUM[held] + KEPT * marker) / sqrt(_SQUARES[coming] + _SPREAD))


@lru_cache(maxsize=1 << 16)
def worth(geisha: int, ahead: int, held: int, coming: int, kept: int, marker: int) -> float:
    """Returns the worth of a geisha to a player: positive if she seems won."""
    return (prestige(geisha, coming | kept) + MARKER) * hope(ahead, held, coming, marker)


class Change(NamedTuple):
    """The effect of a card in hand on the worth of a position: played by its holder, by the other, kept, discarded."""

    card: Card
    mine: float
    yours: float
    kept: float
    discarded: float


_Changes: TypeAlias = tuple[Change, ...]

_NEXT: Final = tuple(
    tuple(
        (geisha & 7) + n + (geisha & 24)
        if (geisha & 7) + n < 5
        else (geisha & 7) + n - 5 + (geisha & 24) + (0 if (geisha & 7) + n > 5 else 8)
        for n in range(5)
    )
    for geisha in range(32)
)


def _moved(geisha: int, number: int, light: int, dark: int) -> int:
    """Returns a geisha's part of the road after a card; `light` and `dark` are the lanterns that she could take."""
    after = _NEXT[geisha & 31][number] | geisha & 224
    if after & 24 == geisha & 24:
        return after
    return after + ((dark if geisha & 24 else light) << 5)


@lru_cache(maxsize=1 << 15)
def _changes(colour: int, key: int, marker: int, light: int, dark: int) -> _Changes:
    """Returns the effect of each held card of one colour; `key` is packed by `GeishasRoadJudgement.best`."""
    geisha, ahead = key & 255, (key >> 8 & 255) - 64
    held, coming, kept = key >> 16 & 15, key >> 20 & 15, key >> 24 & 15
    now = worth(geisha, ahead, held, coming, kept, marker)
    found = []
    for n in (1, 2, 3, 4):
        bit = 1 << n - 1
        if held & bit:
            moved = _moved(geisha, n, light, dark)
            fewer, left = held & ~bit, coming & ~bit
            found.append(
                Change(
                    4 * colour + n - 1,
                    worth(moved, ahead + n, fewer, left, kept, marker) - now,
                    worth(moved, ahead - n, fewer, left, kept, marker) - now,
                    worth(geisha, ahead + n, fewer, left, kept | bit, marker) - now,
                    worth(geisha, ahead, fewer, left, kept, marker) - now,
                )
            )
    return tuple(found)


class GeishasRoadJudgement:
    """Judges for one player; `markers` has 1 for a marker on its side, -1 on the other side, 0 in the middle."""

    def __init__(self, markers: tuple[int, ...]) -> None:
        self._markers = markers

    def value(self, side: GeishasRoadSide, road: Road) -> float:
        """Returns the worth of a position to the player, in points of prestige."""
        hand, _, lead, coming, kept = side
        lead += _LEVEL
        total = 0.0
        for marker in self._markers:
            total += worth(road & 255, (lead & 255) - 64, hand & 15, coming & 15, kept & 15, marker)
            road >>= 8
            lead >>= 8
            hand >>= 4
            coming >>= 4
            kept >>= 4
        return total

    def best(self, side: GeishasRoadSide, road: Road) -> GeishasRoadMove:
        """Returns the move that seems best, given the answer that seems best for the other player.

        It judges cards one by one.
        """
        hand, used, lead, coming, kept = side
        lead += _LEVEL
        light, dark = (3, 3, 4, 4, 4, 4)[road >> 40 & 7], (3, 2, 2, 2, 2)[road >> 43]
        rest = road
        cards: list[Change] = []
        for colour, marker in enumerate(self._markers):
            if hand & 15:
                key = rest & 255 | (lead & 255) << 8 | (hand & 15) << 16 | (coming & 15) << 20 | (kept & 15) << 24
                cards += _changes(colour, key, marker, light, dark)
            rest >>= 8
            lead >>= 8
            hand >>= 4
            coming >>= 4
            kept >>= 4
        return _best(cards, used)

    def reply(self, side: GeishasRoadSide, road: Road, move: GeishasRoadMove) -> tuple[Play, tuple[Card, ...]]:
        """Returns the cards that the player takes of a proposal, in order, and those that are left."""
        best, chosen = -1e9, None
        for share, rest in move.shares:
            for taken in plays(road, share):
                left = plays(taken.road, rest)[0]
                value = self.value(side.meets(move, left.influence - taken.influence), left.road)
                if value > best:
                    best, chosen = value, (taken, rest)
        assert chosen is not None
        return chosen

    def order(self, side: GeishasRoadSide, options: tuple[Play, ...]) -> Play:
        """Returns the best order for the cards left of the player's proposal; its lead counts them already."""
        return max(options, key=lambda play: self.value(side, play.road))


def _best(cards: list[Change], used: int) -> GeishasRoadMove:
    best, bit = -1e9, 0
    chosen: tuple[Card, ...] = ()
    if not used & REVEALS:
        for card in cards:
            if card[1] > best:
                best, bit, chosen = card[1], REVEALS, (card[0],)
    if not used & INTRIGUES:
        keep = max(cards, key=lambda card: card[3] - card[4])
        drop = max((card for card in cards if card is not keep), key=lambda card: card[4])
        if keep[3] + drop[4] > best:
            best, bit, chosen = keep[3] + drop[4], INTRIGUES, (keep[0], drop[0])
    if used & (GIFTS | COMPETITIONS) == GIFTS | COMPETITIONS:
        return make(bit, chosen)
    # The costs when the other player takes a card, highest first: of three cards it takes the first, and two pairs
    # differ least when the first card goes with the last.
    swings = sorted(((card[1] - card[2], card[1], card[0]) for card in cards), reverse=True)
    if not used & GIFTS:
        for (swing, a, i), (_, b, j), (_, c, k) in combinations(swings, 3):
            value = a + b + c - swing
            if value > best:
                best, bit, chosen = value, GIFTS, (i, j, k)
    if not used & COMPETITIONS:
        for (p, a, i), (q, b, j), (r, c, k), (s, d, m) in combinations(swings, 4):
            outer, inner = p + s, q + r
            value = a + b + c + d - (outer if outer > inner else inner)
            if value > best:
                best, bit, chosen = value, COMPETITIONS, (i, m, j, k)
    return make(bit, tidy(bit, chosen))


def tidy(bit: int, cards: tuple[Card, ...]) -> tuple[Card, ...]:
    """Sorts cards as the canonical notation does."""
    if bit == GIFTS:
        return tuple(sorted(cards))
    if bit == COMPETITIONS:
        first, second = sorted((tuple(sorted(cards[:2])), tuple(sorted(cards[2:]))))
        return (*first, *second)
    return cards


def stakes(held: int, coming: int) -> float:
    """Returns the effect of a geisha's marker at the start of a round, by the cards held of her colour."""
    return sum(side * worth(0, 0, held, coming, 0, side) for side in (1, -1))
