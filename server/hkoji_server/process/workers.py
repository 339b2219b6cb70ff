"""Several worker processes on one address and one database. The supervisor accepts; a dead worker is replaced.

uvicorn has a supervisor too. But it does not wait until the workers are ready, restarts a failing worker without a
pause, leaves its workers running when it is killed, and lets them share their connections unevenly.
"""

from __future__ import annotations

import selectors
import signal
import socket
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Final

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.log import log
from hkoji_server.process import worker_start
from hkoji_server.process.handover import Giver
from hkoji_server.process.server import BACKLOG, PATIENCE
from hkoji_server.process.worker_start import Target

_SHORT_LIFE: Final = 5.0
_LONGEST_PAUSE: Final = 30.0
_AT_ONCE: Final = 64
_RETRY: Final = 0.02
_BREATH: Final = 0.5


@dataclass(slots=True)
class _WorkerSlot:
    """A slot for a worker: its process, if one runs, and when the next one may start."""

    number: int
    process: BaseProcess | None = None
    giver: Giver | None = None
    """The channel to the process; None once it has been closed at the other end."""
    started: float = 0.0
    pause: float = 0.0
    due: float = field(default=0.0)


class Workers:
    """Runs `target` in `count` processes until it is stopped, and calls `forget` with the process id of each that died.

    Each connection goes to the worker that has the fewest. `target` must be importable (`worker_start`).
    """

    def __init__(self, count: int, target: Target, listener: socket.socket, forget: Callable[[int], None]) -> None:
        self._slots = [_WorkerSlot(number) for number in range(count)]
        self._target = target
        self._listener = listener
        self._listener.setblocking(False)
        self._forget = forget
        self._stopped_by: int | None = None
        self._selector = selectors.DefaultSelector()
        # A signal must end the wait at once. Python runs the handler only after the wait, and a signal that comes just
        # before the wait does not interrupt it. So the system's own handler writes to this pair, and the wait reads it.
        self._awake, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        self._selector.register(self._awake, selectors.EVENT_READ)
        self._held: deque[socket.socket] = deque()
        """Connections that no worker could take yet. While there are any, no others are accepted."""
        self._accepting = False

    def run(self, ready: Callable[[], None]) -> int:
        """Serves, and calls `ready` when all workers are ready. Returns the signal that stopped it.

        Raises `StorageError` if one of the first workers cannot start.
        """
        before = {each: signal.signal(each, self._handle) for each in (signal.SIGTERM, signal.SIGINT)}
        woken_before = signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        starting = {slot.number for slot in self._slots}
        try:
            while self._stopped_by is None:
                self._fill()
                for slot in self._watch():
                    if slot.process is not None and not slot.process.is_alive():
                        self._handle_death(slot, first=slot.number in starting)
                    elif slot.number in starting and slot.giver is not None and slot.giver.ready:
                        starting.remove(slot.number)
                        if not starting:
                            self._listener.listen(BACKLOG)
                            self._accept_more(True)
                            ready()
                self._hand_over()
            log.debug("stopping", signal=self._stopped_by)
            return self._stopped_by
        finally:
            self._selector.close()
            self._listener.close()
            for held in self._held:
                held.close()
            self._stop()
            for slot in self._slots:
                if slot.giver is not None:
                    slot.giver.close()
            for each, handler in before.items():
                signal.signal(each, handler)
            signal.set_wakeup_fd(woken_before)
            self._awake.close()
            self._wake.close()

    def _handle(self, sig: int, _: FrameType | None) -> None:
        self._stopped_by = self._stopped_by or sig

    def _fill(self) -> None:
        now = time.monotonic()
        for slot in self._slots:
            if slot.process is None and slot.due <= now and self._stopped_by is None:
                self._start(slot, now)

    def _start(self, slot: _WorkerSlot, now: float) -> None:
        # The worker has one end of the channel, and this process closes its own copy of that end. So when one of the
        # two processes ends, the other notices that the channel is closed.
        channel, worker_channel = socket.socketpair()
        slot.process = worker_start.start(self._target, worker_channel, name=f"hkoji-worker-{slot.number}")
        worker_channel.close()
        slot.giver, slot.started = Giver(channel), now
        self._selector.register(slot.giver, selectors.EVENT_READ, slot)
        self._selector.register(slot.process.sentinel, selectors.EVENT_READ, slot)

    def _watch(self) -> list[_WorkerSlot]:
        """Waits, accepts connections, and returns the workers of which there is news."""
        pauses = [max(0.0, slot.due - time.monotonic()) for slot in self._slots if slot.process is None]
        if self._held:
            pauses.append(_RETRY)
        news: dict[int, _WorkerSlot] = {}
        for key, _ in self._selector.select(min(pauses, default=None)):
            slot = key.data
            if key.fileobj is self._awake:
                self._awake.recv(64)
            elif key.fileobj is self._listener:
                self._accept()
            elif isinstance(slot, _WorkerSlot):
                news[slot.number] = slot
                if key.fileobj is slot.giver and not slot.giver.hear():
                    self._close(slot)
        return list(news.values())

    def _close(self, slot: _WorkerSlot) -> None:
        if slot.giver is not None:
            self._selector.unregister(slot.giver)
            slot.giver.close()
            slot.giver = None

    # --- connections ----------------------------------------------------------------------------------------------

    def _accept_more(self, wanted: bool) -> None:
        if wanted and not self._accepting:
            self._selector.register(self._listener, selectors.EVENT_READ)
        elif self._accepting and not wanted:
            self._selector.unregister(self._listener)
        self._accepting = wanted

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                self._held.append(self._listener.accept()[0])
            except BlockingIOError:
                return
            except ConnectionAbortedError:  # the client has gone already
                continue
            except OSError as error:  # usually because the system allows no more open files
                log.warning("could not accept a connection", reason=error.strerror)
                time.sleep(_BREATH)
                return

    def _hand_over(self) -> None:
        """Hands over the connections that are held, each to the ready worker that has the fewest."""
        while self._held:
            givers = [slot.giver for slot in self._slots if slot.giver is not None and slot.giver.ready]
            if not any(each.give(self._held[0]) for each in sorted(givers, key=lambda each: each.open)):
                self._accept_more(False)
                return
            self._held.popleft().close()
            if not self._held:
                self._accept_more(True)

    # --- the end --------------------------------------------------------------------------------------------------

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
        self._close(slot)
        self._selector.unregister(slot.process.sentinel)
        slot.process.close()
        slot.process = None

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
