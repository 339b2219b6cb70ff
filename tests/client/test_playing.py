"""Two clients and an honest service: requests, files, and the same game everywhere."""

from __future__ import annotations

import json
import random
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hkoji.audit.log_audit import audit
from hkoji.client import Client, Home
from hkoji.client.kept.game import Vault
from hkoji.client.transport import HttpAnswer
from hkoji.client.watching import wait
from hkoji.errors import (
    CancelledError,
    ConflictError,
    GameOverError,
    IllegalActionError,
    IllegalError,
    LoginError,
    NotationError,
    NotFoundError,
    NotYourTurnError,
    TrustError,
    UsageError,
)
from hkoji.game import entry_kinds
from hkoji.game.course import Stage
from hkoji.game.submission import parse_submission
from hkoji.log import sshsig
from hkoji.log.line import format_log
from hkoji.log.public_key import PublicKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.commands import current, make_move
from tests.support.memory_service import LocalPlayer, MemoryService, begin, play_on, registered


@pytest.mark.parametrize("first", ["host", "random"])
def test_a_whole_game_is_the_same_for_both_and_for_the_audit(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, first: str
) -> None:
    game = begin(alice, bob, Hanamikoji(first, 2, "charm"))
    clients = (alice.client, bob.client)
    chance = random.Random(7)
    while not (positions := tuple(current(client, game) for client in clients))[0].over:
        assert positions[0].course.actor == positions[1].course.actor
        mover = positions[0].course.actor
        assert mover is not None
        assert not positions[1 - mover].legal
        made = make_move(clients[mover], game, chance.choice(positions[mover].legal))
        assert service.games[game].lines[made.seq].entry.by == ("alice", "bob")[mover]
    assert positions[0].course == positions[1].course
    lines = alice.log(game)
    assert lines == bob.log(game) == tuple(service.games[game].lines)
    pins = clients[0].pins(clients[0].server)
    assert set(pins) == {"alice", "bob", "server"}
    result = audit(format_log(lines).encode(), pins)
    assert result.ok
    assert result.finished
    assert all(party.pinned for party in result.parties)


