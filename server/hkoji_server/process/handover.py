"""Hands accepted connections from the supervisor to its workers, over a socket between the two processes.

The supervisor sends one byte with each connection (its file descriptor, unix(7), SCM_RIGHTS). The worker sends one byte
when it is ready, and one for each of its connections that has ended. Either side sees at once when the other has ended.

Workers that accept from a shared socket do not share evenly: of connections that arrive together, the worker that wakes
up first takes nearly all, and keeps them. Then one core makes all moves, which the benchmark `moves` would show.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_BYTE: Final = b"."
_MOST_BYTES: Final = 4096
_MOST_CONNECTIONS: Final = 64
_BREATH: Final = 0.5


class Giver:
    """The supervisor's end of the channel to a worker."""

    def __init__(self, channel: socket.socket) -> None:
        channel.setblocking(False)
        self._channel: Final = channel
        self.ready = False
        self.open = 0
        """How many connections the worker has, those on their way included."""

    def fileno(self) -> int:
        """The channel's file descriptor, for selectors."""
        return self._channel.fileno()

    def give(self, connection: socket.socket) -> bool:
        """Hands over `connection`, which the caller then closes. Returns whether the worker can take it now."""
        try:
            socket.send_fds(self._channel, [_BYTE], [connection.fileno()])
        except OSError:  # the channel is full, or the worker is stopping
            return False
        self.open += 1
        return True

    def hear(self) -> bool:
        """Reads all that the worker has reported. Returns False when the worker has ended."""
        while True:
            try:
                count = len(self._channel.recv(_MOST_BYTES))
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not count:
                return False
            self.open -= count if self.ready else count - 1
            self.ready = True

    def close(self) -> None:
        """Closes the channel, which stops the worker."""
        self._channel.close()


class Taker:
    """The worker's end of the channel to its supervisor."""

    def __init__(self, channel: socket.socket) -> None:
        channel.setblocking(False)
        self._channel: Final = channel
        self._unreported = 0

    def start(self, take: Callable[[socket.socket], None], orphaned: Callable[[], None]) -> None:
        """Reports that the worker is ready.

        From now on it calls `take` with each connection, and `orphaned` when the supervisor has ended.
        """

        def read() -> None:
            for _ in range(_MOST_CONNECTIONS):
                try:
                    data, files, _flags, _address = socket.recv_fds(self._channel, 1, 1)
                except BlockingIOError:
                    return
                except OSError:
                    data, files = b"", []
                for file in files:
                    take(socket.socket(fileno=file))
                if data and not files:  # this process may open no more files, so the system has closed the connection
                    self.report()
                if not data:
                    asyncio.get_running_loop().remove_reader(self._channel)
                    orphaned()
                    return

        asyncio.get_running_loop().add_reader(self._channel, read)
        self.report()

    def report(self) -> None:
        """Reports that one more connection has ended."""
        self._unreported += 1
        with suppress(OSError):  # the channel is full, or the supervisor has ended; the next report makes up for it
            self._unreported -= self._channel.send(_BYTE * self._unreported)

    def stop(self) -> None:
        """Takes no more connections."""
        asyncio.get_running_loop().remove_reader(self._channel)
        with suppress(OSError):  # the supervisor has ended
            self._channel.shutdown(socket.SHUT_RD)


class Acceptor:
    """Accepts in a process that has no supervisor, and has the members of a worker's `Taker`.

    With TLS, uvicorn itself would let any number of handshakes go on, each for a minute.
    """

    def __init__(self, listener: socket.socket, backlog: int) -> None:
        listener.setblocking(False)
        self._listener: Final = listener
        self._backlog = backlog

    def start(self, take: Callable[[socket.socket], None], orphaned: Callable[[], None]) -> None:  # noqa: ARG002 # it has no supervisor that could end
        """Calls `take` with each connection from now on."""
        loop = asyncio.get_running_loop()

        def accept() -> None:
            for _ in range(_MOST_CONNECTIONS):
                try:
                    take(self._listener.accept()[0])
                except (BlockingIOError, ConnectionAbortedError):
                    return
                except OSError:  # usually because the system allows no more open files
                    loop.remove_reader(self._listener)
                    loop.call_later(_BREATH, go_on)
                    return

        def go_on() -> None:
            if self._listener.fileno() >= 0:
                loop.add_reader(self._listener, accept)

        self._listener.listen(self._backlog)
        go_on()

    def report(self) -> None:
        """Does nothing: nobody counts the connections."""

    def stop(self) -> None:
        """Takes no more connections."""
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
