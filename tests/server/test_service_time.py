"""When the service trusts its clock, what it notes, which outages it records, and what it signs about the head.

docs/spec/log.md, "Outages" and "Signed heads". Clocks are moved by the tests; nothing here waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.service.games.keeper import Keeper
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.games.views import GameViews
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.sqlite.store import SqliteStore
from hkoji_server.store.time_contract import Beat, BeatStore

from hkoji.errors import ClockError
from hkoji.game import entry_kinds
from hkoji.game.clock import Way
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64
from hkoji.log.game_statements import parse_head
from hkoji.log.line import read_line
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from tests.support.loops import run
from tests.support.service import Player, begin, offer_of, two_players
from tests.support.service_in_process import Clock, Inside, inside
from tests.support.time_contract import taken
from tests.support.timed_games import (
    AN_HOUR,
    HOUR,
    inside_with_keeper,
    let_keepers_look,
    log_of,
    move_of,
    owing,
    refused,
    verify,
)
from tests.support.times import log_time
from tests.support.waiting_contract import new_game

AFTER = 180
"""How many seconds without a beat are an outage here."""
KEY = PrivateKey.from_seed(b"k" * 32)


@contextmanager
def stores(path: Path, number: int, clock: Callable[[], datetime]) -> Iterator[list[SqliteStore]]:
    made = [SqliteStore(path / "hkoji.sqlite3", clock) for _ in range(number)]
    try:
        yield made
    finally:
        for store in made:
            store.close()


def process(store: BeatStore, clock: Clock, **given: Any) -> ServiceTime:  # Any: its arguments
    """The time of one process on a store."""
    return ServiceTime(store, ClockAndEntropy(clock, boot=clock.elapsed), outage_after=AFTER, **given)


def at(clock: Clock, seconds: float = 0) -> str:
    return log_time(clock() + timedelta(seconds=seconds))


class Judged:
    """A store with a clock of its own, which shows that of the test, `apart` seconds off."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.apart = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def beat(self, way: Way, time: str) -> Beat:
        noted = await self._store.beat(way, time)
        return Beat(noted.at, at(self._clock, self.apart))

    async def clock(self) -> str:
        return at(self._clock, self.apart)


# --- outages ----------------------------------------------------------------------------------------------------------


