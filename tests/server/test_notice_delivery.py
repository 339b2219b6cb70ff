"""Notices of a service in this process, with a clock and a courier of the test: what is sent, when, and how often."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from hkoji_server.process.metrics import Metrics
from hkoji_server.service.games.keeper import Keeper
from hkoji_server.service.games.loaded_games import LoadedGame
from hkoji_server.service.games.notice_rules import OLDEST_NOTICE, TURN_WAIT
from hkoji_server.service.notices import delivery as notice_delivery
from hkoji_server.service.notices.couriers import MOST_OF_HOST, MOST_OF_PLAYER, Gone, Later, Never
from hkoji_server.service.notices.delivery import LEASE, MOST_FAILURES, SEND_SECONDS
from hkoji_server.store.notices import LeasedNotice, WaitingNotice, outbox_row, writing
from hkoji_server.store.talk import NewMessage

from hkoji.errors import MalformedError
from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.log.private_key import PrivateKey
from tests.support.couriers import NO_SETTINGS, Told, told
from tests.support.service import Player, begin, two_players
from tests.support.stores import sqlite_at
from tests.support.table import AT
from tests.support.timed_games import AN_HOUR, a_gift, a_wish, move_of, state, timed

HOUR = 3600
LATER = "2027-01-01T00:00:00Z"
DAYS = Agreement(TimeControl(3 * DAY, 0, 0, 0))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Told]:
    with told(tmp_path / "data") as service:
        yield service


def started(service: Told, agreement: Agreement = DAYS) -> tuple[str, Player, Player]:
    """A game, who must move, and the other one; both have a channel, and nothing waits."""
    players = two_players(service.service)
    game, mover, other = timed(players, agreement)
    for player in (mover, other):
        service.add(player.name)
    return game, mover, other


def test_the_opponent_of_a_move_is_told_once_when_the_wait_is_over(service: Told) -> None:
    game, mover, other = started(service)
    mover.send(move_of(mover, game))
    assert service.deliver(TURN_WAIT - 1) == []
    assert service.deliver(1) == ["turn"]
    assert service.deliver(1) == []
    ((channel, notice),) = service.courier.sent
    seq, head = other.head(game)
    assert channel == f"of-{other.name}"
    assert notice._replace(ruleset="", deadline=None) == (
        f"{game}.{seq}.turn.of-{other.name}",
        "turn",
        other.name,
        game,
        seq,
        head,
        mover.name,
        "",
        None,
        f"http://inside/v1/games/{game}",
        (),
        False,
    )
    assert notice.deadline == service.service.ask("GET", f"/v1/games/{game}/clock").json["deadline"]
    assert '"name":"hanamikoji"' in notice.ruleset


def test_a_quick_reply_makes_no_notice(service: Told) -> None:
    game, mover, other = started(service)
    while other.course(game).actor != other.course(game).setup.seat_of(other.name):
        mover.send(move_of(mover, game))
    while mover.course(game).actor != mover.course(game).setup.seat_of(mover.name):
        other.send(move_of(other, game))
    service.courier.sent.clear()
    assert service.deliver(TURN_WAIT + 1) == ["turn"]
    ((channel, _),) = service.courier.sent
    assert channel == f"of-{mover.name}"


def test_reminders_come_before_the_deadline_and_no_more_after_the_move(service: Told) -> None:
    game, mover, other = started(service)
    mover.send(move_of(mover, game))
    assert service.deliver(TURN_WAIT) == ["turn"]
    at = service.service.clock.now
    found = []
    for _ in range(3 * 24):
        found += [
            (event, round((service.service.clock.now - at).total_seconds() / HOUR)) for event in service.deliver(HOUR)
        ]
    assert found == [("remind1", 48), ("remind2", 68)]
    assert service.waiting() is None
    assert other.name in {notice.player for _, notice in service.courier.sent}


def test_nothing_is_sent_that_became_stale_while_the_one_before_it_was_sent(service: Told) -> None:
    """Two turns are due. While the first one is sent, the player moves in the other game."""
    players = two_players(service.service)
    service.add("bob", events=("turn",))
    games = [begin(*players) for _ in range(2)]
    for game in games:
        while players[0].course(game).actor == 0:
            players[0].send(move_of(players[0], game))
        service.service.clock.pass_by(1)
    reply = move_of(players[1], games[1])

    async def move() -> None:
        path, body = f"/v1/games/{games[1]}/entries", json.dumps(reply.to_json()).encode()
        assert (await service.service._answer("POST", path, body, None)).status == 201

    service.courier.deeds.append(move)
    assert service.deliver(TURN_WAIT) == ["turn"]
    assert service.waiting() is None


def test_a_channel_that_is_removed_during_delivery_gets_no_more(service: Told) -> None:
    """Two notices are due. While the first one is sent, the player removes the channel."""
    players = two_players(service.service)
    service.add(players[0].name)
    for _ in range(2):
        begin(*players)
    channel = f"of-{players[0].name}"

    async def remove() -> None:
        assert await service.store.remove_channel(players[0].name, channel)

    service.courier.deeds.append(remove)
    assert len(service.deliver(TURN_WAIT)) == 1
    assert service.waiting() is None
    assert service.deliver(LEASE) == []


def test_a_gift_puts_off_reminders_and_tells_the_one_who_got_it(service: Told) -> None:
    game, mover, other = started(service)
    mover.send(move_of(mover, game))
    service.deliver(TURN_WAIT)
    service.service.clock.pass_by(DAY)
    mover.login()
    assert state(mover, game, a_gift(mover, game, DAY)).status == 201
    assert service.deliver() == ["given"]
    assert service.courier.sent[-1][0] == f"of-{other.name}"
    assert state(mover, game, a_gift(mover, game, 2 * DAY)).status == 201
    assert service.deliver() == ["given"]
    first, second = (notice for _, notice in service.courier.sent[-2:])
    assert first.id == second.id
    assert (first.deadline or "") < (second.deadline or "")  # by which receivers know that it is news
    assert service.deliver(DAY + HOUR) == []  # the first reminder would have come by now
    assert service.deliver(2 * DAY) == ["remind1"]
    assert state(mover, game, a_gift(mover, game, 2 * DAY)).status == 200
    assert service.deliver() == []


def test_both_are_told_of_a_timeout_and_one_of_a_resignation(service: Told) -> None:
    players = two_players(service.service)
    for player in players:
        service.add(player.name)
    one, two = begin(*players, agreement=AN_HOUR), begin(*players)
    service.deliver(TURN_WAIT)
    service.courier.sent.clear()
    players[0].send(players[0].entry(two, players[0].head(two), entry_kinds.Resign()))
    assert service.deliver() == ["over"]
    assert service.courier.sent[0][0] == f"of-{players[1].name}"
    service.service.clock.pass_by(2 * HOUR)
    service.run(_end(service))
    assert sorted(service.deliver()) == ["over", "over"]
    assert {channel for channel, _ in service.courier.sent[1:]} == {f"of-{player.name}" for player in players}
    assert one in service.courier.sent[-1][1].id


async def _end(service: Told) -> None:
    """Ends the one game whose time is over."""
    delivery, identity = service.delivery, await service.store.identity()
    assert identity is not None
    key = PrivateKey.from_openssh(identity[0].encode())
    keeper = Keeper(service.store, delivery._held, delivery._time, delivery._sources, key, slack=0)
    assert await keeper.look() == 1


def test_a_wish_to_call_off_is_told_while_it_stands(service: Told) -> None:
    game, mover, other = started(service)
    service.deliver(TURN_WAIT)
    assert state(mover, game, a_wish(mover, game)).status == 201
    assert service.deliver() == ["annul"]
    assert service.courier.sent[-1][1].player == other.name
    assert state(other, game, a_wish(other, game)).status == 201
    assert service.deliver() == ["over"]
    assert service.courier.sent[-1][1].player == mover.name


def test_invited_and_joined(service: Told) -> None:
    alice, bob = two_players(service.service)
    service.add("alice")
    service.add("bob")
    game = alice.new(invite=entry_kinds.Invite("bob", None))
    assert service.deliver() == ["invited"]
    assert service.courier.sent[-1][1][:7] == (
        f"{game}.1.invited.of-bob",
        "invited",
        "bob",
        game,
        1,
        alice.head(game)[1],
        "alice",
    )
    withdrawn = alice.new(invite=entry_kinds.Invite("bob", None))
    alice.send(alice.entry(withdrawn, alice.head(withdrawn), entry_kinds.Cancel()))
    assert service.deliver() == []
    bob.join(game)
    assert "joined" in service.deliver()


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_notice_that_could_not_be_sent_is_sent_again_with_the_same_id(service: Told) -> None:
    game, mover, _ = started(service)
    mover.send(move_of(mover, game))
    service.courier.fail(OSError(), ValueError())
    assert service.deliver(TURN_WAIT) == ["turn"]
    assert service.deliver(23) == []
    assert service.deliver(14) == ["turn"]
    assert service.deliver(47) == []
    assert service.deliver(26) == ["turn"]
    assert service.deliver(HOUR) == []
    assert len({notice.id for _, notice in service.courier.sent}) == 1
    assert service.channel(service.courier.sent[0][0]).failures == 0


def test_a_receiver_says_when_to_come_again(service: Told) -> None:
    game, mover, _ = started(service)
    mover.send(move_of(mover, game))
    service.courier.fail(Later(500))
    service.deliver(TURN_WAIT)
    assert service.deliver(499) == []
    assert service.deliver(1) == ["turn"]


def test_a_notice_that_never_arrives_is_given_up_after_three_days(service: Told) -> None:
    game, mover, other = started(service, Agreement())
    mover.send(move_of(mover, game))
    service.courier.fail(*[OSError() for _ in range(100)])
    tried = 0
    for _ in range(24 * 4):
        tried += len(service.deliver(HOUR))
    assert 15 < tried < 25
    assert service.waiting() is None
    assert service.channel(f"of-{other.name}").failures == 1


def test_old_notices_of_a_restored_copy_are_dropped_and_no_channel_is_to_blame(service: Told) -> None:
    game, mover, other = started(service, Agreement())
    mover.send(move_of(mover, game))
    assert service.deliver(TURN_WAIT + OLDEST_NOTICE + 1) == []
    assert service.waiting() is None
    assert service.channel(f"of-{other.name}").failures == 0


def test_a_channel_that_refuses_ten_times_is_off_and_the_other_one_tells(service: Told) -> None:
    players = two_players(service.service)
    service.add("bob", "good", events=("failing",))
    service.add("bob", "bad", events=("joined",))
    service.courier.fail(*[Never("gone") for _ in range(MOST_FAILURES)])
    for number in range(1, MOST_FAILURES + 1):
        players[0].join(players[1].new())
        last = number == MOST_FAILURES
        assert service.deliver() == (["joined", "failing"] if last else ["joined"])
        assert service.channel("bad").failures == number
        assert (service.channel("bad").off is not None) == last
    players[0].join(players[1].new())
    assert service.deliver() == []
    assert service.courier.sent[-1][1].channels_off == ("bad",)
    assert service.run(service.store.reset_channel("bob", "bad"))
    players[0].join(players[1].new())
    assert service.deliver() == ["joined"]


def test_a_lasting_channel_stays_on_whatever_happens(service: Told) -> None:
    players = two_players(service.service)
    service.add("bob", "good", events=("failing",))
    service.add("bob", "bad", events=("joined",))
    service.courier.lasting = True
    service.courier.fail(*[Never("gone") for _ in range(MOST_FAILURES + 1)], Gone("away"))
    for _ in range(MOST_FAILURES + 2):
        players[0].join(players[1].new())
        assert service.deliver() == ["joined"]
        bad = service.channel("bad")
        assert (bad.works, bad.failures) == (True, 0)
    assert service.waiting() is None  # each was given up for itself
    service.courier.fail(ConnectionError())
    players[0].join(players[1].new())
    assert service.deliver() == ["joined"]
    due = service.waiting()
    assert due is not None
    assert service.deliver(OLDEST_NOTICE + 1) == []  # too old: dropped, and no fault of the channel either
    assert service.waiting() is None
    assert service.channel("bad").works


def test_a_slow_receiver_delays_no_other(service: Told) -> None:
    players = two_players(service.service)
    service.add("bob", "slow", events=("joined",))
    service.add("bob", "quick", events=("joined",))

    async def work() -> list[str]:
        release = asyncio.Event()

        async def wait() -> None:
            if service.courier.sent[-1][0] == "quick":
                service.courier.deeds.insert(0, wait)
            else:
                await release.wait()

        service.courier.deeds.append(wait)
        assert await service.delivery.look() <= notice_delivery.NOTICE_PACE
        for _ in range(200):
            await asyncio.sleep(0.005)
            if sum(channel == "quick" for channel, _ in service.courier.sent) == 2:
                break
        before = [channel for channel, _ in service.courier.sent]
        await service.delivery.look()
        await asyncio.sleep(0.01)
        assert [channel for channel, _ in service.courier.sent] == before  # the busy one is left alone
        release.set()
        await service.delivery.settle()
        return before

    for _ in range(2):
        players[0].join(players[1].new())
    assert sorted(service.run(work())) == ["quick", "quick", "slow"]
    assert [channel for channel, _ in service.courier.sent].count("slow") == 2


def test_a_game_that_cannot_be_read_keeps_no_other_notice_waiting(
    service: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    players = two_players(service.service)
    service.add("bob", events=("joined",))
    games = [players[1].new() for _ in range(3)]
    for game in games:
        players[0].join(game)
        service.service.clock.pass_by(1)
    held = service.delivery._held
    read = held.read

    async def damaged(game: str) -> LoadedGame:
        if game == games[0]:
            raise MalformedError("entry", "it is not JSON")
        return await read(game)

    monkeypatch.setattr(held, "read", damaged)
    assert service.deliver() == ["joined"] * 2
    assert service.deliver(LEASE) == []
    monkeypatch.undo()
    assert service.deliver(HOUR) == ["joined"]


def test_a_process_that_gets_a_lease_too_late_does_not_send(service: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    players = two_players(service.service)
    service.add("bob", events=("joined",))
    lease = service.store.lease_notice

    async def slow(notice: WaitingNotice, until: str) -> LeasedNotice | None:
        leased = await lease(notice, until)
        service.service.clock.pass_by(LEASE - SEND_SECONDS + 1)
        return leased

    monkeypatch.setattr(service.store, "lease_notice", slow)
    players[0].join(players[1].new())
    assert service.deliver() == []
    monkeypatch.undo()
    assert service.deliver() == []
    assert service.deliver(LEASE) == ["joined"]


def test_a_notice_that_another_process_leases_first_is_not_sent(service: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    players = two_players(service.service)
    service.add("bob", events=("joined",))
    lease = service.store.lease_notice

    async def second(notice: WaitingNotice, until: str) -> LeasedNotice | None:
        assert await lease(notice, until) is not None
        return await lease(notice, until)

    monkeypatch.setattr(service.store, "lease_notice", second)
    players[0].join(players[1].new())
    assert service.deliver() == []


def test_a_process_that_ends_leaves_what_it_has_not_begun(tmp_path: Path) -> None:
    with told(tmp_path / "data") as service:
        players = two_players(service.service)
        service.add("bob", events=("joined",))
        for _ in range(2):
            players[0].join(players[1].new())

        async def work() -> None:
            begun = asyncio.Event()

            async def slow() -> None:
                begun.set()
                await asyncio.sleep(0.05)

            service.courier.deeds.append(slow)
            await service.delivery.look()
            await begun.wait()
            await service.delivery.close()

        service.run(work())
        assert service.courier.events == ["joined"]
    with told(tmp_path / "data") as service:
        assert service.deliver() == ["joined"]
        assert service.waiting() is None


# --- settings of the channel ------------------------------------------------------------------------------------------


def test_a_digest_has_all_that_waits(service: Told) -> None:
    players = two_players(service.service)
    settings = NO_SETTINGS.replace('"digest":[]', '"digest":["18:00"]')
    service.add("bob", events=("joined",), settings=settings)
    for _ in range(12):
        players[0].join(players[1].new())
    assert service.deliver() == []
    assert (service.waiting() or "")[11:] == "18:00:00Z"
    assert service.deliver(6 * HOUR - 1) == []
    assert service.deliver(1) == ["joined"] * 12
    assert len(service.courier.sent) == 12


def test_at_a_digest_time_none_is_sent_again_that_has_arrived(service: Told) -> None:
    """The receiver takes one notice, is too slow for the next one, and later asks to wait."""
    players = two_players(service.service)
    settings = NO_SETTINGS.replace('"digest":[]', '"digest":["18:00"]')
    service.add("bob", events=("joined",), settings=settings)
    for _ in range(4):
        players[0].join(players[1].new())

    async def take() -> None:
        return

    service.courier.deeds.append(take)
    service.courier.fail(TimeoutError())
    service.courier.deeds.append(take)
    service.courier.fail(Later(60))
    assert service.deliver(6 * HOUR) == ["joined"] * 2
    assert service.deliver(HOUR) == ["joined"] * 2
    assert service.deliver(HOUR) == ["joined"] * 2
    ids = [notice.id for _, notice in service.courier.sent]
    assert len(set(ids)) == 4  # only the two that were not taken have come twice
    assert service.waiting() is None


def test_nothing_is_sent_in_quiet_hours(service: Told) -> None:
    players = two_players(service.service)
    quiet = NO_SETTINGS.replace('"quiet":null', '"quiet":{"from":"11:00","until":"13:00"}')
    service.add("bob", events=("joined",), settings=quiet)
    players[0].join(players[1].new())
    assert service.deliver() == []
    assert service.deliver(HOUR - 60) == []
    assert service.deliver(60) == ["joined"]


# --- places -----------------------------------------------------------------------------------------------------------


def write_due(service: Told, *channels: str) -> None:
    """Writes a notice that is due for each of these channels, in this order."""
    at = service.service.clock.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    rows = [outbox_row("", seq, "answer", channel, "noting", at) for seq, channel in enumerate(channels)]
    service.run(service.store._holding(lambda connection: connection.execute(writing("sqlite"), rows)))


def begun(service: Told) -> list[str]:
    """The channels to which it is sent while no receiver answers."""

    async def work() -> list[str]:
        released = asyncio.Event()

        async def silent() -> None:
            await released.wait()

        service.courier.deeds = [silent] * 1000
        for _ in range(4):
            await service.delivery.look()
            await asyncio.sleep(0.05)
        found = [channel for channel, _ in service.courier.sent]
        service.courier.deeds = []
        released.set()
        await service.delivery.settle()
        return found

    return list(service.run(work()))


def test_slow_receivers_of_others_keep_nobody_waiting(service: Told) -> None:
    slow = [service.add(f"slow{number}", f"slow{number}").id for number in range(40)]
    stranger = service.add("stranger", "quick").id
    write_due(service, *slow, stranger)
    assert set(begun(service)) == {*slow, stranger}


@pytest.mark.parametrize(
    ("shared", "most"),
    [({"player": "mallory"}, MOST_OF_PLAYER), ({"target": "one.example"}, MOST_OF_HOST)],
    ids=["of a player", "at a host"],
)
def test_a_receiver_that_shares_places_waits_for_nobody_but_those(
    service: Told, shared: dict[str, str], most: int
) -> None:
    rows = [{"player": f"p{number}", "target": f"{number}.example", **shared} for number in range(most + 1)]
    with patch("hkoji_server.store.choices.MOST_CHANNELS", most + 1):
        slow = [service.add(row["player"], f"slow{n:02}", target=row["target"]).id for n, row in enumerate(rows)]
    stranger = service.add("stranger", "stranger").id
    write_due(service, *slow, stranger)
    assert begun(service) == [*slow[:most], stranger]
    assert service.deliver() == ["answer"]
    assert service.courier.sent[-1][0] == slow[-1]


def test_all_places_of_a_kind_may_be_taken_and_then_others_wait(service: Told) -> None:
    service.courier.places = 3
    channels = [service.add(f"p{number}", f"c{number}").id for number in range(5)]
    write_due(service, *channels)
    assert begun(service) == channels[:3]
    service.deliver()
    assert [channel for channel, _ in service.courier.sent] == channels


def test_while_notices_wait_for_places_it_looks_less_often(service: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each place that becomes free wakes it, and each look goes through all that waits."""
    monkeypatch.setattr(notice_delivery, "_GATHERING", 300)
    monkeypatch.setattr(notice_delivery, "_REFILLING", 0)
    with patch("hkoji_server.store.choices.MOST_CHANNELS", MOST_OF_PLAYER + 1):
        channels = [service.add("mallory", f"c{number}").id for number in range(MOST_OF_PLAYER + 1)]
    write_due(service, *channels)

    async def work() -> None:
        await service.delivery.look()
        service.delivery._woken.set()
        await asyncio.wait_for(service.delivery.rest(300), 60)
        await service.delivery.settle()

    service.run(work())
    assert [channel for channel, _ in service.courier.sent] == channels[:MOST_OF_PLAYER]


