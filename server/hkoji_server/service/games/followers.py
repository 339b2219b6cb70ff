"""Clients that follow one game, or all games of a player: the running ones, and new ones as they begin.

A client keeps its position as a text and sends it back. Then no entry is sent twice and none is left out, whatever has
happened in between. The cursor keeps a game for some time after its end (`_MARGIN`), because games with unsent entries
are found by the time of their end. A clock that is wrong by less than that does no harm.

Anyone may invite anyone. So the games that a player has opened or joined are followed whatever the number of
invitations, and of those the newest. Between two readings of the player's list all new games are followed; if they are
too many, the list is read soon, and what it no longer has makes room.

Games have no common order or number, so a position in all of them is a position in each. The cursor packs them all: for
each game the beginning of its id and the number of the last entry sent. The service stores no position. A forged cursor
only gives its sender fewer or more entries, which are public anyway.
"""

from __future__ import annotations

import asyncio
import math
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from hkoji.errors import ConflictError, MalformedError, NotFoundError
from hkoji.messages.text import tell
from hkoji_server.service.games.waiting_hub import News, Waiter, WaitingHub, news_of
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import GamePlace

MOST_GAMES: Final = 500
"""How many games that a player has opened or joined a client follows."""
MOST_INVITATIONS: Final = 100
"""How many invitations it follows beside them."""
_MOST_SEEN: Final = MOST_GAMES + 2 * MOST_INVITATIONS
"""How many games it follows until it reads the list again. A reading leaves room for new ones."""
_MOST_CHARACTERS: Final = 30 * _MOST_SEEN
_ID_BYTES: Final = 8
_SEQ_BYTES: Final = 3
_ITEM: Final = _ID_BYTES + _SEQ_BYTES
_FORM: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)~([A-Za-z0-9_-]*)")


@dataclass(frozen=True, slots=True)
class StreamCursor:
    """`seen` has for each game the number of the last entry sent. Games that ended before `since` are left out."""

    since: str
    seen: Mapping[bytes, int]

    def of(self, game: str) -> int | None:
        """Returns the number of the last entry sent of a game; None if none was sent."""
        return self.seen.get(bytes.fromhex(game)[:_ID_BYTES])


def format_cursor(since: str, seen: Mapping[str, int]) -> str:
    """Returns the text of a position in games, by their ids, without games of which no entry was sent yet."""
    items = sorted(
        bytes.fromhex(game)[:_ID_BYTES] + seq.to_bytes(_SEQ_BYTES, "big") for game, seq in seen.items() if seq >= 0
    )
    return f"{since}~{urlsafe_b64encode(b''.join(items)).decode().rstrip('=')}"


def parse_cursor(text: str) -> StreamCursor:
    """Parses such a text in its canonical form. Raises `MalformedError`."""
    match = _FORM.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if match is None:
        raise MalformedError("Last-Event-ID", tell("this service has not sent such an id"))
    since, packed = match.groups()
    data = b"" if len(packed) % 4 == 1 else urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    items = [data[start : start + _ITEM] for start in range(0, len(data), _ITEM)]
    seen = {item[:_ID_BYTES]: int.from_bytes(item[_ID_BYTES:], "big") for item in items}
    cursor = StreamCursor(since, seen)
    if format_cursor(since, {name.hex(): seq for name, seq in seen.items()}) != text:
        raise MalformedError("Last-Event-ID", tell("this service has not sent such an id"))
    return cursor


# --- followers --------------------------------------------------------------------------------------------------------

_MARGIN: Final = 600
"""The seconds by which clocks may be wrong, or that a write may take."""


class GameFollower(Waiter):
    """Follows the entries of a game after entry number `after`."""

    __slots__ = ("_game", "_store")

    def __init__(self, game: str, after: int, store: Store) -> None:
        super().__init__({game: after})
        self._game = game
        self._store = store

    async def begin(self) -> None:
        """Raises `NotFoundError`, and `ConflictError` if the game has no entry number `after` yet."""
        head = await self._store.head(self._game)
        if head is None:
            raise NotFoundError(tell("game"), self._game)
        if head[0] < self.seen[self._game]:
            raise ConflictError(self._game, seq=head[0], head=head[1])

    async def backlog(self) -> AsyncIterator[tuple[News, ...]]:
        """Yields the entries that exist."""
        self.stale.clear()
        after = self.seen[self._game]
        news = news_of(self._game, after, await self._store.written(self._game, after))
        if news:
            self.seen[self._game] = news[-1].seq
            yield news

    def position(self, news: News | None = None) -> str:
        """Returns the number of the last entry; with `news` as the last one that was sent."""
        return str(news.seq if news else self.seen[self._game])


