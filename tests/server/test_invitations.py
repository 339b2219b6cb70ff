"""Any number of invitations hides none of a player's games; and nobody invites without limit."""

from __future__ import annotations

import asyncio
import http.client
import random
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hkoji_server.service.games import followers
from hkoji_server.service.games.followers import PlayerFollower
from hkoji_server.service.games.waiting_hub import LookIntervals, WaitingHub
from hkoji_server.store.game_values import MOST_INVITATIONS as MOST_OF_ONE_HOST
from hkoji_server.store.game_values import MOST_OPEN

from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.client.requests import read_events
from hkoji.errors import TooManyGamesError
from hkoji.game import entry_kinds
from hkoji.game.commitments import entropy_commit
from hkoji.log.line import parse_line, read_line
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.server.waiting_room import Ear, Room
from tests.support.conditions import PATIENCE, until, until_seen
from tests.support.load import Wire
from tests.support.service import Answer, Player, Service, begin, offer_of, play, serving, two_players

QUICK = LookIntervals(games=0.1, lists=0.2, suspected=0.1, share=0.9)
MANY = 510


def invite(host: Player, name: str | None) -> Answer:
    """The answer to the entry that opens a game, for `name` or for anyone."""
    offer = host.service.ask("POST", "/v1/offers", offer_of(), host.token)
    line = read_line(offer.json["line"])
    invited = entry_kinds.Invite(name) if name else None
    opened = entry_kinds.Open(entropy_commit(line.entry.game, 0, host.entropy), host.key.public, invited)
    assert line.receipt
    return host.send(host.entry(line.entry.game, (0, line.entry.head), opened, seen=line.receipt.receipt.at))


class Stream:
    """A reader of `/v1/events` in a thread; `told` are the entries received."""

    def __init__(self, player: Player) -> None:
        assert isinstance(player.service, Service)
        self.told: list[tuple[str, int]] = []
        self._connection = http.client.HTTPConnection("127.0.0.1", player.service.port, timeout=PATIENCE)
        self._connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {player.token}"})
        self._response = self._connection.getresponse()
        assert self._response.status == 200
        events = read_events(self._lines())
        self.place = next(each.place for each in events if each is not None)
        self._thread = threading.Thread(target=self._read, args=(events,), daemon=True)
        self._thread.start()

    def _lines(self) -> Generator[bytes, None, None]:
        while line := self._response.readline():
            yield line

    def _read(self, events: Iterator[object]) -> None:
        for event in events:
            if getattr(event, "name", "") == "entry":
                entry = parse_line(event.data).entry  # type: ignore[attr-defined] # it has a name
                self.told.append((entry.game, entry.seq))

    def close(self) -> None:
        self._thread.join(PATIENCE)
        self._response.close()
        self._connection.close()

    def wait_for(self, *entries: tuple[str, int]) -> None:
        until(lambda: set(entries) <= set(self.told))


@contextmanager
def streams() -> Iterator[list[Stream]]:
    opened: list[Stream] = []
    try:
        yield opened
    finally:  # the service has ended, and with it the streams
        for each in opened:
            each.close()


