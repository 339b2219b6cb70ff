"""Metrics of the service and of its mail process for Prometheus, on addresses of their own.

They show how much is played, and when. No label holds a name, an address, a game, a word of a mail or anything else
that players choose. With several workers, each writes to files in a folder that the supervisor reads (the library's
multiprocess mode). Counters and times are sums over all workers, dead ones included; memory and connections are given
for each living worker.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar, Final

from hkoji.drafts import new_folder
from hkoji.errors import ConflictError, HkojiError, StorageError
from hkoji.mail.message import BounceClass
from hkoji.messages.text import tell
from hkoji_server.log import log
from hkoji_server.service.mail.cases import MailOutcome
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import MailQueue, MailVia

_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
_FAST: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
METHODS: Final = ("DELETE", "GET", "HEAD", "POST")


class ServedMetrics:
    """Metrics that Prometheus reads at an address of their own, which the `setting` names."""

    setting: ClassVar[str] = "metrics"
    _registry: Any  # Any: the library is not loaded here

    def serve(self, bind: str, port: int) -> Callable[[], None]:
        """Serves the metrics. Returns a function that stops this.

        Raises `StorageError`, with a hint that names the setting, if it cannot listen there.
        """
        from prometheus_client import start_http_server

        try:
            server, thread = start_http_server(port, bind, self._registry)
        except OSError as error:
            raise StorageError(
                tell("cannot listen on {host} port {port}: {reason}", host=bind, port=port, reason=error.strerror),
                hint=tell("choose another by the setting {name}", name=self.setting),
            ) from error

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop


class Metrics(ServedMetrics):
    """The metrics of this process."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._registry = CollectorRegistry()
        given: dict[str, Any] = {"registry": self._registry}
        self._requests = Counter(
            "hkoji_requests", "Requests answered, by route and status", ["method", "route", "status"], **given
        )
        self._seconds = Histogram(
            "hkoji_request_seconds", "Time from request to answer", ["route"], buckets=_FAST, **given
        )
        self._appends = Counter(
            "hkoji_appends",
            "Attempts to append: taken, conflict (another entry was first), refused",
            ["outcome"],
            **given,
        )
        self._store = Histogram(
            "hkoji_store_seconds",
            "Time of calls to the store; append includes the refereeing",
            ["call"],
            buckets=_FAST,
            **given,
        )
        self.keeper_failures = Counter(
            "hkoji_keeper_failures", "Games whose time was over and that could not be ended", **given
        )
        self._proofs = Counter(
            "hkoji_proofs",
            "Entries of sealed games whose proofs were checked: held, refused, failed (not checked), busy (no room)",
            ["outcome"],
            **given,
        )
        self._proving = Gauge(
            "hkoji_proofs_waiting",
            "Entries of sealed games whose proofs are being checked or wait for it",
            multiprocess_mode="livesum",
            **given,
        )
        self._notices = Counter(
            "hkoji_notices",
            "Notices to players, by event: sent, failed (tried again later), put off, stale, given up",
            ["event", "outcome"],
            **given,
        )
        self.overdue = Gauge(
            "hkoji_notices_overdue_seconds",
            "For how long the notice that waits longest has been due",
            multiprocess_mode="livemax",
            **given,
        )
        self._connections = Gauge("hkoji_connections", "Open connections", multiprocess_mode="liveall", **given)
        self._memory = Gauge("hkoji_resident_bytes", "Memory in use", multiprocess_mode="liveall", **given)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts an answered request."""
        self._requests.labels(method if method in METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def call(self, name: str, seconds: float, error: HkojiError | None) -> None:
        """Counts a call of the store."""
        self._store.labels(name).observe(seconds)
        if name == "append":
            outcome = "taken" if error is None else "conflict" if isinstance(error, ConflictError) else "refused"
            self._appends.labels(outcome).inc()

    def proofs(self, outcome: str) -> None:
        """Counts what has become of an entry with proofs."""
        self._proofs.labels(outcome).inc()

    def proving(self, number: int) -> None:
        """Sets how many entries with proofs wait."""
        self._proving.set(number)

    def notice(self, event: str, outcome: str) -> None:
        """Counts what has become of a notice."""
        self._notices.labels(event, outcome).inc()

    def tick(self, connections: int) -> None:
        """Sets connections and memory; called once a second."""
        self._connections.set(connections)
        self._memory.set(_resident())


class WorkersMetrics(ServedMetrics):
    """The metrics of several workers, served by their supervisor. It must be made before they are started."""

    def __init__(self) -> None:
        self._folder = str(new_folder("metrics"))
        os.environ[_FOLDER] = self._folder  # workers inherit it; the library reads it when it is loaded
        from prometheus_client import CollectorRegistry
        from prometheus_client.multiprocess import MultiProcessCollector

        self._registry = CollectorRegistry()
        MultiProcessCollector(self._registry, self._folder)  # type: ignore[no-untyped-call] # the library's

    def forget(self, pid: int) -> None:
        """Removes those figures of a dead worker that hold only while it lives; its counts stay."""
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(pid, self._folder)  # type: ignore[no-untyped-call] # the library's

    def close(self) -> None:
        """Removes the files."""
        os.environ.pop(_FOLDER, None)
        shutil.rmtree(self._folder, ignore_errors=True)


def _resident() -> int:
    """Returns the memory of this process in bytes; on systems that report only its maximum, that maximum."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        pass
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


QUEUE_PACE: Final = 15.0
"""The seconds between two looks at what waits."""
_NONE: Final = "none"
"""The command of a mail that has none that was understood."""


class MailMetrics(ServedMetrics):
    """The metrics of the mail process."""

    setting = "mail_metrics"

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
        self._queue = Gauge("hkoji_mail_queue", "The queue: mails, letters, mails that were set aside", ["of"], **given)
        self._oldest = Gauge(
            "hkoji_mail_oldest_seconds", "For how long the oldest of them has been waiting; 0 for none", ["of"], **given
        )

    def received(self, via: MailVia, result: str) -> None:
        """Counts a mail that came in."""
        self._received.labels(via, str(result)).inc()

    def processed(self, via: MailVia, outcome: MailOutcome) -> None:
        """Counts a mail that was processed, with its commands.

        One from a pipe was received by a process that lived only for it, so it is counted here as received too.
        """
        if via == "pipe":
            self.received(via, "kept")
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


async def watch_queue(
    store: Store,
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
