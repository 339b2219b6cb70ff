"""A watcher sees what the fold of all events would: the same information state after every event."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hkoji.bots.protocol import Watcher, see
from tests.support.rules import Game, Played, every_game, fewer, played


@every_game
@fewer
@given(data=st.data(), size=st.integers(1, 5))
def test_watching_is_folding(game: Game, data: st.DataObject, size: int) -> None:
    """Regardless of how many events come at a time."""
    whole: Played = data.draw(played(game))
    for seat in (0, 1):
        watcher = Watcher(whole.ruleset, seat)
        assert watcher.seen == see(whole.ruleset, (), seat)
        for start in range(0, len(whole.events), size):
            watcher.watch(whole.events[start : start + size])
            assert watcher.seen == see(whole.ruleset, whole.events[: start + size], seat)
