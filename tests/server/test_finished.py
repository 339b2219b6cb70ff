"""`GET /v1/finished`: all games that are over, in the order of their end, however they ended.

docs/spec/http.md, "Finished games". That no game can come before a place that was given out is a law of both stores
(tests/support/finished_contract.py).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.clock import format_time, parse_time
from tests.support.service import Player, begin, play
from tests.support.service_in_process import Inside
from tests.support.timed_games import (
    AN_HOUR,
    HOUR,
    SLACK,
    a_wish,
    kinds,
    let_keepers_look,
    refused,
    service,
    state,
    summary_of,
)

__all__ = ["service"]

LATE = 120
"""How many seconds after its end a game is listed at the latest, if nothing is being written."""


def asked(service: Inside, **query: Any) -> dict[str, Any]:  # Any: JSON
    """A page of the list."""
    text = "&".join(f"{name}={value}" for name, value in query.items())
    answer = service.ask("GET", f"/v1/finished?{text}")
    assert answer.status == 200, answer
    assert answer.headers["cache-control"] == "no-store"
    found: dict[str, Any] = answer.json
    return found


def ended_games(service: Inside, players: tuple[Player, Player]) -> list[tuple[str, str, int | None]]:
    """Games that end in every way, one after the other: ids with the reasons and winners of their ends."""
    alice, bob = players
    timed = Agreement(TimeControl(HOUR, 0, 0, 0), rated=True)
    found: list[tuple[str, str, int | None]] = []

    def over(game: str, reason: str, winner: int | None) -> None:
        found.append((game, reason, winner))
        service.clock.pass_by(1)

    whole = begin(alice, bob, agreement=timed)
    outcome = play(alice, bob, whole).outcome
    assert outcome is not None
    over(whole, outcome.reason, outcome.winner)
    given_up = begin(alice, bob)
    assert alice.send(alice.entry(given_up, alice.head(given_up), entry_kinds.Resign())).status == 201
    over(given_up, "resign", 1)
    taken_back = alice.new()
    assert alice.send(alice.entry(taken_back, alice.head(taken_back), entry_kinds.Cancel())).status == 201
    over(taken_back, "cancel", None)
    called_off = begin(alice, bob, agreement=AN_HOUR)
    assert [state(each, called_off, a_wish(each, called_off)).status for each in players] == [201, 201]
    over(called_off, "cancel", None)
    expires = format_time(parse_time(service.clock.now.strftime("%Y-%m-%dT%H:%M:%SZ")) + 60)
    expired = alice.new(agreement=Agreement(expires=expires))
    service.clock.pass_by(60 + SLACK + 1)
    let_keepers_look(service)
    assert kinds(alice, expired)[-2:] == ["lapse", "end"]
    over(expired, "cancel", None)
    late = begin(alice, bob, agreement=timed)
    loser = alice.course(late).actor
    assert loser is not None
    service.clock.pass_by(HOUR + SLACK + 1)
    let_keepers_look(service)
    over(late, "timeout", 1 - loser)
    return found


def test_it_has_every_game_that_is_over_once_in_order(service: Inside, players: tuple[Player, Player]) -> None:
    ended = ended_games(service, players)
    begin(*players)
    players[0].new()
    service.clock.pass_by(LATE)
    page = asked(service)
    shown = [(each["game"], each["result"]["reason"], each["result"]["winner"]) for each in page["games"]]
    assert shown == ended
    assert page["next"] is None
    for each in page["games"]:
        summary = summary_of(players[0], each["game"])
        assert each == {name: summary[name] for name in each if name != "ended"} | {"ended": summary["updated"]}
        assert each["ended"] < page["before"]
    assert [each["agreement"]["rated"] for each in page["games"]] == [True, False, False, False, False, True]
    last = page["games"][-1]
    assert page["last"] == f"{last['ended']}~{last['game']}"


def test_pages_and_places(service: Inside, players: tuple[Player, Player]) -> None:
    """A client that asks with `next` gets every game once, and with the last place all later ones."""
    ended = [game for game, *_ in ended_games(service, players)]
    service.clock.pass_by(LATE)
    seen: list[str] = []
    page = asked(service, limit=2)
    while True:
        seen += [each["game"] for each in page["games"]]
        if page["next"] is None:
            break
        assert page["next"] == page["last"]
        page = asked(service, limit=2, after=page["next"])
    assert seen == ended
    last = page["last"]
    again = asked(service, after=last)
    assert (again["games"], again["next"], again["last"]) == ([], None, last)
    another = begin(*players)
    assert players[0].send(players[0].entry(another, players[0].head(another), entry_kinds.Resign())).status == 201
    assert asked(service, after=last)["games"] == []  # it is over, but something may still come before it
    service.clock.pass_by(LATE + 1)
    assert [each["game"] for each in asked(service, after=last)["games"]] == [another]
    assert [each["game"] for each in asked(service)["games"]] == [*ended, another]


def test_an_empty_list_has_no_place(service: Inside) -> None:
    page = asked(service)
    assert (page["games"], page["next"], page["last"]) == ([], None, None)


@pytest.mark.parametrize(
    "query", ["after=0", f"after=2026-11-20T12:00:00Z~{'0' * 31}", f"after=x~{'0' * 32}", "limit=0", "limit=201"]
)
def test_a_place_that_is_none_is_refused(service: Inside, query: str) -> None:
    refused(service.ask("GET", f"/v1/finished?{query}"), 400, "invalid")


def test_nothing_is_listed_while_the_clock_cannot_be_trusted(service: Inside, players: tuple[Player, Player]) -> None:
    ended_games(service, players)
    service.clock.pass_by(LATE)
    before = asked(service)
    service.clock.jump(1000)
    service.clock.pass_by(2)
    answer = service.ask("GET", "/v1/finished")
    refused(answer, 503, "clock")
    assert not any(each["game"] in answer.body.decode() for each in before["games"])
    service.clock.jump(-1000)
    service.clock.pass_by(2)
    assert json.dumps(asked(service)["games"]) == json.dumps(before["games"])


def test_a_browser_gets_a_page_at_the_address_of_a_game(service: Inside, players: tuple[Player, Player]) -> None:
    host, guest = players
    game = begin(host, guest)
    chrome = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    sent = service.ask("GET", f"/v1/games/{game}", headers={"accept": chrome})
    assert (sent.status, sent.headers["location"], sent.headers["vary"]) == (303, f"/g/{game}", "Accept")
    page = service.ask("GET", sent.headers["location"], headers={"accept": chrome})
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    for said in (game, host.name, guest.name):
        assert said in page.body.decode()
    for accept in ("", "*/*", "application/json"):
        answer = service.ask("GET", f"/v1/games/{game}", headers={"accept": accept} if accept else {})
        assert (answer.headers["content-type"], answer.json["game"]) == ("application/json", game)
    missing = service.ask("GET", f"/v1/games/{'0' * 32}", headers={"accept": chrome})
    assert (missing.status, missing.json["code"]) == (404, "not-found")
