"""A watcher sees what the fold of all events would: the same information state after every event."""

from __future__ import annotations

import pytest

from hkoji.bots.protocol import Watcher, see
from tests.support.plays import whole_plays
from tests.support.rules import Game, every_game


@every_game
@pytest.mark.parametrize("size", range(1, 6))
def test_watching_is_folding(game: Game, size: int) -> None:
    """Regardless of how many events come at a time."""
    whole = whole_plays(game)[size]
    for seat in (0, 1):
        watcher = Watcher(whole.ruleset, seat)
        assert watcher.seen == see(whole.ruleset, (), seat)
        for start in range(0, len(whole.events), size):
            watcher.watch(whole.events[start : start + size])
            assert watcher.seen == see(whole.ruleset, whole.events[: start + size], seat)
