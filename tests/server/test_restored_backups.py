"""A database is lost, and a copy made earlier takes its place: the time between the two counts for nobody.

The clocks are the test's, also that of PostgreSQL. So what a service does at intervals is done by hand.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hkoji_server import admin

from hkoji.game import entry_kinds
from hkoji.game.clock import parse_time
from tests.support.cluster import Cluster, DatabaseClock
from tests.support.service import Player
from tests.support.service_in_process import Clock, Inside, inside
from tests.support.time_by_hand import TimeByHand, time_by_hand
from tests.support.timed_games import AN_HOUR, HOUR, kinds, verify
from tests.support.times import log_time

AFTER = 1800
"""How many seconds without a beat are an outage here."""
STEP = 900
"""How many seconds are between two beats."""


@dataclass
class FileStore:
    """A service's folder with a database of SQLite."""

    stopped: ClassVar = False
    """Whether the service is stopped while it is copied."""

    folder: Path
    clock: Clock = field(default_factory=Clock)

    @property
    def given(self) -> dict[str, Any]:  # Any: arguments by name
        return {"data": self.folder / "data"}

    def show_time(self) -> None:
        """A file has no clock."""

    def back_up(self) -> None:
        """Copies it, as an operator does while the service runs."""
        admin.backup(self.folder / "copy.db", self.folder / "data")

    def restore(self) -> None:
        """Moves what is there aside, and takes the copy."""
        (self.folder / "data").rename(self.folder / "lost")
        admin.restore(self.folder / "copy.db", self.folder / "data")


class CopiedFileStore(FileStore):
    """The same, with a copy of the whole folder."""

    stopped = True

    def back_up(self) -> None:
        shutil.copytree(self.folder / "data", self.folder / "copy")

    def restore(self) -> None:
        (self.folder / "data").rename(self.folder / "lost")
        (self.folder / "copy").rename(self.folder / "data")


@dataclass
class DatabaseStore(FileStore):
    """A database of PostgreSQL, `url`, with the test's clock."""

    cluster: Cluster = field(kw_only=True)
    url: str = field(kw_only=True)
    made: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shown = DatabaseClock(self.url, self.clock())

    @property
    def given(self) -> dict[str, Any]:  # Any: arguments by name
        return {"data": self.folder / "data", "database": self.url}

    def show_time(self) -> None:
        self.shown.show(self.clock())

    def back_up(self) -> None:
        admin.backup(self.folder / "copy.dump", None, self.url)

    def restore(self) -> None:
        empty = self.cluster.create()
        self.made.append(empty)
        words = ["--no-owner", "--exit-on-error", f"--host={self.cluster.folder}", "--username=hkoji"]
        subprocess.run(
            [self.cluster.programs / "pg_restore", *words, f"--dbname={empty}", self.folder / "copy.dump"], check=True
        )
        self.url = self.cluster.url(empty)
        self.shown = DatabaseClock(self.url, self.clock())


@pytest.fixture(params=["a backup on SQLite", "a copied folder", "a backup on PostgreSQL"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileStore]:
    if request.param != "a backup on PostgreSQL":
        yield FileStore(tmp_path) if request.param == "a backup on SQLite" else CopiedFileStore(tmp_path)
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    monkeypatch.setenv("PATH", str(cluster.programs))
    made = DatabaseStore(tmp_path, cluster=cluster, url=request.getfixturevalue("postgres"))
    yield made
    for name in made.made:
        cluster.drop(name)


@dataclass
class Running:
    """A service that runs on a store."""

    store: FileStore
    service: Inside
    by_hand: TimeByHand

    def pass_by(self, seconds: int) -> None:
        """Lets time pass, in which the service notes the time and ends games as it does by itself."""
        for passed in range(0, seconds, STEP):
            self.store.clock.pass_by(min(STEP, seconds - passed))
            self.store.show_time()
            self.service.runner.run(self.by_hand.time.beat())
            self.service.runner.run(self.by_hand.keeper.look())


@contextmanager
def running(store: FileStore, *players: Player) -> Iterator[Running]:
    """A service for the duration of a block, to which the players talk."""
    with time_by_hand() as by_hand, inside(clock=store.clock, outage_after=AFTER, **store.given) as service:
        for player in players:
            player.service = service
        yield Running(store, service, by_hand)


def test_the_time_between_a_copy_and_its_restoration_counts_for_nobody(store: FileStore) -> None:
    with running(store) as first:
        players = alice, bob = tuple(Player(first.service, name).register() for name in ("alice", "bob"))
        games = [alice.new(agreement=AN_HOUR)]
        bob.join(games[0])
        first.pass_by(HOUR + 600)
        games.append(alice.new(agreement=AN_HOUR))
        bob.join(games[1])
        joined = store.clock()
        first.pass_by(600)
        if not store.stopped:
            store.back_up()
    if store.stopped:
        store.back_up()
    copied = store.clock()

    with running(store, *players) as lost:
        lost.pass_by(HOUR)
        assert [kinds(alice, game)[-2:] for game in games] == [["timeout", "end"]] * 2

    store.restore()
    with running(store, *players) as restored:
        started = log_time(store.clock())
        restored.service.runner.run(restored.by_hand.keeper.look())
        restored.pass_by(60)
        assert [kinds(alice, game)[-2:] for game in games] == [["timeout", "end"], ["open", "join"]]
        ((away),) = restored.service.ask("GET", "/v1/outages").json["outages"]
        assert away == {"from": log_time(copied + timedelta(seconds=1)), "until": started, "way": "http"}
        credited = parse_time(away["until"]) - parse_time(away["from"])
        clock = restored.service.ask("GET", f"/v1/games/{games[1]}/clock").json
        assert clock["deadline"] == log_time(joined + timedelta(seconds=HOUR + credited))
        restored.pass_by(HOUR - 600 - 120)
        seed = bob.entry(games[1], bob.head(games[1]), entry_kinds.Seed(bob.entropy))
        answer = bob.send(seed)
        assert answer.status == 201, answer
        assert kinds(alice, games[1])[-2:] == ["seed", "credit"]
        assert alice.lines(games[1])[-1].entry.body == {"gift": None, "outages": [away]}
        restored.pass_by(HOUR + 600)
        assert kinds(alice, games[1])[-2:] == ["timeout", "end"]
        for game in games:
            verify(alice, game)
