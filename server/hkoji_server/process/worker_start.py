"""Starts the process of a worker.

On Linux it is forked from a process that has imported the work, and has no threads: the fork server of Python's
`multiprocessing`. So a worker is there at once, and shares the memory of what was imported with the others. Elsewhere
each worker is a new Python, because not all libraries of other systems work after a fork.
"""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize, get_temp_dir
from typing import Final

from hkoji.drafts import new_folder
from hkoji_server.log import log

Target = Callable[[socket.socket], None]
"""The work of a worker: serve the connections that come through this channel, until it closes (`handover.Taker`)."""

_AFTER_ITS_OWN: Final = -101
_STOPPING: Final = (signal.SIGTERM, signal.SIGINT)


def start(target: Target, channel: socket.socket, *, name: str) -> BaseProcess:
    """Starts a process that calls the importable `target` with `channel`, and returns it.

    SIGTERM ends it as usual. It ignores SIGINT: a terminal sends that to all processes, but it is the supervisor that
    stops the workers. Raises `OSError` if the system allows no more processes.
    """
    with _held_signals():
        process = _context(target).Process(target=_begin, args=(target, channel), name=name)  # type: ignore[attr-defined] # each context has one
        try:
            process.start()
        except EOFError:  # the fork server has ended because it could not fork
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
    assert isinstance(process, BaseProcess)
    return process


def _begin(target: Target, channel: socket.socket) -> None:
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
