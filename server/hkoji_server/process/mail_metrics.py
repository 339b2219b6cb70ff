"""Metrics of the mail process for Prometheus, on an address of their own.

Every label has one of a few values that the program knows. None holds a name, an address, a game, or a word of a mail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from itertools import zip_longest
from typing import Any, Final

from hkoji.errors import HkojiError
from hkoji.mail.mail_types import BounceClass
from hkoji_server.log import log
from hkoji_server.process.metrics import serve_registry
from hkoji_server.service.mail.cases import MailOutcome
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.mail_contract import MailStore
from hkoji_server.store.mail_values import MailQueue, MailVia

QUEUE_PACE: Final = 15.0
"""The seconds between two looks at what waits."""
_NONE: Final = "none"
"""The command of a mail that has none that was understood."""


class MailMetrics:
    """The metrics of this process."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge

        self._registry = CollectorRegistry()
        given: dict[str, Any] = {"registry": self._registry}
        self._received = Counter(
            "hkoji_mail_received",
            "Mails that came in, by the way they came and what became of them",
            ["via", "result"],
            **given,
        )
        self._orders = Counter(
            "hkoji_mail_orders", "Commands in mails, and what their answers say", ["command", "result"], **given
        )
        self._grade = Counter(
            "hkoji_mail_grade", "Mails that were obeyed, by how well it is known who sent them", ["grade"], **given
        )
        self._sent = Counter(
            "hkoji_mail_sent",
            "Letters, by event: sent, failed (tried again later), put off, stale, given up",
            ["event", "result"],
            **given,
        )
        self._bounces = Counter("hkoji_mail_bounces", "Letters that did not arrive, by class", ["class"], **given)
        self._queue = Gauge(
            "hkoji_mail_queue", "What waits: mails, letters, mails that were set aside", ["of"], **given
        )
        self._oldest = Gauge(
            "hkoji_mail_oldest_seconds", "For how long the oldest of them has been waiting; 0 for none", ["of"], **given
        )

    def received(self, via: MailVia, result: str) -> None:
        """Counts a mail that came in."""
        self._received.labels(via, str(result)).inc()

    def processed(self, outcome: MailOutcome) -> None:
        """Counts a mail that was processed, with its commands."""
        parts = [each.kind.value for each in outcome.parts]
        commands = [each.kind.value for each in outcome.orders]
        for command, result in zip_longest(commands, parts[: len(commands) or 1]):
            # Where one answer is given to all commands, it is that of each.
            self._orders.labels(command or _NONE, result or parts[0]).inc()
        if outcome.grade is not None:
            self._grade.labels(outcome.grade.value).inc()

    def sent(self, event: str, result: str) -> None:
        """Counts what has become of a letter."""
        self._sent.labels(event, result).inc()

    def bounced(self, kind: BounceClass) -> None:
        """Counts a letter that did not arrive."""
        self._bounces.labels(kind.value).inc()

    def waiting(self, queue: MailQueue, now: str) -> None:
        """Sets what waits, and since when."""
        for name, each in queue._asdict().items():
            seconds = 0.0 if each.oldest is None else _moment(now) - _moment(each.oldest)
            self._queue.labels(name).set(each.number)
            self._oldest.labels(name).set(max(0.0, seconds))

    def serve(self, bind: str, port: int) -> Callable[[], None]:
        """Serves the metrics. Returns a function that stops this. Raises `StorageError`."""
        return serve_registry(bind, port, self._registry, "mail_metrics")


async def watch_queue(
    store: MailStore,
    sources: ClockAndEntropy,
    metrics: MailMetrics,
    *,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Looks at what waits, until it is cancelled."""
    while True:
        now = sources.at()
        try:
            metrics.waiting(await store.mail_queue(now), now)
        except HkojiError as error:
            log.warning("could not look at what waits", reason=str(error))
        await pause(QUEUE_PACE)


def _moment(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
