"""Players whose clients talk to the real application in this process; any request can be interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.client.transport import HttpAnswer
from hkoji.log.line import Line, parse_log
from tests.support.commands import Commands, NearTransport
from tests.support.service_in_process import Inside, inside

URL = "http://inside"


@dataclass
class Hall:
    """A service, with hooks before and after each request."""

    service: Inside
    before: Callable[[str, str], None] = lambda _method, _path: None
    after: Callable[[str, str], None] = lambda _method, _path: None

    def lines(self, game: str) -> tuple[Line, ...]:
        return parse_log(self.service.ask("GET", f"/v1/games/{game}/log").body)


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    """For test files that import it."""
    with inside(tmp_path / "data") as service:
        yield Hall(service)


class HallTransport(NearTransport):
    """The transport to a service in this process: a function call."""

    def __init__(self, url: str, hall: Hall) -> None:
        super().__init__(url)
        self._hall = hall

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        self._hall.before(method, path)
        answer = self._hall.service.ask(method, path, token=token, raw=body or b"")
        self._hall.after(method, path)
        return HttpAnswer(answer.status, answer.body)


@dataclass
class HallPlayer(Commands):
    """A player: a home, and a new client over it for each command."""

    halls: dict[str, Hall]
    name: str
    path: Path
    said: list[str] = field(default_factory=list)
    drawn: int = 0

    @property
    def client(self) -> Client:
        return Client(
            Home(self.path),
            entropy=self.draw,
            connect=lambda url: HallTransport(url, self.halls[url]),
            say=self.said.append,
        )

    def draw(self, size: int) -> bytes:
        from hashlib import sha256

        self.drawn += 1
        return sha256(f"{self.path} {self.drawn}".encode()).digest()[:size]

    def folder(self, game: str) -> Path:
        return self.path / "games" / game


def arrived(halls: dict[str, Hall], name: str, path: Path) -> HallPlayer:
    """A player registered at all services, last at `URL`."""
    guest = HallPlayer(halls, name, path)
    create(Home(path), name, None, guest.draw(32))
    for url in sorted(halls, reverse=True):
        guest.client.register(url)
    return guest
