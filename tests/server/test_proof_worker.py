"""The process that checks proofs: its verdicts, its places and lanes, and what follows when it dies or hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hkoji_server.service.games import proof_worker
from hkoji_server.service.games.proof_worker import MOST, MOST_OFFERS, ProofWorker, Proved

from hkoji import referee
from hkoji.errors import BusyError, HkojiError, MalformedError, ProofError, StorageError, TooManyError
from hkoji.game.proving import ProofCheck
from hkoji.game.sealed_parts import GivePart
from hkoji.game.submission import Submission
from hkoji.referee import RefereedGame
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.sealed.group import Combine
from tests.support.sealed_table import NAMES, SealedTable

# --- checks that need no game; the process imports them from here -----------------------------------------------------


def hold(_: Combine) -> None:
    """A check that holds."""


def note(path: str, word: str, seconds: float, _: Combine) -> None:
    """A check that takes so long, and then writes a word into a file."""
    time.sleep(seconds)
    with open(path, "a") as file:
        file.write(f"{word}\n")


def fail(_: Combine) -> None:
    """A check that does not hold."""
    raise ProofError("it does not hold")


def misread(_: Combine) -> None:
    """A check of bytes that are no point."""
    raise MalformedError("point", "it is the identity")


def stumble(_: Combine) -> None:
    """A check that raises what no check should."""
    raise ZeroDivisionError


def die(_: Combine) -> None:
    """A check in which the process is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(path: str, _: Combine) -> None:
    """A check in which the process is killed the first time."""
    with open(path, "a+") as file:
        first = file.tell() == 0
        file.write("begun\n")
    if first:
        os.kill(os.getpid(), signal.SIGKILL)


def chatter(_: Combine) -> None:
    """A check that prints."""
    print("a word", flush=True)


def hang(_: Combine) -> None:
    """A check that never ends."""
    time.sleep(3600)


# --- the worker -------------------------------------------------------------------------------------------------------


def entry(player: str, *, joined: bool = True, head: str = "00") -> Proved:
    """An entry of a player."""
    return Proved(player, head, None, joined)


def work(use: Callable[[ProofWorker], Awaitable[Any]], **callbacks: Any) -> Any:  # Any: what `use` returns
    """Uses a worker, and closes it."""

    async def run() -> Any:  # Any: as above
        worker = ProofWorker(**callbacks)
        try:
            return await use(worker)
        finally:
            await worker.close()

    return asyncio.run(run())


async def verdict(checked: Coroutine[Any, Any, None]) -> str:
    """The end of an entry: `held`, or the code of its error."""
    try:
        await checked
    except HkojiError as error:
        return error.code
    return "held"


def pid_of(worker: ProofWorker) -> int:
    """The number of the worker's process."""
    assert worker._process is not None
    return worker._process.pid


def test_no_process_runs_before_the_first_entry() -> None:
    async def use(worker: ProofWorker) -> None:
        assert worker._process is None

    work(use)


def test_each_verdict_comes_back_and_the_process_goes_on() -> None:
    counted: list[str] = []

    async def use(worker: ProofWorker) -> None:
        await worker.check(entry("alice"), [hold, hold])
        first = pid_of(worker)
        with pytest.raises(ProofError) as bad:
            await worker.check(entry("alice"), [hold, fail])
        assert (str(bad.value), bad.value.reason, bad.value.hint) == ("it does not hold", "it does not hold", "")
        with pytest.raises(MalformedError) as wrong:
            await worker.check(entry("alice"), [misread, fail])
        assert (str(wrong.value), wrong.value.what) == ("malformed point: it is the identity", "point")
        await worker.check(entry("alice"), [chatter])
        assert pid_of(worker) == first != os.getpid()

    work(use, count=counted.append)
    assert counted == ["held", "refused", "refused", "held"]


def test_a_check_that_raises_anything_else_refuses_the_entry_and_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    async def use(worker: ProofWorker) -> None:
        with pytest.raises(ProofError, match="the service failed while it checked the proofs"):
            await worker.check(entry("alice"), [stumble])
        await worker.check(entry("alice"), [hold])

    with patch.object(proof_worker, "log") as log:
        work(use)
    ((_, said),) = [(call.args, call.kwargs) for call in log.error.mock_calls]
    assert said["cause"].startswith("ZeroDivisionError in ")