def test_a_process_alone_records_that_it_was_stopped_and_then_takes_entries(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        time = process(store, clock)
        assert run(time.now()) == at(clock)
        assert (run(store.last_beat(Way.HTTP)), run(store.outages())) == (at(clock), ())
        began = at(clock, 1)
        clock.pass_by(AFTER)
        assert run(time.now()) == at(clock)
        assert run(store.outages()) == ()
        clock.pass_by(1)
        assert run(time.now()) == at(clock)
        assert run(store.outages()) == time.outages == ((began, at(clock), Way.HTTP),)
        assert run(store.last_beat(Way.HTTP)) == at(clock)


def test_no_outage_while_another_process_notes_the_time(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 2, clock) as (first, second):
        one, two = process(first, clock), process(second, clock)
        run(one.now())
        run(two.now())
        for _ in range(10):
            clock.pass_by(AFTER / 3)
            run(two.beat())
        assert run(one.now()) == at(clock)
        assert run(first.outages()) == ()


def test_where_mail_is_fetched_only_a_complete_poll_notes_the_time_at_which_it_began(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        time = process(store, clock, way=Way.MAIL, polled=True)
        assert run(time.now()) == at(clock)
        run(time.beat())
        assert run(store.last_beat(Way.MAIL)) is None
        assert run(time.taken_until(Way.MAIL, at(clock))) == ""
        begun = run(time.begin_poll())
        clock.pass_by(20)
        assert run(time.time_of_arrival()) == at(clock)
        assert run(time.taken_until(Way.MAIL, at(clock, -30))) == at(clock, -30)  # the first arrival has noted it
        run(time.end_poll(begun))
        begun = run(time.begin_poll())
        clock.pass_by(20)
        run(time.end_poll(begun))
        assert run(store.last_beat(Way.MAIL)) == at(clock, -20)
        clock.pass_by(10)
        run(time.beat())
        assert run(time.taken_until(Way.MAIL, at(clock))) == at(clock, -30)
        assert run(store.outages()) == ()


def test_while_polls_fail_all_else_goes_on_and_the_next_mail_finds_the_outage_recorded(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        time = process(store, clock, way=Way.MAIL, polled=True)
        run(time.rejoin())
        run(time.end_poll(run(time.begin_poll())))
        last, began = at(clock), at(clock, 1)
        for _ in range(60):
            clock.pass_by(60)
            assert run(time.now()) == at(clock)  # letters are sent, and what came before is processed
            run(time.begin_poll())  # which never ends
            run(time.beat())
            assert run(time.taken_until(Way.MAIL, at(clock))) == last
        assert (run(store.outages()), run(store.last_beat(Way.MAIL))) == ((), last)
        assert run(time.time_of_arrival()) == at(clock)
        assert run(store.outages()) == time.outages == ((began, at(clock), Way.MAIL),)
        clock.pass_by(AFTER)
        assert run(time.time_of_arrival()) == at(clock)
        assert len(run(store.outages())) == 1


def test_a_poll_that_finds_nothing_after_a_long_time_records_the_outage_too(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        run(process(store, clock, way=Way.MAIL, polled=True).rejoin())
        began = at(clock, 1)
        clock.pass_by(AFTER + 1)
        later = process(store, clock, way=Way.MAIL, polled=True)
        begun = run(later.begin_poll())
        run(later.rejoin())
        run(later.end_poll(begun))
        assert run(store.outages()) == ((began, at(clock), Way.MAIL),)


def test_there_is_no_outage_while_another_process_fetches(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 2, clock) as (first, second):
        one, two = (process(each, clock, way=Way.MAIL, polled=True) for each in (first, second))
        run(one.rejoin())
        run(two.rejoin())
        for _ in range(10):
            clock.pass_by(AFTER / 3)
            run(two.end_poll(run(two.begin_poll())))
        noted = at(clock)
        clock.pass_by(AFTER / 3)
        assert run(one.time_of_arrival()) == at(clock)
        assert (run(first.outages()), run(first.last_beat(Way.MAIL))) == ((), noted)


def test_a_clock_that_has_jumped_begins_no_poll_and_takes_no_mail(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        time = process(store, clock, way=Way.MAIL, polled=True)
        run(time.rejoin())
        begun, noted = run(time.begin_poll()), at(clock)
        clock.jump(3600)
        for refused in (time.begin_poll, time.rejoin, time.time_of_arrival, lambda: time.end_poll(begun)):
            with pytest.raises(ClockError):
                run(refused())
        assert (run(store.outages()), run(store.last_beat(Way.MAIL))) == ((), noted)


def test_a_restart_within_the_time_is_no_outage_and_a_later_one_is(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        run(process(store, clock).now())
        clock.pass_by(AFTER)
        run(process(store, clock).now())
        assert run(store.outages()) == ()
        began = at(clock, 1)
        clock.pass_by(AFTER + 1)
        run(process(store, clock).now())
        assert run(store.outages()) == ((began, at(clock), Way.HTTP),)


def test_of_processes_that_start_together_one_records_the_outage(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 4, clock) as made:
        run(process(made[0], clock).now())
        clock.pass_by(10 * AFTER)
        times = [process(store, clock) for store in made]

        async def together() -> list[str]:
            return await asyncio.gather(*(time.now() for time in times))

        assert run(together()) == [at(clock)] * 4
        assert len(run(made[0].outages())) == 1
        assert {time.outages for time in times} == {run(made[0].outages())}


def test_an_outage_begins_after_the_newest_entry(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        time = process(store, clock)
        run(time.now())
        run(store.append(replace(taken(new_game(store, 0), 0, at(clock, 100)), at=at(clock))))
        began = at(clock, 101)
        clock.pass_by(2 * AFTER)
        run(time.now())
        assert run(store.outages()) == ((began, at(clock), Way.HTTP),)


def test_an_outage_helps_the_player_who_owes_the_entry_and_stands_in_the_log(tmp_path: Path) -> None:
    with inside(tmp_path / "data") as service:
        players = two_players(service)
        game = begin(*players, agreement=AN_HOUR)
        other = begin(*players)
        mover = owing(players, game)
        service.clock.pass_by(2 * HOUR)
        answer = mover.send(move_of(mover, game))
        assert answer.status == 201
        lost = {"from": "2026-11-20T12:00:01Z", "until": "2026-11-20T14:00:00Z", "way": "http"}
        credit = read_line(answer.json["lines"][1]).entry
        assert (credit.kind, credit.body) == ("credit", {"gift": None, "outages": [lost]})
        assert service.ask("GET", "/v1/outages").json == {"outages": [lost]}
        verify(mover, game)
        # Where no clock runs there is nothing to credit.
        mover = owing(players, other)
        assert len(mover.send(move_of(mover, other)).json["lines"]) == 1
        verify(mover, other)


def test_after_an_outage_the_keeper_corrects_the_deadline_and_writes_no_timeout(tmp_path: Path) -> None:
    with inside_with_keeper(tmp_path / "data", outage_after=AFTER) as service:
        players = two_players(service)
        game = begin(*players, agreement=AN_HOUR)
        before = log_of(players[0], game)
        service.clock.pass_by(2 * HOUR)
        assert service.ask("GET", f"/v1/games/{game}").json["deadline"] == "2026-11-20T13:00:00Z"
        assert service.ask("GET", f"/v1/games/{game}/clock").json["overdue"]  # nothing has noticed the outage yet
        let_keepers_look(service)
        assert service.ask("GET", f"/v1/games/{game}").json["deadline"] == "2026-11-20T14:59:59Z"
        shown = service.ask("GET", f"/v1/games/{game}/clock").json
        assert (shown["deadline"], shown["overdue"]) == ("2026-11-20T14:59:59Z", False)
        assert len(shown["outages"]) == 1
        assert log_of(players[0], game) == before


# --- a clock that cannot be trusted -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [30, -30, 3600, -3600])
def test_on_a_file_a_jump_stops_the_process_until_the_clock_is_set_back(tmp_path: Path, seconds: int) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        time = process(store, clock)
        run(time.now())
        noted = run(store.last_beat(Way.HTTP))
        clock.jump(seconds)
        for passed in (0, 10, 40):
            clock.pass_by(passed)
            for call in (time.now, time.beat, time.drained):
                with pytest.raises(ClockError):
                    run(call())
        assert (run(store.last_beat(Way.HTTP)), run(store.outages())) == (noted, ())
        clock.jump(-seconds)
        assert run(time.now()) == at(clock)
        assert run(store.outages()) == ()


class Setting:
    """A store that sets a clock by some seconds when the last beat is read, the first time only."""

    def __init__(self, store: Store, clock: Clock, seconds: float) -> None:
        self._store = store
        self._clock = clock
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def last_beat(self, way: Way) -> str | None:
        self._clock.jump(self._seconds)
        self._seconds = 0
        return await self._store.last_beat(way)


@pytest.mark.parametrize("seconds", [2 * 86_400, -86_400])
def test_a_clock_that_jumps_while_it_is_verified_is_not_noted(tmp_path: Path, seconds: int) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        run(process(store, clock).now())
        before = run(store.last_beat(Way.HTTP))
        clock.pass_by(10)
        time = process(Setting(store, clock, seconds), clock)
        with pytest.raises(ClockError, match="has jumped"):
            run(time.now())
        assert (run(store.last_beat(Way.HTTP)), run(store.outages())) == (before, ())
        clock.jump(-seconds)
        assert run(time.now()) == at(clock)
        assert run(store.outages()) == ()


def test_a_small_correction_is_no_jump(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        time = process(store, clock)
        for _ in range(10):
            clock.jump(29)
            assert run(time.now()) == at(clock)


def test_a_clock_over_a_minute_before_the_last_beat_is_not_trusted(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        run(store.beat(Way.HTTP, at(clock, 61)))
        time = process(store, clock)
        with pytest.raises(ClockError):
            run(time.now())
        assert (run(store.last_beat(Way.HTTP)), run(store.outages())) == (at(clock, 61), ())
        clock.pass_by(1)
        assert run(time.now()) == at(clock)


@pytest.mark.parametrize("apart", [31, -3600])
def test_a_database_judges_the_clock_before_the_first_time_is_noted(tmp_path: Path, apart: int) -> None:
    """Else one wrong clock would be noted in a new database, and keep all processes out until it is that late."""
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        judged = Judged(store, clock)
        judged.apart = apart
        time = process(judged, clock)
        with pytest.raises(ClockError):
            run(time.now())
        with pytest.raises(ClockError):
            run(time.beat())
        assert (run(store.last_beat(Way.HTTP)), run(store.outages())) == (None, ())
        judged.apart = 0
        clock.pass_by(2)
        assert run(time.now()) == at(clock)
        assert run(store.last_beat(Way.HTTP)) == at(clock)


def test_a_database_judges_the_clock_after_a_jump_and_with_each_beat(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        judged = Judged(store, clock)
        time = process(judged, clock)
        run(time.now())
        run(time.beat())
        clock.jump(40)  # and so does the database's: it was the other clock that went wrong
        assert run(time.now()) == at(clock)
        for apart in (31, -31):
            noted = run(store.last_beat(Way.HTTP))
            clock.jump(-40)
            judged.apart = apart
            with pytest.raises(ClockError):
                run(time.now())
            assert run(store.last_beat(Way.HTTP)) == noted
            clock.jump(40)
            clock.pass_by(2)
            judged.apart = 0
            assert run(time.now()) == at(clock)
        judged.apart = 31
        assert run(time.now()) == at(clock)  # it is asked with the next beat
        with pytest.raises(ClockError):
            run(time.beat())
        with pytest.raises(ClockError):
            run(time.now())
        judged.apart = 30
        clock.pass_by(1)
        assert run(time.now()) == at(clock)
        assert run(store.outages()) == ()


def test_a_service_that_does_not_know_the_time_takes_nothing_and_answers_what_only_reads(tmp_path: Path) -> None:
    with inside_with_keeper(tmp_path / "data") as service:
        players = two_players(service)
        game = begin(*players, agreement=AN_HOUR)
        mover = owing(players, game)
        accepted = mover.entry(game, (0, "0" * 64), entry_kinds.Resign())
        move, before = move_of(mover, game), log_of(mover, game)
        service.clock.jump(2 * HOUR)
        reads = (
            "",
            "/log",
            "/clock",
        )
        for player in players:  # a view has no head then
            shown = service.ask("GET", f"/v1/games/{game}/view?clock=true", token=player.token)
            assert (shown.status, "clock" in shown.json, "signed_head" in shown.json) == (200, True, False)
        for answer in (
            mover.send(move),
            service.ask("POST", "/v1/offers", offer_of(), mover.token),
            service.ask("GET", f"/v1/games/{game}/head"),
            service.ask("GET", "/readyz"),
        ):
            refused(answer, 503, "clock")
            assert int(answer.headers["retry-after"]) == answer.json["retry_after"] > 0
            assert "connection" not in answer.headers
        refused(mover.send(accepted), 409, "conflict")  # it says nothing new
        let_keepers_look(service)  # the keeper writes no timeout
        assert [service.ask("GET", f"/v1/games/{game}{path}").status for path in reads] == [200] * len(reads)
        assert service.ask("GET", "/v1/outages").json == {"outages": []}
        assert log_of(mover, game) == before
        service.clock.jump(-2 * HOUR)
        assert mover.send(move).status == 201
        assert service.ask("GET", "/readyz").status == 200
        verify(mover, game)


# --- drained, and signed heads ----------------------------------------------------------------------------------------


def test_an_undecided_arrival_holds_back_heads_and_timeouts(tmp_path: Path) -> None:
    clock = Clock()
    waiting: list[str] = []

    async def unprocessed() -> str | None:
        return min(waiting, default=None)

    with stores(tmp_path, 1, clock) as (store,):
        time = process(store, clock, unprocessed=unprocessed)
        sources = ClockAndEntropy(clock, boot=clock.elapsed)
        heads = GameViews(store, LoadedGames(store, 1), time, sources, KEY, cached=1)
        asked: list[str] = []

        class Asked(Judged):
            async def overdue(self, way: Way, before: str, limit: int) -> tuple[str, ...]:
                if way is Way.HTTP:
                    asked.append(before)
                return await store.overdue(way, before, limit)

        look = Keeper(Asked(store, clock), None, time, sources, KEY, slack=120).look  # type: ignore[arg-type] # it ends nothing
        table = new_game(store, 0)
        assert run(time.drained()) == at(clock)
        waiting.append(at(clock, 5))
        for _ in range(10):
            clock.pass_by(60)
            run(time.beat())
            assert run(time.drained()) == at(clock, -60 * (_ + 1) + 4)
            assert run(heads.head(table.game)).statement.at == run(time.drained())
            assert run(look()) == 0
            assert asked[-1] == min(at(clock, -120), run(time.drained()))
        waiting.clear()
        clock.pass_by(60)
        run(time.beat())
        assert run(time.drained()) == run(heads.head(table.game)).statement.at == at(clock)
        run(look())
        assert asked[-1] == at(clock, -120)


def test_the_store_is_asked_at_most_once_a_second_and_a_process_that_was_stopped_asks_again(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        time = process(store, clock)
        asked = 0

        async def drained() -> None:
            nonlocal asked
            asked += 1

        with patch.object(store, "drained", drained):
            first = run(time.drained())
            clock.pass_by(0.5)
            assert (run(time.drained()), asked) == (first, 1)
            clock.pass_by(0.5)
            assert (run(time.drained()), asked) == (at(clock), 2)
            clock.pass_by(HOUR)
            assert (run(time.drained()), asked) == (at(clock), 3)


def test_the_time_of_a_head_is_taken_before_the_head_is_read(tmp_path: Path) -> None:
    clock = Clock()
    with stores(tmp_path, 1, clock) as (store,):
        table = new_game(store, 0)
        order: list[str] = []
        time = process(store, clock)
        drained, head = time.drained, store.head

        async def noted_drained() -> str:
            order.append("drained")
            return await drained()

        async def noted_head(game: str) -> tuple[int, str] | None:
            order.append("head")
            return await head(game)

        sources = ClockAndEntropy(clock, boot=clock.elapsed)
        with patch.object(time, "drained", noted_drained), patch.object(store, "head", noted_head):
            run(GameViews(store, LoadedGames(store, 1), time, sources, KEY, cached=1).head(table.game))
        assert order == ["drained", "head"]


def head_of(service: Inside, game: str) -> dict[str, str]:
    answer = service.ask("GET", f"/v1/games/{game}/head")
    assert (answer.status, set(answer.json)) == (200, {"sig", "text"})
    found: dict[str, str] = answer.json
    return found


def test_a_view_with_the_clock_has_the_head_for_those_who_wait(tmp_path: Path) -> None:
    with inside(tmp_path / "data") as service:
        players = two_players(service)
        game, untimed = begin(*players, agreement=AN_HOUR), begin(*players)
        opened = players[0].new(agreement=AN_HOUR._replace(expires=at(service.clock, 3 * HOUR)))

        def view(player: Player, game: str, query: str = "?clock=true") -> dict[str, Any]:  # Any: JSON
            found: dict[str, Any] = service.ask("GET", f"/v1/games/{game}/view{query}", token=player.token).json
            return found

        mover = owing(players, game)
        (waiting,) = (each for each in players if each is not mover)
        assert view(waiting, game)["signed_head"] == head_of(service, game)
        assert view(players[0], opened)["signed_head"] == head_of(service, opened)  # somebody is to join
        assert "signed_head" not in view(waiting, game, "")
        assert "signed_head" not in view(mover, game)
        for player in players:
            assert "signed_head" not in view(player, untimed)
        assert waiting.send(waiting.entry(game, waiting.head(game), entry_kinds.Resign())).status == 201
        assert "signed_head" not in view(waiting, game)


def test_a_head_names_the_last_entry_and_is_signed_again_after_ten_seconds(tmp_path: Path) -> None:
    with inside(tmp_path / "data") as service:
        players = two_players(service)
        game = begin(*players, agreement=AN_HOUR)
        key = parse_public_key(service.ask("GET", "/v1/service").json["key"])
        shown = head_of(service, game)
        head = parse_head(shown["text"])
        sshsig.verify(decode_base64(shown["sig"], "signature"), key, sshsig.HEAD, head.message, "server")
        assert (head.game, (head.seq, head.head)) == (game, players[0].head(game))
        assert head.at == at(service.clock)
        service.clock.pass_by(9)
        assert head_of(service, game) == shown
        service.clock.pass_by(1)
        assert parse_head(head_of(service, game)["text"]) == head._replace(
            at=at(service.clock), text=head.text.replace(head.at, at(service.clock))
        )
        mover = owing(players, game)
        assert mover.send(move_of(mover, game)).status == 201
        moved = parse_head(head_of(service, game)["text"])  # a head is never of an entry that was known to have passed
        assert (moved.seq, moved.head) == mover.head(game)
        refused(service.ask("GET", f"/v1/games/{'0' * 32}/head"), 404, "not-found")
