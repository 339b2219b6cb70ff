"""Judging a position of Geisha's Road at a glance: what each geisha is worth to a player, by what that player sees.

For each geisha the prestige that she may be expected to bring, times how far she seems won, between -1 and 1. The five
add up. What a card would change is looked up per geisha and kept; two cards of one geisha in the same move are taken
as if each were alone, which is wrong and quick.
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
"""What a point of influence in hand counts for, against one in a tableau."""

KEPT: Final = 0.5
"""What the marker counts for: half a point of influence."""

LIGHT: Final = 3.6
"""Prestige expected of a first homecoming that is still to come."""

DARK: Final = 2.2
"""Prestige expected of a second one."""

MARKER: Final = 0.5
"""What the marker of a geisha counts for beside her lanterns, in points of prestige."""

PLAYED: Final = 0.9
"""How likely a card still to come is played at all: two of twenty are discarded."""

_SPREAD: Final = 0.3
_LEVEL: Final = sum(64 << 8 * colour for colour in range(COLOURS))
_SUM: Final = tuple(sum(n for n in (1, 2, 3, 4) if mask >> n - 1 & 1) for mask in range(16))
_SQUARES: Final = tuple(sum(n * n for n in (1, 2, 3, 4) if mask >> n - 1 & 1) for mask in range(16))


@cache
def homecomings(place: int, mask: int) -> float:
    """How often a geisha `place` steps from home may be expected to come home, the cards of `mask` still to come."""
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
    """The prestige a geisha may be expected to end a round with; `geisha` is her part of a road."""
    place, homes, points = geisha & 7, geisha >> 3 & 3, geisha >> 5
    expected = homecomings(place, mask)
    if homes:
        return points + DARK * expected
    return points + LIGHT * min(1.0, expected) + DARK * max(0.0, expected - 1.0)


@cache
def hope(ahead: int, held: int, coming: int, marker: int) -> float:
    """How far a geisha seems won. `held` and `coming` are masks of her cards, `marker` 1, 0 or -1."""
    return tanh((ahead + HELD * _SUM[held] + KEPT * marker) / sqrt(_SQUARES[coming] + _SPREAD))


@lru_cache(maxsize=1 << 16)
def worth(geisha: int, ahead: int, held: int, coming: int, kept: int, marker: int) -> float:
    """What a geisha is worth to a player: positive if she seems won."""
    return (prestige(geisha, coming | kept) + MARKER) * hope(ahead, held, coming, marker)


class Change(NamedTuple):
    """What a card in hand would change: played by oneself, by the other, kept, discarded."""

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
    """A geisha's part of the road after a card, the lantern that she would take being known."""
    after = _NEXT[geisha & 31][number] | geisha & 224
    if after & 24 == geisha & 24:
        return after
    return after + ((dark if geisha & 24 else light) << 5)


@lru_cache(maxsize=1 << 15)
def _changes(colour: int, key: int, marker: int, light: int, dark: int) -> _Changes:
    """What each held card of one colour would change; `key` is as made by `GeishasRoadJudgement`."""
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
    """Judges for one player; `markers` has 1 for a marker on its side, -1 on the other, 0 in the middle."""

    def __init__(self, markers: tuple[int, ...]) -> None:
        self._markers = markers

    def value(self, side: GeishasRoadSide, road: Road) -> float:
        """What a position is worth to a player, in points of prestige."""
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
        """The move that seems best, cards taken one by one and the other player taking what seems best for it."""
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
        """What a player takes of an offer, in what order, and what is left."""
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
        """The order of what is left that a player likes best; its lead counts the cards already."""
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
    # What the other player's taking a card costs, most first: of three the first is taken, and two pairs differ least
    # when the first goes with the last.
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
    """Cards in the order of the canonical notation."""
    if bit == GIFTS:
        return tuple(sorted(cards))
    if bit == COMPETITIONS:
        first, second = sorted((tuple(sorted(cards[:2])), tuple(sorted(cards[2:]))))
        return (*first, *second)
    return cards


def stakes(held: int, coming: int) -> float:
    """What a marker changes for a geisha at the start of a round, by the cards held of her colour."""
    return sum(side * worth(0, 0, held, coming, 0, side) for side in (1, -1))
