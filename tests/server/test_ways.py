"""HTTP and mail, each taken by a process of its own: outages, credits and timeouts of the one leave the other alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hkoji_server.service.games.keeper import Keeper
from hkoji_server.service.games.loaded_games import LoadedGame, LoadedGames, append_of, summarise
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.game_values import NewGame
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji import referee
from hkoji.audit.contradictions import in_outage, log_claims
from hkoji.audit.log_audit import audit
from hkoji.errors import TimeOverError
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.clock import Outage, Way
from hkoji.game.entry_kinds import Credit
from hkoji.log.private_key import PrivateKey
from tests.support.loops import run
from tests.support.service_in_process import Clock
from tests.support.timed_table import TimedTable, later
from tests.support.times import log_time

AFTER: Final = 180
SLACK: Final = 120
SERVER: Final = PrivateKey.from_seed(b"w" * 32)
AGREEMENT: Final = Agreement(TimeControl(600, 0, 0, 0))


class TwoProcesses:
    """A service with a process for each way on one file, and games that both have taken entries of."""

    def __init__(self, path: Path) -> None:
        self.clock = Clock()
        self.path = path
        self.store = SqliteStore(path, self.clock)
        self.sources = ClockAndEntropy(self.clock, boot=self.clock.elapsed)
        self.held = LoadedGames(self.store, 100)
        self.times: dict[Way, ServiceTime] = {}
        for way in Way:
            self.start(way)

    @property
    def now(self) -> str:
        return log_time(self.clock())

    def start(self, way: Way) -> None:
        """A process begins to take entries, as it does at its start: an outage before it is recorded."""
        self.times[way] = ServiceTime(self.store, self.sources, outage_after=AFTER, way=way)
        run(self.times[way].now())

    def pass_by(self, seconds: int, *taking: Way) -> None:
        """Lets time pass, in which only the processes of some ways note the time."""
        for _ in range(seconds // 10):
            self.clock.pass_by(10)
            for way in taking:
                run(self.times[way].beat())

    def look(self, process: Way, *ways: Way) -> int:
        """The keeper of a process looks for games of some ways. Returns how many it has ended."""
        keeper = Keeper(
            self.store, self.held, self.times[process], self.sources, SERVER, slack=SLACK, ways=ways or tuple(Way)
        )
        return run(keeper.look())

    def begin(self, seed: int, held: tuple[int, ...] = (1,)) -> TimedTable:
        """A game that is begun now, up to the first decision; the keys of the seats `held` are held."""
        table = TimedTable(seed=seed, agreement=AGREEMENT, held=held, host_key=SERVER, now=self.now).begin()
        refereed = referee.resume(table.lines[:1], table.server_seed, ())
        first = summarise(refereed, created=self.now)
        new = NewGame(first, table.lines[0], table.server_seed, "alice", self.now, len(run(self.store.outages())))
        run(self.store.add_game(new))
        outages = run(self.store.outages())
        accepted = referee.Accepted(tuple(table.lines[1:]), table.refereed, ())
        append, _ = append_of(LoadedGame(refereed, None), accepted, outages)
        run(self.store.append(append))
        return table

    def take(self, table: TimedTable) -> None:
        """The player who owes the next entry makes a move, by the way that is open to them."""
        held = run(self.held.read(table.game))
        course = held.refereed.course
        assert course.actor is not None
        time = self.times[Way.MAIL if course.actor in table.held else Way.HTTP]
        run(time.read_outages())  # as a process does that finds that there are more
        at = run(time.now())
        table.refereed, table.now = held.refereed, at
        submission = table.move(course.state.legal_actions()[0])
        counting = held.counting(time.outages, at)
        accepted = referee.accept(held.refereed, submission, signer=SERVER, at=at, gifts=held.gifts, outages=counting)
        append, after = append_of(held, accepted, time.outages)
        run(self.store.append(append))
        self.held.keep(after)
        table.refereed = after.refereed
        table.lines = list(run(self.store.lines(table.game)))

    def take_until(self, table: TimedTable, seat: int) -> None:
        """Both players move until a seat owes the next entry."""
        while table.course.actor != seat:
            self.take(table)

    def kinds(self, table: TimedTable) -> list[str]:
        return [line.entry.kind for line in run(self.store.lines(table.game))]

    def verify(self, *tables: TimedTable) -> None:
        """The audit of all logs together names nobody."""
        claims = []
        for table in tables:
            table.lines = list(run(self.store.lines(table.game)))
            result = audit(table.text.encode(), {"server": SERVER.public})
            assert result.findings == ()
            found = log_claims(result)
            assert found is not None
            claims.append(found)
        for one in claims:
            for other in claims:
                assert not any(in_outage(one, outage, other.game) for outage in other.outages)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[TwoProcesses]:
    made = TwoProcesses(tmp_path / "hkoji.sqlite3")
    try:
        yield made
    finally:
        made.store.close()


def test_while_the_mail_process_is_away_a_held_seat_loses_no_time(service: TwoProcesses) -> None:
    mixed, plain = service.begin(1), service.begin(2, held=())
    service.take_until(mixed, 0)
    service.pass_by(300, Way.HTTP)
    service.take_until(mixed, 1)
    begun = mixed.refereed.at
    assert begun == service.now
    for _ in range(2):  # the deadline passes
        service.take(plain)
        service.pass_by(400, Way.HTTP)
    assert service.look(Way.HTTP) == 0
    assert "timeout" not in service.kinds(mixed)
    service.start(Way.MAIL)
    (away,) = run(service.store.outages())
    assert away.way is Way.MAIL
    assert away.holds(begun)
    service.take(mixed)
    assert mixed.lines[-1].entry.body == Credit(None, (Outage(begun, away.until, Way.MAIL),)).to_json()
    service.take(plain)
    assert "credit" not in service.kinds(plain)
    service.verify(mixed, plain)


def test_while_http_is_away_only_seats_with_keys_of_their_own_are_credited(service: TwoProcesses) -> None:
    mixed, mails = service.begin(1), service.begin(2, held=(0, 1))
    service.take_until(mixed, 0)
    for _ in range(30):  # mail games go on all the while, each move within the time
        service.pass_by(30, Way.MAIL)
        if mails.course.actor is not None:
            service.take(mails)
    assert service.look(Way.MAIL, Way.MAIL) == service.look(Way.MAIL) == 0
    assert "timeout" not in service.kinds(mixed)
    service.start(Way.HTTP)
    (away,) = run(service.store.outages())
    assert (away.way, away.until) == (Way.HTTP, service.now)
    assert any(away.holds(line.receipt.receipt.at) for line in mails.lines if line.receipt is not None)
    service.take(mixed)
    assert mixed.lines[-1].entry.body["outages"] == [away.to_json()]
    assert "credit" not in service.kinds(mails)
    service.verify(mixed, mails)


@pytest.mark.parametrize("seat", [0, 1])
def test_a_seat_is_timed_out_once_its_way_has_a_beat_after_the_deadline(service: TwoProcesses, seat: int) -> None:
    table = service.begin(1)
    service.take_until(table, seat)
    way, other = (Way.MAIL, Way.HTTP) if seat else (Way.HTTP, Way.MAIL)
    due = run(service.held.read(table.game)).deadline
    assert due == later(table.refereed.at, 600)
    service.pass_by(600, way, other)
    service.pass_by(170, other)  # the way of the seat has no beat after the deadline, and no outage yet
    assert service.look(other) == 0
    assert service.kinds(table)[-1] != "end"
    run(service.times[way].beat())
    assert service.look(other) == 1
    assert service.kinds(table)[-2:] == ["timeout", "end"]
    service.verify(table)


def test_the_keeper_of_the_mail_process_looks_for_mail_only(service: TwoProcesses) -> None:
    mails, plain = service.begin(1, held=(0, 1)), service.begin(2, held=())
    service.pass_by(1000, Way.HTTP, Way.MAIL)
    assert service.look(Way.MAIL, Way.MAIL) == 1
    assert "timeout" in service.kinds(mails)
    assert "timeout" not in service.kinds(plain)
    assert service.look(Way.HTTP) == 1
    assert "timeout" in service.kinds(plain)
    service.verify(mails, plain)


def test_an_invented_outage_of_mail_is_contradicted_by_a_mail_and_not_by_http(service: TwoProcesses) -> None:
    mails, plain = service.begin(1, held=(0, 1)), service.begin(2, held=())
    service.pass_by(60, Way.HTTP, Way.MAIL)
    service.take(mails)
    service.take(plain)
    lie = Outage(later(service.now, -5), later(service.now, 5), Way.MAIL)
    claims = {}
    for table in (mails, plain):
        service.verify(table)
        said = log_claims(audit(table.text.encode(), {"server": SERVER.public}))
        assert said is not None
        claims[table.game] = said
    found = in_outage(claims[mails.game], lie, "another")
    assert found is not None
    assert found.signer == "server"
    assert in_outage(claims[plain.game], lie, "another") is None


def test_a_late_move_of_a_held_seat_is_late_whatever_http_does(service: TwoProcesses) -> None:
    table = service.begin(1)
    service.take_until(table, 1)
    service.pass_by(700, Way.MAIL)
    service.start(Way.HTTP)
    assert [outage.way for outage in run(service.store.outages())] == [Way.HTTP]
    before = run(service.store.lines(table.game))
    with pytest.raises(TimeOverError):
        service.take(table)
    assert run(service.store.lines(table.game)) == before
