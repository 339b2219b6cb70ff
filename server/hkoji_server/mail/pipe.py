"""The pipe: takes one mail in a process of its own, which a mail server starts for it."""

from __future__ import annotations

import re

from hkoji.game.clock import Way
from hkoji_server.mail.bounces import Bounces
from hkoji_server.mail.receiving import Received, Receiving, TakesNames
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.settings import Settings, own_address
from hkoji_server.store.mail_contract import ArrivalStore

_NULL_PATH = re.compile(rb"(?:From [^\n]*\n)?return-path[ \t]*:[ \t]*<>[ \t]*\r?\n", re.IGNORECASE)

_NOBODY = ("", "<>", "mailer-daemon")
"""What mail servers pass as the null sender; Postfix says `MAILER-DAEMON`."""


async def receive_once(
    store: ArrivalStore,
    sources: ClockAndEntropy,
    settings: Settings,
    recipient: str,
    raw: bytes,
    sender: str | None,
    *,
    registration: TakesNames | None = None,
) -> Received:
    """Keeps or drops a mail. `sender` is that of the envelope, None if the mail server has not said it.

    Many a mail server says it in a field on top of the mail instead. Raises as `Receiving.receive` does.
    """
    own = own_address(settings)
    assert own is not None
    time = ServiceTime(store, sources, outage_after=settings.outage_after, way=Way.MAIL)
    receiving = Receiving(store, time, own, Bounces(store, time), registration=registration)
    return await receiving.receive(recipient, raw, "pipe", null_sender=_is_null(sender, raw))


def _is_null(sender: str | None, raw: bytes) -> bool | None:
    if sender is not None:
        return sender.strip().lower() in _NOBODY
    return True if _NULL_PATH.match(raw) else None
