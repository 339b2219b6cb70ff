"""Delivery: every process plans notices that are due, leases each, sends it through its courier, and deletes it.

A notice is judged and planned from reads alone, and leased only then: it is one write transaction before it is sent,
and one after it. A notice that was sent is deleted afterwards, so after a crash between the two it is sent again, with
the same id. A slow receiver delays only its own channel: each channel has one task at a time, and `SendingPlaces`
bounds how many there are. A process that gets a lease too late does not send, because another one may take the notice
over.

A process that writes a notice that is due wakes the delivery, by a hint of the store. A hint may be lost, so the
delivery also looks at intervals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import Final, Literal

from hkoji.errors import ClockError, HkojiError, NotFoundError, StorageError
from hkoji.game.clock import add_seconds, parse_time
from hkoji.log.canonical import encode
from hkoji_server.log import log
from hkoji_server.service.games.loaded_games import LoadedGame, LoadedGames
from hkoji_server.service.games.notice_rules import OF_MAIL, OF_TURN, OLDEST_NOTICE, NoticeEvent, ToldGame, judge
from hkoji_server.service.notices.couriers import (
    Courier,
    Ended,
    Gone,
    Later,
    Never,
    Notice,
    NotNow,
    Sending,
    SendingPlaces,
    notice_id,
)
from hkoji_server.service.players.channel_settings import ChannelSettings
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime, about
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import LetterRows
from hkoji_server.store.notices import LeasedNotice, WaitingNotice
from hkoji_server.store.sql_steps import waking
from hkoji_server.store.tables import Channel

NOTICE_PACE: Final = 5.0
"""The most seconds between two looks, on average, if nothing wakes the delivery."""
_GATHERING: Final = 0.02
"""How many seconds after it is woken it looks, so that one look finds all that is written together."""
_REFILLING: Final = 0.2
"""The same while notices wait for places: a look goes through all of them, and places become free one by one."""
_AGAIN: Final = 1.0
"""After how many seconds it looks again while something is due: being sent, or without a place."""
LEASE: Final = 120
"""How many seconds a process has for what it has leased."""
_MOST_CHANNELS: Final = 1000
"""Among how many channels the places are given out."""
_TURN: Final = 5.0
"""After how many seconds a channel makes room for others that share its places."""
SEND_SECONDS: Final = 60
"""After how many seconds a courier is cancelled. It is called only if that is before the end of the lease."""
_FULL: Final = 600.0
"""After how many seconds a letter is tried again that was one too many in the last hour."""
_GRACE: Final = 5.0
"""For how many seconds a process that ends waits for its couriers."""
MOST_FAILURES: Final = 10
"""After how many notices in a row that were given up a channel is off."""
_FIRST_PAUSE: Final = 30
_LONGEST_PAUSE: Final = 6 * 3600
_JITTER: Final = 0.2

Outcome = Literal["sent", "failed", "put off", "stale", "given up"]
Count = Callable[[str, Outcome], None]
"""A function that is called with the event of a notice and what has become of it."""


def _nothing(*_: object) -> None:
    """Does nothing."""


class NoticeDelivery:
    """Sends notices through `couriers`, by the kind of channel. `origin` is the service's address.

    `count` counts what becomes of notices. `lag` is called with the seconds for which the oldest notice is overdue.
    """

    def __init__(
        self,
        store: Store,
        held: LoadedGames,
        time: ServiceTime,
        sources: ClockAndEntropy,
        couriers: Mapping[str, Courier],
        *,
        origin: str,
        count: Count = _nothing,
        lag: Callable[[int], None] = _nothing,
        chance: Random | None = None,
    ) -> None:
        self._store = store
        self._held = held
        self._time = time
        self._sources = sources
        self.couriers = dict(couriers)
        self._origin = origin
        self._count = count
        self._lag = lag
        self._chance = chance or Random()  # noqa: S311 # no secret
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._places = SendingPlaces()
        self._woken = asyncio.Event()
        self._held_up = False
        self._ending = False

    def listen(self) -> Callable[[], None]:
        """Has the store wake the delivery, until the returned function is called."""
        return self._store.listen(waking(self._woken))

    async def rest(self, seconds: float) -> None:
        """Waits for so many seconds, or until it is woken."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
                await asyncio.sleep(_REFILLING if self._held_up else _GATHERING)
        self._woken.clear()

    async def look(self) -> float:
        """Begins to send what is due, and returns after how many seconds to look again.

        Raises `ClockError` and `StorageError`.
        """
        kinds = tuple(self.couriers)
        now = await self._time.now()
        first = await self._store.next_notice(kinds)
        wait = NOTICE_PACE if first is None else float(parse_time(first) - parse_time(now))
        self._lag(max(0, -int(wait)))
        self._held_up = False
        if wait > 0:
            return min(NOTICE_PACE, wait)
        await self._time.read_outages()
        due = await self._store.due_channels(kinds, now, _MOST_CHANNELS)
        for each in due:
            if self._places.take(each, self.couriers[each.kind]):
                self._tasks[each.channel] = asyncio.create_task(self._work(each.channel))
        self._held_up = any(each.channel not in self._tasks for each in due)
        return _AGAIN

    async def settle(self) -> None:
        """Returns when nothing more is being sent."""
        while self._tasks:
            await asyncio.gather(*self._tasks.values())

    async def close(self) -> None:
        """Ends: begins nothing more, and waits a few seconds for what is being sent."""
        self._ending = True
        tasks = list(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_GRACE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    # --- one channel ----------------------------------------------------------------------------------------------

    async def _work(self, channel: str) -> None:
        try:
            began = self._sources.elapsed()
            while not self._ending and self._sources.elapsed() - began <= _TURN:
                if not await self._deliver_next(channel):
                    break
        except Exception as error:  # whatever it is, other channels must not wait
            reason = str(error) if isinstance(error, HkojiError) else type(error).__name__
            log.error("could not deliver notices", channel=channel, reason=reason)
            await asyncio.sleep(NOTICE_PACE)  # a database that takes no writes would fail again at once
        finally:
            del self._tasks[channel]
            self._places.leave(channel)
            if self._held_up:
                self._woken.set()

    async def _deliver_next(self, name: str) -> bool:
        """Deals with the next notice to a channel. Returns False if there is none."""
        now = await self._time.now()
        waiting = await self._store.due_notice(name, now)
        if waiting is None:
            return False
        # It may have been removed, or turned off by another process, while the last notice was sent.
        channel = await self._store.channel(name)
        if channel is None or not channel.works:
            await self._drop(waiting)
            return True
        try:
            async with asyncio.timeout(SEND_SECONDS):
                sending = await self._plan(channel, waiting, now)
                leased = None if sending is None else await self._lease(waiting, sending.letter)
                if sending is None or leased is None:
                    return True
                waiting = leased
                await sending.send()
        except NotNow as later:
            await self._put_off(waiting, later.seconds)
        except Later as later:
            await self._hold_back(waiting, later.seconds)
        except Ended as ended:
            await self._remove(channel, waiting, ended.reason)
        except Never as never:
            log.warning("a receiver refuses notices", channel=name, reason=never.reason)
            await self._give_up(channel, waiting, 1 if isinstance(never, Gone) else MOST_FAILURES)
        except Exception as error:  # a courier may fail in any way
            log.info("could not send a notice", channel=name, reason=type(error).__name__)
            await self._hold_back(waiting, self._pause_after(waiting))
        else:
            await self._store.delete_notice(waiting, sent=True)
            self._count(waiting.event, "sent")
        return True

    async def _plan(self, channel: Channel, waiting: WaitingNotice, now: str) -> Sending | None:
        """Returns how a notice is sent now; None if it is not, and has been deleted or put off."""
        notice = await self._judged(channel, waiting, now)
        sending = None if notice is None else await self.couriers[channel.kind].plan(channel, notice)
        if notice is not None and sending is None:
            await self._drop(waiting)
        return sending

    async def _lease(self, waiting: WaitingNotice, letter: LetterRows | None) -> LeasedNotice | None:
        """Leases a notice that is planned. Returns None if it must not be sent now: then the next look decides anew.

        Raises `NotNow` if too many letters have gone out.
        """
        began, until = self._sources.elapsed(), add_seconds(await self._time.now(), LEASE)
        if letter is None:
            leased = await self._store.lease_notice(waiting, until)
        else:
            found = await self._store.lease_letter(waiting, until, letter)
            if found == "hour":
                raise NotNow(_FULL)
            if found == "day":
                await self._drop(waiting)
            leased = found if isinstance(found, LeasedNotice) else None
        return leased if self._sources.elapsed() - began <= LEASE - SEND_SECONDS else None

    async def _judged(self, channel: Channel, waiting: WaitingNotice, now: str) -> Notice | None:
        """Returns what is to be sent now; None if it is not, and has been deleted or put off."""
        if parse_time(now) - parse_time(waiting.due) > OLDEST_NOTICE:
            # A restored copy has notices that were sent long ago; that is no fault of the channel.
            if waiting.tried == 1:
                await self._drop(waiting)
            else:
                await self._give_up(channel, waiting)
            return None
        if waiting.event in OF_MAIL or not waiting.game:
            return self._notice_of_mail(waiting, channel.player)
        try:
            told, head = await self._told(await self._held.read(waiting.game), waiting)
        except NotFoundError:
            await self._drop(waiting)
            return None
        except (StorageError, ClockError):
            raise
        except HkojiError as error:  # others must not wait for one whose game is damaged
            log.error("could not read the game of a notice", game=waiting.game, reason=str(error))
            await self._put_off(waiting, self._pause_after(waiting))
            return None
        verdict = judge(waiting, channel.player, told, ChannelSettings.parse(channel.settings), now)
        off = await self._off(channel) if waiting.event == NoticeEvent.FAILING else ()
        if verdict.dropped or (waiting.event == NoticeEvent.FAILING and not off):
            await self._drop(waiting)
        elif verdict.at is not None:
            await self._store.put_off_notice(waiting, verdict.at, anew=verdict.anew)
            self._count(waiting.event, "put off")
        else:
            return self._notice(waiting, channel.player, told, head, off)
        return None

    async def _told(self, held: LoadedGame, waiting: WaitingNotice) -> tuple[ToldGame, str]:
        """Returns what is public of the game, and the hash of the entry that the notice is about."""
        course, later = held.refereed.course, tuple[str, ...]()
        head = course.head
        if waiting.event not in (NoticeEvent.TALK, NoticeEvent.FAILING) and waiting.seq < course.seq:
            lines = await self._store.lines(waiting.game, waiting.seq - 1)
            head, later = lines[0].entry.head, tuple(line.entry.kind for line in lines[1:])
        due = held.due(self._time.outages)
        return ToldGame(course, due, later, tuple(each.name for each in held.wishes)), head

    async def _off(self, channel: Channel) -> tuple[str, ...]:
        """Returns the channels of the same player that were given up."""
        return tuple(each.id for each in await self._store.channels(channel.player) if each.off is not None)

    def _notice(self, waiting: WaitingNotice, player: str, told: ToldGame, head: str, off: tuple[str, ...]) -> Notice:
        setup, notice = told.course.setup, self._notice_of_mail(waiting, player)
        others = (*setup.names, setup.invited)
        return notice._replace(
            head=head,
            opponent=next((name for name in others if name is not None and name != player), None),
            ruleset=encode(setup.ruleset.to_json()),
            deadline=told.deadline if notice.event.has_deadline else None,
            url=f"{self._origin}/v1/games/{waiting.game}",
            channels_off=off,
            release=told.course.debtor is not None and notice.event in OF_TURN,
        )

    def _notice_of_mail(self, waiting: WaitingNotice, player: str) -> Notice:
        """Returns a notice that does not depend on a game. The courier judges it."""
        event = NoticeEvent(waiting.event)
        return Notice(
            notice_id(*waiting[:4]), event, player, waiting.game, waiting.seq, "", None, "", None, self._origin
        )

    # --- what becomes of them -------------------------------------------------------------------------------------

    async def _drop(self, waiting: WaitingNotice) -> None:
        await self._store.delete_notice(waiting, sent=False)
        self._count(waiting.event, "stale")

    async def _give_up(self, channel: Channel, waiting: WaitingNotice, most: int = MOST_FAILURES) -> bool:
        """Gives a notice up. Returns whether the channel is off then, after `most` in a row."""
        self._count(waiting.event, "given up")
        if self.couriers[channel.kind].lasting:
            await self._store.delete_notice(waiting, sent=False)
            return False
        off = await self._store.give_up_notice(waiting, await self._time.now(), most)
        if off:
            log.warning("gave a channel up", channel=channel.id)
        return off

    async def _remove(self, channel: Channel, waiting: WaitingNotice, reason: str) -> None:
        """Removes a channel whose receiver is no more, and what was to be sent to it."""
        self._count(waiting.event, "given up")
        await self._store.remove_channel(channel.player, channel.id)
        log.info("removed a channel", channel=channel.id, reason=reason)

    def _pause_after(self, failed: WaitingNotice) -> int:
        """Counts a notice that could not be sent, and returns after how many seconds to try again."""
        self._count(failed.event, "failed")
        seconds: int = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(failed.tried - 1, 16))
        return round(seconds * self._chance.uniform(1 - _JITTER, 1 + _JITTER))

    async def _hold_back(self, waiting: WaitingNotice, seconds: float) -> None:
        """Puts off a notice that could not be sent, and all that its channel waits for, which would not fare better."""
        at = await self._put_off(waiting, seconds)
        await self._store.hold_back(waiting.channel, await self._time.now(), at)

    async def _put_off(self, waiting: WaitingNotice, seconds: float) -> str:
        """Puts off a notice, and returns until when."""
        at = add_seconds(await self._time.now(), max(1, round(seconds)))
        await self._store.put_off_notice(waiting, at)
        return at


async def deliver_at_intervals(delivery: NoticeDelivery) -> None:
    """Looks at intervals, and when it is woken, until it is cancelled, and then ends the delivery."""
    wait = NOTICE_PACE
    stop_listening = delivery.listen()
    try:
        while True:
            await delivery.rest(about(wait))
            try:
                wait = await delivery.look()
            except HkojiError as error:
                wait = NOTICE_PACE
                log.warning("could not look for notices that are due", reason=str(error))
    finally:
        stop_listening()
        await delivery.close()
