"""Deals that a test chooses, the one part of a service's game that no request can determine.

Deals follow from a seed by HMAC, so nobody can find a seed for a wanted deal. Here some seeds are assigned the deals of
a given course of events: the dealers give those, and the true ones for every other seed. All other code, including the
commitments to the seed, is unchanged.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from hkoji.game.dealer import DuplicateDealer, ServerDealer
from hkoji.rules.events import Chance, Deal, Event

Dealt = tuple[Chance | None, tuple[Deal, ...]]


def dealt(events: tuple[Event, ...]) -> Dealt:
    """The results of chance and the decks in a course of events."""
    chance = next((event for event in events if isinstance(event, Chance)), None)
    return chance, tuple(event for event in events if isinstance(event, Deal))


class DealFiles(MutableMapping[str, Dealt]):
    """The same table as files, one per seed, for a service in another process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, seed: str) -> Dealt:
        try:
            found: Dealt = pickle.loads((self._folder / seed).read_bytes())
        except FileNotFoundError as error:
            raise KeyError(seed) from error
        return found

    def __setitem__(self, seed: str, dealt: Dealt) -> None:
        self._folder.mkdir(exist_ok=True)
        (self._folder / seed).write_bytes(pickle.dumps(dealt))

    def __delitem__(self, seed: str) -> None:
        (self._folder / seed).unlink()

    def __iter__(self) -> Iterator[str]:
        return (file.name for file in self._folder.iterdir())

    def __len__(self) -> int:
        return len(list(self._folder.iterdir()))


@contextmanager
def chosen_deals(chosen: MutableMapping[str, Dealt]) -> Iterator[None]:
    """Makes both dealers look into this table, from seeds (64 hex digits) to deals, during the block."""
    with (
        patch.object(ServerDealer, "deal", _dealing(chosen, ServerDealer.deal)),
        patch.object(DuplicateDealer, "deal", _dealing(chosen, DuplicateDealer.deal)),
        patch.object(ServerDealer, "chance", _deciding(chosen, ServerDealer.chance)),
        patch.object(DuplicateDealer, "chance", _deciding(chosen, DuplicateDealer.chance)),
    ):
        yield


def _dealing(chosen: MutableMapping[str, Dealt], true):  # type: ignore[no-untyped-def] # a method of either dealer
    def deal(self, round_number: int) -> Deal:  # type: ignore[no-untyped-def] # either dealer
        if self.seed not in chosen:
            given: Deal = true(self, round_number)
            return given
        deals = chosen[self.seed][1]
        # The story ends before this round, but the game may still ask for its deal.
        return deals[round_number - 1] if round_number <= len(deals) else deals[-1]

    return deal


def _deciding(chosen: MutableMapping[str, Dealt], true):  # type: ignore[no-untyped-def] # a method of either dealer
    def chance(self) -> Chance | None:  # type: ignore[no-untyped-def] # either dealer
        decided: Chance | None = chosen[self.seed][0] if self.seed in chosen else true(self)
        return decided

    return chance
