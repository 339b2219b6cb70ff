"""All that a page's client does beside moves: time, calling off, resigning, talk, a rematch, declining, another key."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.game.agreement import TimeControl
from hkoji.log.link_key import link_key
from hkoji.log.public_key import parse_public_key
from hkoji.rules.events import Outcome
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.forked import run_forked
from tests.support.guests import DAYS
from tests.support.page_player import KeptProcesses, PagePlayer, RefusedByPageError, kept_processes, page_player
from tests.support.service import Player, Service, serving
from tests.web.test_crash import reply
from tests.web.test_join import invite


@pytest.fixture(scope="module")
def kept() -> Iterator[KeptProcesses]:
    with kept_processes() as processes:
        yield processes


@pytest.fixture
def page(host: Player, tmp_path: Path, kept: KeptProcesses) -> Iterator[PagePlayer]:
    with page_player(host.origin(), tmp_path / "page", kept) as player:
        yield player.arrive(f"page-{secrets.token_hex(3)}")


@pytest.fixture
def game(host: Player, page: PagePlayer) -> str:
    """A game that has begun; the host is to move."""
    begun = page.join(invite(host))
    host.seed(begun)
    page.game(begun, "refresh")
    return begun


def kinds(host: Player, game: str) -> list[str]:
    return [line.entry.kind for line in host.lines(game)]


def test_time_is_given(host: Player, page: PagePlayer, game: str) -> None:
    before = page.game(game, "view")["deadline"]
    page.state(game, "give", 3)
    view = page.game(game, "view")
    assert view["clock"]["gifts"][0]["seconds"] == 259_200
    assert view["deadline"] == view["clock"]["deadline"] > before  # the page computes the same deadline
    assert page.do("list", store="statements", prefix=[game]) == []
    answer = host.send(host.make_move(host.course(game), host.course(game).state.legal_actions()[0]))
    assert answer.status == 201
    page.game(game, "refresh")
    assert kinds(host, game)[6] == "credit"
    assert "deadline-differs" not in [key for key, _ in page.do("remarks")]


def test_a_gift_without_an_answer_is_sent_again(host: Player, page: PagePlayer, game: str) -> None:
    page.do("cut", request=2, when="after")
    with pytest.raises(RefusedByPageError, match="no-answer"):
        page.state(game, "give", 1)
    page.close()
    page.do("meet")
    page.game(game, "refresh")
    assert len(page.game(game, "view")["clock"]["gifts"]) == 1
    assert page.do("list", store="statements", prefix=[game]) == []


def test_a_game_is_called_off_by_both(host: Player, page: PagePlayer, game: str) -> None:
    page.state(game, "annul")
    assert page.game(game, "view")["clock"]["annul"] == [page.do("meet")["me"]["name"]]
    page.state(game, "withdraw")
    assert page.game(game, "view")["clock"]["annul"] == []
    page.state(game, "annul")
    head = host.head(game)[1]
    words = {"game": game, "head": head, "name": host.name, "v": 1}
    text = json.dumps(words, sort_keys=True, separators=(",", ":"))
    body = {"head": head, "kind": "annul", "name": host.name, "sig": host.signed(text, "hkoji.annul.v1")}
    assert host.ask(f"/v1/games/{game}/statements", body).status == 201
    page.game(game, "refresh")
    assert kinds(host, game)[-2:] == ["annul", "end"]
    assert page.do("state", game=game)["status"] == "over"


def test_a_player_resigns(host: Player, page: PagePlayer, game: str) -> None:
    page.game(game, "resign")
    assert kinds(host, game)[-2:] == ["resign", "end"]
    assert len(page.do("state", game=game)["deal"]) == 1


def test_time_is_over(tmp_path: Path, kept: KeptProcesses) -> None:
    """The page owes a move in one game, and waits in the other: the service ends both, and the page checks that."""
    agreement = DAYS._replace(clock=TimeControl(3, 0, 0, 0))
    with (
        serving(tmp_path / "data", forked=True, settings={"shortest_clock": "1", "slack": "0"}) as service,
        page_player(service.url, tmp_path / "page", kept) as page,
    ):
        host, _ = Player(service, "alice").register(), page.arrive("bob")
        waits, owes = (page.join(invite(host, Hanamikoji(first=first), agreement)) for first in ("host", "guest"))
        for game in (waits, owes):
            host.seed(game)
        views = [page.game(game, "view") for game in (waits, owes)]
        assert [view["actor"] for view in views] == [0, 1]
        for game in (waits, owes):  # the service looks every now and then
            assert service.ask("GET", f"/v1/games/{game}/log?after=4&wait=30").body
        with pytest.raises(RefusedByPageError, match="not-legal-now"):
            page.game(owes, "move", views[1]["legal"][0])
        for game, winner in ((waits, 1), (owes, 0)):
            page.game(game, "refresh")
            assert kinds(host, game)[5:] == ["timeout", "end"]
            assert host.course(game).outcome == Outcome("timeout", winner)
            assert page.do("state", game=game)["status"] == "over"
        assert page.do("list", store="outbox") == []


def test_players_talk(host: Player, page: PagePlayer, game: str) -> None:
    page.state(game, "say", "Ciao, <b>bella</b>!")
    (mine,) = page.state(game, "messages")
    assert (mine["text"], mine["proved"], mine["gap"]) == ("Ciao, <b>bella</b>!", True, False)
    assert host.say(game, "Hello").status == 201  # it names no message before, as if it had seen none
    page.state(game, "say", "2")
    found = page.state(game, "messages")
    assert [(each["text"], each["proved"], each["gap"]) for each in found] == [
        ("Ciao, <b>bella</b>!", True, False),
        ("Hello", True, False),
        ("2", True, False),
    ]
    assert page.do("list", store="statements", prefix=[game]) == []


def test_an_open_game_is_taken_back(host: Player, page: PagePlayer) -> None:
    opened = page.do("open", ruleset=RULESET, agreement=DAYS.to_json(), invite="link")
    page.game(opened["game"], "cancel")
    assert kinds(host, opened["game"]) == ["offer", "open", "cancel", "end"]


def test_an_invitation_by_name_is_joined_or_declined(host: Player, page: PagePlayer) -> None:
    name = page.do("meet")["me"]["name"]
    for answer in ("join", "decline"):
        game = host.new(invite=entry_kinds.Invite(name), agreement=DAYS)
        page.game(game, "refresh")
        if answer == "join":
            page.game(game, "join", {"seen": host.head(game)[1]})
            assert kinds(host, game) == ["offer", "open", "join", "seed"]
        else:
            page.state(game, "decline")
            assert kinds(host, game) == ["offer", "open", "lapse", "end"]


RULESET = {"first": "host", "max_rounds": 0, "name": "hanamikoji", "tiebreak": "geisha", "version": 1}


def test_both_ask_for_a_rematch_at_once(host: Player, tmp_path: Path, kept: KeptProcesses) -> None:
    with (
        page_player(host.origin(), tmp_path / "a", kept) as one,
        page_player(host.origin(), tmp_path / "b", kept) as two,
    ):
        one.arrive(f"one-{secrets.token_hex(3)}")
        two.arrive(f"two-{secrets.token_hex(3)}")
        opened = one.do("open", ruleset=RULESET, agreement=DAYS.to_json(), invite="link")
        game = two.join(f"{host.origin()}/i/{opened['game']}#{opened['code']}")
        one.game(game, "refresh")
        two.game(game, "resign")
        one.game(game, "refresh")
        found: dict[PagePlayer, str] = {}
        asks = [
            threading.Thread(target=lambda player=player: found.__setitem__(player, player.state(game, "rematch")))
            for player in (one, two)
        ]
        for each in asks:
            each.start()
        for each in asks:
            each.join(60)
        assert len(set(found.values())) == 1
        lists = host.service.ask("GET", f"/v1/games?player={one.do('meet')['me']['name']}").json["games"]
        rematches = [each for each in lists if each["agreement"]["rematch"] == game]
        assert [each["game"] for each in rematches if each["status"] == "playing"] == list(set(found.values()))
        assert {each["status"] for each in rematches} <= {"playing", "cancelled"}


def test_a_rematch_is_opened_and_joined(host: Player, tmp_path: Path, kept: KeptProcesses) -> None:
    with (
        page_player(host.origin(), tmp_path / "a", kept) as one,
        page_player(host.origin(), tmp_path / "b", kept) as two,
    ):
        one.arrive(f"one-{secrets.token_hex(3)}")
        two.arrive(f"two-{secrets.token_hex(3)}")
        opened = one.do("open", ruleset=RULESET, agreement=DAYS.to_json(), invite="link")
        game = two.join(f"{host.origin()}/i/{opened['game']}#{opened['code']}")
        one.game(game, "resign")
        two.game(game, "refresh")
        rematch = one.state(game, "rematch")
        assert one.state(game, "rematch") == rematch  # asked again, nothing new is opened
        assert two.state(game, "rematch") == rematch
        offer = host.lines(rematch)[0].entry.body["ruleset"]
        assert isinstance(offer, dict)
        assert offer["first"] == "guest"  # the other one begins


def test_a_new_key_takes_over_running_games(host: Player, page: PagePlayer, game: str) -> None:
    old = page.do("meet")["me"]["key"]
    page.session("changeKey", list(secrets.token_bytes(32)))
    new = page.do("meet")["me"]["key"]
    assert new != old
    assert host.service.ask("GET", f"/v1/players/{page.do('meet')['me']['name']}").json["key"] == new
    reply(host, game)
    page.game(game, "refresh")
    assert kinds(host, game)[-1] == "rekey"
    view = page.game(game, "view")
    page.game(game, "move", view["legal"][0])
    lines = host.lines(game)
    assert lines[-2 if lines[-1].entry.by == "server" else -1].entry.kind == "move"
    pins = {page.do("meet")["me"]["name"]: parse_public_key(old)}
    assert audit("".join(f"{line}\n" for line in page.do("state", game=game)["raw"]), pins).ok


def test_a_revoked_key_is_recovered_by_a_code(service: Service, host: Player, page: PagePlayer, game: str) -> None:
    name = page.do("meet")["me"]["name"]
    page.session("revoke")
    done = run_forked(["admin", "revoke", name, "--data", str(service.data)], env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    code = next(
        word for line in done.stdout.splitlines() for word in line.split() if len(word) >= 16 and word.isalnum()
    )
    page.do("key", name=name)
    page.session("recover", code)
    reply(host, game)
    page.game(game, "refresh")
    assert kinds(host, game)[-1] == "revoke"
    page.game(game, "move", page.game(game, "view")["legal"][0])


def test_a_link_is_used_by_one(host: Player, page: PagePlayer) -> None:
    link = invite(host)
    Player(host.service, f"other-{secrets.token_hex(3)}").register().join(
        link.split("/i/")[1][:32], link_key(link[-32:])
    )
    with pytest.raises(RefusedByPageError, match="link-used"):
        page.join(link)
