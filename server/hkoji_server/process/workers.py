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
"""The work of a worker: serve on the socket, report that on the first connection, stop when the second ends."""

_SHORT_LIFE: Final = 5.0
_LONGEST_PAUSE: Final = 30.0


@dataclass(slots=True)
class _WorkerSlot:
    """A slot for a worker: its process, if there is one, and when the next one may be started."""

    number: int
    process: SpawnProcess | None = None
    told: Connection | None = None
    lifeline: Connection | None = None
    started: float = 0.0
    pause: float = 0.0
    due: float = field(default=0.0)


class Workers:
    """Runs `target` in so many processes until it is stopped. `target` must be importable: processes are spawned."""

    def __init__(self, count: int, target: Target, listener: socket.socket, gone: Callable[[int], None]) -> None:
        self._places = [_WorkerSlot(number) for number in range(count)]
        self._target = target
        self._listener = listener
        self._gone = gone
        self._context = multiprocessing.get_context("spawn")
        self._stopped_by: int | None = None
        # A signal must end the wait at once: its handler writes to this pipe, and the wait reads it.
        self._awake, self._wake = multiprocessing.Pipe(duplex=False)

    def run(self, ready: Callable[[], None]) -> int:
        """Serves; calls `ready` when all workers serve for the first time. Returns the signal that ended it.

        Raises `StorageError` if the first ones cannot start.
        """
        before = {each: signal.signal(each, self._handle) for each in (signal.SIGTERM, signal.SIGINT)}
        waiting = {place.number for place in self._places}
        try:
            while self._stopped_by is None:
                self._fill()
                for place in self._watch():
                    if self._is_ready(place):
                        waiting.discard(place.number)
                        if not waiting:
                            ready()
                            waiting = {-1}
                    elif place.process and not place.process.is_alive():
                        self._bury(place, first=place.number in waiting)
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
        for place in self._places:
            if place.process is None and place.due <= now and self._stopped_by is None:
                self._start(place, now)

    def _start(self, place: _WorkerSlot, now: float) -> None:
        told, telling = self._context.Pipe(duplex=False)
        kept, lifeline = self._context.Pipe(duplex=False)
        place.process = self._context.Process(
            target=self._target, args=(self._listener, telling, kept), name=f"hkoji-worker-{place.number}"
        )
        place.process.start()
        telling.close()
        kept.close()
        place.told, place.lifeline, place.started = told, lifeline, now

    def _watch(self) -> list[_WorkerSlot]:
        """Returns the workers that have become ready or died."""
        places: dict[object, _WorkerSlot] = {}
        for place in self._places:
            if place.process is not None:
                places[place.process.sentinel] = place
                if place.told is not None:
                    places[place.told] = place
        dues = [place.due for place in self._places if place.process is None]
        pause = max(0.0, min(dues) - time.monotonic()) if dues else None
        news = wait([*places, self._awake], pause)  # type: ignore[list-item] # sentinels and connections
        return list({places[each].number: places[each] for each in news if each in places}.values())

    def _is_ready(self, place: _WorkerSlot) -> bool:
        if place.told is None or not place.told.poll():
            return False
        try:
            place.told.recv_bytes()
            ready = True
        except (EOFError, OSError):
            ready = False
        place.told.close()
        place.told = None
        return ready

    def _bury(self, place: _WorkerSlot, *, first: bool) -> None:
        assert place.process is not None
        place.process.join()
        code, pid = place.process.exitcode, place.process.pid or 0
        log.error("worker died", worker=place.number, pid=pid, code=code)
        self._gone(pid)
        if first:
            raise StorageError(
                tell("a worker could not start; its exit code is {code}", code=code),
                hint=tell("it has said why; nothing was changed"),
            )
        now = time.monotonic()
        place.pause = min(_LONGEST_PAUSE, place.pause * 2 or 0.25) if now - place.started < _SHORT_LIFE else 0.0
        place.due = now + place.pause
        for each in (place.lifeline, place.told):
            if each is not None:
                each.close()
        place.process.close()
        place.process = place.told = place.lifeline = None

    def _stop(self) -> None:
        """Asks all workers to finish their requests, and kills those that do not stop."""
        living = [place.process for place in self._places if place.process is not None]
        for process in living:
            process.terminate()
        end = time.monotonic() + PATIENCE + 5
        for process in living:
            process.join(max(0.0, end - time.monotonic()))
            if process.is_alive():
                log.error("worker did not stop", pid=process.pid)
                process.kill()
                process.join()
