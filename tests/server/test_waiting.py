"""Waiting clients get every entry once and in order, whatever is lost; and thousands of them cost little."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hkoji_server.service.games.followers import MOST_GAMES, format_cursor, parse_cursor
from hkoji_server.service.games.waiting_hub import LookIntervals, Waiter, WaitingHub

from hkoji.errors import BusyError, MalformedError
from hkoji.log.line import parse_log
from tests.server.waiting_room import AT, Ear, Room, visits
from tests.support.conditions import until_seen
from tests.support.service import Player, Service, begin, play, serving
from tests.support.service_in_process import Inside, inside

QUICK = LookIntervals(games=0.1, lists=0.2, suspected=0.1, share=0.9)
DEAF = 0.0


def hub_at(room: Room, **options: Any) -> WaitingHub:  # Any: options by name
    return WaitingHub(room, **{"most": 10_000, "pace": QUICK, **options})  # type: ignore[arg-type] # all it needs


def named(number: int) -> str:
    return f"{number:08x}" * 4


# --- the laws ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heard", [1.0, 0.5, DEAF])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_entry_is_told_once_and_in_order(seed: int, heard: float) -> None:
    """Readers of one game and of all of a player's, at two hubs, cut off again and again, at any byte."""
    chance = random.Random(seed)
    room = Room(chance, heard)

    async def work() -> list[Ear]:
        hubs = [hub_at(room), hub_at(room)]
        room.write(named(0), "alice")
        ears = [Ear(room, named(0)) for _ in range(4)] + [Ear(room, player="alice") for _ in range(3)]
        early = asyncio.Event()
        for ear in ears[4:]:  # they begin when there is only the first entry
            early.set()
            await ear.listen(hubs[0], early, wait=0)
        over = asyncio.Event()
        reading = [asyncio.ensure_future(visits(ear, hubs, over)) for ear in ears]
        games = 1
        for _ in range(150):
            if chance.random() < 0.1:
                games += 1
            game = named(chance.randrange(games))
            if game not in room.ended:
                room.write(game, "alice", end=chance.random() < 0.05 and game != named(0))
            await asyncio.sleep(chance.choice((0, 0, 0.02)))
        over.set()
        await asyncio.gather(*reading)
        for ear in ears:
            await ear.listen(chance.choice(hubs), asyncio.Event(), wait=0)
        for hub in hubs:
            assert hub.waiting == 0
            await hub.close()
        return ears

    for ear in asyncio.run(work()):
        assert ear.visits > 3
        games = (ear.game,) if ear.game else tuple(room.logs)
        for game in games:
            first = 0 if ear.game or game != named(0) else 1
            assert [seq for told, seq in ear.told if told == game] == list(range(first, len(room.logs[game]))), game
        assert {game for game, _ in ear.told} <= set(games)


