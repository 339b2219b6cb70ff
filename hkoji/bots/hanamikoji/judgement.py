"""Judging a position of Hanamikoji at a glance: what each geisha is worth to a player, by what that player sees.

For each geisha a number between -1 and 1 says how far she seems won, from the lead, the cards held and the cards still
to come; times what her marker decides, that adds up to the worth of a position. Moves are compared by how they change
it. As only the geisha in a move change, each move is a lookup and a short sum, and what was looked up is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from math import sqrt, tanh
from operator import itemgetter
from typing import Final, TypeAlias

from hkoji.bots.hanamikoji.model import KINDS, LEVEL, HanamikojiMove, HanamikojiSide, Hand, Lead, counts, leads, moves

HELD: Final = 0.3
"""What a card in hand counts for, against one at a geisha: it may yet be given away or traded off."""

KEPT: Final = 0.5
"""What having the marker already counts for: a tie is enough to keep it."""

_AT: Final = {1: 1, 2: 5, 3: 11, 4: 19}
_WIDTH: Final = 24
"""Changes of one geisha: 1 to 4 of her cards placed (n), the lead changed by -n to n; `_AT[n]` is where that is 0."""

_Pick: TypeAlias = Callable[[Sequence[float]], tuple[float, ...]]


@cache
def _pick(cards: Hand, change: Lead) -> _Pick:
    """Picks the changes of all geisha in a move out of the list that `HanamikojiJudgement` makes of a position."""
    places = [i * _WIDTH + _AT[n] + c for i, (n, c) in enumerate(zip(counts(cards), leads(change), strict=True)) if n]
    # A getter of one place would give no tuple; behind the last change there is a 0.
    return itemgetter(*places, KINDS * _WIDTH) if len(places) == 1 else itemgetter(*places)


_Options: TypeAlias = tuple[tuple[HanamikojiMove, tuple[_Pick, ...]], ...]


@cache
def _option(move: HanamikojiMove) -> tuple[HanamikojiMove, tuple[_Pick, ...]]:
    return move, tuple(_pick(move.cards, change) for change in move.changes)


# There are many hands and each has many moves: those of the game at hand are enough to keep.
@lru_cache(maxsize=1 << 14)
def _options(hand: Hand, used: int) -> _Options:
    """All moves of a hand, each with what it may change."""
    return tuple(_option(move) for move in moves(hand, used))


@cache
def _replies(move: HanamikojiMove) -> tuple[tuple[Lead, _Pick], ...]:
    """The changes of an offer, each with what it changes for the player who answers."""
    return tuple((change, _pick(move.cards, -change)) for change in move.changes)


@cache
def hope(ahead: int, held: int, coming: int, kept: int) -> float:
    """How far a geisha seems won: 1 surely, -1 surely lost. `kept` is 1 or -1 for the side her marker is on, else 0."""
    return tanh((ahead + HELD * held + KEPT * kept) / sqrt(coming + 0.3))


@cache
def _changes(ahead: int, held: int, coming: int, kept: int, own: bool) -> tuple[float, ...]:
    """How `hope` changes when cards of hers are placed, from the player's own hand or from the other's."""
    now = hope(ahead, held, coming, kept)
    return tuple(
        hope(ahead + c, held - n if own else held, coming - n, kept) - now
        if coming >= n and (held >= n or not own) and abs(ahead + c) <= 5
        else 0.0
        for n in (1, 2, 3, 4)
        for c in range(-n, n + 1)
    )


class HanamikojiJudgement:
    """Judges for one player: `stakes` is what each marker decides, `kept` whose it is (1 the player's, -1, 0)."""

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
        """Every move of a hand with its worst change of the position's worth, in no order."""
        changes = self._list(side, True)
        return [(min([sum(pick(changes)) for pick in picks]), move) for move, picks in _options(side.hand, side.used)]

    def best(self, side: HanamikojiSide) -> HanamikojiMove:
        """The move with the best worst change; the first of equals."""
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
        """The change of an offer that is best for the player, who answers it."""
        changes = self._list(side, False)
        return max(_replies(move), key=lambda reply: sum(reply[1](changes)))[0]

    def replies(self, side: HanamikojiSide, move: HanamikojiMove) -> list[tuple[float, Lead]]:
        """Every change of an offer with what it does to the answering player's position."""
        changes = self._list(side, False)
        return [(sum(pick(changes)), change) for change, pick in _replies(move)]
