"""In sealed games a program refuses much before it signs or sends anything, in text and as JSON. docs/sealed.md."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hkoji.cli.output import exit_code
from hkoji.client.links import own_link
from hkoji.errors import IllegalError, TrustError
from hkoji.game.commitments import entropy_commit
from hkoji.game.entry_kinds import Open
from hkoji.game.held_keys import Gateway, certify
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.memory_service import AT, URL
from tests.support.sealed_attack import Machine, Opponent, SealedService, machine
from tests.support.shell import run
from tests.support.stub_group import without_secrets

__all__ = ["without_secrets"]
pytestmark = pytest.mark.usefixtures("without_secrets")

RULESET = Hanamikoji("host", 2)
DISTRUST, ILLEGAL = (exit_code(kind("")) for kind in (TrustError, IllegalError))
LOGIN = ("/v1/login/challenge", "/v1/login")


@pytest.fixture(autouse=True)
def _english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKOJI_LANG", "en")


@pytest.fixture
def service() -> SealedService:
    return SealedService()


@pytest.fixture
def alice(service: SealedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine(service, "alice", tmp_path / "alice", monkeypatch)


@pytest.fixture
def bob(service: SealedService) -> Opponent:
    return Opponent(service)


@pytest.fixture
def without_pynacl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nacl", None)
    monkeypatch.setitem(sys.modules, "nacl.bindings", None)


def kept(home: Path) -> dict[str, object]:
    """All that a home has signed, and all that it signs with."""
    found: dict[str, object] = {}
    for file in home.rglob("*"):
        if file.name in ("outbox.signed", "sealed.key", "sealed.json", "config.json"):
            found[str(file)] = file.read_bytes()
        elif file.name == "secrets.json":
            secrets = json.loads(file.read_text())
            found[str(file)] = (secrets.get("entropy"), secrets.get("signed"))
    return {file: said for file, said in found.items() if said not in (([], None), (None, None))}


def refuses(player: Machine, words: Sequence[str], code: int, *said: str) -> None:
    """The command fails with that exit code and says all that, in text and as JSON. It has signed and sent nothing."""
    service = player.service
    assert isinstance(service, SealedService)
    for form in ((), ("--json",)):
        before, sent, asked = kept(player.path), len(service.sent), len(service.requests)
        games = {game: len(each.lines) for game, each in service.games.items()}
        done = run(*words, *form, seat=player)
        assert done.code == code, done
        error = json.loads(done.err.splitlines()[-1])["error"] if form else None
        text = done.err if error is None else f"{error['message']} {error['hint']}"
        for each in said:
            assert each in text, done
        assert len(service.sent) == sent
        assert {game: len(service.games[game].lines) for game in games} == games
        changes = [path for method, path in service.requests[asked:] if method != "GET" and path not in LOGIN]
        assert set(changes) <= ({"/v1/offers"} if code == DISTRUST else set())
        assert kept(player.path) == before


# --- mail and held keys -----------------------------------------------------------------------------------------------


def held(service: SealedService, name: str) -> tuple[PrivateKey, Gateway]:
    """A player who plays by mail: the key that the service holds, and its certificate."""
    key = PrivateKey.from_seed(service.random.randbytes(32))
    made = certify(service.key, address="00" * 32, at=AT, key=key.public, name=name, origin=URL)
    service.players[name] = key.public.text
    service.certificates[name] = made
    return key, made


def test_nobody_is_invited_to_a_sealed_game_by_mail(alice: Machine, service: SealedService) -> None:
    words = ["new", "--sealed", "--invite", "dave", "--mail", "dave@mail.example"]
    refuses(
        alice, words, 2, "only your own program can play your cards", "no game was opened; leave --mail or --sealed out"
    )
    assert service.games == {}


def test_a_held_player_is_not_invited(alice: Machine, service: SealedService) -> None:
    held(service, "dave")
    refuses(alice, ["new", "--sealed", "--invite", "dave"], 2, "dave plays by mail", "leave --sealed out")
    assert service.games == {}
    assert run("new", "--invite", "dave", seat=alice).code == 0


def test_a_sealed_game_of_a_host_who_plays_by_mail_is_not_joined(alice: Machine, service: SealedService) -> None:
    """An honest service refuses it, and a client does as well."""
    host = Opponent(service, "dave")
    host.key, gateway = held(service, "dave")
    game = service.offer(RULESET)
    parts = host.sealer(game, 0).open(service.course(game))
    body = Open(entropy_commit(game, 0, host.entropy), host.key.public, None, gateway, parts=parts)
    assert host.send(game, body).status == 422
    service.says_as(game, body, "dave", host.key)
    refuses(alice, ["join", game, "--sealed"], DISTRUST, "entry 1 of the log does not hold")


@pytest.mark.parametrize("sealed", [True, False])
def test_a_home_with_orders_by_mail_delegates_no_sealed_game(
    sealed: bool, alice: Machine, bob: Opponent, service: SealedService
) -> None:
    key = PrivateKey.from_seed(bytes(32))
    made = certify(service.key, address="00" * 32, at=AT, key=key.public, name="alice", origin=URL)
    wish = {"address": "alice@mail.example", "grade": "none", "certificate": made.to_json()}
    if sealed:
        game = alice.new(RULESET)
        bob.join(game)
    else:
        game = alice.client.new(RULESET).game
        other = machine(service, "carol", alice.path.parent / "carol", alice.patch or pytest.MonkeyPatch())
        other.join(game)
    alice.client.home.update_config(mail={URL: wish})
    if sealed:
        bob.play(game)
    alice.position(game)
    alice.move(game, alice.position(game).legal[0])
    assert any(path == "/v1/me/channels" for _, path in service.requests) == (not sealed)
    assert "delegate" not in [each.entry.kind for each in service.sent]


# --- PyNaCl -----------------------------------------------------------------------------------------------------------

MISSING = ("sealed games need PyNaCl, which is not installed", "[sealed]'`", "install it with `pip install ")


def test_no_sealed_game_is_opened_or_joined_without_pynacl(
    alice: Machine, bob: Opponent, service: SealedService, request: pytest.FixtureRequest
) -> None:
    game = bob.open(RULESET)
    request.getfixturevalue("without_pynacl")
    refuses(alice, ["new", "--sealed"], 2, *MISSING)
    refuses(alice, ["new", "--sealed", "--link"], 2, *MISSING)
    refuses(alice, ["join", game, "--sealed"], 2, *MISSING)
    refuses(alice, ["bot", "run", game, "--bot", "greedy", "--sealed", "--once"], 2, *MISSING)
    assert list(service.games) == [game]
    assert run("new", seat=alice).code == 0
    assert run("show", game, seat=alice).code == 0  # its proofs are checked all the same


@pytest.mark.parametrize("stage", ["the seed", "a move"])
def test_a_sealed_game_is_not_played_without_pynacl(
    stage: str, alice: Machine, bob: Opponent, service: SealedService, request: pytest.FixtureRequest
) -> None:
    game = alice.new(RULESET)
    bob.join(game)
    bob.play(game)
    legal = alice.position(game).legal if stage == "a move" else ("1A",)
    request.getfixturevalue("without_pynacl")
    for words in (["move", game, legal[0]], ["sign", game, legal[0]]):
        if stage == "a move":
            refuses(alice, words, 2, *MISSING)
    refuses(alice, ["release", game, "--here"], 2, *MISSING)
    for command in ("show", "release", "move"):
        sent, before = len(service.sent), kept(alice.path)
        done = run(command, game, *(legal[:1] if command == "move" else ()), "--json", seat=alice)
        assert (len(service.sent), kept(alice.path)) == (sent, before)
        assert stage == "a move" or all(each in done.err for each in MISSING)
    assert run("resign", game, "--yes", "--json", seat=alice).code == 0


# --- another dealer ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize(
    ("asked", "dealt", "said"),
    [
        ("sealed/v1", "server/v1", "this is not a sealed game"),
        ("server/v1", "sealed/v1", "the service has made a sealed game, and you did not ask for one"),
    ],
)
def test_a_game_that_is_offered_with_another_dealer_is_not_opened(
    asked: str, dealt: str, said: str, link: bool, alice: Machine, service: SealedService
) -> None:
    alice.client.home.update_config(started={})
    if asked == "sealed/v1":
        alice.new(RULESET)  # so there is a sealed key
    service.dealer = dealt
    words = ["new", *(["--sealed"] if asked == "sealed/v1" else []), *(["--link"] if link else [])]
    refuses(alice, words, DISTRUST, said, "nothing was signed")


def joins(game: str) -> list[list[str]]:
    return [["join", game], ["bot", "run", game, "--bot", "greedy", "--once"]]


def test_a_sealed_game_is_joined_only_with_sealed(alice: Machine, bob: Opponent) -> None:
    game = bob.open(RULESET)
    for words in joins(game):
        refuses(
            alice,
            words,
            ILLEGAL,
            "bob offers a sealed game (beta)",
            "nothing was signed",
            "give the same command with --sealed",
        )


def test_another_game_is_not_joined_as_a_sealed_one(
    alice: Machine, service: SealedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carol = machine(service, "carol", tmp_path / "carol", monkeypatch)
    game = carol.client.new(RULESET).game
    for words in joins(game):
        refuses(alice, [*words, "--sealed"], DISTRUST, "this is not a sealed game", "leave --sealed out")


@pytest.mark.parametrize("sealed", [True, False])
def test_the_dealer_of_a_game_by_link(
    sealed: bool, alice: Machine, service: SealedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carol = machine(service, "carol", tmp_path / "carol", monkeypatch)
    assert run("new", "--link", *(["--sealed"] if sealed else []), seat=carol).code == 0
    game = next(iter(service.games))
    link = own_link(carol.client, game)
    assert link is not None
    if sealed:
        refuses(
            alice,
            ["join", link.text],
            ILLEGAL,
            "carol offers a sealed game (beta)",
            "give the same command with --sealed",
        )
    else:
        refuses(alice, ["join", link.text, "--sealed"], DISTRUST, "this is not a sealed game")


# --- a missing sealed key ---------------------------------------------------------------------------------------------


@pytest.fixture
def bare(alice: Machine, tmp_path: Path) -> Callable[[], Machine]:
    """Makes another home of the player, with the key and without the sealed key."""

    def made() -> Machine:
        shutil.copytree(alice.path, tmp_path / "bare" / "home", ignore=shutil.ignore_patterns("sealed.key"))
        return replace(alice, path=tmp_path / "bare" / "home", state=tmp_path / "bare" / "state", said=[])

    return made


@pytest.mark.parametrize("joined", [False, True])
def test_no_sealed_key_is_made_beside_another_one(
    joined: bool, alice: Machine, bob: Opponent, service: SealedService, bare: Callable[[], Machine]
) -> None:
    game = alice.new(RULESET)
    if joined:
        bob.join(game)
    other, offered = bare(), Opponent(service, "carol").open(RULESET)
    for words in (["new", "--sealed"], ["join", offered, "--sealed"]):
        refuses(other, words, 2, f"the sealed key of game {game[:8]} is not in", "copy `sealed.key`", "--new-key")
        assert not (other.path / "sealed.key").exists()
    assert run("join", offered, "--sealed", "--new-key", seat=other).code == 0
    assert (other.path / "sealed.key").read_text() != (alice.path / "sealed.key").read_text()


def test_an_invitation_alone_needs_no_key_of_before(alice: Machine, service: SealedService) -> None:
    carol = Opponent(service, "carol")
    assert run("join", carol.open(RULESET), "--sealed", seat=alice).code == 0


@pytest.mark.parametrize("stage", ["the seed", "a move"])
def test_a_game_is_not_played_without_its_sealed_key(
    stage: str, alice: Machine, bob: Opponent, service: SealedService, bare: Callable[[], Machine]
) -> None:
    """Also if there is another one. It can be given up."""
    game = alice.new(RULESET)
    bob.join(game)
    bob.play(game)
    legal = alice.position(game).legal if stage == "a move" else ()
    other = bare()
    for other_key in (None, f"{bytes(32).hex()}\n"):
        if other_key is not None:
            (other.path / "sealed.key").write_text(other_key)
        if legal:
            for command in ("move", "sign"):
                refuses(other, [command, game, legal[0]], 1, f"the sealed key of game {game[:8]}", "resign")
        sent = len(service.sent)
        done = run("show", game, "--json", seat=other)
        assert done.code == 0, done
        assert legal or f"the sealed key of game {game[:8]}" in done.err or "on another machine" in done.err
        assert len(service.sent) == sent
    assert run("resign", game, "--yes", "--json", seat=other).code == 0


def test_a_wish_belongs_to_a_sealed_game(alice: Machine, bob: Opponent) -> None:
    game = bob.open(RULESET)
    for option in ("--keep-draws", "--deposit-draws", "--new-key"):
        for words in (["new"], ["join", game]):
            refuses(alice, [*words, option], 2, "need --sealed", "nothing was sent")


def test_another_choice_of_cards_is_refused_in_text_and_json(
    alice: Machine, bob: Opponent, service: SealedService
) -> None:
    game = alice.new(RULESET)
    bob.join(game)
    bob.play(game)
    legal = alice.position(game).legal
    service.refuses = lambda _: IllegalError("no")
    done = run("move", game, legal[0], seat=alice)
    assert "warning: the service refuses a legal entry of a sealed game. The cards in it may have been seen" in done.err
    service.refuses = lambda _: None
    for command in ("move", "sign"):
        refuses(
            alice,
            [command, game, legal[-1]],
            ILLEGAL,
            f"you have already signed {legal[0]} for this turn",
            f"nothing was sent; send that move again: `hkoji move {game[:8]} {legal[0]}`",
        )
    assert run("move", game, legal[0], seat=alice).code == 0


def test_a_round_of_another_machine_is_refused_in_text_and_json(
    alice: Machine, bob: Opponent, service: SealedService, tmp_path: Path
) -> None:
    game = alice.new(RULESET)
    bob.join(game)
    bob.play(game)
    shutil.copytree(alice.path, tmp_path / "copy")
    other = replace(alice, path=tmp_path / "copy", state=tmp_path / "state", said=[])
    refuses(alice, ["release", "--here"], 2, "--here needs a game")
    sent = len(service.sent)
    done = run("show", game, seat=other)
    assert "you locked the deck of round 1 on another machine" in done.err
    assert f"hkoji release {game[:8]} --here" in done.err
    assert len(service.sent) == sent
    assert run("release", game, "--here", seat=other).code == 0
