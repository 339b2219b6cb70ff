"""Several worker processes on one address and one database. The supervisor accepts; a dead worker is replaced.

On Linux a worker is forked from a process that has imported the work, and has no threads: the fork server of Python's
`multiprocessing`. So a worker is there at once, and shares the memory of what was imported with the others. Elsewhere
each worker is a new Python, because not all libraries of other systems work after a fork.

A worker lives as long as its channel is open, and as long as no other process has its number. The fork server alone
could say when a process that it has forked ends, but it may end before. If a worker cannot be started now, the
supervisor tries again after a pause. Neither ends the other workers.

uvicorn has a supervisor too. But it does not wait until the workers are ready, restarts a failing worker without a
pause, leaves its workers running when it is killed, and lets them share their connections unevenly.
"""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize, get_temp_dir
from types import FrameType
from typing import Final

from hkoji.drafts import new_folder
from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.log import log
from hkoji_server.process.handover import Giver
from hkoji_server.process.server import BACKLOG, PATIENCE

Target = Callable[[socket.socket], None]
"""The work of a worker: serve the connections that come through this channel, until it closes (`handover.Taker`)."""

_AFTER_ITS_OWN: Final = -101
_STOPPING: Final = (signal.SIGTERM, signal.SIGINT)


def start_worker(target: Target, channel: socket.socket, *, name: str) -> BaseProcess:
    """Starts a process that calls the importable `target` with `channel`, and returns it.

    SIGTERM ends it as usual. It ignores SIGINT: a terminal sends that to all processes, but it is the supervisor that
    stops the workers. Raises `OSError` if the system allows no more processes.
    """
    with _held_signals():
        process = _context(target).Process(target=_begin_work, args=(target, channel), name=name)  # type: ignore[attr-defined] # each context has one
        try:
            process.start()
        except EOFError:  # the fork server has ended because it could not fork
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
    assert isinstance(process, BaseProcess)
    return process


def _begin_work(target: Target, channel: socket.socket) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
    gc.freeze()  # the collector would write to each object that was imported, and so end the sharing of its memory
    target(channel)


