"""The time by which the service decides: whether its clock can be trusted, beats, outages, and what is written late.

docs/spec/log.md, "Time of record" and "Outages". An outage is a time in which no process took entries that came one
way, HTTP or mail. Each process serves one way, and notes the time in the row of that way in the store, its beat. A
process that has not noted it for long, because it was stopped or has just started, takes no entry until it has read
the row: if no other process has noted the time either, nobody took such entries, and it records that as an outage. So
everything that decides asks `ServiceTime.now` for the time.

A process that fetches mail from a mailbox elsewhere takes it only when it reaches that mailbox, and may do all else
meanwhile. So its time is `polled`: a complete poll notes the time at which it began, and the outage is recorded before
a mail is taken.

The clock cannot be trusted while it is long before the beat. On PostgreSQL the database's clock judges it too. A file
has no clock; so there a jump against the clock that nobody sets makes it doubtful, until it is set back.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import uniform
from typing import Final, NamedTuple

from hkoji.errors import ClockError, HkojiError
from hkoji.game.clock import Outage, Way, after_outages, format_time, parse_time
from hkoji.messages.text import tell
from hkoji_server.log import log
from hkoji_server.store.time_contract import BeatStore, StaleDecisionError

JUMP: Final = 30.0
"""By how many seconds the clock must change against the one that nobody sets, to have jumped."""
APART: Final = 30.0
"""How many seconds the clock may differ from that of the database."""
BEFORE_BEAT: Final = 60
"""How many seconds the clock may be before the last beat."""
BEATS: Final = 3
"""How often the time is noted before an absence would count as an outage."""
LATEST: Final = 120
"""Nothing that is written after `ServiceTime.drained` has returned a time has a T so many seconds before that time."""
_RETRY: Final = 30
_FRESH: Final = 1.0
_TRIES: Final = 20
Unprocessed = Callable[[], Awaitable[str | None]]
"""Returns the time of the oldest thing that has arrived and is not decided yet, such as a raw mail; None if all is."""


def now() -> datetime:
    """Returns the time in UTC."""
    return datetime.now(UTC)


def _since_boot() -> float:
    """Returns the seconds since the machine was started. Nobody sets this clock, and it goes on while it sleeps."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        return time.clock_gettime(time.CLOCK_MONOTONIC)  # it goes on there too, while `time.monotonic` stands still
    return time.monotonic()


@dataclass(frozen=True, slots=True)
class ClockAndEntropy:
    """`clock` returns the time in UTC; `entropy(n)` returns n fresh random bytes.

    `boot` returns seconds of a clock that nobody sets. Without one, it is that of the machine; for another `clock` than
    the machine's it is that clock, which then never jumps.
    """

    clock: Callable[[], datetime] = now
    entropy: Callable[[int], bytes] = secrets.token_bytes
    boot: Callable[[], float] | None = None

    def at(self, seconds: int = 0) -> str:
        """Returns the time `seconds` from now, in the form of the log."""
        moment = self.clock()
        if seconds:
            moment += timedelta(seconds=seconds)
        return log_time(moment)

    def elapsed(self) -> float:
        """Returns the seconds of the clock that nobody sets, from any beginning."""
        if self.boot is not None:
            return self.boot()
        return _since_boot() if self.clock is now else self.clock().timestamp()


def log_time(moment: datetime) -> str:
    """Returns a time in UTC in the form of the log."""
    return f"{moment.isoformat(timespec='seconds')[:19]}Z"


class PollBegin(NamedTuple):
    """When a poll began: by the clock, and in seconds of the clock that nobody sets."""

    at: str
    elapsed: float


async def _nothing() -> str | None:
    return None


