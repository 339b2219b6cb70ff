"""One address behind which the service can be exchanged, so that it looks like one service with two histories."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Front:
    """Forwards each new connection to the current value of the port `to`."""

    def __init__(self, listener: socket.socket) -> None:
        self.to = 0
        self._listener = listener

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        """Serves until the listener is shut down and all forwarded connections have ended."""
        passing: list[threading.Thread] = []
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break
            passing.append(threading.Thread(target=self._connect, args=(connection, self.to), daemon=True))
            passing[-1].start()
        for thread in passing:
            thread.join(300)

    def _connect(self, connection: socket.socket, port: int) -> None:
        with connection, socket.create_connection(("127.0.0.1", port)) as service:
            back = threading.Thread(target=_pass, args=(service, connection), daemon=True)
            back.start()
            _pass(connection, service)
            back.join(300)


def _pass(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return  # one of the two has closed


@contextmanager
def front() -> Iterator[Front]:
    """An address for the duration of a block."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        made = Front(listener)
        thread = threading.Thread(target=made.serve, daemon=True)
        thread.start()
        yield made
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(300)