def test_showing_is_one_request(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = begin(alice, bob)
    alice.position(game)
    service.requests.clear()
    position = alice.position(game)
    assert service.requests == [("GET", f"/v1/games/{game}/view?after={position.course.seq}")]
    bob_sees = bob.client
    service.requests.clear()
    current(bob_sees, game)
    assert len(service.requests) == 1


def test_stored_lines_are_not_verified_again(
    alice: LocalPlayer, bob: LocalPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = begin(alice, bob)
    play_on((alice, bob), game, 4)
    alice.position(game)
    seen: list[str] = []
    real = sshsig.verify

    def counting(sig: bytes, public: object, namespace: str, message: bytes, signer: str) -> None:
        seen.append(namespace)
        real(sig, public, namespace, message, signer)  # type: ignore[arg-type] # passed through

    monkeypatch.setattr(sshsig, "verify", counting)
    alice.position(game)
    assert seen == []
    play_on((alice, bob), game, 1)
    seen.clear()
    alice.position(game)
    assert seen.count(sshsig.VIEW) <= 1
    assert seen.count(sshsig.ENTRY) <= 1


def test_a_move_verifies_and_asks_for_nothing_twice(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own signature was made here, and its receipt is verified once; it asks for the news, and sends the entry."""
    game = begin(alice, bob)
    seen: list[str] = []
    real = sshsig.verify

    def verify(blob: bytes, public: PublicKey, namespace: str, message: bytes, signer: str) -> None:
        seen.append(namespace)
        real(blob, public, namespace, message, signer)

    with alice.client.game(game) as held:
        legal = held.current().legal
        monkeypatch.setattr(sshsig, "verify", verify)
        service.requests.clear()
        held.move(legal[0])
    monkeypatch.undo()
    kinds = [namespace for namespace in seen if namespace == sshsig.RECEIPT]
    assert len(kinds) == 1
    # The service verifies the entry in this process, too.
    assert [namespace for namespace in seen if namespace == sshsig.ENTRY] == [sshsig.ENTRY]
    assert [method for method, _ in service.requests] == ["GET", "POST"]


def test_files_are_for_their_owner_only(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    play_on((alice, bob), game, 3)
    for path in alice.path.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE(alice.path.stat().st_mode) == 0o700


def test_everything_is_on_disk_before_it_is_sent(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    """When each entry arrives, its text, signature and openings, and the entropy, can be read from the files."""
    seen: list[str] = []

    def look(player: LocalPlayer) -> None:
        def check(method: str, path: str) -> None:
            if method != "POST" or not path.endswith("/entries"):
                return
            folder = player.folder(path.split("/")[3])
            submission = parse_submission((folder / "outbox.signed").read_bytes().splitlines()[-1])
            secrets = json.loads((folder / "secrets.json").read_text())
            assert set(submission.opening) <= set(Vault(folder).openings())
            if submission.entry.kind in ("open", "join"):
                assert secrets["entropy"]
            seen.append(submission.entry.kind)

        service.before = check

    look(alice)
    game = alice.client.new(Hanamikoji()).course.setup.game
    look(bob)
    bob.join(game)
    look(alice)
    position = alice.position(game)
    alice.move(game, next(action for action in position.legal if action[0] == "2"))
    look(bob)
    position = bob.position(game)
    bob.move(game, position.legal[0])
    assert seen == ["open", "join", "seed", "seed", "move", "move"]
    assert service.bodies


@pytest.mark.parametrize("command", ["position", "games", "waiting", "wait", "move", "log", "sign"])
def test_the_guest_reveals_in_the_same_call_and_the_host_on_the_next_one(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, command: str
) -> None:
    game = alice.client.new(Hanamikoji()).course.setup.game
    bob.join(game)
    assert service.games[game].refereed.course.stage is Stage.HOST_SEED
    calls: dict[str, Callable[[], object]] = {
        "position": lambda: alice.position(game),
        "games": alice.client.games,
        "waiting": alice.client.waiting,
        "wait": lambda: wait(alice.client, game, 0),
        "move": lambda: alice.move(game, "5"),
        "log": lambda: alice.log(game),
        "sign": lambda: alice.sign(game, "5"),
    }
    try:
        calls[command]()
    except NotationError:
        assert command in ("move", "sign")  # no hand was known when this move was typed
    assert service.games[game].refereed.course.stage is Stage.PLAY


def test_a_refused_reveal_is_not_taken_for_another_home(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    """The service says that the game has moved on, and shows that it has not: the host must hear of it."""
    game = alice.client.new(Hanamikoji()).course.setup.game
    bob.join(game)
    lines, refereed = list(service.games[game].lines), service.games[game].refereed

    def tamper(method: str, path: str, answer: HttpAnswer) -> HttpAnswer:
        if not path.endswith("/entries"):
            return answer
        del service.games[game].lines[len(lines) :]
        service.games[game].refereed = refereed
        last = lines[-1].entry
        problem = {"code": "conflict", "game": game, "seq": last.seq, "head": last.head, "detail": "no", "status": 409}
        return HttpAnswer(409, json.dumps(problem).encode())

    service.tamper = tamper
    with pytest.raises(TrustError, match="refuses what follows entry 3, and shows no later one"):
        alice.position(game)
    assert alice.client.stored(game).course.seq == 3
    service.tamper = lambda _m, _p, answer: answer
    assert alice.position(game).course.stage is Stage.PLAY


def test_an_invited_player_finds_the_game_and_nobody_else_joins(
    alice: LocalPlayer, bob: LocalPlayer, tmp_path: Path
) -> None:
    carol = registered(alice.service, "carol", tmp_path / "carol")
    game = alice.client.new(Hanamikoji(), entry_kinds.Invite("bob")).course.setup.game
    assert [each["game"] for each in bob.client.waiting()] == [game]
    before = len(alice.service.games[game].lines)
    with pytest.raises(IllegalError, match="open only to bob"):
        carol.join(game)
    assert len(alice.service.games[game].lines) == before
    assert not (carol.folder(game) / "outbox.signed").exists()
    bob.join(game)


def test_the_host_cannot_join_and_a_full_game_is_taken(alice: LocalPlayer, bob: LocalPlayer, tmp_path: Path) -> None:
    carol = registered(alice.service, "carol", tmp_path / "carol")
    game = alice.client.new(Hanamikoji()).course.setup.game
    with pytest.raises(IllegalError, match="you host"):
        alice.join(game)
    bob.join(game)
    with pytest.raises(ConflictError):
        carol.join(game)
    assert bob.join(game).seat == 1  # again: it has been done


def test_moves_are_refused_here_before_anything_is_sent(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, tmp_path: Path
) -> None:
    game = begin(alice, bob)
    position = alice.position(game)
    # No hand of seven holds two of each geisha's cards.
    absent = next(card for card in "ABCDEFG" if f"2{card}{card}" not in position.legal)
    service.requests.clear()
    with pytest.raises(IllegalActionError) as illegal:
        alice.move(game, f"2{absent}{absent}")
    assert illegal.value.shape == ("1?", "2??", "3???", "4????")
    assert "nothing was sent" in illegal.value.hint
    with pytest.raises(NotationError):
        alice.move(game, "5AA")
    with pytest.raises(NotYourTurnError) as turn:
        bob.move(game, "1A")
    assert turn.value.actor == 0
    stranger = registered(service, "carol", tmp_path / "carol")
    with pytest.raises(NotYourTurnError, match="you are not a player in game"):
        stranger.move(game, "1A")
    assert not [path for method, path in service.requests if method == "POST" and path.endswith("entries")]


def test_resigning_and_cancelling(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = alice.client.new(Hanamikoji()).course.setup.game
    with pytest.raises(IllegalError, match="nobody has joined") as early:
        alice.resign(game)
    assert "hkoji cancel" in early.value.hint
    cancelled = alice.cancel(game).position
    assert cancelled.over
    assert cancelled.course.outcome is not None
    assert cancelled.course.outcome.reason == "cancel"
    with pytest.raises(GameOverError):
        bob.join(game)
    game = begin(alice, bob)
    with pytest.raises(IllegalError, match="before anyone joins"):
        alice.cancel(game)
    over = bob.resign(game).position
    assert over.course.outcome is not None
    assert (over.course.outcome.reason, over.course.outcome.winner) == ("resign", 0)
    with pytest.raises(GameOverError):
        alice.resign(game)
    assert alice.position(game).course.state.hands == over.course.state.hands  # the end opens everything


def test_a_spectator_follows_without_cards(alice: LocalPlayer, bob: LocalPlayer, tmp_path: Path) -> None:
    carol = registered(alice.service, "carol", tmp_path / "carol")
    game = begin(alice, bob)
    play_on((alice, bob), game, 3)
    position = carol.position(game)
    assert position.seat is None
    assert position.legal == ()
    assert position.course.state == alice.service.games[game].refereed.course.state.project(None)
    play_on((alice, bob), game, 2)
    assert carol.position(game).course.seq > position.course.seq


def test_an_expired_token_is_renewed(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = begin(alice, bob)
    service.tokens.clear()
    service.requests.clear()
    alice.position(game)
    assert [path.split("?")[0].rsplit("/", 1)[-1] for _, path in service.requests] == [
        "view",
        "challenge",
        "login",
        "view",
    ]


def test_games_are_found_by_prefix(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    games = [alice.client.new(Hanamikoji()).course.setup.game for _ in range(3)]
    client = alice.client
    assert client.find(games[0][:3]) == games[0]
    assert client.find(games[0].upper()) == games[0]
    with pytest.raises(NotFoundError) as unknown:
        client.find("zz")
    assert all(game[:8] in unknown.value.hint for game in games)
    service.requests.clear()
    absent = next(f"{n:04x}" for n in range(1, 65536) if not any(game.startswith(f"{n:04x}") for game in games))
    with pytest.raises(NotFoundError):
        client.find(absent)
    assert [path.split("?")[0] for _, path in service.requests] == ["/v1/games", "/v1/me/games"]
    assert bob.client.find(games[1][:6]) == games[1]  # not known there: asked of the service
    twin = games[0][:10] + ("0" if games[0][10] != "0" else "1") + games[0][11:]
    (alice.path / "games" / twin).mkdir()
    (alice.path / "games" / twin / "log.jsonl").write_text("")
    with pytest.raises(UsageError, match="more than one") as many:
        client.find(games[0][:6])
    assert games[0][:10] in str(many.value)
    with pytest.raises(NotFoundError):
        current(client, "f" * 32)
    assert not alice.folder("f" * 32).exists()


def test_waiting_ends_at_ones_turn_or_in_vain(
    alice: LocalPlayer, bob: LocalPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = begin(alice, bob)
    assert wait(alice.client, game, 0).mine
    with pytest.raises(CancelledError):
        wait(bob.client, game, 0)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 8:
            play_on((alice, bob), game, 1)

    monkeypatch.setattr("hkoji.client.watching.time.sleep", sleep)
    assert wait(bob.client, game).mine
    assert slept[0] == pytest.approx(0.2)
    assert slept == sorted(slept)
    assert max(slept) <= 2.0


def test_without_a_player_or_a_service_one_is_asked_for(tmp_path: Path, service: MemoryService) -> None:
    client = Client(Home(tmp_path / "nobody"))
    with pytest.raises(LoginError) as nobody:
        _ = client.identity
    assert "hkoji init" in nobody.value.hint
    with pytest.raises(LoginError):
        client.games()
    from hkoji.client.identity import create

    create(Home(tmp_path / "dora"), "dora", None, b"\x07" * 32)
    with pytest.raises(UsageError) as unregistered:
        Client(Home(tmp_path / "dora")).games()
    assert "hkoji register" in unregistered.value.hint


def test_one_client_sees_what_another_process_has_done(alice: LocalPlayer, bob: LocalPlayer) -> None:
    """A client's memory is never older than the files."""
    game = begin(alice, bob)
    long_lived = alice.client
    first = current(long_lived, game)
    alice.move(game, first.legal[0])
    assert current(long_lived, game).course.seq == first.course.seq + 1
    play_on((alice, bob), game, 4)
    assert current(long_lived, game).course == alice.position(game).course