def test_five_hundred_invitations_hide_neither_a_move_nor_a_new_game_nor_the_next_invitation(tmp_path: Path) -> None:
    with streams() as opened, serving(tmp_path / "data", log_level="error", forked=True) as service:
        alice, bob = two_players(service)
        old = begin(alice, bob)
        before = Stream(alice)
        opened.append(before)
        wire = Wire(lambda: service.port)
        for number in range(MANY // MOST_OF_ONE_HOST):
            host = Player(wire, f"host-{number}").register()
            for _ in range(MOST_OF_ONE_HOST):
                assert invite(host, "alice").status == 201
        wire.close()
        after = Stream(alice)  # of a client that connects only now
        opened.append(after)
        played = play(alice, bob, old, 1)
        last = invite(bob, "alice").json["lines"][0]
        invited = read_line(last).entry.game
        own = alice.new()
        for stream in (before, after):
            stream.wait_for((old, played.seq), (invited, 1), (own, 1))
        assert len(before.told) > MANY

        listed = service.ask("GET", "/v1/me/games", token=alice.token).json["games"]
        assert {each["game"] for each in listed[:2]} == {own, old}
        assert {each["invite"] for each in listed[2:]} == {"alice"}
        waiting = service.ask("GET", "/v1/me/games?waiting=true&limit=3", token=alice.token).json["games"]
        owed = [each["game"] for each in waiting if each["invite"] is None]
        assert owed == [old] * (played.actor == 0)
        pages, query = set[str](), "limit=200"
        while True:
            page = service.ask("GET", f"/v1/games?player=alice&{query}").json
            pages |= {each["game"] for each in page["games"]}
            if page["next"] is None:
                break
            query = f"limit=200&after={page['next']}"
        assert len(pages) == MANY + 3


def test_invitations_and_open_games_of_one_host_have_a_limit(tmp_path: Path) -> None:
    with serving(tmp_path / "data", log_level="error", forked=True) as service:
        alice, bob = two_players(service)
        for _ in range(MOST_OF_ONE_HOST):
            assert invite(alice, "bob").status == 201
        refused = invite(alice, "bob")
        assert (refused.status, refused.json["code"]) == (429, "too-many-games")
        assert refused.json["detail"] == "alice has 3 open invitations to bob"
        assert "hkoji cancel" in refused.json["hint"]
        assert len(service.ask("GET", "/v1/games?player=bob").json["games"]) == MOST_OF_ONE_HOST
        assert invite(bob, "alice").status == 201  # the other way it is another limit
        for _ in range(MOST_OPEN - MOST_OF_ONE_HOST):
            assert invite(alice, None).status == 201
        refused = invite(alice, "carol")
        assert (refused.status, refused.json["code"]) == (429, "too-many-games")
        assert refused.json["detail"] == "alice has 20 open games that nobody has joined yet"
        listed = service.ask("GET", "/v1/games?player=alice&status=open&limit=200").json["games"]
        taken = next(each["game"] for each in listed if each["invite"] == "bob")
        assert alice.send(alice.entry(taken, alice.head(taken), entry_kinds.Cancel())).status == 201
        assert invite(alice, "bob").status == 201


def test_a_client_says_what_to_do_and_opens_the_game_later(tmp_path: Path) -> None:
    create(Home(tmp_path / "home"), "alice", None, bytes(range(32)))
    with (
        serving(tmp_path / "data", log_level="error", forked=True) as service,
        closing(Client(Home(tmp_path / "home"))) as client,
    ):
        Player(service, "bob").register()
        client.register(service.url)
        first, *_ = [client.new(Hanamikoji(), entry_kinds.Invite("bob")) for _ in range(MOST_OF_ONE_HOST)]
        known = set(client.home.games())
        with pytest.raises(TooManyGamesError, match="alice has 3 open invitations to bob") as raised:
            client.new(Hanamikoji(), entry_kinds.Invite("bob"))
        assert "this one was not sent" in raised.value.hint
        (waiting,) = set(client.home.games()) - known
        with client.game(first.course.setup.game) as held:
            held.cancel()
        again = client.new(Hanamikoji(), entry_kinds.Invite("bob"))
        assert (again.course.setup.game, again.course.status) == (waiting, "open")


# --- in one process, with more games than a stream follows --------------------------------------------------------


def test_a_full_stream_makes_room_for_new_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints of invitations and of games that are over leave room soon, whatever their number."""
    most, invitations = 50, 10  # fewer than in a service, so that the stream is soon full
    for name, value in (
        ("MOST_GAMES", most),
        ("MOST_INVITATIONS", invitations),
        ("_MOST_SEEN", most + 2 * invitations),
    ):
        monkeypatch.setattr(followers, name, value)
    room = Room(random.Random(1))

    async def work() -> Ear:
        hub = WaitingHub(room, most=100, pace=QUICK)  # type: ignore[arg-type] # all it needs
        old, new, last = (f"{number:032x}" for number in (1, 2, 3))
        room.write(old, "alice")
        ear, gone = Ear(room, player="alice"), asyncio.Event()
        listening = asyncio.ensure_future(ear.listen(hub, gone))
        await until_seen(lambda: hub.waiting == 1)
        (follower,) = hub._players["alice"]
        assert isinstance(follower, PlayerFollower)
        for number in range(4 * (most + invitations)):
            game = f"{number:08x}" + "ff" * 12
            room.invitations.append(game)
            room.write(game, "alice")
            if number % 2:
                room.write(game, "alice", end=True)
            if number % 5 == 0:
                await asyncio.sleep(0.02)
        for number in range(most + 2 * invitations):  # at once, so that the stream is full when the last one comes
            game = f"{number:08x}" + "ee" * 12
            room.invitations.append(game)
            room.write(game, "alice")
        room.write(new, "alice")
        room.write(old, "alice")
        room.invitations.append(last)
        room.write(last, "alice")
        expected = {old: 1, new: 0, last: 0}
        await until_seen(lambda: expected.items() <= follower.seen.items())
        await until_seen(lambda: follower.waits and not follower.stale and not hub._dirty)
        assert len(follower.seen) <= most + 2 * invitations
        gone.set()
        await listening
        await hub.close()
        return ear

    ear = asyncio.run(work())
    assert {(f"{1:032x}", 1), (f"{2:032x}", 0), (f"{3:032x}", 0)} <= set(ear.told)
    assert ear.told.count((f"{1:032x}", 1)) == 1
