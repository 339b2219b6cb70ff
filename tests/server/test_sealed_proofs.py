"""Proofs of sealed games at a service: what a bad one changes, what it costs its sender, and whose time it takes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.service.games import proof_worker
from hkoji_server.service.games.proof_worker import ProofWorker, Proved
from hkoji_server.service.players.limits import RateLimits

from hkoji.game.agreement import DAY, UNTIMED, Agreement, TimeControl
from hkoji.game.clock import Outage, Way, add_seconds
from hkoji.game.course import EntryBody
from hkoji.game.submission import Submission
from hkoji.log.line import Line
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.sealed_service import ServedTable
from tests.support.service import Answer, Player, begin, play, serving, two_players
from tests.support.service_in_process import Inside, inside

DAILY = Agreement(TimeControl(DAY, 0, 0, 0))
Checking = Callable[[ProofWorker, Proved, Any], Awaitable[None]]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with inside(tmp_path / "data") as service:
        yield service


def table_of(service: Any, agreement: Agreement = UNTIMED) -> ServedTable:  # Any: a service of any kind
    """A sealed game that nobody has opened."""
    return ServedTable(two_players(service), Hanamikoji(), agreement=agreement)


def signed(table: ServedTable, body: EntryBody | None = None) -> Submission:
    """The entry that is due, or another of its author."""
    seat, due, deposit = table.due()
    player, course = table.players[seat], table.course
    submission = player.entry(table.game, (course.seq, course.head), due if body is None else body)
    return submission._replace(deposit=deposit if body is None else None)


def spoilt(body: Any) -> Any:  # Any: a body that has parts
    """A body with a bit changed in one of its proofs, so that it is still understood."""
    parts = body.parts
    if parts.lock is not None:
        return body._replace(parts=parts._replace(lock=parts.lock._replace(proof=flipped(parts.lock.proof))))
    return body._replace(parts=parts._replace(give=parts.give._replace(shares=flipped(parts.give.shares))))


def flipped(raw: bytes) -> bytes:
    """Bytes whose last number is another one."""
    return raw[:-32] + bytes([raw[-32] ^ 1]) + raw[-31:]


def log_of(table: ServedTable) -> bytes:
    return table.players[0].service.ask("GET", f"/v1/games/{table.game}/log").body


def refuse(table: ServedTable, submission: Submission, status: int, code: str) -> Answer:
    """Sends an entry that is refused, and checks that nothing has changed."""
    before = log_of(table)
    answer = table.players[0].send(submission)
    assert (answer.status, answer.json["code"]) == (status, code), answer
    assert log_of(table) == before
    return answer


@contextmanager
def judged() -> Iterator[list[str]]:
    """The heads of the entries whose proofs are checked."""
    heads: list[str] = []
    judge = ProofWorker._judge

    async def noting(self: ProofWorker, each: Any) -> Any:  # Any: what waits, and its verdict
        heads.append(each.proved.head)
        return await judge(self, each)

    with patch.object(ProofWorker, "_judge", noting):
        yield heads


@contextmanager
def waiting(meanwhile: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """While proofs are checked, something happens, once."""
    check, left = ProofWorker.check, [meanwhile]

    async def slow(self: ProofWorker, proved: Proved, checks: Any) -> None:  # Any: the checks
        if left:
            await left.pop()()
        await check(self, proved, checks)

    with patch.object(ProofWorker, "check", slow):
        yield


def times_of(line: Line) -> str:
    assert line.receipt is not None
    return line.receipt.receipt.at


# --- bad proofs -------------------------------------------------------------------------------------------------------


def test_a_bad_proof_changes_nothing_and_the_game_goes_on(service: Inside) -> None:
    table = table_of(service)
    for number in range(12):
        _, body, _ = table.due()
        if body.parts.lock is not None or body.parts.give is not None:
            answer = refuse(table, signed(table, spoilt(body)), 400, "bad-proof")
            assert "retry-after" not in answer.headers
        assert table.go_on().status == 201, number


def test_proofs_of_an_entry_are_checked_once_and_last(service: Inside) -> None:
    table = table_of(service)
    with judged() as heads:
        _, body, _ = table.due()
        bad = signed(table, spoilt(body))
        refuse(table, bad, 400, "bad-proof")
        assert heads == [bad.entry.head]
        # Nothing that somebody else has signed, or that is not due, or is at another place, makes work.
        bob = table.players[1]
        refuse(table, bob.entry(table.game, (0, table.course.head), body), 403, "forbidden")
        forged = signed(table, body)._replace(sig=bad.sig)
        refuse(table, forged, 403, "bad-signature")
        early = table.players[0].entry(table.game, (3, table.course.head), body)
        refuse(table, early, 409, "conflict")
        assert heads == [bad.entry.head]
        assert table.go_on().status == 201
        assert len(heads) == 2
        assert table.go_on().status == 201  # a join has no proofs
        assert len(heads) == 2
        wrong_turn = table.players[0].entry(table.game, (table.course.seq, table.course.head), table.due()[1])
        refuse(table, wrong_turn, 409, "not-your-turn")
        assert len(heads) == 2


def test_other_games_need_no_other_process_and_a_stopped_service_leaves_none(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running:
        alice, bob = two_players(running)
        play(alice, bob, begin(alice, bob), 3)
        assert children(running.process.pid) == []
        table = ServedTable((alice, bob), Hanamikoji())
        table.go_on(3)
        (pid,) = children(running.process.pid)
        running.stop()
        assert gone(pid)


def test_a_killed_service_leaves_no_process(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running:
        table = table_of(running)
        table.go_on()
        (pid,) = children(running.process.pid)
        running.kill()
        assert gone(pid)


def test_when_the_other_process_is_killed_the_game_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running:
        table = table_of(running)
        table.go_on(3)
        for _ in range(3):
            (pid,) = children(running.process.pid)
            os.kill(pid, signal.SIGKILL)
            table.go_on(2)
            assert children(running.process.pid) != [pid]


def children(pid: int) -> list[int]:
    found = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return sorted(int(each) for words in found for each in words)


def gone(pid: int) -> bool:
    """Whether a process ends soon."""
    for _ in range(600):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


def test_a_flood_of_bad_proofs_does_not_stop_other_games(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running:
        table = table_of(running)
        bad = signed(table, spoilt(table.due()[1]))
        carol, dave = Player(running, "carol").register(), Player(running, "dave").register()
        game, other = begin(carol, dave), ServedTable((carol, dave), Hanamikoji(), 1)
        done = threading.Event()

        def flood() -> set[str]:
            said = set()
            while not done.is_set():
                said.add(table.players[0].send(bad).json["code"])
            return said

        with ThreadPoolExecutor(4) as pool:
            floods = [pool.submit(flood) for _ in range(4)]
            try:
                play(carol, dave, game, 12)
                other.go_on(8)
            finally:
                done.set()
            assert set().union(*(each.result() for each in floods)) == {"bad-proof"}
        assert table.course.seq == 0
        table.go_on()


# --- places -----------------------------------------------------------------------------------------------------------


def test_an_entry_for_which_there_is_no_place_is_refused_with_a_time_to_wait(service: Inside) -> None:
    table = table_of(service)
    sent = signed(table)
    with patch.object(proof_worker, "MOST", 0), judged() as heads:
        answer = refuse(table, sent, 503, "too-busy")
        assert int(answer.headers["retry-after"]) == answer.json["retry_after"] > 0
        assert heads == []
    assert table.players[0].send(sent).status == 201


def test_the_same_entry_sent_twice_at_once_is_checked_once_and_gets_one_receipt(service: Inside) -> None:
    table = table_of(service)
    sent = signed(table)
    path = f"/v1/games/{table.game}/entries"

    async def both() -> list[Answer]:
        raw = json.dumps(sent.to_json()).encode()
        return list(await asyncio.gather(*(service._answer("POST", path, raw, None) for _ in range(2))))

    with judged() as heads:
        answers = service.runner.run(both())
    assert sorted(each.status for each in answers) == [200, 201]
    assert answers[0].json == answers[1].json
    assert heads == [sent.entry.head]


# --- times ------------------------------------------------------------------------------------------------------------


def test_the_time_of_record_is_that_before_the_proofs_waited(service: Inside) -> None:
    table = table_of(service, DAILY)
    table.go_on(2)
    began = times_of(table.lines[-1])
    service.clock.pass_by(DAY - 10)  # in time, but not when its proofs have been checked

    async def slowly() -> None:
        service.clock.pass_by(30)

    with waiting(slowly):
        assert table.go_on().status == 201
    assert times_of(table.lines[3]) == add_seconds(began, DAY - 10)


def test_the_time_is_kept_when_something_else_changes_meanwhile(service: Inside) -> None:
    table = table_of(service, DAILY)
    table.go_on(2)
    began, head = times_of(table.lines[-1]), table.course.head
    service.clock.pass_by(DAY - 10)
    alice = table.players[0]
    path, gift = f"/v1/games/{table.game}/statements", alice.gift(table.game, head, 60)

    async def slowly() -> None:
        service.clock.pass_by(30)
        answer = await service._answer("POST", path, json.dumps(gift).encode(), None)
        assert answer.status == 201, answer

    with waiting(slowly), judged() as heads:
        assert table.go_on().status == 201
    assert times_of(table.lines[3]) == add_seconds(began, DAY - 10)
    assert len(heads) == 1


def test_the_time_lies_in_no_outage_that_is_recorded_meanwhile(service: Inside) -> None:
    table = table_of(service, DAILY)
    table.go_on(2)
    began = times_of(table.lines[-1])
    service.clock.pass_by(100)

    async def slowly() -> None:
        service.clock.pass_by(30)
        async with service.store() as store:
            outage = Outage(add_seconds(began, 50), add_seconds(began, 120), Way.HTTP)
            await store.add_outage(outage, add_seconds(began, 130))

    with waiting(slowly), judged() as heads:
        assert table.go_on().status == 201
    assert times_of(table.lines[3]) == add_seconds(began, 120)
    assert len(heads) == 1


def test_a_time_that_is_too_old_to_be_written_is_taken_anew(service: Inside) -> None:
    table = table_of(service, DAILY)
    table.go_on(2)
    began = times_of(table.lines[-1])
    service.clock.pass_by(10)

    async def slowly() -> None:
        service.clock.pass_by(90)

    with waiting(slowly), judged() as heads:
        assert table.go_on().status == 201
    assert times_of(table.lines[3]) == add_seconds(began, 100)
    assert len(heads) == 1


# --- limits -----------------------------------------------------------------------------------------------------------


@contextmanager
def counting() -> Iterator[list[tuple[str, int]]]:
    """The counts of players: for their entries, and more for those whose proofs do not hold."""
    counted: list[tuple[str, int]] = []
    take, charge = RateLimits.take_player, RateLimits.charge_player

    def taking(self: RateLimits, name: str, requests: int = 1) -> bool:
        counted.append((name, requests))
        return take(self, name, requests)

    def charging(self: RateLimits, name: str, requests: int) -> None:
        counted.append((name, requests))
        charge(self, name, requests)

    with patch.multiple(RateLimits, take_player=taking, charge_player=charging):
        yield counted


def test_entries_count_by_their_proofs_and_bad_ones_three_times(tmp_path: Path) -> None:
    with inside(tmp_path / "data", limit_player="5000/hour") as service:
        table = table_of(service)
        with counting() as counted:
            _, body, _ = table.due()
            refuse(table, signed(table, spoilt(body)), 400, "bad-proof")
            assert counted == [("alice", 8), ("alice", 16)]
            table.go_on(4)
            assert counted[2:] == [("alice", 8), ("bob", 1), ("bob", 8), ("alice", 2)]
            counted.clear()
            begin(*table.players)
            assert counted == [("alice", 1), ("bob", 1), ("bob", 1), ("alice", 1)]


def test_a_player_whose_proofs_are_bad_must_wait_soon_and_others_need_not(tmp_path: Path) -> None:
    with inside(tmp_path / "data", limit_player="50/hour") as service:
        table = table_of(service)
        bad = signed(table, spoilt(table.due()[1]))
        refuse(table, bad, 400, "bad-proof")
        refuse(table, bad, 400, "bad-proof")
        with judged() as heads:
            answer = refuse(table, bad, 429, "too-many-requests")
            assert int(answer.headers["retry-after"]) > 60
            assert heads == []
        assert service.ask("GET", "/v1/me/games", token=table.players[1].token).status == 200
