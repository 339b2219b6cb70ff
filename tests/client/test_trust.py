"""A service that lies: what was seen stands, nothing is accepted, and the error says what to do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hkoji import referee
from hkoji.client import seats
from hkoji.client.kept.game import Vault
from hkoji.client.transport import HttpAnswer, Transport
from hkoji.errors import LoginError, NotFoundError, NotUnderstoodError, ServiceError, TrustError
from hkoji.game.dealer import DuplicateTerms
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.line import Line, SignedReceipt, line_to_json, make_entry, make_receipt, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import Dealt, make_view
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.commands import current, without_player
from tests.support.memory_service import AT, URL, LocalPlayer, MemoryService, begin


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock" and "refused" not in path.name
    }


def refused(player: LocalPlayer, game: str, reason: str) -> TrustError:
    """Checks that showing the game fails, twice, with `reason`, and changes nothing here."""
    before = files(player.folder(game))
    for _ in range(2):
        with pytest.raises(TrustError, match=reason) as refusal:
            player.position(game)
        assert refusal.value.hint
    assert files(player.folder(game)) == before
    return refusal.value


def on_view(service: MemoryService, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes each view on its way."""

    def tamper(method: str, path: str, answer: HttpAnswer) -> HttpAnswer:
        if "/view" not in path or answer.status != 200:
            return answer
        value = answer.json()
        change(value)
        return answer._replace(body=json.dumps(value).encode())

    service.tamper = tamper


def signed_view(service: MemoryService, table: str, *, key: PrivateKey | None = None, **changes: Any) -> dict[str, str]:
    """A signed view of the game `table` for its host, like the honest one except for `changes`."""
    honest = referee.view(service.games[table].refereed, 0)
    fields = {name: getattr(honest, name) for name in ("dealt", "game", "head", "seat", "seq")}
    view = make_view(**{**fields, **changes})
    return {"text": view.text, "sig": encode_base64((key or service.key).sign(sshsig.VIEW, view.message))}


