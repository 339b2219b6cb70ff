"""Following a game, or all games of a player: those on their list that go on, new ones as they come, each to its end.

Where they have come is theirs to keep, as a text, and to bring back: then nothing is told twice and nothing is left
out, whatever has happened in between. A game that has ended is kept in the cursor for a while, since what has not
been told of yet is found by the times at which games have ended; a clock that is wrong by less than that does no harm.
"""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Final

from hkoji.errors import ConflictError, NotFoundError
from hkoji.messages.text import tell
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.service.stream_cursor import MOST_GAMES, StreamCursor, format_cursor
from hkoji_server.service.waiting_hub import News, Waiter, WaitingHub, news_of
from hkoji_server.store.contract import Store

_MARGIN: Final = 600
"""So many seconds may clocks be wrong, or a write take."""


class StreamFollower(Waiter, ABC):
    """What a stream tells of. To be begun once it has joined the hub; the backlog comes before what is waited for."""

    __slots__ = ()

    @abstractmethod
    async def begin(self) -> None:
        """Finds out what there is."""

    @abstractmethod
    def backlog(self) -> AsyncIterator[tuple[News, ...]]:
        """What has come before now, game by game."""

    @abstractmethod
    def place(self, news: News | None = None) -> str:
        """Where they have come; with `news` as the last that was told of its game."""


class GameFollower(StreamFollower):
    """One who waits for what comes in a game after entry number `after`."""

    __slots__ = ("_game", "_store")

    def __init__(self, game: str, after: int, store: Store) -> None:
        super().__init__({game: after})
        self._game = game
        self._store = store

    async def begin(self) -> None:
        """Raises `NotFoundError`, and `ConflictError` if the game has not come as far as they say."""
        head = await self._store.head(self._game)
        if head is None:
            raise NotFoundError(tell("game"), self._game)
        if head[0] < self.seen[self._game]:
            raise ConflictError(self._game, seq=head[0], head=head[1])

    async def backlog(self) -> AsyncIterator[tuple[News, ...]]:
        """The entries that there are."""
        self.stale.clear()
        after = self.seen[self._game]
        news = news_of(self._game, after, await self._store.written(self._game, after))
        if news:
            self.seen[self._game] = news[-1].seq
            yield news

    def place(self, news: News | None = None) -> str:
        """The number of an entry."""
        return str(news.seq if news else self.seen[self._game])


class PlayerFollower(StreamFollower):
    """One who waits for all games of a player, the newest `MOST_GAMES` that go on; from `cursor` on, or from now."""

    __slots__ = ("_checked", "_cursor", "_ended", "_hub", "_ports", "_since", "_store", "_suspected", "player")

    def __init__(
        self, player: str, cursor: StreamCursor | None, hub: WaitingHub, store: Store, ports: ClockAndEntropy
    ) -> None:
        super().__init__({})
        self.player: str = player
        self._cursor = cursor
        self._hub = hub
        self._store = store
        self._ports = ports
        self._since = ""
        self._ended: dict[str, str] = {}
        self._checked = -math.inf
        self._suspected = False

    async def begin(self) -> None:
        """Takes up where the cursor says, or begins now."""
        cursor, self._cursor = self._cursor, None
        self._checked = asyncio.get_running_loop().time()
        self._since = cursor.since if cursor else self._ports.at(-_MARGIN)
        for game, place in (await self._store.places(self.player, self._since, MOST_GAMES)).items():
            told = cursor.of(game) if cursor else place.seq
            seen = -1 if told is None else told
            if place.over and seen >= place.seq:
                self.seen[game] = seen
                self._end(game, place.updated)
            else:
                self._hub.watch(self, game, seen)

    async def backlog(self) -> AsyncIterator[tuple[News, ...]]:
        """What has come since they left, game by game."""
        for game in sorted(self.stale):
            self.stale.discard(game)
            after = self.seen[game]
            news = news_of(game, after, await self._store.written(game, after))
            if news:
                self._take(news)
                yield news

    def place(self, news: News | None = None) -> str:
        """A cursor."""
        return format_cursor(self._since, {**self.seen, news.game: news.seq} if news else self.seen)

    def give(self, news: tuple[News, ...]) -> None:
        """Answers; with nothing when the time is over."""
        if self.waits:
            super().give(news)
            self._take(news)

    def hint(self, game: str) -> None:
        """There may be something new in a game of the player's: perhaps it is a new one."""
        if game not in self.seen and len(self.seen) < MOST_GAMES:
            self._hub.watch(self, game, -1)

    async def check(self, *, suspected: bool) -> None:
        """Looks at the player's list, if it is time: now and then, and sooner if there may be something new on it."""
        now = asyncio.get_running_loop().time()
        self._suspected |= suspected
        pace = self._hub.pace
        if self.left or now < self._checked + (pace.suspected if self._suspected else pace.lists):
            return
        self._checked, self._suspected = now, False
        began = self._ports.at(-_MARGIN)
        behind = False
        for game, place in (await self._store.places(self.player, self._since, MOST_GAMES)).items():
            if game not in self.seen:
                self.hint(game)
                behind = True
            elif self.seen[game] < place.seq:
                self._hub.watch(self, game, self.seen[game])
                behind = True
        if not behind and began > self._since:  # else what is found and not told yet would not be found again
            self._since = began
            for game in [game for game, at in self._ended.items() if at < began]:
                del self._ended[game], self.seen[game]

    def _take(self, news: tuple[News, ...]) -> None:
        for each in news:
            self.seen[each.game] = each.seq
            if each.ended:
                self._end(each.game, each.ended)

    def _end(self, game: str, at: str) -> None:
        self._ended[game] = at
        self._hub.unwatch(self, game)
