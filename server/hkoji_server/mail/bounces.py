"""Bounces: what reports about letters that did not arrive change. They never change a clock.

If a bounce stopped the clock, a player short of time could make their mailbox bounce. So a mailbox that does not take
letters only has its letters paused, both players see since when, and the other one can give time or call the game off.
Reminders are tried all the same, and any mail from the player ends the pause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hkoji.game.clock import add_seconds
from hkoji.game.time_control import DAY
from hkoji.mail.bounce import class_of_status
from hkoji.mail.mail_types import BounceClass
from hkoji_server.log import log
from hkoji_server.service.time.service_time import ServiceTime
from hkoji_server.store.mail_contract import ArrivalStore

_WITHIN: Final = 7 * DAY
_ENOUGH: Final = {BounceClass.PERMANENT: 1, BounceClass.COMPLAINT: 1, BounceClass.FAILED: 3}
"""How many bounces of a class within `_WITHIN` pause the letters. The other classes say nothing about the mailbox."""


def class_of(code: int, status: str) -> BounceClass:
    """Returns what a refusal by a server of SMTP says: a reply code, and the status code of RFC 3463 or nothing."""
    if code < 500:
        return BounceClass.DELAYED
    return class_of_status(status) if status.startswith("5.") else BounceClass.FAILED


class Bounces:
    """Notes bounces of letters to mailboxes. `count` is called with the class of each."""

    def __init__(
        self, store: ArrivalStore, time: ServiceTime, *, count: Callable[[BounceClass], None] = lambda _: None
    ) -> None:
        self._store = store
        self._time = time
        self._count = count

    async def note(self, channel: str, kind: BounceClass, digest: str) -> bool:
        """Notes a bounce of a letter to a mailbox, once for each `digest`. Returns whether its letters are paused now.

        Raises `StorageError`, `ClockError`.
        """
        self._count(kind)
        log.info("a letter did not arrive", channel=channel, kind=kind.value)
        enough = _ENOUGH.get(kind)
        if enough is None:
            return False
        now = await self._time.now()
        paused = await self._store.note_bounce(channel, digest, now, since=add_seconds(now, -_WITHIN), enough=enough)
        if paused:
            log.warning("letters to a mailbox are paused: they do not arrive", channel=channel)
        return paused