def test_a_channel_gives_its_place_up_after_a_while_and_its_tries_do_not_count(service: Told) -> None:
    service.add("bob", "slow")
    write_due(service, "slow", "slow")

    async def linger() -> None:
        service.service.clock.pass_by(9)

    service.courier.deeds = [linger]
    service.run(service.delivery.look())
    service.run(service.delivery.settle())
    assert service.courier.events == ["answer"]
    waiting = service.run(service.store.due_notice("slow", LATER))
    assert waiting is not None
    assert waiting.tries == 0


# --- the loop ---------------------------------------------------------------------------------------------------------


async def loop_until(service: Told, done: Callable[[], bool], begun: Callable[[], object] = lambda: None) -> None:
    """Runs the loop, begins something when it rests, and ends it when that is done."""
    loop = asyncio.create_task(notice_delivery.deliver_at_intervals(service.delivery))
    await asyncio.sleep(0.05)
    begun()
    async with asyncio.timeout(30):
        while not done():
            await asyncio.sleep(0.005)
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)


def test_the_loop_looks_at_intervals_and_ends_cleanly(service: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice_delivery, "NOTICE_PACE", 0.01)
    players = two_players(service.service)
    service.add("bob", events=("joined",))
    players[0].join(players[1].new())
    service.run(loop_until(service, lambda: bool(service.courier.sent)))
    assert service.courier.events == ["joined"]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["by this process", "by another one"])
