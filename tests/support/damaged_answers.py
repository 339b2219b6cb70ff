"""A command's honest answers, recorded once, and told again with one text of them damaged.

The clients' clock stands still and their randomness is seeded, so that a command asks the same again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from hkoji.client import Client, Home, doctor
from hkoji.client.transport import HttpAnswer, Transport
from tests.support import chance
from tests.support.commands import NearTransport
from tests.support.interrupted_players import Hall, HallTransport
from tests.support.lying_proxy import leaves, replaced
from tests.support.shell import Done, run

_NAME = " (name)"
Request = tuple[str, str, bytes | None]
_ELSE = HttpAnswer(404, b'{"code": "not-found", "detail": "no"}')
"""The answer to a request that the honest answers did not lead to."""
_DISK = shutil.disk_usage("/")
"""The findings of `doctor`, however much others write meanwhile."""


class Told(NamedTuple):
    """A request and its answer."""

    request: Request
    answer: HttpAnswer


class DamagedPlace(NamedTuple):
    """A text of an answer: which answer, what kind of place, and how the answer's body is with another text there."""

    number: int
    kind: str
    damage: Callable[[str], bytes]

    @property
    def is_name(self) -> bool:
        """Whether it is the name of a field."""
        return self.kind.endswith(_NAME)


class ListeningTransport(HallTransport):
    """Keeps what is asked and answered."""

    def __init__(self, url: str, hall: Hall, told: list[Told]) -> None:
        super().__init__(url, hall)
        self._told = told

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        answer = super().request(method, path, body, token)
        self._told.append(Told((method, path, body), answer))
        return answer


@dataclass
class Retelling:
    """Tells recorded answers in their order, one of them damaged; after that, whatever fits the request."""

    told: Sequence[Told]
    number: int = -1
    body: bytes = b""
    asked: list[Request] = field(default_factory=list)

    @property
    def reached(self) -> bool:
        """Whether the damaged answer was told."""
        return len(self.asked) > self.number

    def answer(self, request: Request) -> HttpAnswer:
        number = len(self.asked)
        self.asked.append(request)
        if number <= self.number or self.number < 0:
            assert request == self.told[number].request, (request, self.told[number].request)
            found = self.told[number].answer
            return found._replace(body=self.body) if number == self.number else found
        return next((each.answer for each in self.told if each.request[:2] == request[:2]), _ELSE)


class RetellingTransport(NearTransport):
    """The transport to a retelling."""

    def __init__(self, url: str, retelling: Retelling) -> None:
        super().__init__(url)
        self._retelling = retelling

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        return self._retelling.answer((method, path, body))


@dataclass
class _Seat:
    """A player at home, with a transport of the test's choice."""

    home: Path
    connect: Callable[[str], Transport]

    @property
    def client(self) -> Client:
        return Client(Home(self.home), connect=self.connect)


class Recording:
    """A command as it was at an honest service: what it asked, was answered and said, and the home before it."""

    def __init__(self, hall: Hall, home: Path, words: Sequence[str], folder: Path) -> None:
        """Gives the command; `home` goes on. A copy of it as it was is in `folder`."""
        self.words = tuple(words)
        self.told: list[Told] = []
        self._before, self._home = folder, home
        shutil.copytree(home, folder)
        self.done = self._run(lambda url: ListeningTransport(url, hall, self.told))

    def again(self, place: DamagedPlace | None = None, text: str = "") -> tuple[Done, Retelling]:
        """Gives the command again in the home as it was, with honest answers, or with `text` at a place of them."""
        shutil.rmtree(self._home)
        shutil.copytree(self._before, self._home)
        telling = Retelling(self.told, place.number, place.damage(text)) if place else Retelling(self.told)
        return self._run(lambda url: RetellingTransport(url, telling)), telling

    def _run(self, connect: Callable[[str], Transport]) -> Done:
        before = chance.begin(" ".join(self.words))
        try:
            with (
                patch.dict(os.environ, {"HKOJI_HOME": str(self._home)}),
                patch.object(doctor, "examine", partial(doctor.examine, connect=connect, clock=lambda: chance.NOON)),
                patch.object(shutil, "disk_usage", return_value=_DISK),
            ):
                return run(*self.words, seat=_Seat(self._home, connect))
        finally:
            chance.go_on(before)

    def places(self) -> Iterator[DamagedPlace]:
        """Every text of every answer, names of fields included."""
        for number, (request, answer) in enumerate(self.told):
            route = f"{request[0]} {_without_ids(request[1].partition('?')[0])}"
            for kind, damage in _texts(answer.body):
                yield DamagedPlace(number, f"{route} {kind}", damage)


def _without_ids(text: str) -> str:
    return re.sub(r"[0-9a-f]{8,}", "*", text)


def _texts(body: bytes) -> Iterator[tuple[str, Callable[[str], bytes]]]:
    """The texts of JSON, or of a log with what is inside of its entries: kind of place, and the body with another."""
    lines = body.decode().splitlines()
    for at, line in enumerate(lines):
        value = json.loads(line)
        for number, kind in enumerate(_names(value)):
            yield kind, partial(_damaged, lines, at, partial(replaced, value, number))
        if isinstance(value, dict) and isinstance(value.get("entry"), str):
            inner = json.loads(value["entry"])
            for number, kind in enumerate(_names(inner)):
                yield f"{inner['kind']} {kind}", partial(_damaged, lines, at, partial(_entry, value, inner, number))


def _damaged(lines: Sequence[str], at: int, line: Callable[[str], Any], text: str) -> bytes:
    """The lines with another one at one place."""
    return "".join(f"{each}\n" for each in (*lines[:at], _written(line(text)), *lines[at + 1 :])).encode()


def _entry(value: dict[str, Any], inner: Any, number: int, text: str) -> dict[str, Any]:  # Any: JSON
    """A line with a text of its entry replaced."""
    return {**value, "entry": _written(replaced(inner, number, text))}


def _written(value: Any) -> str:  # Any: JSON
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _names(value: Any, place: str = "") -> list[str]:  # Any: JSON
    """For each text of a value, in the order of `leaves`: where it is, without ids and numbers of elements."""
    if isinstance(value, dict):
        found = []
        for name, inner in value.items():
            below = f"{place}.{_without_ids(name)}"
            found += [f"{below}{_NAME}", *_names(inner, below)]
    elif isinstance(value, list):
        found = [each for inner in value for each in _names(inner, f"{place}[]")]
    else:
        found = [place]
    assert len(found) == leaves(value)
    return found
