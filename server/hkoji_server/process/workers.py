"""Several worker processes on one address and one database. They share the listening socket; a dead one is replaced.

uvicorn has a supervisor too. But it does not wait until the workers are ready, restarts a failing worker without a
pause, and leaves its workers running when it is killed.
"""

from __future__ import annotations

import multiprocessing
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Final

import structlog

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.process.server import PATIENCE

log = structlog.get_logger("hkoji")

Target = Callable[[socket.socket, Connection, Connection], None]
"""The work of a worker: serve on the socket, report readiness on the first connection, stop when the second closes."""

_SHORT_LIFE: Final = 5.0
_LONGEST_PAUSE: Final = 30.0


@dataclass(slots=True)
class _WorkerSlot:
    """A slot for a worker: its process, if one runs, and when the next one may start."""

    number: int
    process: SpawnProcess | None = None
    ready: Connection | None = None
    """On which the process reports that it is ready; None once it has."""
    lifeline: Connection | None = None
    """Closes when the supervisor dies, which stops the process."""
    started: float = 0.0
    pause: float = 0.0
    due: float = field(default=0.0)


class Workers:
    """Runs `target` in `count` processes until it is stopped, and calls `forget` with the process id of each that died.

    `target` must be importable: processes are spawned.
    """

    def __init__(self, count: int, target: Target, listener: socket.socket, forget: Callable[[int], None]) -> None:
        self._slots = [_WorkerSlot(number) for number in range(count)]
        self._target = target
        self._listener = listener
        self._forget = forget
        self._context = multiprocessing.get_context("spawn")
        self._stopped_by: int | None = None
        # A signal must end the wait at once: its handler writes to this pipe, and the wait reads it.
        self._awake, self._wake = multiprocessing.Pipe(duplex=False)

    def run(self, ready: Callable[[], None]) -> int:
        """Serves, and calls `ready` when all workers are ready. Returns the signal that stopped it.

        Raises `StorageError` if one of the first workers cannot start.
        """
        before = {each: signal.signal(each, self._handle) for each in (signal.SIGTERM, signal.SIGINT)}
        starting = {slot.number for slot in self._slots}
        try:
            while self._stopped_by is None:
                self._fill()
                for slot in self._watch():
                    if self._is_ready(slot):
                        if slot.number in starting:
                            starting.remove(slot.number)
                            if not starting:
                                ready()
                    elif slot.process and not slot.process.is_alive():
                        self._handle_death(slot, first=slot.number in starting)
            log.debug("stopping", signal=self._stopped_by)
            return self._stopped_by
        finally:
            self._listener.close()
            self._stop()
            for each, handler in before.items():
                signal.signal(each, handler)

    def _handle(self, sig: int, _: FrameType | None) -> None:
        self._stopped_by = self._stopped_by or sig
        self._wake.send_bytes(b".")

    def _fill(self) -> None:
        now = time.monotonic()
        for slot in self._slots:
            if slot.process is None and slot.due <= now and self._stopped_by is None:
                self._start(slot, now)

    def _start(self, slot: _WorkerSlot, now: float) -> None:
        # The worker has one end of each pipe, and this process closes its own copy of that end. So when one of the two
        # processes dies, the other notices that the pipe is closed.
        ready, worker_ready = self._context.Pipe(duplex=False)
        worker_lifeline, lifeline = self._context.Pipe(duplex=False)
        slot.process = self._context.Process(
            target=self._target,
            args=(self._listener, worker_ready, worker_lifeline),
            name=f"hkoji-worker-{slot.number}",
        )
        slot.process.start()
        worker_ready.close()
        worker_lifeline.close()
        slot.ready, slot.lifeline, slot.started = ready, lifeline, now

    def _watch(self) -> list[_WorkerSlot]:
        """Returns the workers that have become ready or died."""
        slots: dict[object, _WorkerSlot] = {}
        for slot in self._slots:
            if slot.process is not None:
                slots[slot.process.sentinel] = slot
                if slot.ready is not None:
                    slots[slot.ready] = slot
        dues = [slot.due for slot in self._slots if slot.process is None]
        pause = max(0.0, min(dues) - time.monotonic()) if dues else None
        news = wait([*slots, self._awake], pause)  # type: ignore[list-item] # sentinels and connections
        return list({slots[each].number: slots[each] for each in news if each in slots}.values())

    def _is_ready(self, slot: _WorkerSlot) -> bool:
        if slot.ready is None or not slot.ready.poll():
            return False
        try:
            slot.ready.recv_bytes()
            ready = True
        except (EOFError, OSError):
            ready = False
        slot.ready.close()
        slot.ready = None
        return ready

    def _handle_death(self, slot: _WorkerSlot, *, first: bool) -> None:
        assert slot.process is not None
        slot.process.join()
        code, pid = slot.process.exitcode, slot.process.pid or 0
        log.error("worker died", worker=slot.number, pid=pid, code=code)
        self._forget(pid)
        if first:
            raise StorageError(
                tell("a worker could not start; its exit code is {code}", code=code),
                hint=tell("see the log lines of the worker; nothing was changed"),
            )
        now = time.monotonic()
        slot.pause = min(_LONGEST_PAUSE, slot.pause * 2 or 0.25) if now - slot.started < _SHORT_LIFE else 0.0
        slot.due = now + slot.pause
        for each in (slot.lifeline, slot.ready):
            if each is not None:
                each.close()
        slot.process.close()
        slot.process = slot.ready = slot.lifeline = None

    def _stop(self) -> None:
        """Asks all workers to finish their requests, and kills those that do not stop."""
        living = [slot.process for slot in self._slots if slot.process is not None]
        for process in living:
            process.terminate()
        end = time.monotonic() + PATIENCE + 5
        for process in living:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                log.error("worker did not stop", pid=process.pid)
                process.kill()
                process.join()
