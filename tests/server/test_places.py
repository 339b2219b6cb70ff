"""One address can take only its share: of connections, of places for waiting clients, and of new names."""

from __future__ import annotations

import asyncio
import random
import re
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hkoji_server.process.connections import GuardedConnection, connection_class
from hkoji_server.service.games.waiting_hub import Waiter, WaitingHub
from hkoji_server.service.players.limits import PlacesOfAddresses
from hkoji_server.settings import Settings, cap_of_address, load

from hkoji.errors import BusyError, TooManyError
from hkoji.game import entry_kinds
from tests.server.waiting_room import Room
from tests.support.conditions import until
from tests.support.service import Player, Service, begin, serving, two_players
from tests.support.service_in_process import inside
from tests.support.sockets import WHOLE, connected, everything, healthy, served

# --- the settings -----------------------------------------------------------------------------------------------------


def test_limits_are_on_unless_they_are_switched_off() -> None:
    given = load()
    assert (given.limit_address, given.limit_player, given.limit_registrations) == (
        "6000/minute",
        "3000/minute",
        "30/hour",
    )
    assert (given.max_address_connections, given.max_address_waiting) == (200, 100)
    names = ("limit_address", "limit_player", "limit_registrations")
    off = load(**dict.fromkeys(names, "off"), max_address_connections=0, max_address_waiting=0)
    assert [getattr(off, name) for name in names] == [None] * 3
    assert cap_of_address(off.max_address_waiting, off.max_waiting) == 0


@pytest.mark.parametrize(("cap", "places", "share"), [(100, 15_000, 100), (100, 100, 25), (100, 3, 1), (0, 100, 0)])
def test_one_address_never_has_more_than_a_quarter_of_the_places(cap: int, places: int, share: int) -> None:
    assert cap_of_address(cap, places) == share


def test_a_network_of_proxies_is_one_whatever_host_it_is_written_with() -> None:
    given = Settings(trusted_proxy=("10.1.2.3/8", "192.0.2.7", "2001:db8::1"))
    assert given.trusted_proxy == ("10.0.0.0/8", "192.0.2.7", "2001:db8::1")
    assert given.proxies == ("10.0.0.0/8", "::ffff:10.0.0.0/104", "192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1")


# --- places -----------------------------------------------------------------------------------------------------------


def test_a_place_that_is_left_can_be_taken_again() -> None:
    places = PlacesOfAddresses(2)
    assert [places.take("a"), places.take("a"), places.take("a"), places.take("b")] == [True, True, False, True]
    places.leave("a")
    assert [places.take("a"), places.take("a")] == [True, False]
    any_number = PlacesOfAddresses(0)
    assert all(any_number.take("a") for _ in range(1000))


def test_waiting_clients_of_one_address_leave_room_for_others() -> None:
    async def work() -> None:
        hub = WaitingHub(Room(random.Random(1)), most=5, of_address=2)  # type: ignore[arg-type] # all that it needs
        same = ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9")  # one /64
        first = [Waiter({"00" * 16: -1}) for _ in same]
        for waiter, address in zip(first, same, strict=True):
            hub.join(waiter, address)
        with pytest.raises(TooManyError, match="of this address are waiting") as raised:
            hub.join(Waiter({"00" * 16: -1}), "2001:db8:1:2::3")
        assert (raised.value.retry_after, hub.waiting) == (5, 2)
        hub.join(Waiter({"00" * 16: -1}), "2001:db8:1:3::1")
        hub.leave(first[0])
        hub.leave(first[0])
        hub.join(Waiter({"00" * 16: -1}), same[0])
        with pytest.raises(TooManyError):
            hub.join(Waiter({"00" * 16: -1}), same[0])
        for _ in range(2):
            hub.join(Waiter({"00" * 16: -1}), f"192.0.2.{_}")
        with pytest.raises(BusyError):
            hub.join(Waiter({"00" * 16: -1}), "192.0.2.9")
        await hub.close()

    asyncio.run(work())


@pytest.mark.parametrize("path", ["/v1/games/{game}/events", "/v1/games/{game}/log?wait=50&after=5"])
def test_a_trusted_proxy_says_whose_place_it_is(tmp_path: Path, path: str) -> None:
    """An address that waits too often is refused, however many others wait through the same proxy."""
    options = ("--trusted-proxy", "127.0.0.0/8")
    with serving(tmp_path / "data", options=options, forked=True, settings={"max_address_waiting": "2"}) as service:
        alice, bob = two_players(service)
        game = begin(alice, bob)
        path = path.format(game=game)
        with ExitStack() as stack:

            def ask(address: str) -> socket.socket:
                sock = stack.enter_context(connected(service))
                sock.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {address}\r\n\r\n".encode())
                return sock

            asked = [[ask(address) for _ in range(3)] for address in ("192.0.2.1", "203.0.113.1, 192.0.2.2")]
            until(lambda: all(any(map(refused, three)) for three in asked))
            said = ask("192.0.2.1").recv(65536)
            assert said.startswith(b"HTTP/1.1 429 ")
            assert b"retry-after: 5\r\n" in said
            assert b"connection: close\r\n" in said
            other = ask("192.0.2.3")
            assert alice.send(alice.entry(game, alice.head(game), entry_kinds.Resign())).status == 201
            for three in asked:  # whoever waits is answered at the latest now
                assert sorted(int(sock.recv(65536).split()[1]) for sock in three) == [200, 200, 429]
            assert other.recv(65536).startswith(b"HTTP/1.1 200 ")


