"""Rate limits: one law for both storages, shared by all processes; and the answers to clients."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.settings import parse_rate
from hkoji_server.store.location import parse_location
from hkoji_server.store.postgres.rates import PostgresRates
from hkoji_server.store.rates import Rate, Rates
from hkoji_server.store.sqlite.rates import SqliteRates

from hkoji.errors import TooManyError
from hkoji.game import entry_kinds
from tests.support.service import Player, begin, serving, two_players
from tests.support.service_in_process import Inside, inside

FEW = Rate(3, 60)
MANY = Rate(500, 50)  # of which a process keeps nine to itself


class Time:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


Open = Callable[[], Rates]


class RatesContract:
    """The laws of every storage. `opened` opens it as another process would."""

    @pytest.fixture
    def clock(self) -> Time:
        return Time()

    def test_as_many_as_the_rate_allows_and_then_as_time_pays(self, opened: Open, clock: Time) -> None:
        rates = opened()
        assert [waits(rates, "a") for _ in range(4)] == [0, 0, 0, 20]
        clock.now += 19
        assert waits(rates, "a") == pytest.approx(1)
        clock.now += 1
        assert [waits(rates, "a") for _ in range(2)] == [0, 20]
        clock.now += 1000
        assert [waits(rates, "a") for _ in range(4)] == [0, 0, 0, 20]

    def test_each_name_is_counted_by_itself_and_by_all_together(self, opened: Open) -> None:
        one, two = opened(), opened()
        assert [waits(rates, "a") for rates in (one, two, one)] == [0, 0, 0]
        assert waits(two, "a") > 0
        assert waits(two, "b") == 0

    @pytest.mark.parametrize("rate", [Rate(30, 60), Rate(3000, 60)])
    def test_a_request_may_count_as_several(self, opened: Open, clock: Time, rate: Rate) -> None:
        rates, requests = opened(), rate.count // 3
        assert [asyncio.run(rates.admit("a", rate, requests)) for _ in range(4)] == [0, 0, 0, 20]
        clock.now += 10
        assert asyncio.run(rates.admit("a", rate, requests)) == pytest.approx(10)
        assert waits(rates, "a", rate) == 0
        assert asyncio.run(rates.admit("b", rate, 9 * rate.count)) == 0  # a whole allowance
        assert waits(rates, "b", rate) > 0

    @pytest.mark.parametrize("rate", [Rate(30, 60), Rate(3000, 60)])
    def test_a_charge_is_never_refused_and_makes_a_name_wait_at_every_process(
        self, opened: Open, clock: Time, rate: Rate
    ) -> None:
        one, two, requests = opened(), opened(), rate.count // 3
        for _ in range(2):
            assert asyncio.run(one.admit("a", rate, requests)) == 0
        for _ in range(2):
            one.charge("a", rate, requests)
        assert asyncio.run(one.admit("a", rate, requests)) == pytest.approx(40)
        clock.now += 40
        assert asyncio.run(one.admit("a", rate, requests)) == 0
        assert asyncio.run(two.admit("a", rate, requests)) == pytest.approx(20)
        one.charge("b", rate, requests)
        assert [asyncio.run(one.admit("b", rate, requests)) for _ in range(3)] == [0, 0, 20]

    @pytest.mark.parametrize("rate", [Rate(30, 60), Rate(3000, 60)])
    def test_charges_are_paid_in_the_end(self, opened: Open, clock: Time, rate: Rate) -> None:
        rates = opened()
        assert waits(rates, "a", rate) == 0
        for _ in range(100):
            rates.charge("a", rate, rate.count)
        assert 0 < waits(rates, "a", rate) <= 60 + 60 / rate.count
        clock.now += 130
        assert waits(rates, "a", rate) == 0

    def test_of_many_at_once_no_more_are_admitted(self, opened: Open) -> None:
        async def ask() -> list[float]:
            each = [opened() for _ in range(2)]
            return await asyncio.gather(*(each[n % 2].admit("a", Rate(7, 3600)) for n in range(40)))

        assert asyncio.run(ask()).count(0) == 7

    def test_a_clock_that_goes_back_locks_nobody_out(self, opened: Open, clock: Time) -> None:
        rates = opened()
        assert [waits(rates, "a") for _ in range(4)] == [0, 0, 0, 20]
        clock.now -= 7200
        assert waits(rates, "a") == 0

    def test_all_processes_together_exceed_a_large_rate_by_what_each_has_not_told(
        self, opened: Open, clock: Time
    ) -> None:
        each = [opened() for _ in range(3)]
        admitted = sum(waits(each[n % 3], "a", MANY) == 0 for n in range(600))
        while not waits(each[0], "a", MANY):
            admitted += 1
        while not waits(each[1], "a", MANY) or not waits(each[2], "a", MANY):
            admitted += 1
        assert 500 <= admitted <= 500 + 3 * MANY.untold
        # Each request too many is paid for: the name waits longer.
        refused = max(waits(rates, "a", MANY) for rates in each)
        assert refused == pytest.approx((admitted - 500 + 1) / 10, abs=0.3)
        clock.now += refused
        assert waits(each[0], "a", MANY) == 0
        assert waits(opened(), "b", MANY) == 0

    def test_in_any_time_each_process_exceeds_a_large_rate_by_what_it_has_not_told(
        self, opened: Open, clock: Time
    ) -> None:
        each, random = [opened() for _ in range(2)], Random(5)
        admitted: list[float] = []
        for _ in range(1500):
            clock.now += random.choice((0, 0, 0, 0, 0.05, 0.3))
            if not waits(random.choice(each), "a", MANY):
                admitted.append(clock.now)
        assert len(admitted) < 1400
        for first, begin_ in enumerate(admitted):
            for last in range(first, len(admitted), 50):
                allowed = MANY.count + (admitted[last] - begin_) * 1e6 / MANY.step + 2 * (MANY.untold + 1)
                assert last - first + 1 <= allowed

    def test_processes_that_end_forget_no_more_than_they_have_not_told(self, opened: Open) -> None:
        admitted = 0
        for _ in range(3):
            rates = opened()
            admitted += sum(waits(rates, "a", MANY) == 0 for _ in range(400))  # and then nobody tells the rest
        assert 500 <= admitted <= 500 + 3 * MANY.untold

    def test_nobody_is_refused_who_stays_below_a_large_rate_at_several_processes(
        self, opened: Open, clock: Time
    ) -> None:
        each = [opened() for _ in range(3)]
        for n in range(900):  # 0.9 of the rate
            assert waits(each[n % 3], "a", MANY) == 0
            clock.now += 50 / 450

    def test_the_table_is_asked_now_and_then_and_a_refusal_is_remembered(self, opened: Open, clock: Time) -> None:
        rates = opened()
        with statements(rates) as executed:
            assert [waits(rates, "a", MANY) for _ in range(500)] == [0] * 500
            assert len(executed) == 2 * 500 // (MANY.untold + 1)
            assert all(waits(rates, "a", MANY) == pytest.approx(0.1) for _ in range(500))
            assert len(executed) == 2 * 500 // (MANY.untold + 1)
            clock.now += 0.1
            assert waits(rates, "a", MANY) == 0

    def test_an_address_that_asks_seldom_needs_no_statement_and_is_counted_all_the_same(
        self, opened: Open, clock: Time
    ) -> None:
        rates = opened()
        with statements(rates) as executed:
            for _ in range(MANY.untold):
                assert waits(rates, "a", MANY) == 0
                clock.now += 49
            assert executed == []
            assert waits(rates, "a", MANY) == 0
            assert len(executed) == 2
            executed.clear()
            for _ in range(3 * MANY.untold):
                clock.now += 51  # the whole rate is there again
                assert waits(rates, "a", MANY) == 0
            assert executed == []

    def test_a_request_that_is_given_back_does_not_count(self, opened: Open) -> None:
        rates = opened()
        for _ in range(2000):
            assert rates.take("a", MANY) == 0
            rates.give_back("a", MANY)
        assert [rates.take("a", MANY) for _ in range(MANY.untold + 1)] == [0] * MANY.untold + [None]
        assert rates.take("a", FEW) is None  # it is exact


@contextmanager
def statements(rates: Any) -> Iterator[list[str]]:  # Any: a private method is replaced
    """The statements that count requests, for the duration of a block."""
    executed: list[str] = []
    admit = rates._admit

    def counting(execute: Any, request: Any) -> Any:  # Any: the arguments and the result of `_admit`
        def counted(statement: str, values: Any) -> Any:
            executed.append(statement)
            return execute(statement, values)

        return admit(counted, request)

    with patch.object(rates, "_admit", counting):
        yield executed


def waits(rates: Rates, name: str, rate: Rate = FEW) -> float:
    return asyncio.run(rates.admit(name, rate))


class TestSqlite(RatesContract):
    @pytest.fixture
    def opened(self, tmp_path: Path, clock: Time) -> Iterator[Open]:
        made: list[SqliteRates] = []

        def open_() -> Rates:
            made.append(SqliteRates(tmp_path / "limits", clock))
            return made[-1]

        yield open_
        for each in made:
            each.close()

    def test_a_damaged_file_is_replaced_by_one_that_only_the_owner_can_read(self, tmp_path: Path, opened: Open) -> None:
        (tmp_path / "limits").write_bytes(b"SQLite format 3\0" + b"torn" * 5000)
        rates = opened()
        assert [waits(rates, "a") for _ in range(4)] == [0, 0, 0, 20]
        assert (tmp_path / "limits").stat().st_mode & 0o777 == 0o600

    def test_a_request_that_cannot_be_counted_is_admitted(self, tmp_path: Path) -> None:
        rates = SqliteRates(tmp_path / "nowhere" / "limits")
        assert [waits(rates, "a") for _ in range(5)] == [0] * 5
        rates.close()

    def test_a_name_with_a_full_allowance_is_deleted(self, tmp_path: Path, opened: Open, clock: Time) -> None:
        rates: Any = opened()
        assert waits(rates, "a") == 0
        clock.now += 61
        rates._cleaned -= 61
        assert waits(rates, "b") == 0
        with closing(sqlite3.connect(tmp_path / "limits")) as database:
            assert database.execute("SELECT name FROM rate").fetchall() == [("b",)]

    def test_the_memory_of_a_name_is_forgotten(self, opened: Open, clock: Time) -> None:
        rates: Any = opened()
        for number in range(10_000):
            assert rates.take(f"{number}", MANY) == 0
            clock.now += 0.1
        assert len(rates._counts._kept) <= 1000  # 500 have asked within the 50 seconds of the rate


class TestPostgres(RatesContract):
    @pytest.fixture
    def opened(self, postgres: str, clock: Time) -> Iterator[Open]:
        made: list[PostgresRates] = []

        def open_() -> Rates:
            made.append(PostgresRates(parse_location(postgres), clock))
            return made[-1]

        yield open_
        for each in made:
            each.close()


# --- who is counted ---------------------------------------------------------------------------------------------------


def test_rates_as_they_are_written() -> None:
    assert [parse_rate(text) for text in ("5/second", "600/minute", "9/hour")] == [(5, 1), (600, 60), (9, 3600)]


def test_without_rates_nothing_is_counted() -> None:
    for limits in (RateLimits(), RateLimits(None, address=FEW, player=FEW)):
        for _ in range(5):
            asyncio.run(limits.admit_address("203.0.113.7"))
            asyncio.run(limits.admit_player("alice"))


def test_the_wait_is_told_in_whole_seconds_that_suffice(tmp_path: Path) -> None:
    clock = Time()
    limits = RateLimits(SqliteRates(tmp_path / "limits", clock), player=Rate(3, 10))
    for _ in range(3):
        asyncio.run(limits.admit_player("alice"))
    with pytest.raises(TooManyError) as raised:
        asyncio.run(limits.admit_player("alice"))
    assert raised.value.retry_after == 4
    clock.now += raised.value.retry_after
    asyncio.run(limits.admit_player("alice"))
    limits.close()


# --- over HTTP --------------------------------------------------------------------------------------------------------


def test_a_player_who_moves_too_often_waits_and_nobody_else(tmp_path: Path) -> None:
    with inside(tmp_path / "data", limit_player="5/hour") as service:
        alice, bob = two_players(service)
        game = alice.new()  # an offer and an entry
        other = bob.new()
        bob.join(game)
        before = service.ask("GET", f"/v1/games/{game}/log").body
        # Requests that somebody else signs in alice's name never count for alice.
        forged = Player(service, "alice")
        for _ in range(9):
            assert forged.send(forged.entry(other, forged.head(other), entry_kinds.Resign())).status == 403
        for _ in range(3):
            assert service.ask("GET", "/v1/me/games", token=alice.token).status == 200
        move = alice.entry(game, alice.head(game), entry_kinds.Resign())
        answer = alice.send(move)
        assert (answer.status, answer.json["code"]) == (429, "too-many-requests")
        assert int(answer.headers["retry-after"]) == answer.json["retry_after"] > 600
        assert service.ask("GET", "/v1/me/games", token=alice.token).status == 429
        assert service.ask("GET", f"/v1/games/{game}/log").body == before
        assert service.ask("GET", "/v1/me/games", token=bob.token).status == 200


def test_signatures_of_a_revoked_key_are_not_counted_for_its_player(tmp_path: Path) -> None:
    with inside(tmp_path / "data", limit_player="50/hour") as service:
        alice, bob = two_players(service)
        game = begin(alice, bob)
        assert alice.ask("/v1/players/alice/revocation", alice.revoking()).status == 200
        counted: list[str] = []

        async def count(_: RateLimits, name: str, __: int) -> None:
            counted.append(name)

        with patch.object(RateLimits, "admit_player", count):
            before = alice.head(game)
            assert alice.send(alice.entry(game, before, entry_kinds.Resign())).json["code"] == "revoked"
            assert (alice.head(game), counted) == (before, [])
            assert bob.send(bob.entry(game, before, entry_kinds.Resign())).status == 201
        assert counted == ["bob"]


def test_counts_that_a_process_has_made_for_a_revoked_key_are_given_back(tmp_path: Path) -> None:
    """So whoever has stolen a key that is revoked cannot use up its player's share."""
    with inside(tmp_path / "data", limit_player="5000/hour") as service:
        alice, bob = two_players(service)
        game = begin(alice, bob)
        assert alice.ask("/v1/players/alice/revocation", alice.revoking()).status == 200
        taken: Counter[str] = Counter()
        take, give_back = RateLimits.take_player, RateLimits.give_back_player

        def taking(self: RateLimits, name: str, requests: int) -> bool:
            taken[name] += requests * (admitted := take(self, name, requests))
            return admitted

        def giving_back(self: RateLimits, name: str, requests: int) -> None:
            taken[name] -= requests
            give_back(self, name, requests)

        with patch.multiple(RateLimits, take_player=taking, give_back_player=giving_back):
            before = alice.head(game)
            for _ in range(3):
                assert alice.send(alice.entry(game, before, entry_kinds.Resign())).json["code"] == "revoked"
            assert alice.head(game) == before
            assert bob.send(bob.entry(game, before, entry_kinds.Resign())).status == 201
        assert taken == {"alice": 0, "bob": 1}


