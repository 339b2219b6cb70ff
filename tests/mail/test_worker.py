"""The worker: mails are processed in order, a failure of one delays no other player, and none stays for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hkoji_server.mail import worker
from hkoji_server.mail.worker import AT_ONCE, MailWorker, work_at_intervals
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_tables import IncomingMail
from hkoji_server.store.mail_values import SET_ASIDE, Mailbox

from hkoji.errors import ClockError, StorageError
from hkoji.game.clock import Way
from hkoji.mail.mail import Mail, read_mail
from tests.support.loops import run
from tests.support.mail_contract import add_mailbox, mail, outbox, with_mailbox
from tests.support.new_database import copy_new_database
from tests.support.stores import sqlite_at

Deed = Callable[[int], Awaitable[None]]


class Desk:
    """A store with the mailboxes of bob and carol, and a worker whose work the test does."""

    def __init__(self, store: Store) -> None:
        self.store = store
        bob = run(store.mailbox_at("bob@example.org"))
        assert bob is not None
        self.bob = bob
        self.passed = 0.0
        real = ClockAndEntropy()
        sources = ClockAndEntropy(
            clock=lambda: real.clock() + timedelta(seconds=self.passed),
            boot=lambda: real.elapsed() + self.passed,
        )
        self.tried: list[int] = []
        self.read: dict[int, Mail | None] = {}
        self.deed: Deed = self.close
        self._sources = sources
        self._time = ServiceTime(store, sources, outage_after=10**6, way=Way.MAIL)
        self.worker = self.another()

    def another(self) -> MailWorker:
        """Another worker on the same store, as of another process, or of this one when it begins again."""
        return MailWorker(self.store, self._time, self._sources, self._process)

    async def _process(self, number: int, read: Mail | None) -> None:
        self.tried.append(number)
        self.read[number] = read
        await self.deed(number)

    async def close(self, number: int) -> None:
        """Closes a mail, as its processing does."""
        await self.store.close_incoming(Closing(number))

    def add(self, number: int, box: Mailbox | None = None) -> int:
        """Keeps a mail, and returns its number."""
        kept = run(self.store.add_incoming(mail(box or self.bob, number)))
        assert kept.number is not None
        return kept.number

    def take(self, number: int, box: Mailbox | None = None, by: MailWorker | None = None) -> int:
        """Keeps a mail where it is processed, by a worker: it is handed over. Returns its number."""
        new = mail(box or self.bob, number, tries=1)
        kept = run(self.store.add_incoming(new))
        assert kept.number is not None
        (by or self.worker).hand_over(kept.number, read_mail(new.raw))
        return kept.number

    def tries(self, *numbers: int) -> list[int]:
        """How often mails were tried."""
        return [self.row(number).tries for number in numbers]

    def row(self, number: int) -> IncomingMail:
        """A mail as it is kept now."""
        found = run(self.store.incoming(number))
        assert found is not None
        return found

    def look(self, seconds: float = 0) -> list[int]:
        """Lets time pass and looks; returns the numbers that were tried."""
        self.passed += seconds
        before = len(self.tried)
        run(self.worker.look())
        return self.tried[before:]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    path = tmp_path / "hkoji.sqlite3"
    copy_new_database(path, with_mailbox)
    with sqlite_at(path) as store:
        yield Desk(store)


def failing(error: Exception) -> Deed:
    async def deed(_: int) -> None:
        raise error

    return deed


def test_mails_are_processed_in_their_order_and_closed(desk: Desk) -> None:
    numbers = [desk.add(number) for number in (3, 1, 2)]
    assert desk.look() == numbers
    assert [desk.row(number).state for number in numbers] == ["done"] * 3
    assert desk.look() == []


def test_the_next_mail_of_a_player_waits_for_the_one_before_it(desk: Desk) -> None:
    first, second = desk.add(1), desk.add(2)
    desk.deed = failing(RuntimeError("x"))
    assert desk.look() == [first]
    assert desk.look(1) == []
    desk.deed = desk.close
    assert desk.look(10) == [first, second]


def test_after_three_failures_a_mail_is_set_aside_with_an_answer_and_the_next_is_processed(desk: Desk) -> None:
    first, second = desk.add(1), desk.add(2)

    async def one_fails(number: int) -> None:
        if number == first:
            raise RuntimeError("x")
        await desk.close(number)

    desk.deed = one_fails
    assert desk.look() == [first]
    assert desk.look(6) == [first]
    assert desk.look(6) == []
    assert desk.look(30) == [first, second]
    row = desk.row(first)
    assert (row.state, row.result, row.tries, bool(row.raw)) == ("failed", SET_ASIDE, 3, True)
    assert desk.row(second).state == "done"
    assert [(game, seq, event) for game, seq, event, _ in outbox(desk.store)] == [(row.game, first, "answer")]
    assert desk.look(3600) == []


def test_an_hour_after_the_first_try_a_mail_is_set_aside_without_another(desk: Desk) -> None:
    number = desk.add(1)
    desk.deed = failing(RuntimeError("x"))
    assert desk.look() == [number]
    assert desk.look(3601) == []
    assert desk.row(number).state == "failed"


def test_a_mail_that_kills_each_process_is_set_aside_by_the_fourth(desk: Desk) -> None:
    number = desk.add(1)
    for _ in range(3):
        desk.deed = failing(asyncio.CancelledError())  # type: ignore[arg-type] # no exception that a worker may catch
        with pytest.raises(asyncio.CancelledError):
            desk.look()
    assert desk.row(number).tries == 3
    desk.deed = desk.close
    assert desk.look(61) == []
    assert desk.row(number).state == "failed"


def test_while_the_clock_is_in_doubt_nothing_is_tried(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    number = desk.add(1)

    async def doubtful(_: object) -> str:
        raise ClockError("the clock has jumped", 30)

    with monkeypatch.context() as patch:
        patch.setattr(ServiceTime, "now", doubtful)
        with pytest.raises(ClockError):
            desk.look()
    assert desk.row(number).tries == 0
    assert desk.look() == [number]


def test_a_database_that_fails_is_tried_again_later(desk: Desk) -> None:
    number = desk.add(1)
    desk.deed = failing(StorageError("the disk is full"))
    with pytest.raises(StorageError):
        desk.look()
    desk.deed = desk.close
    assert desk.look(1) == []
    assert desk.look(5) == [number]
    assert desk.row(number).state == "done"


def test_a_mail_that_its_processing_leaves_open_does_not_make_the_worker_turn(desk: Desk) -> None:
    async def nothing(_: int) -> None:
        return None

    desk.deed = nothing
    number = desk.add(1)
    assert desk.look() == [number]
    assert desk.look(1) == []


def with_crowd(store: Store) -> None:
    with_mailbox(store)
    for number in range(2, AT_ONCE + 3):
        add_mailbox(store, f"player{number}", number)


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[tuple[Desk, list[Mailbox]]]:
    """A desk with more mailboxes than mails are processed at the same time."""
    path = tmp_path / "hkoji.sqlite3"
    copy_new_database(path, with_crowd)
    with sqlite_at(path) as store:
        found = [run(store.mailbox(f"channel-{number}")) for number in range(1, AT_ONCE + 3)]
        yield Desk(store), [each for each in found if each is not None]


def test_a_mail_that_waits_for_something_slow_holds_up_its_player_only(crowd: tuple[Desk, list[Mailbox]]) -> None:
    desk, (slow, quick, late, *_) = crowd

    async def work() -> None:
        answered = asyncio.Event()

        async def deed(number: int) -> None:
            if number == first:
                await answered.wait()
            await desk.close(number)

        desk.deed = deed
        looking = asyncio.create_task(desk.worker.look())
        async with asyncio.timeout(5):
            while other not in desk.tried:
                await asyncio.sleep(0)
            added = await desk.store.add_incoming(mail(late, 9))
            desk.worker.kept.set()
            while added.number not in desk.tried:
                await asyncio.sleep(0)
            assert second not in desk.tried
            assert not looking.done()
            answered.set()
            assert await looking == 4
        assert desk.tried[-1] == second

    first, second, other = desk.add(1, slow), desk.add(2, slow), desk.add(3, quick)
    run(work())


def test_mails_of_many_players_are_processed_together_and_no_more_than_the_bound(
    crowd: tuple[Desk, list[Mailbox]],
) -> None:
    desk, boxes = crowd
    now: set[int] = set()
    most = 0

    async def deed(number: int) -> None:
        nonlocal most
        now.add(number)
        most = max(most, len(now))
        if most == AT_ONCE:
            full.set()
        await asyncio.wait_for(full.wait(), 20)  # the first ones could be done before the last ones begin
        await desk.close(number)
        now.remove(number)

    full = asyncio.Event()
    desk.deed = deed
    numbers = [desk.add(number, box) for number, box in enumerate(boxes, 1)]
    assert desk.look() == numbers
    assert most == AT_ONCE < len(boxes)


def test_a_mail_that_ends_each_process_takes_no_other_one_with_it(crowd: tuple[Desk, list[Mailbox]]) -> None:
    desk, (box, second, third, *_) = crowd
    deadly = desk.add(1, box)
    others = [desk.add(2, second), desk.add(3, third)]

    async def deed(number: int) -> None:
        if number == deadly:
            raise asyncio.CancelledError
        await asyncio.sleep(0)
        await desk.close(number)

    desk.deed = deed
    for _ in range(3):
        with pytest.raises(asyncio.CancelledError):
            desk.look()
    assert [desk.row(number).tries for number in (deadly, *others)] == [3, 1, 1]
    desk.look(61)
    assert desk.row(deadly).state == "failed"
    assert [desk.row(number).state for number in others] == ["done", "done"]


def test_a_mail_that_was_tried_before_is_processed_alone_and_in_its_turn(crowd: tuple[Desk, list[Mailbox]]) -> None:
    desk, (one, two, three, *_) = crowd
    now: list[int] = []
    beside: dict[int, int] = {}

    async def deed(number: int) -> None:
        now.append(number)
        await asyncio.sleep(0)
        beside[number] = len(now)
        await desk.close(number)
        now.remove(number)

    desk.deed = deed
    numbers = [desk.add(number, box) for number, box in enumerate((one, two, three), 1)]
    run(desk.store.count_try(numbers[1], desk.row(numbers[1]).received))
    assert desk.look() == numbers
    assert beside == dict.fromkeys(numbers, 1)


def test_when_the_database_fails_a_mail_that_has_been_begun_comes_to_its_end(
    crowd: tuple[Desk, list[Mailbox]],
) -> None:
    desk, (one, two, *_) = crowd
    first, second = desk.add(1, one), desk.add(2, two)

    async def deed(number: int) -> None:
        if number == first:
            raise StorageError("the disk is full")
        await asyncio.sleep(0)
        await desk.close(number)

    desk.deed = deed
    with pytest.raises(StorageError):
        desk.look()
    assert [desk.row(number).state for number in (first, second)] == ["new", "done"]


def test_a_hint_wakes_the_worker_and_an_end_stops_it(desk: Desk) -> None:
    async def work() -> None:
        kept, ending = desk.worker.kept, asyncio.Event()
        task = asyncio.create_task(work_at_intervals(desk.worker, ending))
        await asyncio.sleep(0.05)
        added = await desk.store.add_incoming(mail(desk.bob, 1))
        kept.set()
        async with asyncio.timeout(0.9):
            while desk.tried != [added.number]:
                await asyncio.sleep(0.01)
        ending.set()
        kept.set()
        await asyncio.wait_for(task, 5)

    run(work())


# --- mails that are handed over ---------------------------------------------------------------------------------------


def test_the_first_try_of_a_mail_that_is_handed_over_is_kept_with_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = desk.take(1)
    assert desk.tries(number) == [1]

    async def counted(*_: object) -> int:
        raise AssertionError("it is written before the mail is obeyed")

    monkeypatch.setattr(type(desk.store), "count_try", counted)
    assert desk.look() == [number]
    read = desk.read[number]
    assert read is not None
    assert read.raw == mail(desk.bob, 1).raw
    assert (desk.row(number).state, desk.row(number).tries, desk.row(number).tried) == ("done", 1, None)


def test_a_mail_that_a_pipe_has_kept_is_counted_before_it_is_tried(desk: Desk) -> None:
    number = desk.add(1)
    assert desk.tries(number) == [0]
    assert desk.look() == [number]
    assert desk.read[number] is None
    assert desk.tries(number) == [1]
    assert desk.row(number).tried is not None


def test_a_mail_that_was_handed_over_and_fails_is_counted_like_every_other(desk: Desk) -> None:
    number = desk.take(1)
    desk.deed = failing(RuntimeError("x"))
    assert [desk.look(seconds) for seconds in (0, 1, 5, 29, 1)] == [[number], [], [number], [], [number]]
    row = desk.row(number)
    assert (row.state, row.result, row.tries) == ("failed", SET_ASIDE, 3)
    assert desk.read[number] is None


def test_a_mail_that_was_kept_before_a_restart_is_tried_alone_after_its_first_second(
    crowd: tuple[Desk, list[Mailbox]],
) -> None:
    desk, boxes = crowd
    numbers = [desk.take(number, box) for number, box in enumerate(boxes[:3], 1)]
    most, now = 0, 0

    async def deed(number: int) -> None:
        nonlocal most, now
        most, now = max(most, now + 1), now + 1
        await asyncio.sleep(0)
        await desk.close(number)
        now -= 1

    desk.deed = deed
    desk.worker = desk.another()
    assert desk.look() == []
    assert desk.tries(*numbers) == [1, 1, 1]
    assert desk.look(2) == numbers
    assert most == 1
    assert desk.tries(*numbers) == [2, 2, 2]


def test_a_mail_that_waited_for_hours_while_nothing_ran_is_tried(desk: Desk) -> None:
    number = desk.take(1)
    desk.worker = desk.another()
    assert desk.look(2 * 3600) == [number]
    assert desk.row(number).state == "done"


def test_of_two_processes_each_tries_what_it_has_kept(crowd: tuple[Desk, list[Mailbox]]) -> None:
    desk, (one, two, three, *_) = crowd
    other = desk.another()
    mine, theirs, of_pipe = desk.take(1, one), desk.take(2, two, by=other), desk.add(3, three)
    assert desk.look() == [mine, of_pipe]
    run(other.look())
    assert desk.tried == [mine, of_pipe, theirs]
    assert desk.tries(mine, theirs, of_pipe) == [1, 1, 1]


def test_a_process_takes_what_another_one_leaves(crowd: tuple[Desk, list[Mailbox]]) -> None:
    desk, (one, two, *_) = crowd
    other = desk.another()
    left, mine = desk.take(1, one, by=other), desk.take(2, two)
    assert desk.look() == [mine]
    assert desk.look(2) == [left]
    run(other.look())
    assert desk.tried == [mine, left]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_mail_that_kills_its_process_is_set_aside_after_three_tries_and_takes_no_other_one_with_it(
    crowd: tuple[Desk, list[Mailbox]], place: int
) -> None:
    desk, boxes = crowd
    numbers = [desk.take(number, box) for number, box in enumerate(boxes[:3], 1)]
    later = desk.add(4, boxes[3])
    deadly = numbers[place]

    async def deed(number: int) -> None:
        if number == deadly:
            raise asyncio.CancelledError
        await asyncio.sleep(0.01)
        await desk.close(number)

    desk.deed = deed
    for _ in range(3):
        with pytest.raises(asyncio.CancelledError):
            desk.look(2)
        desk.worker = desk.another()
    assert desk.tries(deadly) == [3]
    desk.look(2)
    assert desk.tried.count(deadly) == 3
    assert [desk.row(number).state for number in (*numbers, later) if number != deadly] == ["done"] * 3
    assert all(desk.tried.count(number) <= 2 for number in (*numbers, later) if number != deadly)
    assert (desk.look(61), desk.row(deadly).state) == ([], "failed")


def test_while_the_clock_is_in_doubt_the_tries_of_a_mail_are_no_fault_of_it(desk: Desk) -> None:
    number = desk.take(1)
    desk.deed = failing(ClockError("the clock has jumped", 30))
    for _ in range(5):
        with pytest.raises(ClockError):
            desk.look(1)
    desk.deed = desk.close
    assert desk.look() == [number]
    assert desk.row(number).state == "done"


def test_the_mails_that_are_handed_over_have_a_bound(
    crowd: tuple[Desk, list[Mailbox]], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, boxes = crowd
    size = len(mail(desk.bob, 1).raw)
    monkeypatch.setattr(worker, "MOST_HANDED", 2 * size)
    numbers = [desk.take(number, box) for number, box in enumerate(boxes[:4], 1)]
    assert desk.look() == numbers[2:]
    assert desk.look(2) == numbers[:2]
    assert [desk.read[number] is None for number in numbers] == [True, True, False, False]
    late = desk.take(5, boxes[4])  # there is room again
    assert desk.look() == [late]
    assert desk.read[late] is not None