@contextmanager
def _held_signals() -> Iterator[None]:
    """Holds signals that stop a service back from this process, and from those that start meanwhile for ever.

    A process manager may send them to all processes of a service. The fork server must then wait for the workers: it
    alone knows when they end. A worker takes signals when it has begun.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # when it starts, it lets the signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context(target: Target) -> BaseContext:
    if sys.platform == "linux":
        context = multiprocessing.get_context("forkserver")
        work = target.func if isinstance(target, partial) else target
        context.set_forkserver_preload([work.__module__])
        try:
            _make_folder()
            forkserver.ensure_running()
        except OSError as error:  # it needs a folder for temporary files
            log.warning("workers cannot be forked, and start slowly", reason=error.strerror)
        else:
            return context
    return multiprocessing.get_context("spawn")


@cache
def _make_folder() -> None:
    """Gives the socket of the fork server a folder that the next service removes if this one is killed.

    `multiprocessing` makes its own with the first socket, and no name says whose it is. So it gets a place for it.
    """
    made = new_folder("workers")
    # A lower priority comes later: after `multiprocessing` has removed its folder within this one.
    Finalize(None, shutil.rmtree, args=(made,), kwargs={"ignore_errors": True}, exitpriority=_AFTER_ITS_OWN)
    before, tempfile.tempdir = tempfile.tempdir, str(made)
    try:
        get_temp_dir()
    finally:
        tempfile.tempdir = before


_SHORT_LIFE: Final = 5.0
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 30.0
_AT_ONCE: Final = 64
_RETRY: Final = 0.02
_BREATH: Final = 0.5
_LAST_STEPS: Final = 1.0
"""The seconds that a process gets to end after it has closed its channel."""


@dataclass(slots=True)
class _WorkerSlot:
    """A slot for a worker: its process, if one runs, and when the next one may start."""

    number: int
    process: BaseProcess | None = None
    giver: Giver | None = None
    started: float = 0.0
    pause: float = 0.0
    due: float = field(default=0.0)

    def postpone(self) -> None:
        """Doubles the pause before the next start."""
        self.pause = min(_LONGEST_PAUSE, self.pause * 2 or _FIRST_PAUSE)
        self.due = time.monotonic() + self.pause


class Workers:
    """Runs `target` in `count` processes until it is stopped, and calls `forget` with the process id of each that died.

    Each connection goes to the worker that has the fewest. `target` must be importable (`start_worker`).
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
                self._fill(starting)
                for slot, living in self._watch():
                    if not living:
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

    def _fill(self, starting: Collection[int]) -> None:
        for slot in self._slots:
            if slot.process is None and slot.due <= time.monotonic() and self._stopped_by is None:
                try:
                    self._start(slot)
                except OSError as error:  # usually because the system allows no more processes or open files
                    if slot.number in starting:
                        raise StorageError(
                            tell("a worker could not start: {reason}", reason=error.strerror),
                            hint=tell("nothing was changed; give the same command again later"),
                        ) from error
                    slot.postpone()
                    log.error("could not start a worker", worker=slot.number, reason=error.strerror, again=slot.pause)

    def _start(self, slot: _WorkerSlot) -> None:
        # The worker has one end of the channel, and this process closes its own copy of that end. So when one of the
        # two processes ends, the other notices that the channel is closed.
        channel, worker_channel = socket.socketpair()
        with worker_channel:
            try:
                slot.process = start_worker(self._target, worker_channel, name=f"hkoji-worker-{slot.number}")
            except OSError:
                channel.close()
                raise
        slot.giver, slot.started = Giver(channel), time.monotonic()
        self._selector.register(slot.giver, selectors.EVENT_READ, slot)

    def _watch(self) -> list[tuple[_WorkerSlot, bool]]:
        """Waits, accepts connections, and returns the workers of which there is news, with whether they live."""
        pauses = [max(0.0, slot.due - time.monotonic()) for slot in self._slots if slot.process is None]
        if self._held:
            pauses.append(_RETRY)
        news: list[tuple[_WorkerSlot, bool]] = []
        for key, _ in self._selector.select(min(pauses, default=None)):
            if key.fileobj is self._awake:
                self._awake.recv(64)
            elif key.fileobj is self._listener:
                self._accept()
            elif isinstance(key.fileobj, Giver):
                news.append((key.data, key.fileobj.hear()))
        return news

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
        assert slot.giver is not None
        _see_off(slot.process)
        code, pid = slot.process.exitcode, slot.process.pid or 0
        log.error("worker died", worker=slot.number, pid=pid, code=code)
        self._forget(pid)
        if first:
            raise StorageError(
                tell("a worker could not start; its exit code is {code}", code=code),
                hint=tell("see the log lines of the worker; nothing was changed"),
            )
        if time.monotonic() - slot.started < _SHORT_LIFE:
            slot.postpone()
        else:
            slot.pause = slot.due = 0.0
        self._selector.unregister(slot.giver)
        slot.giver.close()
        slot.process.close()
        slot.giver = slot.process = None

    def _stop(self) -> None:
        """Asks all workers to finish their requests, and kills those that do not stop."""
        living = [(slot.process, slot.giver) for slot in self._slots if slot.process and slot.giver]
        for process, giver in living:
            _send_signal(process, giver, signal.SIGTERM)
        end = time.monotonic() + PATIENCE + 5
        for process, giver in living:
            while giver.hear():
                if not wait([giver.fileno()], max(0.0, end - time.monotonic())):
                    log.error("worker did not stop", pid=process.pid)
                    _send_signal(process, giver, signal.SIGKILL)
                    break
            _see_off(process)


def _send_signal(process: BaseProcess, giver: Giver, sig: int) -> None:
    """Sends a worker a signal, if it lives. `multiprocessing` does not if the fork server has ended."""
    if giver.hear() and process.pid is not None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, sig)


def _see_off(process: BaseProcess) -> None:
    """Waits for the end of a process that has closed its channel."""
    process.join(_LAST_STEPS)
    process.kill()
    process.join()
