"""Delivery: every process leases notices that are due, sends them through the couriers, and deletes them.

A notice that was sent is deleted afterwards, so after a crash between the two it is sent again, with the same id. A
slow receiver delays only its own channel: each channel has one task at a time, and `SendingPlaces` bounds how many
there are. A process that has held a lease for too long stops sending, because another one may have taken the notice
over.

A process that writes a notice that is due wakes the delivery, by a hint of the store. A hint may be lost, so the
delivery also looks at intervals.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
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
    SendingPlaces,
    notice_id,
)
from hkoji_server.service.players.channel_settings import ChannelSettings
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime, about
from hkoji_server.store.contract import Store
from hkoji_server.store.notices import LeasedNotice
from hkoji_server.store.sql_steps import waking
from hkoji_server.store.tables import Channel

NOTICE_PACE: Final = 5.0
"""The most seconds between two looks, on average, if nothing wakes the delivery."""
_GATHERING: Final = 0.02
"""How many seconds after it is woken it looks, so that what is written together is leased together."""
_REFILLING: Final = 0.2
"""The same while notices wait for places: a look goes through all of them, and places become free one by one."""
_AGAIN: Final = 1.0
"""After how many seconds it looks again for what is due and has no place, or is held by others."""
LEASE: Final = 120
"""How many seconds a process has for what it has leased."""
MOST_LEASED: Final = 10
"""How many notices a process leases at once, or one for each channel that has got a place if these are more."""
_MOST_CHANNELS: Final = 1000
"""Among how many channels the places are given out."""
_TURN: Final = 5.0
"""After how many seconds a channel makes room for others that share its places."""
_MOST_HELD_BACK: Final = 50
"""How many more notices to a channel are put off with one that could not be sent."""
SEND_SECONDS: Final = 60
"""After how many seconds a courier is cancelled. It is called only if that is before the end of the lease."""
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
        while True:
            now = await self._time.now()
            first = await self._store.next_notice(kinds)
            wait = NOTICE_PACE if first is None else float(parse_time(first) - parse_time(now))
            self._lag(max(0, -int(wait)))
            self._held_up = wait <= 0
            if wait > 0:
                return min(NOTICE_PACE, wait)
            due = await self._store.due_channels(kinds, now, _MOST_CHANNELS)
            placed = [each.channel for each in due if self._places.take(each, self.couriers[each.kind])]
            if not placed or not await self._begin(placed, kinds, now):
                return _AGAIN

    async def _begin(self, placed: Sequence[str], kinds: Collection[str], now: str) -> bool:
        """Begins to send to channels that have got a place. Returns False if there is nothing to send by now."""
        try:
            await self._time.read_outages()
            began, until = self._sources.elapsed(), add_seconds(now, LEASE)
            most = max(len(placed), MOST_LEASED)
            of_channel: dict[str, list[LeasedNotice]] = defaultdict(list)
            for each in await self._store.lease_notices(kinds, now, until, most, of=placed):
                of_channel[each.channel].append(each)
            for channel, leased in of_channel.items():
                self._tasks[channel] = asyncio.create_task(self._work(channel, leased, until, began))
            return bool(of_channel)
        finally:
            for channel in placed:
                if channel not in self._tasks:
                    self._places.leave(channel)

    async def settle(self) -> None:
        """Returns when everything that was leased has been dealt with."""
        while self._tasks:
            await asyncio.gather(*self._tasks.values())

    async def close(self) -> None:
        """Ends: gives back what has not been begun, and waits a few seconds for what has."""
        self._ending = True
        tasks = list(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_GRACE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    # --- one channel ----------------------------------------------------------------------------------------------

    async def _work(self, channel: str, leased: Sequence[LeasedNotice], until: str, began: float) -> None:
        try:
            await self._deliver(channel, leased, until, began)
        except Exception as error:  # whatever it is, the lease ends, and other channels must not wait
            reason = str(error) if isinstance(error, HkojiError) else type(error).__name__
            log.error("could not deliver notices", channel=channel, reason=reason)
        finally:
            del self._tasks[channel]
            self._places.leave(channel)
            if self._held_up:
                self._woken.set()

    async def _deliver(self, name: str, leased: Sequence[LeasedNotice], until: str, began: float) -> None:
        channel = await self._store.channel(name)
        if channel is None or not channel.works:
            for each in leased:
                await self._drop(each)
            return None
        settings = ChannelSettings.parse(channel.settings)
        courier = self.couriers[channel.kind]
        for number, each in enumerate(leased):
            left = leased[number:]
            spent = self._sources.elapsed() - began
            if spent > LEASE - SEND_SECONDS:
                return None
            if self._ending or (spent > _TURN and number):
                return await self._put_off(left, 0, tried=False)
            # It may have been removed since, or turned off by another process, while the last one was sent.
            if number and not await self._still_works(name):
                for one in left:
                    await self._drop(one)
                return None
            # Only now, because what a notice tells may have ended while the last one was sent.
            notice = await self._judged(channel, settings, each)
            if notice is None:
                continue
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await courier.send(channel, notice)
            except NotNow as later:
                await self._put_off([each], max(1, round(later.seconds)))
            except Later as later:
                return await self._hold_back(name, until, left, max(1, round(later.seconds)))
            except Ended as ended:
                return await self._remove(channel, each, ended.reason)
            except Never as never:
                log.warning("a receiver refuses notices", channel=name, reason=never.reason)
                most = 1 if isinstance(never, Gone) else MOST_FAILURES
                if await self._give_up(channel, each, most):
                    return None
            except Exception as error:  # a courier may fail in any way
                log.info("could not send a notice", channel=name, reason=type(error).__name__)
                return await self._hold_back(name, until, left, self._pause_after(each))
            else:
                await self._store.delete_notice(each, sent=True)
                self._count(each.event, "sent")
        return None

    async def _still_works(self, name: str) -> bool:
        channel = await self._store.channel(name)
        return channel is not None and channel.works

    async def _judged(self, channel: Channel, settings: ChannelSettings, leased: LeasedNotice) -> Notice | None:
        """Returns what is to be sent now; None if it is not, and has been deleted or put off."""
        now = await self._time.now()
        if parse_time(now) - parse_time(leased.due) > OLDEST_NOTICE:
            # A restored copy has notices that were sent long ago; that is no fault of the channel.
            if leased.tries == 1:
                await self._drop(leased)
            else:
                await self._give_up(channel, leased)
            return None
        if leased.event in OF_MAIL or not leased.game:
            return self._notice_of_mail(leased, channel.player)
        try:
            told, head = await self._told(await self._held.read(leased.game), leased)
        except NotFoundError:
            await self._drop(leased)
            return None
        except (StorageError, ClockError):
            raise
        except HkojiError as error:  # others must not wait for one whose game is damaged
            log.error("could not read the game of a notice", game=leased.game, reason=str(error))
            await self._put_off([leased], self._pause_after(leased))
            return None
        verdict = judge(leased, channel.player, told, settings, now)
        off = await self._off(channel) if leased.event == NoticeEvent.FAILING else ()
        if verdict.dropped or (leased.event == NoticeEvent.FAILING and not off):
            await self._drop(leased)
        elif verdict.at is not None:
            await self._store.put_off_notice(leased, verdict.at, anew=verdict.anew)
            self._count(leased.event, "put off")
        else:
            return self._notice(leased, channel.player, told, head, off)
        return None

    async def _told(self, held: LoadedGame, leased: LeasedNotice) -> tuple[ToldGame, str]:
        """Returns what is public of the game, and the hash of the entry that the notice is about."""
        course, later = held.refereed.course, tuple[str, ...]()
        head = course.head
        if leased.event not in (NoticeEvent.TALK, NoticeEvent.FAILING) and leased.seq < course.seq:
            lines = await self._store.lines(leased.game, leased.seq - 1)
            head, later = lines[0].entry.head, tuple(line.entry.kind for line in lines[1:])
        due = held.due(self._time.outages)
        return ToldGame(course, due, later, tuple(each.name for each in held.wishes)), head

    async def _off(self, channel: Channel) -> tuple[str, ...]:
        """Returns the channels of the same player that were given up."""
        return tuple(each.id for each in await self._store.channels(channel.player) if each.off is not None)

    def _notice(self, leased: LeasedNotice, player: str, told: ToldGame, head: str, off: tuple[str, ...]) -> Notice:
        setup, notice = told.course.setup, self._notice_of_mail(leased, player)
        others = (*setup.names, setup.invited)
        return notice._replace(
            head=head,
            opponent=next((name for name in others if name is not None and name != player), None),
            ruleset=encode(setup.ruleset.to_json()),
            deadline=told.deadline if notice.event.has_deadline else None,
            url=f"{self._origin}/v1/games/{leased.game}",
            channels_off=off,
            release=told.course.debtor is not None and notice.event in OF_TURN,
        )

    def _notice_of_mail(self, leased: LeasedNotice, player: str) -> Notice:
        """Returns a notice that does not depend on a game. The courier judges it."""
        event = NoticeEvent(leased.event)
        return Notice(notice_id(*leased[:4]), event, player, leased.game, leased.seq, "", None, "", None, self._origin)

    # --- what becomes of them -------------------------------------------------------------------------------------

    async def _drop(self, leased: LeasedNotice) -> None:
        await self._store.delete_notice(leased, sent=False)
        self._count(leased.event, "stale")

    async def _give_up(self, channel: Channel, leased: LeasedNotice, most: int = MOST_FAILURES) -> bool:
        """Gives a notice up. Returns whether the channel is off then, after `most` in a row."""
        self._count(leased.event, "given up")
        if self.couriers[channel.kind].lasting:
            await self._store.delete_notice(leased, sent=False)
            return False
        off = await self._store.give_up_notice(leased, await self._time.now(), most)
        if off:
            log.warning("gave a channel up", channel=channel.id)
        return off

    async def _remove(self, channel: Channel, leased: LeasedNotice, reason: str) -> None:
        """Removes a channel whose receiver is no more, and what was to be sent to it."""
        self._count(leased.event, "given up")
        await self._store.remove_channel(channel.player, channel.id)
        log.info("removed a channel", channel=channel.id, reason=reason)

    def _pause_after(self, failed: LeasedNotice) -> int:
        """Counts a notice that could not be sent, and returns after how many seconds to try again."""
        self._count(failed.event, "failed")
        seconds: int = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(failed.tries - 1, 16))
        return round(seconds * self._chance.uniform(1 - _JITTER, 1 + _JITTER))

    async def _hold_back(self, channel: str, until: str, left: Sequence[LeasedNotice], seconds: int) -> None:
        """Puts off the first notice, which could not be sent, and all after it, which would not fare better."""
        await self._put_off(left, seconds)
        rest = await self._store.lease_channel(channel, await self._time.now(), until, _MOST_HELD_BACK)
        await self._put_off(rest, seconds, tried=False)

    async def _put_off(self, leased: Sequence[LeasedNotice], seconds: int, *, tried: bool = True) -> None:
        at = add_seconds(await self._time.now(), seconds)
        for each in leased:
            await self._store.put_off_notice(each, at, tried=tried)


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
