"""A quick estimate of a Hanamikoji position: the worth of each geisha to a player, from what that player sees.

For each geisha a number between -1 and 1 says how far she seems won. It depends on the lead, the cards held and the
cards still to come. This number times the stake of her marker, summed over all geisha, is the worth of a position.
Moves are compared by how much they change it. A move changes only the geisha of its cards, so judging one takes a
lookup and a short sum; the tables are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from math import sqrt, tanh
from operator import itemgetter
from typing import Final, TypeAlias

from hkoji.bots.hanamikoji.model import KINDS, LEVEL, HanamikojiMove, HanamikojiSide, Hand, Lead, counts, leads, moves

HELD: Final = 0.3
"""The weight of a card in hand, where one at a geisha is 1: it may still be given away or traded off."""

KEPT: Final = 0.5
"""The weight of having the marker already: a tie is enough to keep it."""

_AT: Final = {1: 1, 2: 5, 3: 11, 4: 19}
_WIDTH: Final = 24
"""The number of changes of one geisha: n (1 to 4) of her cards are placed, and the lead changes by -n to n.

`_AT[n]` is the index at which the lead's change is 0.
"""

_Pick: TypeAlias = Callable[[Sequence[float]], tuple[float, ...]]


@cache
def _pick(cards: Hand, change: Lead) -> _Pick:
    """Makes a function that picks the changes of a move's geisha out of the list that `HanamikojiJudgement` makes."""
    places = [i * _WIDTH + _AT[n] + c for i, (n, c) in enumerate(zip(counts(cards), leads(change), strict=True)) if n]
    # An `itemgetter` of one place returns no tuple, so it also gets the 0 that stands after the last change.
    return itemgetter(*places, KINDS * _WIDTH) if len(places) == 1 else itemgetter(*places)


_Options: TypeAlias = tuple[tuple[HanamikojiMove, tuple[_Pick, ...]], ...]


@cache
def _option(move: HanamikojiMove) -> tuple[HanamikojiMove, tuple[_Pick, ...]]:
    return move, tuple(_pick(move.cards, change) for change in move.changes)


# There are many hands, and each has many moves: the cache is bounded to about those of the current game.
@lru_cache(maxsize=1 << 14)
def _options(hand: Hand, used: int) -> _Options:
    """Returns all moves of a hand, each with its possible changes."""
    return tuple(_option(move) for move in moves(hand, used))


@cache
def _replies(move: HanamikojiMove) -> tuple[tuple[Lead, _Pick], ...]:
    """Returns the changes of a proposal, each with its effect for the player who answers."""
    return tuple((change, _pick(move.cards, -change)) for change in move.changes)


@cache
def hope(ahead: int, held: int, coming: int, kept: int) -> float:
    """Estimates how far a geisha seems won: 1 is won, -1 is lost.

    `kept` is 1 or -1 for the side that her marker is on, else 0.
    """
    return tanh((ahead + HELD * held + KEPT * kept) / sqrt(coming + 0.3))


@cache
def _changes(ahead: int, held: int, coming: int, kept: int, own: bool) -> tuple[float, ...]:
    """Returns how `hope` changes when cards of a geisha are placed, from the player's own hand or from the other's."""
    now = hope(ahead, held, coming, kept)
    return tuple(
        hope(ahead + c, held - n if own else held, coming - n, kept) - now
        if coming >= n and (held >= n or not own) and abs(ahead + c) <= 5
        else 0.0
        for n in (1, 2, 3, 4)
        for c in range(-n, n + 1)
    )


class HanamikojiJudgement:
    """Judges for one player. `stakes` are what the markers are worth.

    `kept` says whose each marker is: 1 the player's, -1 the other's, 0 nobody's.
    """

    def __init__(self, stakes: Sequence[float], kept: Sequence[int]) -> None:
        self._stakes = tuple(stakes)
        self._kept = tuple(kept)
        self._tables: tuple[dict[int, list[float]], ...] = tuple({} for _ in range(2 * KINDS))
        self._best: dict[HanamikojiSide, HanamikojiMove] = {}

    def _list(self, side: HanamikojiSide, own: bool) -> list[float]:
        level, hand, coming = side.lead + LEVEL, side.hand, side.coming
        found: list[float] = []
        at = 0 if own else KINDS
        for i in range(KINDS):
            key = (level & 15) << 8 | (hand & 15) << 4 | coming & 15
            level >>= 4
            hand >>= 4
            coming >>= 4
            table = self._tables[at + i]
            changes = table.get(key)
            if changes is None:
                stake = self._stakes[i]
                made = _changes((key >> 8) - 8, key >> 4 & 15, key & 15, self._kept[i], own)
                changes = table[key] = [stake * change for change in made]
            found += changes
        found.append(0.0)
        return found

    def rank(self, side: HanamikojiSide) -> list[tuple[float, HanamikojiMove]]:
        """Returns every move of a hand with its worst change of the position's worth, in no order."""
        changes = self._list(side, True)
        return [(min([sum(pick(changes)) for pick in picks]), move) for move, picks in _options(side.hand, side.used)]

    def best(self, side: HanamikojiSide) -> HanamikojiMove:
        """Returns the move with the best worst change; among equals, the first."""
        found = self._best.get(side)
        if found is None:
            options = _options(side.hand, side.used)
            found = options[0][0]
            if len(options) > 1:
                changes = self._list(side, True)
                best = -1e9
                for move, picks in options:
                    worth = sum(picks[0](changes))
                    if worth > best:
                        for pick in picks[1:]:
                            other = sum(pick(changes))
                            worth = min(worth, other)
                        if worth > best:
                            best, found = worth, move
            self._best[side] = found
        return found

    def reply(self, side: HanamikojiSide, move: HanamikojiMove) -> Lead:
        """Returns the change of a proposal that is best for the answering player."""
        changes = self._list(side, False)
        return max(_replies(move), key=lambda reply: sum(reply[1](changes)))[0]

    def replies(self, side: HanamikojiSide, move: HanamikojiMove) -> list[tuple[float, Lead]]:
        """Returns every change of a proposal with its effect on the worth of the answering player's position."""
        changes = self._list(side, False)
        return [(sum(pick(changes)), change) for change, pick in _replies(move)]
