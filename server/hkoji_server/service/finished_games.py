"""The list of all games that are over, in the order of their end. docs/spec/http.md, "Finished games".

An append that was decided first may be committed last. So the list ends before the time from which on something may
still be written: what comes into it later stands behind everything that is in it now, and whoever continues at the last
place that they have seen misses nothing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.game.clock import format_time, parse_time
from hkoji_server.service.service_time import LATEST, ServiceTime
from hkoji_server.store.contract import FinishedGame, Store

_START: Final = ("", "")
"""Stands before every place."""


class FinishedPage(NamedTuple):
    """A page of the list. `last` is the place of its last game, or the one after which it begins; None at the start.

    `more` says whether there may be another page now. Every game that ended before the time `before` can be listed.
    """

    games: tuple[FinishedGame, ...]
    last: str | None
    more: bool
    before: str


class FinishedGames:
    """Lists the games that are over."""

    def __init__(self, store: Store, time: ServiceTime) -> None:
        self._store = store
        self._time = time

    async def page(self, after: str | None, limit: int) -> FinishedPage:
        """Returns at most `limit` games after a place. Raises `ClockError` and `StorageError`.

        A place is the time of an end and the game, joined by `~`; None is the start.
        """
        # Before the read: then all that ended before this time is written.
        before = format_time(parse_time(await self._time.drained()) - LATEST)
        if after is None:
            start = _START
        else:
            ended, _, game = after.partition("~")
            start = (ended, game)
        games = await self._store.finished(before, start, limit)
        last = f"{games[-1].ended}~{games[-1].summary.game}" if games else after
        return FinishedPage(games, last, len(games) == limit, before)