def refused(sock: socket.socket) -> bool:
    """Whether an answer has come that refuses; what has come can still be read."""
    come = bool(select.select([sock], [], [], 0)[0])
    return come and sock.recv(65536, socket.MSG_PEEK).startswith(b"HTTP/1.1 429 ")


# --- connections ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    data = tmp_path_factory.mktemp("places") / "data"
    options = ("--max-connections", "40", "--trusted-proxy", "127.0.0.7")
    with serving(data, options=options, forked=True, settings={"max_address_connections": "3"}) as service:
        yield service


def test_a_connection_over_the_share_of_its_address_is_closed_and_others_are_served(strict: Service) -> None:
    with ExitStack() as stack:
        kept = [stack.enter_context(served(strict)) for _ in range(3)]
        for _ in range(5):
            with connected(strict) as sock:
                said = everything(sock)  # nothing was asked, and the service has closed it
                assert said.startswith(b"HTTP/1.1 429 ")
                assert b"connection: close\r\n" in said
                assert b'"code": "too-many-requests"' in said
        assert all(map(healthy, kept))
        assert healthy(stack.enter_context(connected(strict, "127.0.0.2")))
    served(strict).close()  # the closed ones leave their places


def test_a_trusted_proxy_has_as_many_connections_as_it_likes(strict: Service) -> None:
    with ExitStack() as stack:
        kept = [stack.enter_context(connected(strict, "127.0.0.7")) for _ in range(20)]
        assert all(map(healthy, kept))


def test_a_proxy_is_the_same_on_a_socket_for_both_kinds_of_addresses() -> None:
    proxies = Settings(trusted_proxy=("10.0.0.0/8",)).proxies
    kind = connection_class(10, 1.0, of_address=1, proxies=proxies, ended=lambda: None)
    assert issubclass(kind, GuardedConnection)
    assert [kind.is_proxy(each) for each in ("10.9.9.9", "::ffff:10.9.9.9", "11.0.0.1", "::1", "")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_client_that_asks_too_often_loses_the_connection_too(tmp_path: Path) -> None:
    options = ("--limit-address", "5/hour")
    with serving(tmp_path / "data", options=options, forked=True) as service, connected(service) as sock:
        sock.sendall(WHOLE.replace(b"/healthz", b"/v1/service") * 8)
        said = everything(sock)
    assert re.findall(rb"HTTP/1.1 (\d+)", said) == [b"200"] * 5 + [b"429"]
    assert said.count(b"connection: close\r\n") == 1


# --- a hundred streams ------------------------------------------------------------------------------------------------


def test_a_hundred_streams_of_one_address_do_not_keep_another_from_waiting(tmp_path: Path) -> None:
    with serving(tmp_path / "data", forked=True, unlimited=False, settings={"max_waiting": "100"}) as service:
        alice, bob = two_players(service)
        ask = f"GET /v1/games/{begin(alice, bob)}/events HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        with ExitStack() as stack:
            statuses = []
            for source in (*["127.0.0.1"] * 100, "127.0.0.2"):
                sock = stack.enter_context(connected(service, source))
                sock.sendall(ask)
                statuses.append(int(sock.recv(65536).split()[1]))
            assert statuses == [200] * 25 + [429] * 75 + [200]


# --- new names --------------------------------------------------------------------------------------------------------


def test_new_names_of_one_address_are_limited_and_repeats_and_faults_are_not_counted(tmp_path: Path) -> None:
    with inside(tmp_path / "data", limit_registrations="3/hour") as service:
        players = [Player(service, f"player{number}") for number in range(4)]
        for player in players[:3]:
            assert player.send_registration().status == 201
            assert player.send_registration().status == 200
        taken = Player(service, "player1").send_registration()
        assert (taken.status, taken.json["code"]) == (409, "exists")
        refused = players[3].send_registration()
        assert (refused.status, refused.json["detail"]) == (429, "too many new names from this address")
        assert int(refused.headers["retry-after"]) == refused.json["retry_after"] > 600
        assert service.ask("GET", "/v1/players/player3").status == 404
        assert players[0].send_registration().status == 200
        assert players[0].login().token
