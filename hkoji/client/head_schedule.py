"""When a program that waits fetches signed heads: every five minutes, and once more when the time is over.

docs/spec/log.md, "Client rules". A head convicts a service that holds the opponent's move back, or that backdates it:
so a head is wanted while the opponent's time runs, and above all once it should be over and the game goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hkoji.client.agenda import LOOK_SECONDS

if TYPE_CHECKING:
    from hkoji.client.game import ClientGame


class HeadSchedule:
    """The games of a program that waits. `now` returns seconds that only go forward."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._next: Final[dict[str, float]] = {}
        """By game, when its head is wanted. A game whose time does not run, or that waits for the player, is absent."""
        self._entry: Final[dict[str, int]] = {}

    def is_due(self, game: str) -> bool:
        """Returns whether a head of the game is wanted now."""
        return game in self._next and self._now() >= self._next[game]

    def due(self) -> tuple[str, ...]:
        """Returns the games of which a head is wanted now."""
        return tuple(game for game in self._next if self.is_due(game))

    def forget(self, game: str) -> None:
        """Wants no more heads of a game."""
        self._next.pop(game, None)

    def look(self, held: ClientGame) -> None:
        """Fetches a head of a game that has just been brought up to date, if one is wanted or the game has moved."""
        game, known = held.vault.game, held.record.require()
        reading = held.time.kept().reading
        if reading.deadline is None or known.position.mine:
            self.forget(game)
            return
        if self._entry.get(game) == known.position.course.seq and not self.is_due(game):
            return
        held.time.fetch_head()
        self._entry[game] = held.record.require().position.course.seq
        self._next[game] = self._now() + LOOK_SECONDS
        left = held.time.kept().reading.left(held.time.kept().now)
        if left is not None and left + held.time.slack() >= 0:
            # One second later the head says that the time is over, or the log does.
            self._next[game] = min(self._next[game], self._now() + left + held.time.slack() + 1)
