"""The worker: processes mails that have come, the oldest first, and one at a time for each player.

A mail that is kept holds up timeouts and heads until it is processed, because what it orders has its early time. So it
must not stay: after three failures, or an hour after the first try, it is set aside. Several processes may work at the
same time: processing is repeatable, and a mail is closed once.

Mails of several players are processed at the same time. Most of the time of a mail is spent in waiting: for the disk,
which can write many at once, or for the DNS of a provider that is slow. But a mail that was tried before is processed
alone. If it ends the process each time, only its own tries are counted, and no other mail is set aside with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from hkoji.errors import ClockError, HkojiError, StorageError
from hkoji.game.clock import add_seconds
from hkoji_server.log import log
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import LONGEST_TRIED, MOST_TRIES, SET_ASIDE, NewAnswer, WaitingMail

PACE: Final = 1.0
"""The seconds between two looks for mails that other processes have kept."""
AT_ONCE: Final = 32
"""How many mails are processed at the same time."""
_PAUSES: Final = (5.0, 30.0)
"""How long this process leaves a mail alone after its first failure, and after its second."""
_ABANDONED: Final = 60
"""After how many seconds a mail that was begun three times, and not closed, was given up by all who began it."""

Process = Callable[[int], Awaitable[object]]
"""Processes the mail with that number, and closes it. It may be repeated at any point."""


class MailWorker:
    """Processes mails with `process`."""

    def __init__(self, store: Store, time: ServiceTime, sources: ClockAndEntropy, process: Process) -> None:
        self._store = store
        self._time = time
        self._sources = sources
        self._process = process
        self._left_until: dict[int, float] = {}

    async def look(self, ending: asyncio.Event | None = None, kept: asyncio.Event | None = None) -> int:
        """Processes what waits, until `ending` is set, and returns how many mails this process has closed.

        If `kept` is set meanwhile, more mails have come. Raises `ClockError` and `StorageError`: then it has not looked
        at all of them.
        """
        running: dict[str, asyncio.Task[bool]] = {}
        try:
            return await self._run(running, ending or asyncio.Event(), kept or asyncio.Event())
        except (ClockError, StorageError):
            # A try that is cut off would count.
            await asyncio.gather(*running.values(), return_exceptions=True)
            raise
        finally:
            for task in running.values():
                task.cancel()
            await asyncio.gather(*running.values(), return_exceptions=True)

    async def _run(self, running: dict[str, asyncio.Task[bool]], ending: asyncio.Event, kept: asyncio.Event) -> int:
        """Does what `look` does. `running` has what is being processed, by the names of players."""
        closed, alone = 0, False
        while True:
            kept.clear()
            if not ending.is_set() and not (running and alone):
                for mail in await self._next(running):
                    alone = bool(mail.tries)
                    running[mail.name] = asyncio.create_task(self._work(mail))
            if not running:
                return closed
            woken = asyncio.create_task(kept.wait())
            try:
                await asyncio.wait((woken, *running.values()), timeout=PACE, return_when=asyncio.FIRST_COMPLETED)
            finally:
                woken.cancel()
            for name in [name for name, task in running.items() if task.done()]:
                closed += running.pop(name).result()

    async def _next(self, running: Mapping[str, object]) -> list[WaitingMail]:
        """Returns the mails that can be begun now, beside those of the players in `running`."""
        elapsed = self._sources.elapsed()
        self._left_until = {number: until for number, until in self._left_until.items() if until > elapsed}
        found = await self._store.waiting_mails(AT_ONCE + len(self._left_until))
        free = [mail for mail in found if mail.number not in self._left_until and mail.name not in running]
        begun: list[WaitingMail] = []
        for mail in free[: AT_ONCE - len(running)]:
            if mail.tries and not begun and not running:
                return [mail]
            if mail.tries:
                break  # it waits until it is alone, and nobody overtakes it
            begun.append(mail)
        return begun

    async def _work(self, mail: WaitingMail) -> bool:
        now = await self._time.now()
        if self._is_over(mail, now):
            return await self._set_aside(mail, now)
        tries = await self._store.count_try(mail.number, now)
        try:
            await self._process(mail.number)
        except ClockError:  # nothing can be decided now, which is no fault of the mail
            raise
        except Exception as error:  # whatever it is, mails of others must not wait for it
            reason = str(error) if isinstance(error, HkojiError) else type(error).__name__
            log.error("could not process a mail", mail=mail.number, tries=tries, reason=reason)
            self._left_until[mail.number] = self._sources.elapsed() + _PAUSES[min(tries, len(_PAUSES)) - 1]
            if tries >= MOST_TRIES:
                return await self._set_aside(mail, now)
            if isinstance(error, StorageError):
                raise
            return False
        # A mail that is still new has not been closed by mistake; it must not be taken again and again.
        self._left_until[mail.number] = self._sources.elapsed() + _PAUSES[0]
        return True

    def _is_over(self, mail: WaitingMail, now: str) -> bool:
        if mail.tried is None:
            return False
        if now > add_seconds(mail.tried, LONGEST_TRIED):
            return True
        # Somebody may still be at it with the third try.
        return mail.tries >= MOST_TRIES and now > add_seconds(mail.tried, _ABANDONED)

    async def _set_aside(self, mail: WaitingMail, now: str) -> bool:
        kept = await self._store.incoming(mail.number)
        if kept is None:
            return False
        answer = NewAnswer(game=kept.game, channel=kept.channel, not_before=now)
        done = await self._store.set_aside(mail.number, SET_ASIDE, (answer,))
        if done:
            log.error("set a mail aside that could not be processed", mail=mail.number)
        return done


async def work_at_intervals(worker: MailWorker, kept: asyncio.Event, ending: asyncio.Event) -> None:
    """Looks at intervals, and at once when a mail is `kept`, until the process is `ending`."""
    while not ending.is_set():
        try:
            await worker.look(ending, kept)
        except HkojiError as error:
            log.warning("could not process mails", reason=str(error))
        with suppress(TimeoutError):
            await asyncio.wait_for(kept.wait(), PACE)
