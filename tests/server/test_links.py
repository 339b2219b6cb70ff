"""Games by link at the service: who can join, and that no public list has them before somebody has joined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hkoji_server import admin

from hkoji.audit.log_audit import audit
from hkoji.game.agreement import UNTIMED, TimeControl
from hkoji.game.entry_kinds import Cancel
from hkoji.log.link_key import link_key
from hkoji.log.private_key import PrivateKey
from tests.support.ledger import everything
from tests.support.service import Answer, Player, Service, serving, two_players
from tests.support.table import CODE

LINK = link_key(CODE)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("links") / "data", forked=True) as running:
        yield running


@pytest.fixture(scope="module")
def players(service: Service) -> tuple[Player, Player]:
    return two_players(service)


def listed(service: Service, path: str, player: Player) -> list[str]:
    return [each["game"] for each in service.ask("GET", path, token=player.token).json["games"]]


def public_lists(game: str, host: str) -> list[str]:
    """The public lists in which a host's open game could be."""
    places = ("", "?status=open", f"?player={host}", f"?player={host}&status=open", f"?prefix={game[:8]}")
    return [f"/v1/games{each}" for each in (*places, f"?prefix={game}", f"?player={host}&prefix={game[:4]}")]


def test_a_game_by_link_is_in_its_hosts_list_alone_until_somebody_has_joined(
    service: Service, players: tuple[Player, Player]
) -> None:
    host, guest = players
    game = host.new(link=LINK)
    for path in public_lists(game, host.name):
        assert game not in listed(service, path, guest), path
    for path in ("/v1/me/games", "/v1/me/games?status=open"):
        assert game in listed(service, path, host)
        assert game not in listed(service, path, guest)
    assert listed(service, "/v1/me/games?waiting=true", guest) == []
    shown = service.ask("GET", f"/v1/games/{game}").json
    assert (shown["status"], shown["invite"], shown["to_move"]) == ("open", None, None)
    guest.join(game, LINK)
    for path in public_lists(game, host.name):
        assert (game in listed(service, path, guest)) == ("status=open" not in path), path
    assert game in listed(service, f"/v1/games?player={guest.name}", host)
    guest.seed(game)
    host.seed(game)
    assert audit(service.ask("GET", f"/v1/games/{game}/log").body).findings == ()
    assert admin.check(service.data).faults == ()


def test_a_game_by_link_that_is_cancelled_stays_out_of_the_public_lists(
    service: Service, players: tuple[Player, Player]
) -> None:
    host, guest = players
    game = host.new(link=LINK)
    leave(host, game)
    for path in (*public_lists(game, host.name), "/v1/games?status=cancelled"):
        assert game not in listed(service, path, guest), path
    assert game in listed(service, "/v1/me/games?status=cancelled", host)


@pytest.mark.parametrize(
    ("key", "changes"),
    [(None, {}), (link_key("f" * 32), {}), (LINK, {"name": "carol"})],
)
def test_nobody_joins_without_the_code(
    service: Service, players: tuple[Player, Player], key: PrivateKey | None, changes: dict[str, Any]
) -> None:
    host, guest = players
    game = host.new(link=LINK, agreement=UNTIMED._replace(clock=TimeControl(259200, 0, 0, 0)))
    before = everything(service.data / "hkoji.sqlite3")
    refused(guest.send_join(game, guest.sign_by_link(key, game, 1, **changes) if key else None))
    assert everything(service.data / "hkoji.sqlite3") == before
    assert service.ask("GET", f"/v1/games/{game}/clock").json["deadline"] is None
    leave(host, game)


def refused(answer: Answer) -> None:
    assert (answer.status, answer.json["code"]) == (403, "bad-signature"), answer


def leave(host: Player, game: str) -> None:
    """Takes the game back, because a host may have 20 open games."""
    assert host.send(host.entry(game, host.head(game), Cancel())).status == 201


def test_no_code_is_in_the_log_of_the_service(service: Service) -> None:
    """Some programs escape the # of a link, and then its code is a part of the path."""
    game = "0" * 32
    for sign in ("%23", "/%23", "%2523"):
        assert service.ask("GET", f"/i/{game}{sign}{CODE}").status in (400, 404)
    assert service.ask("GET", f"/i/{game}").status == 200
    log = service.log.read_text()
    assert '"path": "/i/..."' in log
    assert CODE not in log