def test_an_entry_that_was_accepted_gets_its_receipt_though_too_much_is_asked(tmp_path: Path) -> None:
    with inside(tmp_path / "data", limit_address="40/hour") as service:
        alice = Player(service, "alice").register()
        game = alice.new()
        sent = alice.entry(game, alice.head(game), entry_kinds.Cancel())
        first = alice.send(sent)
        assert first.status == 201
        until_refused(service)
        again = alice.send(sent)
        assert (again.status, again.json) == (200, first.json)
        fresh = alice.send(alice.entry(game, (9, "00" * 32), entry_kinds.Resign()))
        assert (fresh.status, fresh.json["code"]) == (429, "too-many-requests")
        answers = [alice.send(sent).status for _ in range(45)]  # within reason
        assert sorted(set(answers)) == [200, 429]
        assert answers == sorted(answers)
        assert service.ask("GET", "/healthz").status == 200


def until_refused(service: Inside) -> None:
    for _ in range(100):
        answer = service.ask("GET", "/v1/service")
        if answer.status == 429:
            assert answer.headers["content-type"] == "application/problem+json"
            return
    raise AssertionError("no request was refused with 429")


def test_two_processes_hold_one_limit(tmp_path: Path) -> None:
    options = ("--limit-address", "30/hour")
    shared = partial(serving, tmp_path / "data", options=options, forked=True)
    with shared() as one, shared() as two:
        answers = [(one, two)[number % 2].ask("GET", "/v1/service").status for number in range(36)]
        assert answers == [200] * 30 + [429] * 6
        assert two.ask("GET", "/readyz").status == 200
    assert [each.name for each in one.data.iterdir() if "limits" not in each.name] == ["hkoji.sqlite3"]
