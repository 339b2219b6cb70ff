"""The hub for clients that wait for entries: one in each process, for thousands of clients.

It holds nothing that another process needs, and no client misses an entry: entries are read from the store, from the
position of each client on. The store's hints say when to read. Because hints may be lost, the hub also reads at
intervals, all awaited games together. A waiting client costs a future, and no task, timer, transaction or connection
of the store: one clock releases all clients whose time is over.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from hkoji.errors import BusyError, HkojiError, TooManyError
from hkoji.log.line import StoredLine, format_stored
from hkoji.messages.text import tell
from hkoji_server.log import log
from hkoji_server.service.players.limits import PlacesOfAddresses, counted_name
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Hint

K = TypeVar("K", str, int)

RETRY_AFTER: Final = 5
"""The seconds after which a client that was refused may try again."""
_MOST_OF_ONE: Final = 20
"""The number of clients that may wait at once for the games of one player."""
_TICK: Final = 0.1
_IDLE_TICKS: Final = 300
"""The ticks for which the clock goes on without clients."""
_HEADS_AT_ONCE: Final = 400
_READERS: Final = 4
_READS_IN_A_ROW: Final = 20
_END: Final = '"kind":"end"'


@dataclass(frozen=True, slots=True)
class LookIntervals:
    """How often, in seconds, the hub reads the database if no hint arrives, and the largest share of its time for that.

    `games` is for awaited games, `lists` for players' lists, `suspected` for lists that may have changed.
    """

    games: float = 5.0
    lists: float = 60.0
    suspected: float = 2.0
    share: float = 0.1


class News(NamedTuple):
    """A new entry: its place, its line as JSON, and, if it ended the game, when it was received."""

    game: str
    seq: int
    written: StoredLine
    text: str
    ended: str | None


def news_of(game: str, after: int, written: Iterable[StoredLine]) -> tuple[News, ...]:
    """Returns the entries after number `after` of a game, in the form in which they are sent."""
    return tuple(
        News(game, seq, each, format_stored(each), _ended(each)) for seq, each in enumerate(written, after + 1)
    )


def _ended(written: StoredLine) -> str | None:
    """Returns when the game ended, if this is its end. Only entries that look like an end are parsed."""
    if _END not in written.text or (line := written.read()).entry.kind != "end":
        return None
    return line.receipt.receipt.at if line.receipt else line.entry.at


class Waiter:
    """A client that waits. `seen` has the number of the last entry that it knows, for each game that it follows."""

    __slots__ = ("address", "due", "future", "left", "seen", "stale")

    player: str | None = None
    """The player whose games the client follows; None if it follows certain games only."""

    def __init__(self, seen: dict[str, int]) -> None:
        self.seen = seen
        self.stale = set(seen)
        """Games that may have new entries since the client last waited."""
        self.address = ""
        """The address for which it is counted."""
        self.left = False
        self.future: asyncio.Future[tuple[News, ...]] | None = None
        self.due = 0

    @property
    def waits(self) -> bool:
        """Whether it waits now and has not been answered."""
        return self.future is not None and not self.future.done()

    def give(self, news: tuple[News, ...]) -> None:
        """Answers with entries, or with none when the time is over."""
        if self.future is not None and not self.future.done():
            for each in news:
                self.seen[each.game] = each.seq
            self.future.set_result(news)

    def hint(self, game: str) -> None:
        """Notes that a game of the followed player may have a new entry."""

    async def check(self, *, suspected: bool) -> None:
        """Reads the list of the followed player, if it is due."""


class WaitingHub:
    """The waiting clients of a process, at most `most` at once, and `of_address` of one address (0: any number)."""

    def __init__(self, store: Store, *, most: int, of_address: int = 0, pace: LookIntervals | None = None) -> None:
        self._store = store
        self._most = most
        self._places = PlacesOfAddresses(of_address)
        self.pace = pace or LookIntervals()
        self.waiting = 0
        """The number of waiting clients."""
        self.stopped = False
        """Whether all clients have been released and no more can wait."""
        self._games: dict[str, set[Waiter]] = {}
        self._players: dict[str, set[Waiter]] = {}
        self._deadlines = Deadlines(_TICK)
        self._dirty: dict[str, None] = {}
        self._readers = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._clock: asyncio.Task[None] | None = None
        self._sweeping = self._suspected = False
        self._sweep_due = self._sweep_not_before = -math.inf

    # --- for waiting clients --------------------------------------------------------------------------------------

    def join(self, waiter: Waiter, address: str | None = None) -> None:
        """Adds a client at `address`; from now on it misses nothing.

        Raises `BusyError` if there is no room, and `TooManyError` if too many of that address wait already.
        """
        same = self._players.get(waiter.player, set()) if waiter.player else set()
        if self.stopped or self.waiting >= self._most or len(same) >= _MOST_OF_ONE:
            raise BusyError(RETRY_AFTER)
        waiter.address = counted_name(address)
        if not self._places.take(waiter.address):
            raise TooManyError(RETRY_AFTER, tell("too many clients of this address are waiting already"))
        self.waiting += 1
        for game in waiter.seen:
            self._games.setdefault(game, set()).add(waiter)
        if waiter.player:
            self._players.setdefault(waiter.player, set()).add(waiter)
        if self._clock is None or self._clock.done():
            self._clock = asyncio.get_running_loop().create_task(self._run())

    def leave(self, waiter: Waiter) -> None:
        """Removes a client; if it still waits it is answered with no entries."""
        if waiter.left:
            return
        waiter.left = True
        self.waiting -= 1
        self._places.leave(waiter.address)
        for game in tuple(waiter.seen):
            self.unwatch(waiter, game)
        if waiter.player:
            _discard(self._players, waiter.player, waiter)
        waiter.give(())

    async def news(self, waiter: Waiter, until: float) -> tuple[News, ...]:
        """Waits for the next entries, of one game and in order; returns none at the time `until` or after `stop`."""
        if self.stopped or waiter.left:
            return ()
        waiter.future = asyncio.get_running_loop().create_future()
        for game in waiter.stale:
            self._look(game)
        waiter.stale.clear()
        self._deadlines.add(waiter, until)
        try:
            return await waiter.future
        finally:
            waiter.future = None
            self._deadlines.drop(waiter)

    def watch(self, waiter: Waiter, game: str, seen: int) -> None:
        """Has a client follow another game, of which it knows the entries up to `seen`."""
        waiter.seen[game] = seen
        if not waiter.left:
            self._games.setdefault(game, set()).add(waiter)
            self._notice(game, waiter)

    def unwatch(self, waiter: Waiter, game: str) -> None:
        """Ends a client's following of a game."""
        _discard(self._games, game, waiter)

    def stop(self) -> None:
        """Releases all waiting clients, without new entries."""
        self.stopped = True
        for waiters in (*self._games.values(), *self._players.values()):
            for waiter in tuple(waiters):
                waiter.give(())

    async def close(self) -> None:
        """Stops, and ends the hub's own tasks."""
        self.stop()
        tasks = [*self._tasks, *([self._clock] if self._clock else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- new entries ----------------------------------------------------------------------------------------------

    def hear(self, hint: Hint) -> None:
        """Handles a hint of the store."""
        if hint.anywhere:
            self._suspected = True
        if hint.game is None:
            return
        for waiter in self._games.get(hint.game, ()):
            self._notice(hint.game, waiter)
        for player in hint.players:
            for waiter in tuple(self._players.get(player, ())):
                waiter.hint(hint.game)

    def _notice(self, game: str, waiter: Waiter) -> None:
        """Notes that a game may have an entry that a client does not know."""
        if waiter.waits:
            self._look(game)
        else:
            waiter.stale.add(game)

    def _look(self, game: str) -> None:
        """Queues a game to be read, and starts another reader unless `_READERS` of them run already."""
        self._dirty[game] = None
        if self._readers < _READERS:
            self._readers += 1
            self._spawn(self._read_all())

    async def _read_all(self) -> None:
        try:
            row = 0
            while self._dirty:
                game = next(iter(self._dirty))
                del self._dirty[game]
                await self._read(game)
                row += 1
                if row % _READS_IN_A_ROW == 0:
                    await asyncio.sleep(0)
        except HkojiError as error:  # the next sweep finds the games that were not read
            log.warning("could not read awaited games", reason=str(error))
        finally:
            self._readers -= 1

    async def _read(self, game: str) -> None:
        """Reads a game once for all clients that wait for it, and gives each the entries that it does not know."""
        asking = [waiter.seen[game] for waiter in self._games.get(game, ()) if waiter.waits]
        if not asking:
            return
        after = min(asking)
        news = news_of(game, after, await self._store.written(game, after))
        for waiter in tuple(self._games.get(game, ())):
            known = waiter.seen[game]
            if known < after:  # the client came while the game was read
                self._notice(game, waiter)
            elif fresh := news[known - after :]:
                waiter.stale.add(game) if not waiter.waits else waiter.give(fresh)

    # --- at intervals ---------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        """The clock: releases clients whose time is over, and reads at intervals.

        It ends some time after the last client.
        """
        loop = asyncio.get_running_loop()
        stop_listening = self._store.listen(self.hear)
        self._deadlines.begin(loop.time())
        self._sweep_due = loop.time() + self.pace.games
        idle = 0
        try:
            while idle < _IDLE_TICKS:
                await asyncio.sleep(_TICK)
                idle = 0 if self.waiting else idle + 1
                now = loop.time()
                for waiter in self._deadlines.pass_by(now):
                    waiter.give(())
                due = self._suspected or now >= self._sweep_due
                if due and self.waiting and not self._sweeping and now >= self._sweep_not_before:
                    self._sweeping = True
                    self._spawn(self._sweep())
        finally:
            stop_listening()

    async def _sweep(self) -> None:
        """Reads the heads of all awaited games, many in one statement, and then the lists of followed players."""
        loop = asyncio.get_running_loop()
        suspected, self._suspected = self._suspected, False
        busy = 0.0
        try:
            games = list(self._games)
            for start in range(0, len(games), _HEADS_AT_ONCE):
                began = loop.time()
                heads = await self._store.heads(games[start : start + _HEADS_AT_ONCE])
                for game, seq in heads.items():
                    for waiter in self._games.get(game, ()):
                        if waiter.seen[game] < seq:
                            self._notice(game, waiter)
                busy += loop.time() - began
                await asyncio.sleep(0)
            for waiters in tuple(self._players.values()):
                for waiter in tuple(waiters):
                    began = loop.time()
                    await waiter.check(suspected=suspected)
                    busy += loop.time() - began
                await asyncio.sleep(0)
        except HkojiError as error:
            log.warning("could not check awaited games", reason=str(error))
        finally:
            self._sweeping = False
            self._sweep_due = loop.time() + self.pace.games
            self._sweep_not_before = loop.time() + busy * (1 / self.pace.share - 1)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Deadlines:
    """The times until which clients wait, in ticks of `tick` seconds. One clock releases all clients of a tick at once.

    A timer of the event loop for each of thousands of clients would cost more than the waiting itself.
    """

    def __init__(self, tick: float) -> None:
        self._tick = tick
        self._next = 0
        self._waiters: dict[int, set[Waiter]] = {}

    def begin(self, now: float) -> None:
        """Starts the clock, or starts it again."""
        self._next = min([math.floor(now / self._tick), *self._waiters])

    def add(self, waiter: Waiter, until: float) -> None:
        """Keeps a waiter until the time `until`, or the next tick if that is past."""
        waiter.due = max(math.ceil(until / self._tick), self._next)
        self._waiters.setdefault(waiter.due, set()).add(waiter)

    def drop(self, waiter: Waiter) -> None:
        """Forgets a waiter, if it is still kept."""
        _discard(self._waiters, waiter.due, waiter)

    def pass_by(self, now: float) -> Iterator[Waiter]:
        """Yields the waiters whose time is over, and forgets them."""
        last = math.floor(now / self._tick)
        while self._next <= last:
            yield from self._waiters.pop(self._next, ())
            self._next += 1


def _discard(waiters: dict[K, set[Waiter]], key: K, waiter: Waiter) -> None:
    found = waiters.get(key)
    if found is not None:
        found.discard(waiter)
        if not found:
            del waiters[key]
