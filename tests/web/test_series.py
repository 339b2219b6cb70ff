"""A series goes on in the page and in the command: the same next game by each, and none once it is decided."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hkoji.game import entry_kinds
from hkoji.game.agreement import Series
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.guests import DAYS
from tests.support.homes import Homes
from tests.support.page_player import PagePlayer, RefusedByPageError, page_player
from tests.support.service import Player, Service


@pytest.fixture(scope="module")
def name() -> str:
    return f"page-{secrets.token_hex(3)}"


@pytest.fixture(scope="module")
def page(service: Service, name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagePlayer]:
    """One for all tests: each has a host of its own, and another game."""
    with page_player(service.url, tmp_path_factory.mktemp("page")) as player:
        yield player.arrive(name)


def agreed(host: Player, game: str) -> dict[str, Any]:  # Any: JSON
    """The agreement of a game, as it stands in its log."""
    agreement = host.lines(game)[0].entry.body["agreement"]
    assert isinstance(agreement, dict)
    return {**agreement, "expires": None}


def join(page: PagePlayer, game: str) -> None:
    page.game(game, "refresh")
    page.game(game, "join", {"seen": page.do("state", game=game)["last"]["head"]})


def test_page_and_command_play_a_series_to_its_end(
    service: Service, host: Player, page: PagePlayer, name: str, tmp_path: Path
) -> None:
    alice = f"alice-{secrets.token_hex(3)}"
    homes = Homes(tmp_path / "homes", service).registered(alice)
    first = homes.new(alice, "--invite", name, "--series", "3")
    join(page, first)
    assert homes(alice, "resign", first, "--yes").code == 0  # the page's player leads 1 : 0
    page.game(first, "refresh")

    second = page.state(first, "rematch")
    made = homes(alice, "rematch", first, "--json").json
    assert (made["how"], made["game"], made["series"]["number"]) == ("joined", second, 2)
    assert made["series"]["score"]["won"] == {alice: 0, name: 1}
    page.game(second, "refresh")
    page.game(second, "resign")  # 1 : 1

    third = homes(alice, "rematch", second, "--json").json
    assert (third["how"], third["series"]["number"]) == ("opened", 3)
    assert page.state(second, "rematch") == third["game"]
    assert homes(alice, "rematch", second, "--json").json["how"] == "found"
    page.state(third["game"], "annul")
    assert homes(alice, "annul", third["game"]).code == 0  # called off: it is played again, with the same number
    page.game(third["game"], "refresh")

    again = page.state(third["game"], "rematch")
    made = homes(alice, "rematch", third["game"], "--json").json
    assert (made["how"], made["game"], made["series"]["number"]) == ("joined", again, 3)
    assert homes(alice, "resign", again, "--yes").code == 0  # 2 : 1
    page.game(again, "refresh")

    outside = page.state(again, "rematch")
    made = homes(alice, "rematch", again, "--json").json
    assert (made["how"], made["game"], made["series"]) == ("joined", outside, None)
    assert made["decided"]["winner"] == name
    page.game(outside, "refresh")
    score = ", ".join(f"{each} {won}" for each, won in sorted({alice: 1, name: 2}.items()))
    assert ["series-over", {"score": score}] in page.do("remarks")

    start = agreed(host, first)
    places = [(second, first, 2), (third["game"], second, 3), (again, third["game"], 3)]
    for game, before, number in places:
        series = {**start["series"], "number": number}
        assert agreed(host, game) == {**start, "rematch": before, "series": series}
    assert agreed(host, outside) == {**start, "rematch": again, "series": None}


def begun(host: Player, page: PagePlayer, name: str, number: int = 1) -> tuple[str, Series]:
    """A game of a series that the host has resigned."""
    series = Series(3, secrets.token_hex(16), number)
    game = host.new(Hanamikoji("host"), entry_kinds.Invite(name), DAYS._replace(series=series))
    join(page, game)
    assert host.send(host.entry(game, host.head(game), entry_kinds.Resign())).status == 201
    page.game(game, "refresh")
    return game, series


@pytest.mark.parametrize("number", [1, 3, None])
def test_a_rematch_at_another_place_of_the_series_is_not_joined(
    host: Player, page: PagePlayer, name: str, number: int | None
) -> None:
    game, series = begun(host, page, name)
    false = None if number is None else series._replace(number=number)
    agreement = DAYS._replace(rematch=game, series=false)
    other = host.new(Hanamikoji("guest"), entry_kinds.Invite(name), agreement)
    page.posts()
    with pytest.raises(RefusedByPageError, match="rematch-differs"):
        page.state(game, "rematch")
    assert page.posts() == []
    assert [line.entry.kind for line in host.lines(other)] == ["offer", "open"]


def test_the_last_number_is_followed_by_a_game_outside_the_series(host: Player, page: PagePlayer, name: str) -> None:
    game, _ = begun(host, page, name, number=3)
    assert agreed(host, page.state(game, "rematch"))["series"] is None


def test_games_of_another_series_do_not_count(host: Player, page: PagePlayer, name: str) -> None:
    """The host has opened a game of one series as the rematch of a game of another."""
    game, _ = begun(host, page, name)
    series = Series(3, secrets.token_hex(16), 1)
    agreement = DAYS._replace(rematch=game, series=series)
    second = host.new(Hanamikoji("guest"), entry_kinds.Invite(name), agreement)
    join(page, second)
    assert host.send(host.entry(second, host.head(second), entry_kinds.Resign())).status == 201
    page.game(second, "refresh")
    assert agreed(host, page.state(second, "rematch"))["series"] == series._replace(number=2).to_json()


def test_a_rematch_for_an_earlier_key_is_left_and_another_one_opened(host: Player, page: PagePlayer, name: str) -> None:
    game, series = begun(host, page, name)
    other = PrivateKey.from_seed(secrets.token_bytes(32)).public
    agreement = DAYS._replace(rematch=game, series=series._replace(number=2))
    closed = host.new(Hanamikoji("guest"), entry_kinds.Invite(name, other), agreement)
    rematch = page.state(game, "rematch")
    assert rematch != closed
    assert agreed(host, rematch)["series"] == series._replace(number=2).to_json()
    assert [line.entry.kind for line in host.lines(closed)] == ["offer", "open"]


def test_nothing_is_taken_back_that_somebody_has_joined(host: Player, page: PagePlayer) -> None:
    ruleset = {"first": "host", "max_rounds": 0, "name": "hanamikoji", "tiebreak": "geisha", "version": 1}
    game = page.do("open", ruleset=ruleset, agreement=DAYS.to_json(), invite=None)["game"]
    host.join(game)
    page.posts()
    with pytest.raises(RefusedByPageError, match="game-changed"):
        page.game(game, "cancel")
    assert page.posts() == []
    assert [line.entry.kind for line in host.lines(game)] == ["offer", "open", "join"]