class PlayerFollower(Waiter):
    """Follows the games of a player that go on, and the newest invitations, from `cursor` on or from now."""

    __slots__ = ("_checked", "_cursor", "_ended", "_hub", "_since", "_sources", "_store", "_suspected", "player")

    def __init__(
        self, player: str, cursor: StreamCursor | None, hub: WaitingHub, store: Store, sources: ClockAndEntropy
    ) -> None:
        super().__init__({})
        self.player: str = player
        self._cursor = cursor
        self._hub = hub
        self._store = store
        self._sources = sources
        self._since = ""
        self._ended: dict[str, str] = {}
        self._checked = -math.inf
        self._suspected = False

    async def begin(self) -> None:
        """Continues from the cursor, or begins now."""
        cursor, self._cursor = self._cursor, None
        self._checked = asyncio.get_running_loop().time()
        self._since = cursor.since if cursor else self._sources.at(-_MARGIN)
        for game, place in (await self._places()).items():
            sent = cursor.of(game) if cursor else place.seq
            seen = -1 if sent is None else sent
            if place.over and seen >= place.seq:
                self.seen[game] = seen
                self._end(game, place.updated)
            else:
                self._hub.watch(self, game, seen)

    async def backlog(self) -> AsyncIterator[tuple[News, ...]]:
        """Yields the entries that came since the cursor, game by game."""
        for game in sorted(self.stale):
            self.stale.discard(game)
            after = self.seen.get(game)
            if after is None:
                continue
            news = news_of(game, after, await self._store.written(game, after))
            if news and game in self.seen:
                self._take(news)
                yield news

    def position(self, news: News | None = None) -> str:
        """Returns a cursor; with `news` as the last entry that was sent of its game."""
        return format_cursor(self._since, {**self.seen, news.game: news.seq} if news else self.seen)

    def give(self, news: tuple[News, ...]) -> None:
        """Answers with entries, or with none when the time is over."""
        if self.waits:
            super().give(news)
            self._take(news)

    def hint(self, game: str) -> None:
        """Follows `game` if it is new to this client, or has the list read soon if there is no room.

        The hub itself notes new entries of games that it follows.
        """
        if game in self.seen:
            return
        if len(self.seen) < _MOST_SEEN:
            self._hub.watch(self, game, -1)
        else:
            self._suspected = True

    async def check(self, *, suspected: bool) -> None:
        """Reads the player's list if it is due: at intervals, and sooner if the list may have changed."""
        now = asyncio.get_running_loop().time()
        self._suspected |= suspected
        pace = self._hub.pace
        if self.left or now < self._checked + (pace.suspected if self._suspected else pace.lists):
            return
        self._checked, self._suspected = now, False
        began = self._sources.at(-_MARGIN)
        behind = False
        before = tuple(self.seen)
        places = await self._places()
        if len(self.seen) >= _MOST_SEEN:
            for game in before:
                if game not in places:
                    self._drop(game)
        for game, place in places.items():
            if game not in self.seen:
                self.hint(game)
                behind = True
            elif self.seen[game] < place.seq:
                self._hub.watch(self, game, self.seen[game])
                behind = True
        # If entries were found but are not sent yet, `_since` stays: their games must be found again.
        if not behind and began > self._since:
            self._since = began
            for game in [game for game, at in self._ended.items() if at < began]:
                del self._ended[game], self.seen[game]

    async def _places(self) -> Mapping[str, GamePlace]:
        return await self._store.places(self.player, self._since, MOST_GAMES, MOST_INVITATIONS)

    def _drop(self, game: str) -> None:
        """Ends the following of a game, and forgets the position in it."""
        self._hub.unwatch(self, game)
        self.stale.discard(game)
        self._ended.pop(game, None)
        del self.seen[game]

    def _take(self, news: tuple[News, ...]) -> None:
        for each in news:
            self.seen[each.game] = each.seq
            if each.ended:
                self._end(each.game, each.ended)

    def _end(self, game: str, at: str) -> None:
        self._ended[game] = at
        self._hub.unwatch(self, game)


StreamFollower: TypeAlias = GameFollower | PlayerFollower
"""A waiter with a stream of entries. It joins the hub, then begins, then yields its backlog, then waits."""
