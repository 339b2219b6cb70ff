"""Games with clocks of seconds at real services: workers, restarts, stopped processes. Both backends.

No assertion depends on how long something takes: tests wait until it is there. Their stories mostly wait, and
so they go on at the same time, each with a service of its own.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.commitments import entropy_commit
from hkoji.log.line import format_log
from hkoji.log.public_key import parse_public_key
from tests.support.at_the_same_time import at_the_same_time
from tests.support.cluster import Cluster
from tests.support.service import Player, Service, begin, start
from tests.support.timed_games import a_gift, kinds, log_of, move_of, owing, refused, state, verify
from tests.support.times import now

PATIENCE = 300
SETTINGS = {"shortest_clock": "1", "slack": "1", "outage_after": "5"}
WORKERS = ("--workers", "2")
STORES = ("sqlite", "postgres")
HOW = ("stopped and started", "SIGSTOP and SIGCONT")
AWAY = 12.0
"""The seconds for which a service takes no entries: longer than `outage_after`, and than the clock of the game."""

Where = dict[str, Any]  # Any: arguments of `start` by name
Told = Mapping[tuple[str, str], Future[None]]
"""The result of each story, by its name and the store."""


def until(seen: Callable[[], bool]) -> None:
    """Waits until a condition is true."""
    end = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.2)


def clock(seconds: int) -> Agreement:
    return Agreement(TimeControl(seconds, 0, 0, 0))


@pytest.fixture(scope="module")
def told(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Told:
    def where(store: str) -> Where:
        """Where a service keeps its games."""
        given = {"database": cluster.url(cluster.create("migrated"))} if store == "postgres" else {}
        return {"data": tmp_path_factory.mktemp(store) / "data", "log_level": "error", "settings": SETTINGS, **given}

    return at_the_same_time(
        {("workers", store): partial(tell_of_workers, where(store)) for store in STORES}
        | {(how, store): partial(tell_of_an_outage, where(store), how) for store in STORES for how in HOW}
    )


@contextmanager
def running(**given: Any) -> Iterator[Service]:  # Any: arguments of `start`
    service = start(**given, forked=True)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.stop()
        assert service.process.returncode == 0


@pytest.mark.parametrize("store", STORES)
def test_exactly_one_of_several_workers_ends_a_game(told: Told, store: str) -> None:
    told["workers", store].result()


def tell_of_workers(where: Where) -> None:
    """Timeouts, an expired offer, and gifts, with two keepers, which nobody hurries."""
    with running(**where, options=WORKERS) as service:
        alice, bob = (Player(service, name).register() for name in ("alice", "bob"))
        players = alice, bob
        helped = begin(*players, agreement=clock(60))
        giver = players[1 - players.index(owing(players, helped))]
        assert state(giver, helped, a_gift(giver, helped, 3600)).status == 201
        expiring = alice.new(agreement=Agreement(expires=now(10)))
        body = entry_kinds.Join(entropy_commit(expiring, 1, bob.entropy), bob.key.public)
        joining = bob.entry(expiring, bob.head(expiring), body)
        over = [alice.new(agreement=clock(2)) for _ in range(8)]
        bob.join(over[0])
        late = bob.entry(over[0], bob.head(over[0]), entry_kinds.Seed(bob.entropy))  # made while there is time
        for game in over[1:]:
            bob.join(game)
        untimed = begin(*players)
        until(lambda: all("end" in kinds(alice, game) for game in (*over, expiring)))
        for game in over:
            assert kinds(alice, game)[-3:] == ["join", "timeout", "end"]
            timeout = alice.lines(game)[-2].entry
            assert timeout.body == {"seat": 1}
            verify(alice, game)
        assert kinds(alice, expiring)[-2:] == ["lapse", "end"]
        verify(alice, expiring)
        for entry, game in ((late, over[0]), (joining, expiring)):
            before = log_of(alice, game)
            refused(bob.send(entry), 409, "time-over")
            assert log_of(alice, game) == before
        for game in (helped, untimed):
            assert not {"timeout", "end"} & set(kinds(alice, game))
        mover = owing(players, helped)
        assert mover.send(move_of(mover, helped)).status == 201
        assert "credit" in kinds(alice, helped)
        verify(alice, helped)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("how", HOW)
def test_the_time_in_which_no_process_took_entries_counts_for_nobody(told: Told, how: str, store: str) -> None:
    told[how, store].result()


def tell_of_an_outage(where: Where, how: str) -> None:
    """A player's whole time passes while the service is away, and the move that comes then is in time."""
    service = start(**where, forked=True)
    try:
        players = tuple(Player(service, name).register() for name in ("alice", "bob"))
        game = players[0].new(agreement=clock(10))
        players[1].join(game)
        if how == "SIGSTOP and SIGCONT":
            os.kill(service.process.pid, signal.SIGSTOP)
            time.sleep(AWAY)
            os.kill(service.process.pid, signal.SIGCONT)
        else:
            service.stop()
            time.sleep(AWAY)
            service = start(**where, port=service.port, forked=True)
            for player in players:
                player.service = service
        seed = players[1].entry(game, players[1].head(game), entry_kinds.Seed(players[1].entropy))
        answer = players[1].send(seed)
        assert answer.status == 201, answer
        lines = players[0].lines(game)
        assert [line.entry.kind for line in lines[-2:]] == ["seed", "credit"]
        ((lost),) = service.ask("GET", "/v1/outages").json["outages"]
        assert lines[-1].entry.body == {"gift": None, "outages": [lost]}
        key = parse_public_key(service.ask("GET", "/v1/service").json["key"])
        assert audit(format_log(lines), {"server": key}).findings == ()
        assert lost["from"] < lost["until"] <= lines[-1].entry.at
    finally:
        if service.process.poll() is None:
            service.stop()
    assert service.process.returncode == 0