# --- the dealer -------------------------------------------------------------------------------------------------------


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service offers games whose cards it alone chooses, contrary to the request."""
    honest = referee.offer

    def offer(game: str, ruleset: Ruleset, seed: str, **more: Any) -> referee.Accepted:  # Any: as they are
        return honest(game, ruleset, seed, terms=DuplicateTerms.bind("d0" * 16, seed), **more)

    monkeypatch.setattr(referee, "offer", offer)


@pytest.mark.usefixtures("chosen")
def test_a_game_of_a_dealer_that_was_not_asked_for_is_not_joined(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as accomplice:
        accomplice.setattr(seats, "verify_dealer", lambda course, **_: None)
        game = alice.client.new(Hanamikoji()).course.setup.game
    with pytest.raises(TrustError, match="dealer is duplicate/v1"):
        bob.join(game)
    assert [line.entry.kind for line in service.games[game].lines] == ["offer", "open"]


# --- the log ----------------------------------------------------------------------------------------------------------


def forge(service: MemoryService, game: str, change: Callable[[Line], Line]) -> None:
    """The last line of each view is forged on its way."""

    def forged(value: dict[str, Any]) -> None:
        if value["lines"]:
            value["lines"][-1] = line_to_json(change(service.games[game].lines[-1]))

    on_view(service, forged)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("signature", lambda line: line._replace(sig=line.sig[:-1] + bytes([line.sig[-1] ^ 1]))),
        ("receipt missing", lambda line: line._replace(receipt=None)),
        (
            "receipt signature",
            lambda line: line._replace(
                receipt=line.receipt._replace(sig=line.receipt.sig[:-1] + bytes([line.receipt.sig[-1] ^ 1]))
            ),
        ),
    ],
)
def test_forged_signatures_are_refused(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, name: str, change: Callable[[Line], Line]
) -> None:
    game = begin(alice, bob)
    alice.move(game, alice.position(game).legal[0])
    alice.position(game)
    bob.move(game, bob.position(game).legal[0])
    forge(service, game, change)
    refused(alice, game, "entry 6 that does not hold")
    assert name
    service.tamper = lambda _m, _p, answer: answer
    assert alice.position(game).course.seq == 6  # the honest answer is accepted afterwards


def test_a_later_kind_is_not_understood_rather_than_distrusted(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)
    alice.position(game)
    course = service.games[game].refereed.course
    entry = make_entry(
        at=AT, body={}, by="alice", game=game, kind="plan", prev=course.head, seen=AT, seq=course.seq + 1
    )
    receipt = make_receipt(at=AT, game=game, head=entry.head, seq=entry.seq)
    key = PrivateKey.from_openssh((alice.path / "id_ed25519").read_bytes())
    line = Line(
        entry, sign_entry(entry, key), SignedReceipt(receipt, service.key.sign(sshsig.RECEIPT, receipt.message))
    )

    def add(value: dict[str, Any]) -> None:
        value["lines"].append(line_to_json(line))
        value["seq"], value["head"] = entry.seq, entry.head

    on_view(service, add)
    with pytest.raises(NotUnderstoodError, match="plan"):
        alice.position(game)


# --- keys -------------------------------------------------------------------------------------------------------------


def test_every_refusal_says_what_is_unchanged(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    """The player has lost files. The service sends no opening, too few cards, or a view of an earlier moment."""
    game = begin(alice, bob)
    secret = next(action for action in alice.position(game).legal if action[0] == "1")
    alice.move(game, secret)
    bob.position(game)
    for name in ("log.jsonl", "view.json", "views.signed", "secrets.json", "outbox.signed"):
        (alice.folder(game) / name).unlink()
    lies: dict[str, Callable[[dict[str, Any]], None]] = {
        "the opening of your own move at entry 5 is missing": lambda value: value.update(openings=[]),
        "not shown all your cards": lambda value: value.update(view=signed_view(service, game, dealt=())),
        "another seat, game or moment": lambda value: value.update(view=signed_view(service, game, seq=4)),
    }
    for reason, lie in lies.items():
        on_view(service, lie)
        assert refused(alice, game, reason).hint.startswith("nothing was accepted; ")
    service.tamper = lambda _m, _p, answer: answer
    assert alice.position(game).course.seq == 5


# --- views ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"seat": 1}, "another seat"),
        ({"seq": 3}, "another seat, game or moment"),
        ({"head": "0" * 64}, "another seat, game or moment"),
        ({"game": "0" * 32}, "another seat, game or moment"),
        ({"dealt": ()}, "other cards in round 1 before|has not shown"),
        ({"dealt": (Dealt("AABBCCDE", 1),)}, "other cards"),
        ({"dealt": (Dealt("XXXXXXX", 1),)}, "other cards|own cards"),
        ({"dealt": (Dealt("AAAAAAA", 1),)}, "other cards|does not hold"),
        ({"dealt": (Dealt("ZZZZZZZ", 1),)}, "other cards|no cards"),
        ({"key": PrivateKey.from_seed(b"\x09" * 32), "seq": 5}, "view does not hold"),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_wrong_views_are_refused(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, changes: dict[str, Any], reason: str, first: bool
) -> None:
    """Whether it is the first view that this home gets or a later one."""
    game = begin(alice, bob)
    if first:
        (alice.folder(game) / "view.json").unlink()
        (alice.folder(game) / "log.jsonl").unlink()
    on_view(service, lambda value: value.update(view=signed_view(service, game, **changes)))
    before = files(alice.folder(game))
    with pytest.raises(TrustError, match=None if first else reason):
        alice.position(game)
    assert files(alice.folder(game)) == before


def test_openings_that_are_not_the_own_are_not_kept(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)
    legal = alice.position(game).legal
    alice.move(game, next(action for action in legal if action[0] == "1"))
    true = Vault(alice.folder(game)).openings()
    assert len(true) == 1
    strange = [{"cards": "G", "part": 0, "salt": "0" * 64, "seq": 5}]
    on_view(service, lambda value: value.update(openings=strange))
    position = alice.position(game)
    assert position.course.state.project(0) == service.games[game].refereed.course.state.project(0)
    assert Vault(alice.folder(game)).openings() == true


# --- answers that are none --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 201])
@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{}", b'{"games": [{}], "next": null}', b'{"games": 1}', b"<html>", b"[" * 50000]
)
def test_an_answer_of_any_shape_is_an_error_of_the_service(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, status: int, body: bytes
) -> None:
    game = begin(alice, bob)
    service.tamper = lambda _m, _p, answer: answer._replace(status=status, body=body)
    before = files(alice.folder(game))
    client = alice.client
    for call in (
        lambda: current(client, game),
        client.games,
        lambda: client.games(everybody=True),
        lambda: client.register(URL),
        lambda: client.new(Hanamikoji()),
        lambda: client.find("abcd"),
    ):
        with pytest.raises(ServiceError, match="not understood"):
            call()
    assert files(alice.folder(game)) == before


def _on_list(service: MemoryService, change: Callable[[dict[str, Any]], None]) -> list[str]:
    """Changes each list of games on its way. Returns the unchanged lists."""
    asked: list[str] = []

    def tamper(_method: str, path: str, answer: HttpAnswer) -> HttpAnswer:
        if "games?" not in path:
            return answer
        asked.append(path)
        assert len(asked) < 100
        value = answer.json()
        change(value)
        return answer._replace(body=json.dumps(value).encode())

    service.tamper = tamper
    return asked


@pytest.mark.parametrize("game", ["../../../outside", "/outside", "{tmp}/outside", "27" * 15, "27" * 17, "A" * 32, ""])
def test_a_games_id_is_no_way_out_of_the_folder(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, tmp_path: Path, game: str
) -> None:
    begin(alice, bob)
    evil = game.format(tmp=tmp_path)
    asked = _on_list(service, lambda value: value.update(games=[{**_listed(service), "game": evil}]))
    before = set(tmp_path.parent.rglob("*"))
    for call in (bob.client.games, lambda: bob.client.find("abcd"), lambda: bob.client.games(everybody=True)):
        with pytest.raises(ServiceError, match="not understood"):
            call()
    assert len(asked) == 3
    assert set(tmp_path.parent.rglob("*")) == before


def test_a_game_that_begins_otherwise_than_asked_is_not_the_one(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)
    carol = "abcd" if not game.startswith("abcd") else "dcba"
    shutil.rmtree(bob.folder(game))
    # As a service could that ignores the prefix.
    asked = _on_list(service, lambda value: value.update(games=[{**_listed(service), "game": game}]))
    with pytest.raises(NotFoundError):
        bob.client.find(carol)
    assert bob.client.find(game[:6]) == game
    assert len(asked) == 2


def _listed(service: MemoryService) -> dict[str, Any]:
    page: dict[str, Any] = service.answer("GET", "/v1/games", None, None).json()
    return dict(page["games"][0])


@pytest.mark.parametrize("empty", [True, False])
def test_a_list_of_games_that_does_not_end_is_given_up(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, empty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(alice, bob)
    games = [] if empty else [_listed(service)]
    asked: list[str] = []

    class Endless(Transport):
        def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
            asked.append(path)
            assert len(asked) < 100
            return HttpAnswer(200, json.dumps({"games": games, "next": f"{AT}~{len(asked):032x}"}).encode())

    monkeypatch.setattr("hkoji.client.service.LONGEST_LIST", 4000)
    with pytest.raises(ServiceError, match="does not end"):
        without_player(Endless(URL)).list_games()
    assert len(asked) == 1 if empty else 2 < len(asked) < 20


def test_login_errors_are_the_players(alice: LocalPlayer, service: MemoryService) -> None:
    service.tokens.clear()
    service.tamper = lambda _m, path, answer: answer._replace(status=401) if "me/" in path else answer
    with pytest.raises(LoginError):
        alice.client.games()