def test_a_process_that_is_killed_in_its_work_is_started_again_and_the_entry_is_decided(tmp_path: Any) -> None:
    async def use(worker: ProofWorker) -> None:
        await worker.check(entry("alice"), [partial(die_once, str(tmp_path / "begun"))])
        await worker.check(entry("alice"), [hold])

    work(use)
    assert (tmp_path / "begun").read_text() == "begun\nbegun\n"


def test_a_process_that_is_killed_between_two_entries_is_started_again() -> None:
    async def use(worker: ProofWorker) -> None:
        await worker.check(entry("alice"), [hold])
        os.kill(first := pid_of(worker), signal.SIGKILL)
        await worker.check(entry("alice"), [hold])
        assert pid_of(worker) != first

    work(use)


def test_an_entry_that_ends_each_process_is_refused_and_the_next_one_is_decided() -> None:
    counted: list[str] = []

    async def use(worker: ProofWorker) -> None:
        with pytest.raises(BusyError, match="could not check the proofs") as refused:
            await worker.check(entry("alice"), [die])
        assert refused.value.retry_after > 0
        await worker.check(entry("bob"), [hold])

    work(use, count=counted.append)
    assert counted == ["failed", "held"]


def test_an_entry_that_hangs_is_refused_and_the_next_one_is_decided() -> None:
    async def use(worker: ProofWorker) -> None:
        await worker.check(entry("carol"), [hold])
        with patch.object(proof_worker, "_LONGEST", 1.0):
            assert await verdict(worker.check(entry("alice"), [hang])) == "too-busy"
        await worker.check(entry("bob"), [hold])  # in a new process, whose start may take longer

    work(use)


def test_an_entry_that_has_waited_too_long_is_refused_while_its_time_may_still_be_written(tmp_path: Any) -> None:
    async def use(worker: ProofWorker) -> None:
        slow = partial(note, str(tmp_path / "done"), "slow", 1.5)
        first = asyncio.create_task(verdict(worker.check(entry("alice"), [slow])))
        await asyncio.sleep(0)
        with patch.object(proof_worker, "PATIENCE", 0.5):
            second = asyncio.create_task(verdict(worker.check(entry("bob"), [hold])))
            await asyncio.sleep(0)
        assert [await first, await second] == ["held", "too-busy"]

    work(use)


def test_of_more_entries_than_there_are_places_one_is_refused_with_a_time_to_wait(tmp_path: Any) -> None:
    shown: list[int] = []

    async def use(worker: ProofWorker) -> None:
        slow = partial(note, str(tmp_path / "done"), "slow", 0.3)
        sent = [worker.check(entry(f"p{n}"), [hold if n else slow]) for n in range(MOST)]
        kept = [asyncio.create_task(verdict(each)) for each in sent]
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match="too many entries wait here") as refused:
            await worker.check(entry("late"), [hold])
        assert refused.value.retry_after > 0
        assert await asyncio.gather(*kept) == ["held"] * MOST
        await worker.check(entry("late"), [hold])

    assert MOST == 32
    work(use, waiting=shown.append)
    assert (max(shown), shown[-1]) == (MOST, 0)


def test_offers_leave_places_and_the_next_turn_to_joined_games(tmp_path: Any) -> None:
    done = tmp_path / "done"

    async def use(worker: ProofWorker) -> None:
        def send(name: str, *, joined: bool) -> asyncio.Task[str]:
            check = partial(note, str(done), name, 0.05)
            return asyncio.create_task(verdict(worker.check(entry(name, joined=joined), [check])))

        offers = [send(f"offer{n}", joined=False) for n in range(MOST_OFFERS + 3)]
        await asyncio.sleep(0)
        games = [send(f"game{n}", joined=True) for n in range(4)]
        assert await asyncio.gather(*offers) == ["held"] * MOST_OFFERS + ["too-busy"] * 3
        assert await asyncio.gather(*games) == ["held"] * 4

    work(use)
    order = done.read_text().split()
    assert order[:5] == ["offer0", "game0", "game1", "game2", "game3"]
    assert order[5:] == [f"offer{n}" for n in range(1, MOST_OFFERS)]


def test_the_same_entry_sent_again_gets_the_first_verdict_and_another_one_is_refused(tmp_path: Any) -> None:
    done = tmp_path / "done"

    async def use(worker: ProofWorker) -> None:
        async def send(head: str) -> str:
            return await verdict(worker.check(entry("alice", head=head), [partial(note, str(done), head, 0.1), fail]))

        assert await asyncio.gather(*map(send, ("aa", "aa", "bb"))) == ["bad-proof", "bad-proof", "too-many-requests"]
        assert await send("bb") == "bad-proof"

    work(use)
    assert done.read_text().split() == ["aa", "bb"]


