"""The service of local play with its games in memory, and with lists of them. It records requests, and fails on demand.

`MemoryService` is honest. Tests make it dishonest or broken by changing its answers (`tamper`) or its lists.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hkoji import referee
from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.client.transport import HttpAnswer
from hkoji.game.agreement import UNTIMED, Agreement, read_agreement
from hkoji.game.course import Stage
from hkoji.game.dealer import SEALED_V1
from hkoji.game.position import summarise
from hkoji.local import local_service as local
from hkoji.local.local_service import LocalGameFiles, LocalTransport
from hkoji.log.line import Line, line_to_json
from hkoji.log.private_key import PrivateKey
from hkoji.referee import RefereedGame
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import parse_ruleset
from tests.support.commands import Commands

__all__ = ["AT", "URL", "LocalPlayer", "LocalTransport", "MemoryService", "begin", "play_on", "registered"]

URL = "http://127.0.0.1:9"
AT = "2026-11-20T12:00:00Z"


@dataclass
class Game:
    """A game: its referee's state, its lines, and how many entries were accepted."""

    refereed: RefereedGame
    lines: list[Line]
    receipts: int = 0


@dataclass
class Memory(local.LocalStore):
    """A store without files."""

    private: PrivateKey
    names: dict[str, str] = field(default_factory=dict)
    tables: dict[str, Game] = field(default_factory=dict)

    def locked(self) -> AbstractContextManager[None]:
        return nullcontext()

    def key(self, entropy: Callable[[int], bytes]) -> PrivateKey:
        return self.private

    def players(self) -> dict[str, str]:
        return self.names

    def add_player(self, name: str, key: str) -> None:
        self.names[name] = key

    def load(self, game: str) -> LocalGameFiles | None:
        found = self.tables.get(game)
        return LocalGameFiles(found.refereed, tuple(found.lines)) if found else None

    def keep(self, game: str, kept: LocalGameFiles) -> None:
        if game not in self.tables:
            self.tables[game] = Game(kept.refereed, list(kept.lines))
            return
        found = self.tables[game]
        found.receipts += 1
        found.refereed, found.lines = kept.refereed, list(kept.lines)


class MemoryService(local.LocalService):
    """The service, which lists its games, too. All its randomness comes from one seed."""

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.memory = Memory(PrivateKey.from_seed(self.random.randbytes(32)))
        super().__init__(self.memory, URL, self.random.randbytes, lambda: AT)
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[bytes | None] = []
        self.tamper: Callable[[str, str, HttpAnswer], HttpAnswer] = lambda _method, _path, answer: answer
        self.before: Callable[[str, str], None] = lambda _method, _path: None
        self.after: Callable[[str, str], None] = lambda _method, _path: None

    @property
    def games(self) -> dict[str, Game]:
        """The games, for tests to inspect and change."""
        return self.memory.tables

    @property
    def players(self) -> dict[str, str]:
        """The players' keys by name."""
        return self.memory.names

    @property
    def key(self) -> PrivateKey:
        """The service's key."""
        return self.memory.private

    @key.setter
    def key(self, key: PrivateKey) -> None:
        self.memory.private = key

    def answer(self, method: str, path: str, body: bytes | None, token: str | None) -> HttpAnswer:
        """The service's answer, after `tamper`."""
        self.before(method, path)
        self.requests.append((method, path))
        self.bodies.append(body)
        answer = self.tamper(method, path, super().answer(method, path, body, token))
        self.after(method, path)
        return answer

    def _answer(
        self, method: str, path: str, query: dict[str, list[str]], body: bytes, token: str | None
    ) -> tuple[int, Any]:
        match (method, *path.strip("/").split("/")[1:]):
            case ("GET", *me, "games"):
                listed = self._list(query, self._player(token) if me else None)
                if query.get("joinable") == ["true"]:
                    mine = self._player(token)
                    listed = [each for each in listed if each["host"] != mine and each["invite"] in (None, mine)]
                return 200, {"games": listed, "next": None}
        return super()._answer(method, path, query, body, token)

    def _offer(self, options: Any) -> tuple[int, Any]:  # Any: JSON
        """Offers sealed games too, which local play never does."""
        if options.get("dealer") != SEALED_V1:
            return super()._offer(options)
        ruleset, agreement = parse_ruleset(options["ruleset"]), read_agreement(options["agreement"])
        game = self.random.randbytes(16).hex()
        accepted = referee.offer(game, ruleset, None, signer=self.key, at=self._now(), agreement=agreement)
        self.memory.keep(game, LocalGameFiles(accepted.refereed, accepted.lines))
        return 201, {"game": game, "line": line_to_json(accepted.lines[0])}

    def _list(self, query: dict[str, list[str]], player: str | None) -> list[dict[str, Any]]:  # Any: JSON
        prefix, status = query.get("prefix", [""])[0], query.get("status", [None])[0]
        only_waiting = query.get("waiting") == ["true"]
        found = []
        for game in self.memory.tables:
            refereed, lines = self._game(game)
            course = refereed.course
            summary = summarise(course, lines[0], lines[-1])
            summary |= {"agreement": course.setup.agreement.to_json(), "deadline": referee.deadline(refereed)}
            summary |= {"overdue": False}  # nobody waits for a time here
            owes = player == summary["to_move"]
            if course.stage is Stage.OPEN or not game.startswith(prefix) or status not in (None, course.status):
                continue
            if player is not None and player not in course.setup.names and not owes:
                continue
            if player is None and summary["by_link"]:
                continue
            if owes or not only_waiting:
                found.append(summary)
        return sorted(found, key=lambda each: str(each["updated"]), reverse=True)


@dataclass
class LocalPlayer(Commands):
    """A player: a home, and a new client over it for each command."""

    service: MemoryService
    name: str
    path: Path
    said: list[str] = field(default_factory=list)

    @property
    def client(self) -> Client:
        """A fresh client, as a new process would have it."""
        return Client(Home(self.path), connect=lambda url: LocalTransport(url, self.service), say=self.said.append)

    def folder(self, game: str) -> Path:
        return self.path / "games" / game


def registered(service: MemoryService, name: str, path: Path) -> LocalPlayer:
    """A registered player."""
    seat = LocalPlayer(service, name, path)
    create(Home(path), name, None, service.random.randbytes(32))
    seat.client.register(URL)
    return seat


def begin(alice: LocalPlayer, bob: LocalPlayer, ruleset: Ruleset | None = None, agreement: Agreement = UNTIMED) -> str:
    """A game up to the host's first decision."""
    game = alice.client.new(ruleset or Hanamikoji(), agreement=agreement).course.setup.game
    bob.join(game)
    assert alice.position(game).course.stage is Stage.PLAY
    return game


@contextmanager
def playing(service: MemoryService, player: LocalPlayer, game: str, which: int = -1) -> Iterator[None]:
    """Makes the player move whenever the service is asked for anything, during the block."""
    busy = False

    def move(*_: str) -> None:
        nonlocal busy
        if busy:
            return
        busy = True
        position = player.position(game)
        if position.legal:
            player.move(game, position.legal[which])
        busy = False

    service.before = move
    try:
        yield
    finally:
        service.before = lambda *_: None


def play_on(players: tuple[LocalPlayer, LocalPlayer], game: str, moves: int, seed: int = 1) -> None:
    """Random moves by the seat that is to move."""
    chance = random.Random(seed)
    for _ in range(moves):
        for player in players:
            position = player.position(game)
            if position.legal:
                player.move(game, chance.choice(position.legal))
                break