def test_a_waiting_client_is_woken_without_any_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some hundred of them, on as many games: looked up together, without a task each."""
    room = Room(random.Random(1), DEAF)

    async def work() -> None:
        hub = hub_at(room)
        waiters = [Waiter({named(number % 200): 0}) for number in range(600)]
        for number in range(200):
            room.write(named(number))
        loop = asyncio.get_running_loop()
        before = len(asyncio.all_tasks())
        for waiter in waiters:
            hub.join(waiter)
        waiting = [loop.create_task(hub.news(waiter, loop.time() + 3600)) for waiter in waiters]
        await until_seen(lambda: len(room.asked) >= 3)
        assert hub.waiting == 600
        assert len(asyncio.all_tasks()) - before - len(waiting) <= 6
        assert max(room.asked) == 200
        assert not any(task.done() for task in waiting)
        for number in range(0, 200, 2):
            room.write(named(number))
        await until_seen(lambda: sum(task.done() for task in waiting) >= 300)
        for number, task in enumerate(waiting):
            assert task.done() == (number % 2 == 0)
            if task.done():
                assert [(each.game, each.seq) for each in task.result()] == [(named(number % 200), 1)]
        hub.stop()
        assert [task.result() for task in waiting[1::2] if await task == ()] == [()] * 300
        for waiter in waiters:
            hub.leave(waiter)
        assert hub.waiting == 0
        await hub.close()

    asyncio.run(work())


def test_a_store_that_fails_for_a_while_keeps_nobody_from_being_told() -> None:
    from hkoji.errors import StorageError

    room = Room(random.Random(1))
    fails = True
    written = room.written

    async def failing(game: str, after: int = -1) -> Any:  # Any: lines
        if fails:
            raise StorageError("no")
        return await written(game, after)

    room.written = failing  # type: ignore[method-assign] # it fails

    async def work() -> None:
        nonlocal fails
        hub = hub_at(room)
        waiter = Waiter({named(1): -1})
        hub.join(waiter)
        waiting = asyncio.ensure_future(hub.news(waiter, asyncio.get_running_loop().time() + 3600))
        await asyncio.sleep(0)
        room.write(named(1))
        await until_seen(lambda: len(room.asked) > 1)
        assert not waiting.done()
        fails = False
        assert [each.seq for each in await waiting] == [0]
        await hub.close()

    asyncio.run(work())


def test_no_more_wait_than_there_is_room_for() -> None:
    room = Room(random.Random(1))

    async def work() -> None:
        hub = hub_at(room, most=2)
        first, second, third = (Waiter({named(number): -1}) for number in range(3))
        hub.join(first)
        hub.join(second)
        with pytest.raises(BusyError):
            hub.join(third)
        assert hub.waiting == 2
        hub.leave(first)
        hub.leave(first)
        hub.join(third)
        assert hub.waiting == 2
        hub.stop()
        with pytest.raises(BusyError):
            hub.join(Waiter({}))
        await hub.close()

    asyncio.run(work())


# --- places -----------------------------------------------------------------------------------------------------------


def test_a_place_in_many_games_is_read_as_it_was_written() -> None:
    seen = {named(number): number * 7 - 1 for number in range(MOST_GAMES)}
    text = format_cursor(AT, seen)
    cursor = parse_cursor(text)
    assert cursor.since == AT
    assert {game: cursor.of(game) for game in seen} == {**seen, named(0): None}
    assert cursor.of(named(MOST_GAMES)) is None


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "7",
        "~",
        f"{AT}",
        f"{AT}~A",
        f"{AT}~AAAA",
        f"{AT}~{'A' * 15}B",
        f"{AT}~{'A' * 30}",
        f"{AT}~{'A' * 100_000}",
        f"{AT}~AAAA\n",
        "2026-11-20 12:00:00Z~",
        format_cursor(AT, {named(2): 1}) + format_cursor(AT, {named(1): 1}).partition("~")[2],
    ],
)
def test_a_place_in_no_such_form_is_refused(text: str) -> None:
    with pytest.raises(MalformedError):
        parse_cursor(text)


# --- over HTTP --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with inside(tmp_path_factory.mktemp("waiting") / "data", max_waiting=3) as service:
        yield service


def test_a_client_may_ask_for_what_it_likes(server: Inside) -> None:
    """Absurd places and times are refused or ignored; never a 500, and nobody is left waiting."""
    alice = Player(server, "alice").register()
    game = alice.new()
    head = alice.head(game)[0]
    log, events = f"/v1/games/{game}/log", f"/v1/games/{game}/events"
    for path, status in (
        (f"{log}?wait=-1", 400),
        (f"{log}?wait=x", 400),
        (f"{log}?wait={10**30}&after=-1", 200),
        (f"{log}?after={2**31}&wait=1", 200),
        (f"{log}?after={2**31 + 1}&wait=1", 400),
        (f"/v1/games/{'0' * 32}/log?wait=9", 404),
        (f"{events}?wait=-1", 400),
        (f"{events}?wait=3601", 400),
        (f"{events}?wait=0&after={head + 1}", 409),
        (f"{events}?wait=0&after=-2", 400),
        (f"/v1/games/{'0' * 32}/events", 404),
        (f"{events}?wait=0", 200),
        ("/v1/events?wait=0", 200),
    ):
        answer = server.ask("GET", path, token=alice.token)
        assert answer.status == status, (path, answer)
        assert answer.status == 200 or answer.headers["content-type"] == "application/problem+json"
    conflict = server.ask("GET", f"{events}?after={head + 1}").json
    assert (conflict["seq"], conflict["code"]) == (head, "conflict")
    assert b"id: -1\n" in server.ask("GET", f"{events}?wait=0").body
    assert server.ask("GET", f"{events}?wait=0").body.endswith(b'event: end\ndata: {"reason":"time"}\n\n')


def test_a_stream_has_the_very_lines_of_the_log(server: Inside) -> None:
    alice, bob = Player(server, "anna").register(), Player(server, "ben").register()
    game = begin(alice, bob)
    play(alice, bob, game, 3)
    log = server.ask("GET", f"/v1/games/{game}/log").body
    told = server.ask("GET", f"/v1/games/{game}/events?wait=0").body
    data = [line[6:] for line in told.split(b"\n") if line.startswith(b'data: {"entry"')]
    assert b"".join(line + b"\n" for line in data) == log
    assert [line.entry.seq for line in parse_log(log)] == list(range(len(data)))


# --- real processes ---------------------------------------------------------------------------------------------------


def test_a_move_at_one_process_wakes_who_waits_at_the_other_and_a_stop_lets_go(tmp_path: Path) -> None:
    with serving(tmp_path / "data", forked=True) as one, serving(tmp_path / "data", forked=True) as two:
        alice, bob = Player(one, "alice").register(), Player(one, "bob").register()
        game = begin(alice, bob)
        head = alice.head(game)[0]
        answers: dict[str, Any] = {}  # Any: answers by name

        def ask(name: str, service: Service, path: str, token: str | None = None) -> threading.Thread:
            def run() -> None:
                answers[name] = service.ask("GET", path, token=token)

            thread = threading.Thread(target=run)
            thread.start()
            return thread

        log, events = f"/v1/games/{game}/log?after={head}&wait=60", f"/v1/games/{game}/events?after={head}"
        polls = [ask("poll here", one, log), ask("poll there", two, log)]
        streams = [
            ask(f"{name} {where}", service, path, alice.token)
            for where, service in (("here", one), ("there", two))
            for name, path in (("game", events), ("all", "/v1/events"))
        ]
        # Clients that come later than the move get it too, so the order does not matter here; except the streams of all
        # games, which begin at the present.
        time.sleep(0.5)
        course = alice.course(game)
        assert course.actor is not None
        mover = (alice, bob)[course.actor]
        mover.service = two
        own = mover.course(game)
        assert mover.send(mover.make_move(own, own.state.legal_actions()[0])).status == 201
        for thread in polls:
            thread.join(120)
        assert [parse_log(answers[f"poll {where}"].body)[0].entry.seq for where in ("here", "there")] == [head + 1] * 2
        for service in (one, two):
            service.stop()
            assert service.process.returncode == 0
        for thread in streams:
            thread.join(120)
        for name in ("game here", "game there", "all here", "all there"):
            assert answers[name].status == 200
            assert answers[name].body.endswith(b'event: end\ndata: {"reason":"stopping"}\n\n'), name
        for name in ("game here", "game there"):
            assert b"id: %d\n" % (head + 1) in answers[name].body