def test_a_sender_who_leaves_takes_nobody_s_verdict_away(tmp_path: Any) -> None:
    async def use(worker: ProofWorker) -> None:
        slow = [partial(note, str(tmp_path / "done"), "slow", 0.1)]
        first, second = (asyncio.create_task(verdict(worker.check(entry("alice"), slow))) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == "held"

    work(use)


def test_the_event_loop_goes_on_while_proofs_are_checked(tmp_path: Any) -> None:
    async def use(worker: ProofWorker) -> None:
        await worker.check(entry("alice"), [hold])
        check = partial(note, str(tmp_path / "done"), "done", 0.5)
        slow = asyncio.create_task(verdict(worker.check(entry("alice"), [check])))
        turns = 0
        while not slow.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert turns > 10

    work(use)


def test_closing_ends_the_process_and_refuses_what_waits() -> None:
    async def run() -> None:
        worker = ProofWorker()
        await worker.check(entry("alice"), [hold])
        waiting = [asyncio.create_task(verdict(worker.check(entry(name), [hang]))) for name in ("alice", "bob")]
        await asyncio.sleep(0.1)
        pid = pid_of(worker)
        await worker.close()
        assert await asyncio.gather(*waiting) == ["storage"] * 2
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        with pytest.raises(StorageError, match="stopping"):
            await worker.check(entry("alice"), [hold])

    asyncio.run(run())


def test_a_service_that_is_killed_leaves_no_process_behind() -> None:
    program = """
import asyncio
from tests.server.test_proof_worker import ProofWorker, entry, hold, pid_of
async def run():
    worker = ProofWorker()
    await worker.check(entry("alice"), [hold])
    print(pid_of(worker), flush=True)
    await asyncio.sleep(3600)
asyncio.run(run())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        pid = int(service.stdout.readline())
        service.kill()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("the process has outlived its service")


# --- the proofs of a game ---------------------------------------------------------------------------------------------


class Due(NamedTuple):
    """An entry of a sealed game, the game before it, and the checks of its proofs."""

    refereed: RefereedGame
    submission: Submission
    checks: list[ProofCheck]


def checks_of(table: SealedTable, refereed: RefereedGame, submission: Submission) -> list[ProofCheck]:
    """The checks that the referee asks for."""
    asked: list[ProofCheck] = []
    referee.accept(refereed, submission, signer=table.server, at=refereed.at, verify=asked.extend)
    return asked


def entries(table: SealedTable, number: int) -> Iterator[Due]:
    """So many entries of a game, with what is deposited."""
    for _ in range(number):
        seat, body, share = table.due()
        submission = table.submission(seat, body)._replace(deposit=share)
        yield Due(table.refereed, submission, checks_of(table, table.refereed, submission))
        table.send(seat, body, deposit=share)


def test_the_referee_asks_for_all_proofs_at_the_end_and_decides_alike() -> None:
    table = SealedTable(Hanamikoji(), 3, deposit=(True, True))
    numbers: dict[int, int] = {}
    deposits: list[GivePart | None] = []

    async def use(worker: ProofWorker) -> None:
        for due in entries(table, 12):
            if due.checks:
                await worker.check(Proved(NAMES[0], due.submission.entry.head, None, True), due.checks)
            entry_, deposit = due.submission.entry, due.submission.deposit
            proofs = [key for key in ("lock", "give") if key in entry_.body]
            if entry_.kind in ("open", "join", "seed"):
                assert len(due.checks) == len(proofs) + (deposit is not None)
            numbers[entry_.seq] = len(due.checks)
            deposits.append(deposit)

    work(use)
    assert (numbers[1], numbers[2]) == (1, 0)
    assert any(deposits)


def test_the_referee_answers_as_it_is_told_about_proofs() -> None:
    table = SealedTable(Hanamikoji(), 4)
    seat, body, _ = table.due()
    submission = table.submission(seat, body)

    def refuse(_: object) -> None:
        raise TooManyError(1)

    with pytest.raises(TooManyError):
        referee.accept(table.refereed, submission, signer=table.server, at=table.at, verify=refuse)
    forged = submission._replace(sig=table.keys[1].sign("hkoji.entry.v1", b"another"))
    asked: list[object] = []
    with pytest.raises(HkojiError):
        referee.accept(table.refereed, forged, signer=table.server, at=table.at, verify=asked.extend)
    assert asked == []
