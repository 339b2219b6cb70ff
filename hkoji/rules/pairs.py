"""Pairs of multisets, one a seat. They are values: changing one seat's side makes another pair."""

from __future__ import annotations

from typing import TypeAlias

from hkoji.rules.cards import Cards, Pack
from hkoji.rules.events import Seat

Pair: TypeAlias = tuple[int, int]
"""The host's and the guest's: multisets, or any whole numbers."""


def put(pair: Pair, seat: Seat, value: int) -> Pair:
    """`pair` with another value for one seat."""
    return (value, pair[1]) if seat == 0 else (pair[0], value)


def hide_others(pack: Pack, pair: tuple[Cards, Cards], seat: Seat | None) -> tuple[Cards, Cards]:
    """Two seats' cards as `seat` (None: a spectator) sees them: the cards of others are unknown."""
    return (pair[0] if seat == 0 else pack.hide(pair[0]), pair[1] if seat == 1 else pack.hide(pair[1]))
