"""Players whose clients talk to a real service in this process, with one clock that the test moves for all of them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.client.transport import HeardTime, HttpAnswer
from hkoji.game.agreement import Agreement, parse_time_control
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support import chance
from tests.support.commands import Commands, NearTransport
from tests.support.service_in_process import Inside
from tests.support.shell import Done, run
from tests.support.timed_games import inside_with_keeper, let_keepers_look

URL = "http://inside"
DAY = 86400


class InsideTransport(NearTransport):
    """A transport to a service in this process. `asked` has the requests."""

    def __init__(self, world: TimedWorld) -> None:
        super().__init__(URL)
        self._world = world

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        self._world.asked.append(f"{method} {path}")
        answer = self._world.service.ask(method, path, token=token, raw=body or b"")
        if self._world.players_ahead is not None:
            now = time.time()
            date = formatdate(int(now) - self._world.players_ahead, usegmt=True)
            self.heard = HeardTime(date, now)
        wait = answer.headers.get("retry-after")
        made = HttpAnswer(answer.status, answer.body, retry_after=int(wait) if wait else None)
        return self._world.tamper(path, made)


@dataclass
class TimedWorld:
    """The service, and the time that passes for it and for the players."""

    service: Inside
    asked: list[str] = field(default_factory=list)
    tamper: Callable[[str, HttpAnswer], HttpAnswer] = lambda _path, answer: answer
    """Makes of the answer for a path what players get. Tests replace it to make the service dishonest."""

    players_ahead: int | None = None
    """By how many seconds the players' clocks are ahead of the service's, whose answers then have a date."""

    def set_players_ahead(self, seconds: int) -> None:
        """Sets the players' clocks, and lets answers have a date."""
        chance.NOON += seconds - (self.players_ahead or 0)
        self.players_ahead = seconds

    def pass_by(self, seconds: int) -> None:
        """Lets time pass for the service and the players."""
        self.service.clock.pass_by(seconds)
        chance.NOON += seconds

    def let_keepers_look(self) -> None:
        """Gives the service the time to end games."""
        let_keepers_look(self.service)


@dataclass
class TimedPlayer(Commands):
    """A player, with a new client for each command."""

    world: TimedWorld
    name: str
    path: Path
    said: list[str] = field(default_factory=list)

    @property
    def client(self) -> Client:
        return Client(Home(self.path), connect=lambda _: InsideTransport(self.world), say=self.said.append)

    def folder(self, game: str) -> Path:
        return self.path / "games" / game

    def __call__(self, *words: str) -> Done:
        """The command line."""
        return run(*words, seat=self)


@contextmanager
def timed_world(folder: Path, **settings: Any) -> Iterator[TimedWorld]:  # Any: settings by name
    """A service that allows short clocks, for the duration of a block."""
    before = chance.NOON
    with inside_with_keeper(folder / "data", shortest_clock=1, **settings) as service:
        try:
            yield TimedWorld(service)
        finally:
            chance.NOON = before


def timed_player(world: TimedWorld, name: str, folder: Path) -> TimedPlayer:
    """A registered player."""
    player = TimedPlayer(world, name, folder / name)
    create(Home(player.path), name, None, random.Random(name).randbytes(32))
    player.client.register(URL)
    return player


@pytest.fixture
def world(tmp_path: Path) -> Iterator[TimedWorld]:
    """For test files that import it, as the two players are."""
    with timed_world(tmp_path) as world:
        yield world


@pytest.fixture
def alice(world: TimedWorld, tmp_path: Path) -> TimedPlayer:
    return timed_player(world, "alice", tmp_path)


@pytest.fixture
def bob(world: TimedWorld, tmp_path: Path) -> TimedPlayer:
    return timed_player(world, "bob", tmp_path)


def timed_game(host: TimedPlayer, guest: TimedPlayer, clock: str = "3d/14d", ruleset: Ruleset | None = None) -> str:
    """A game up to the host's first decision."""
    agreement = Agreement(parse_time_control(clock), rated=clock != "none")
    game = host.client.new(ruleset or Hanamikoji(), None, agreement).game
    guest.join(game)
    host.position(game)
    return game
