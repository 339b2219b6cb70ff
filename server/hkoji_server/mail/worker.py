"""The worker: processes mails that have come, the oldest first, and one at a time for each player.

A mail that is kept holds up timeouts and heads until it is processed, because what it orders has its early time. So it
must not stay: after three tries, or an hour after the first one that was counted, it is set aside. Several processes
may work at the same time: processing is repeatable, and a mail is closed once.

The door hands each mail that it keeps to this worker, as it was read. The first try of such a mail is kept with the
mail, so it begins without a write. Every other try is counted before it begins: a second one, and the first one of a
mail that a pipe has kept. A mail that another process has just kept is left to that process.

Mails of several players are processed at the same time. Most of the time of a mail is spent in waiting: for the disk,
which can write many at once, or for the DNS of a provider that is slow. But a mail that was tried before is processed
alone. That is one with a try that was counted, or one whose first try was kept with it, and that is not handed over:
the process that has kept it may have ended by it. If it ends the process each time, only its own tries are counted,
and no other mail is set aside with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from hkoji.errors import ClockError, HkojiError, StorageError
from hkoji.game.clock import add_seconds
from hkoji.mail.mail import Mail
from hkoji_server.log import log
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import LONGEST_TRIED, MOST_TRIES, SET_ASIDE, NewAnswer, WaitingMail

PACE: Final = 1.0
"""The seconds between two looks for mails that other processes have kept."""
AT_ONCE: Final = 32
"""How many mails are processed at the same time."""
MOST_HANDED: Final = 16 * 1024 * 1024
"""How many bytes the mails may have together that are handed over and wait."""
_PAUSES: Final = (5.0, 30.0)
"""How long this process leaves a mail alone after its first failure, and after its second."""
_ABANDONED: Final = 60
"""After how many seconds a mail that was begun three times, and not closed, was given up by all who began it."""
_OWN_SECONDS: Final = 1
"""For how many seconds a mail is left to the process that has kept it. Times are whole seconds: it may be one more."""

Process = Callable[[int, Mail | None], Awaitable[object]]
"""Processes the mail with that number, and closes it. It may be repeated at any point. The mail is None unless it was
handed over."""


class MailWorker:
    """Processes mails with `process`."""

    def __init__(self, store: Store, time: ServiceTime, sources: ClockAndEntropy, process: Process) -> None:
        self._store = store
        self._time = time
        self._sources = sources
        self._process = process
        self._handed: dict[int, Mail] = {}
        self._handed_bytes = 0
        self._left_until: dict[int, float] = {}
        self._in_doubt: set[int] = set()
        """Mails that could not be processed because of the clock, however often they were tried."""
        self.kept: Final = asyncio.Event()
        """Set when more mails have come."""

    def hand_over(self, number: int, mail: Mail) -> None:
        """Takes a mail that this process has just kept with its first try.

        If more wait than `MOST_HANDED`, the oldest is forgotten. It is processed like one of another process.
        """
        self._handed[number] = mail
        self._handed_bytes += len(mail.raw)
        while self._handed_bytes > MOST_HANDED:
            self._take(next(iter(self._handed)))
        self.kept.set()

    def _take(self, number: int) -> Mail | None:
        mail = self._handed.pop(number, None)
        self._handed_bytes -= 0 if mail is None else len(mail.raw)
        return mail

    async def look(self, ending: asyncio.Event | None = None) -> int:
        """Processes what waits, until `ending` is set, and returns how many mails this process has closed.

        Raises `ClockError` and `StorageError`: then it has not looked at all of them.
        """
        running: dict[str, asyncio.Task[bool]] = {}
        try:
            return await self._run(running, ending or asyncio.Event())
        except (ClockError, StorageError):
            # A try that is cut off would count.
            await asyncio.gather(*running.values(), return_exceptions=True)
            raise
        finally:
            for task in running.values():
                task.cancel()
            await asyncio.gather(*running.values(), return_exceptions=True)

    async def _run(self, running: dict[str, asyncio.Task[bool]], ending: asyncio.Event) -> int:
        """Does what `look` does. `running` has what is being processed, by the names of players."""
        closed, alone = 0, False
        while True:
            self.kept.clear()
            if not ending.is_set() and not (running and alone):
                for mail in await self._next(running):
                    alone = self._was_tried(mail)
                    running[mail.name] = asyncio.create_task(self._work(mail))
            if not running:
                return closed
            woken = asyncio.create_task(self.kept.wait())
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
        found = tuple(mail for mail in found if mail.number not in self._left_until and mail.name not in running)
        now = await self._time.now() if found else ""
        free = [mail for mail in found if not self._is_left_to_others(mail, now)]
        begun: list[WaitingMail] = []
        for mail in free[: AT_ONCE - len(running)]:
            if self._was_tried(mail) and not begun and not running:
                return [mail]
            if self._was_tried(mail):
                break  # it waits until it is alone, and nobody overtakes it
            begun.append(mail)
        return begun

    def _was_tried(self, mail: WaitingMail) -> bool:
        """Tells whether somebody may have begun a mail before."""
        return mail.tries > 1 or (mail.tries == 1 and mail.number not in self._handed)

    def _is_left_to_others(self, mail: WaitingMail, now: str) -> bool:
        """Tells whether another process may be at a mail: the one that has just kept it, or one with the last try."""
        if mail.tries >= MOST_TRIES:
            return mail.number not in self._in_doubt and not _is_over(mail, now)
        own = mail.tries == 1 and mail.tried is None
        return own and mail.number not in self._handed and now <= add_seconds(mail.received, _OWN_SECONDS)

    async def _work(self, mail: WaitingMail) -> bool:
        now = await self._time.now()
        if _is_over(mail, now):
            return await self._set_aside(mail, now)
        read = self._take(mail.number)
        tries = 1 if read is not None and mail.tries == 1 else await self._store.count_try(mail.number, now)
        self._in_doubt.discard(mail.number)
        try:
            await self._process(mail.number, read)
        except ClockError:  # nothing can be decided now, which is no fault of the mail
            self._in_doubt.add(mail.number)
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

    async def _set_aside(self, mail: WaitingMail, now: str) -> bool:
        kept = await self._store.incoming(mail.number)
        if kept is None:
            return False
        answer = NewAnswer(game=kept.game, channel=kept.channel, not_before=now)
        done = await self._store.set_aside(mail.number, SET_ASIDE, (answer,))
        if done:
            log.error("set a mail aside that could not be processed", mail=mail.number)
        return done


def _is_over(mail: WaitingMail, now: str) -> bool:
    """Tells whether a mail is to be set aside without another try."""
    if mail.tried is None:
        return False
    if now > add_seconds(mail.tried, LONGEST_TRIED):
        return True
    # Somebody may still be at it with the third try.
    return mail.tries >= MOST_TRIES and now > add_seconds(mail.tried, _ABANDONED)


async def work_at_intervals(worker: MailWorker, ending: asyncio.Event) -> None:
    """Looks at intervals, and at once when a mail is kept, until the process is `ending`."""
    while not ending.is_set():
        try:
            await worker.look(ending)
        except HkojiError as error:
            log.warning("could not process mails", reason=str(error))
        with suppress(TimeoutError):
            await asyncio.wait_for(worker.kept.wait(), PACE)