class ServiceTime:
    """The time by which this process decides, which takes entries that come one `way`.

    `outage_after` is how many seconds without a beat are an outage. `polled` says that what comes is fetched, so that
    only a complete poll is a beat.
    """

    def __init__(
        self,
        store: BeatStore,
        sources: ClockAndEntropy,
        *,
        outage_after: int,
        way: Way = Way.HTTP,
        unprocessed: Unprocessed = _nothing,
        polled: bool = False,
    ) -> None:
        self.way = way
        self._polled = polled
        self._store = store
        self._sources = sources
        self._outage_after = outage_after
        self._unprocessed = unprocessed
        self._outages: tuple[Outage, ...] = ()
        self._offset: float | None = None
        """The difference between the two clocks when they were compared last; None before that."""
        self._judged = False
        """Whether the database judges the clock."""
        self._earliest = datetime.min.replace(tzinfo=UTC)
        """The clock is wrong if it shows an earlier time."""
        self._noted = ""
        """The newest time that is noted for the way of this process, as far as it knows."""
        self._beaten = float("-inf")
        """When this process last noted the time, in seconds of the clock that nobody sets; likewise below."""
        self._asked = float("-inf")
        self._verified = float("-inf")
        self._doubt: ClockError | None = None
        """Why the clock was not trusted when the store was `asked`."""
        self._lock = asyncio.Lock()
        self._draining = asyncio.Lock()
        self._drained = ""
        self._drained_at = float("-inf")

    @property
    def outages(self) -> tuple[Outage, ...]:
        """All outages of both ways that this process knows of, in the order in which they ended."""
        return self._outages

    @property
    def shown(self) -> str:
        """The time that the clock shows, right or wrong: for answers, which must not depend on a clock to trust."""
        return self._sources.at()

    async def now(self) -> str:
        """Returns the time, in which something can be decided. Raises `ClockError`, or `StorageError`.

        If this process has not noted the time for long, it does so first, and records an outage if there was one;
        where polls note the time, it only verifies the clock.
        """
        return self._look() or await self._resume()

    async def time_of_record(self) -> str:
        """Returns the time of record of an entry of the service's own: `now`, or the end of an outage around it."""
        return after_outages(await self.now(), self._outages, self.way)

    async def time_of_arrival(self) -> str:
        """Returns the time of record of a mail that is being taken. Raises as `now` does.

        If polls have failed for long, their outage is recorded first.
        """
        await self.rejoin()
        return await self.time_of_record()

    async def rejoin(self) -> None:
        """Records that nothing could be taken for long, before something is; does nothing otherwise.

        Raises as `now` does.
        """
        await self.now()
        async with self._lock:
            for _ in range(_TRIES):
                if self._sources.elapsed() - self._beaten <= self._outage_after:
                    return
                await self._verify_clock()
                await self._rejoin()
        raise ClockError(tell("this process cannot keep up with the clock"), _RETRY)

    async def begin_poll(self) -> PollBegin:
        """Returns when a poll begins. Raises as `now` does."""
        elapsed = self._sources.elapsed()
        return PollBegin(await self.now(), elapsed)

    async def end_poll(self, begun: PollBegin) -> None:
        """Notes that everything was taken that had come when a poll began. Raises as `now` does."""
        at = await self.now()
        noted = await self._store.beat(self.way, begun.at)
        self._compare(noted.clock, at)
        self._note(noted.at, max(begun.elapsed, self._beaten))
        await self.read_outages()

    async def taken_until(self, way: Way, before: str) -> str:
        """Returns the last time, at most `before`, up to which entries that came that way were taken for certain.

        An outage of that way that is recorded after the call begins later. If nothing was ever taken, it returns the
        empty text, which sorts before all times. Raises as `now` does.
        """
        if way is not self.way:
            noted = await self._store.last_beat(way)
            return "" if noted is None else min(before, noted)
        if self._noted < before:
            await self.beat()
        return min(before, self._noted)

    async def beat(self) -> None:
        """Notes that this process takes entries, and learns what others have noted. Raises as `now` does.

        Where polls note the time, it only learns.
        """
        began, at = self._sources.elapsed(), await self.now()
        if self._polled:
            async with self._lock:
                await self._verify_clock()
            await self.read_outages()
            return
        # The row tells when it was noted last; a clock that has just gone wrong must not change it.
        noted = await self._store.beat(self.way, at)
        self._compare(noted.clock, at)
        self._note(noted.at, began)
        await self.read_outages()

    async def read_outages(self) -> None:
        """Reads which outages there are."""
        self._outages = await self._store.outages()

    async def drained(self) -> str:
        """Returns a time t such that nothing that is written after the call has a T before t - 120 seconds.

        60 of them are the age that a decision may have, and 60 the difference between two clocks. An arrival that is
        not decided yet will have an early T. It asks the store at most once a second; an earlier answer still
        holds. Raises `ClockError`, `StorageError`.
        """
        await self.now()
        async with self._draining:
            began = self._sources.elapsed()
            if began - self._drained_at >= _FRESH:
                at = await self.now()
                await self._store.drained()
                oldest = await self._unprocessed()
                self._drained = at if oldest is None else min(at, format_time(parse_time(oldest) - 1))
                self._drained_at = began
            return self._drained

    # --- whether the clock can be trusted -------------------------------------------------------------------------

    def _look(self) -> str | None:
        """Returns the time if nothing speaks against it. It asks nobody, and so each decision can begin with it."""
        moment, elapsed = self._sources.clock(), self._sources.elapsed()
        offset = moment.timestamp() - elapsed
        if self._offset is None or abs(offset - self._offset) >= JUMP or self._doubt is not None:
            return None
        fresh = self._verified if self._polled else self._beaten
        if elapsed - fresh > self._outage_after or moment < self._earliest:
            return None
        self._offset = offset  # a clock that is corrected little by little never jumps
        return log_time(moment)

    async def _resume(self) -> str:
        async with self._lock:
            for _ in range(_TRIES):
                if (at := self._look()) is not None:
                    return at
                await self._verify_clock()
                if self._polled:
                    await self.read_outages()
                else:
                    await self._rejoin()
        raise ClockError(tell("this process cannot keep up with the clock"), _RETRY)

    async def _verify_clock(self) -> None:
        """Raises `ClockError` if the clock cannot be trusted."""
        moment, elapsed = self._sources.clock(), self._sources.elapsed()
        offset = moment.timestamp() - elapsed
        jumped = self._offset is not None and abs(offset - self._offset) >= JUMP
        if jumped and not self._judged:
            raise ClockError(tell("the clock of the service has jumped"), _RETRY)
        self._verify_after_beat(moment)
        if self._doubt is not None and elapsed - self._asked < _FRESH:
            raise self._doubt
        self._asked = elapsed
        self._compare(await self._store.clock(), log_time(moment))
        row = await self._store.last_beat(self.way)
        if row is not None:
            self._note(row)
            self._verify_after_beat(moment)
        self._doubt = None
        self._offset = offset
        self._verified = elapsed

    def _verify_after_beat(self, moment: datetime) -> None:
        if moment < self._earliest:
            raise ClockError(tell("the clock of the service shows a time before its last entries"), _RETRY)

    def _compare(self, clock: str | None, at: str) -> None:
        """Compares the clock of the database with this one, which showed `at` just before. Raises `ClockError`."""
        if clock is None:
            return
        self._judged = True
        before, after, theirs = parse_time(at), parse_time(self._sources.at()), parse_time(clock)
        if not before - APART <= theirs <= after + APART:
            self._asked = self._sources.elapsed()
            self._doubt = ClockError(tell("the clock of the service differs from that of its database"), _RETRY)
            raise self._doubt

    def _note(self, beat: str, beaten: float | None = None) -> None:
        self._noted = beat
        self._earliest = datetime.fromisoformat(beat) - timedelta(seconds=BEFORE_BEAT)
        if beaten is not None:
            self._beaten = beaten

    # --- outages --------------------------------------------------------------------------------------------------

    async def _rejoin(self) -> None:
        """Notes the time; if nobody has noted it for long, records the outage first."""
        moment, began = self._sources.clock(), self._sources.elapsed()
        if self._offset is None or abs(moment.timestamp() - began - self._offset) >= JUMP:
            return  # it has jumped since it was verified
        at = log_time(moment)
        row = await self._store.last_beat(self.way)
        if row is None or parse_time(at) - parse_time(row) > self._outage_after:
            try:
                outage = await self._store.close_gap(self.way, row, at)
            except StaleDecisionError:  # another process was first
                return
            if outage is not None:
                log.warning(
                    "no process took entries for a while", way=outage.way.value, begin=outage.begin, until=outage.until
                )
            noted = at if row is None else max(at, row)
        elif self._polled:
            noted, began = row, began - max(0, parse_time(at) - parse_time(row))
        else:
            noted = (await self._store.beat(self.way, at)).at
        await self.read_outages()
        self._note(noted, began)


def about(seconds: float, spread: float = 0.25) -> float:
    """Returns about so many seconds, by chance: processes that were started together do not look together."""
    return seconds * uniform(1 - spread, 1 + spread)  # noqa: S311 # no secret


async def beat_at_intervals(
    time: ServiceTime, outage_after: int, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Notes the time until it is cancelled, at once and then often enough that no absence counts as an outage."""
    while True:
        try:
            await time.beat()
        except HkojiError as error:
            log.warning("could not note the time", reason=str(error))
        await pause(outage_after / BEATS)