def test_a_new_notice_wakes_the_loop(service: Told, monkeypatch: pytest.MonkeyPatch, *, elsewhere: bool) -> None:
    monkeypatch.setattr(notice_delivery, "NOTICE_PACE", 3600.0)
    alice, bob = two_players(service.service)
    service.add("bob", events=("talk",))
    game = bob.new()
    alice.join(game)
    message = NewMessage(game, "alice", "bob", "hello", "sig", AT)
    with sqlite_at(service.service.data / "hkoji.sqlite3") as other:
        store = other if elsewhere else service.store

        def write() -> None:
            tasks.append(asyncio.ensure_future(store.add_message(message, AT)))

        tasks: list[asyncio.Future[object]] = []
        service.run(loop_until(service, lambda: bool(service.courier.sent), write))
    assert service.courier.events == ["talk"]


def test_outcomes_are_counted(tmp_path: Path) -> None:
    metrics = Metrics()
    with told(tmp_path / "data", figures=metrics) as service:
        players = two_players(service.service)
        service.add("bob", events=("joined",))
        players[0].join(players[1].new())
        service.courier.fail(OSError())
        service.deliver()
        service.deliver(HOUR)
    counted = {
        (each.labels["event"], each.labels["outcome"]): each.value
        for family in metrics._notices.collect()
        for each in family.samples
        if each.name == "hkoji_notices_total"
    }
    assert counted == {("joined", "failed"): 1, ("joined", "sent"): 1}
