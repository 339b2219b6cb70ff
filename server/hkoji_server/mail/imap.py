"""Fetching mail: reads a mailbox by IMAP at intervals, keeps what has come, and puts away what is done with.

A mail stays in the folder until it is on disk here, or needs nothing. So whatever is killed when, none is lost; one
that is read again is known by its bytes and its Message-ID. A server numbers the mails of a folder, and the number is
kept up to which all are dealt with. If the server begins to number anew (UIDVALIDITY), all that is in the folder is
read again.

Only a poll that has come to its end is a beat: a mailbox that cannot be reached is an outage of `mail`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from hkoji.errors import ClockError, HkojiError, StorageError
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.mail import read_mail
from hkoji_server.log import log
from hkoji_server.mail.imap_session import ImapBrokenError, ImapError, ImapRefusedError, ImapSession, LoginRefusedError
from hkoji_server.mail.receiving import Received, Receiving
from hkoji_server.service.time.service_time import BEATS, ClockAndEntropy, ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import ImapPlace

LONGEST_PACE: Final = 30.0
"""The seconds between two polls, at most."""
MOST_A_POLL: Final = 200
"""How many new mails are taken in a poll. If there are more, the next one begins at once."""
_MOST_AGAIN: Final = 50
"""How many of those that could not be kept in earlier polls, because too many of their player wait, are tried again."""
_STEP_SECONDS: Final = 120.0
"""How long one answer may take in all."""
_TRIES: Final = 3
_PAUSE: Final = 300.0
"""For how many seconds a mail is left alone that could not be read `_TRIES` times, so that polls come to their end."""
_FIRST_RETRY: Final = 5.0
_LONGEST_RETRY: Final = 60.0
_REFUSED: Final = 300.0
"""After how many seconds a login is tried again that was refused: servers lock out who tries too often."""

Answer = TypeVar("Answer")
OpenSession = Callable[[], ImapSession]


class ImapPoller:
    """Polls one mailbox, whose place in the store is `mailbox`. `open_session` connects to it, in a thread.

    `own` is the service's address, and `time` is that of the way `mail`, noted by polls.
    """

    def __init__(
        self,
        store: Store,
        time: ServiceTime,
        sources: ClockAndEntropy,
        receiving: Receiving,
        own: OwnAddress,
        mailbox: str,
        open_session: OpenSession,
    ) -> None:
        self._store = store
        self._time = time
        self._sources = sources
        self._receiving = receiving
        self._own = own
        self._mailbox = mailbox
        self._open_session = open_session
        self._session: ImapSession | None = None
        self._kept: ImapPlace | None = None
        """The place as the store has it, as soon as it has been read."""
        self._place: ImapPlace | None = None
        self._dealt: set[int] = set()
        """The mails above the last of `_place` that are dealt with."""
        self._to_file: list[int] = []
        """Mails that are dealt with, and still in the folder."""
        self._full: set[int] = set()
        """Mails that could not be kept because too many of their player wait."""
        self._failures: dict[int, int] = {}
        self._left_until: dict[int, float] = {}

    async def poll(self) -> bool:
        """Takes what has come. Returns whether there is more than one poll takes.

        Raises `ImapError`, `StorageError` or `ClockError`: then the poll is not complete.
        """
        try:
            return await self._poll()
        except (ImapError, asyncio.CancelledError):
            self.close()
            raise

    def close(self) -> None:
        """Ends the connection, if there is one."""
        if self._session is not None:
            self._session.close()
            self._session = None

    async def _poll(self) -> bool:
        begun = await self._time.begin_poll()
        if self._session is None:
            self._session = await self._connected()
        session = self._session
        place = await self._place_of(await self._step(session.select))
        uids = await self._step(lambda: session.search(place.last))
        chosen, more = self._choose(uids)
        sizes = await self._step(lambda: session.sizes(chosen)) if chosen else {}
        # Nothing is taken before a time in which nothing could be taken has been recorded.
        await self._time.rejoin()
        for uid in chosen:
            await self._take(session, uid, sizes.get(uid))
        await self._file(session)
        await self._move_on(place, uids)
        await self._time.end_poll(begun)
        return more

    async def _place_of(self, validity: int) -> ImapPlace:
        if self._place is None:
            self._place = self._kept = await self._store.imap_place(self._mailbox)
        if self._place is None or self._place.validity != validity:
            if self._place is not None:
                log.warning("the mailbox numbers its mails anew, and is read again from its beginning")
            self._place = ImapPlace(validity, 0)
            self._to_file.clear()
            for each in (self._dealt, self._full, self._failures, self._left_until):
                each.clear()
        return self._place

    def _choose(self, uids: Sequence[int]) -> tuple[list[int], bool]:
        """Returns the mails to read now, and whether there are more.

        Those that have broken the connection come after the others, and those that had to wait come last.
        """
        now = self._sources.elapsed()
        left = {uid for uid, until in self._left_until.items() if until > now}
        new = [uid for uid in uids if uid not in self._dealt | self._full | left]
        new.sort(key=lambda uid: (self._failures.get(uid, 0), uid))
        again = [uid for uid in uids if uid in self._full]
        return [*new[:MOST_A_POLL], *again[:_MOST_AGAIN]], len(new) > MOST_A_POLL

    async def _take(self, session: ImapSession, uid: int, size: int | None) -> None:
        """Reads a mail, and keeps or drops it."""
        raw = None
        try:
            if size is not None:
                raw = await self._step(lambda: session.fetch(uid, size))
            if raw is None:  # somebody else has moved it
                self._dealt.add(uid)
                return
            mail = read_mail(raw)
            recipient, null_sender = mail.envelope(self._own)
            received = await self._receiving.receive(recipient, mail, "imap", null_sender=null_sender)
        except (StorageError, ClockError):  # which is no fault of the mail
            raise
        except Exception as error:
            self._note_failure(uid, error)
            if isinstance(error, ImapBrokenError):
                raise
            return
        if received is Received.FULL:
            self._full.add(uid)
            return
        self._full.discard(uid)
        self._dealt.add(uid)
        self._to_file.append(uid)

    def _note_failure(self, uid: int, error: Exception) -> None:
        reason = str(error) if isinstance(error, ImapError | HkojiError) else type(error).__name__
        tries = self._failures[uid] = self._failures.get(uid, 0) + 1
        log.error("could not take a mail from the mailbox", uid=uid, tries=tries, reason=reason)
        if tries >= _TRIES:
            self._left_until[uid] = self._sources.elapsed() + _PAUSE

    async def _file(self, session: ImapSession) -> None:
        if not self._to_file:
            return
        uids, self._to_file = self._to_file, []
        try:
            await self._step(lambda: session.file(uids))
        except ImapRefusedError as refusal:  # they stay where they are, and are not read again
            log.warning("could not put mails away that are done with", mails=len(uids), reason=str(refusal))
        except BaseException:
            self._to_file = uids
            raise

    async def _move_on(self, place: ImapPlace, uids: Sequence[int]) -> None:
        """Notes the number up to which all is dealt with."""
        open_ = [uid for uid in uids if uid not in self._dealt]
        last = open_[0] - 1 if open_ else max(uids, default=place.last)
        self._place = place._replace(last=last)
        if self._place != self._kept:
            await self._store.keep_imap_place(self._mailbox, self._place)
            self._kept = self._place
        here = set(uids)
        self._dealt = {uid for uid in self._dealt & here if uid > last}
        self._full &= here
        for each in (self._failures, self._left_until):
            for uid in each.keys() - (here - self._dealt):
                del each[uid]

    async def _connected(self) -> ImapSession:
        session = await self._step(self._open_session)
        if not session.files:
            log.warning("the IMAP server has neither MOVE nor UIDPLUS, so mails stay in the folder, marked as read")
        return session

    async def _step(self, ask: Callable[[], Answer]) -> Answer:
        """Asks something in a thread. If it takes too long, or nobody waits for it any more, the connection is cut."""
        task = asyncio.ensure_future(asyncio.to_thread(ask))
        try:
            return await asyncio.wait_for(asyncio.shield(task), _STEP_SECONDS)
        except (TimeoutError, asyncio.CancelledError) as error:
            task.add_done_callback(_abandon)
            if self._session is not None:
                self._session.cut()
            if isinstance(error, TimeoutError):
                raise ImapBrokenError("the server takes too long") from error
            raise


def _abandon(task: asyncio.Future[Answer]) -> None:
    """Ends what a step has brought for which nobody waits any more."""
    if not task.cancelled() and task.exception() is None and isinstance(session := task.result(), ImapSession):
        session.close()


def pace_of(outage_after: int) -> float:
    """Returns the seconds between two polls: as often as a beat is needed, so that no pause is an outage."""
    return min(LONGEST_PACE, outage_after / BEATS)


async def poll_at_intervals(
    poller: ImapPoller, pace: float, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Polls until it is cancelled. After a failure it waits longer each time."""
    failures = 0
    try:
        while True:
            try:
                wait = 0.0 if await poller.poll() else pace
                failures = 0
            except (ImapError, HkojiError) as error:
                failures += 1
                log.warning("could not read the mailbox", reason=str(error), failures=failures)
                longest = _REFUSED if isinstance(error, LoginRefusedError) else _LONGEST_RETRY
                first = longest if isinstance(error, LoginRefusedError) else min(pace, _FIRST_RETRY)
                wait = min(longest, first * 2 ** min(failures - 1, 10))
            await pause(wait)
    finally:
        poller.close()
