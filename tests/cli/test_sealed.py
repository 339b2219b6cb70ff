"""A sealed game at the command line: what it waits for, what a home without its sealed key can do, and what is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hkoji.cli.output import Exit
from hkoji.client import Home
from hkoji.client.doctor import examine
from hkoji.doctor_check import DoctorCheck
from hkoji.game.entry_kinds import Release
from hkoji.sealed import sodium
from tests.support.memory_service import LocalPlayer, LocalTransport, MemoryService, registered
from tests.support.shell import Done, Shell

ADVICE = "Your cards cannot be read here"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The marks of homes lie elsewhere than on this machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def begin(alice: Shell, bob: Shell, *more: str, draws: str = "--keep-draws") -> str:
    """A sealed game up to its first decision."""
    game = str(alice("new", "--sealed", "--invite", "bob", draws, *more, "--json").json["game"])
    assert bob("join", game, "--sealed", draws).code == 0
    assert alice("show", game).code == 0
    return game


def move(shell: Shell, game: str, kind: str) -> Done:
    """The first legal move of a kind."""
    action = next(each for each in shell("show", game, "--json").json["legal"] if each[0] == kind)
    done = shell("move", game, action)
    assert done.code == 0, done
    return done


def answered(alice: Shell, bob: Shell, game: str) -> Done:
    """Bob answers a gift of alice, whose program then owes bob a card. Returns what bob's command prints."""
    move(alice, game, "3")
    return move(bob, game, "-")


def doctor(shell: Shell, name: str) -> DoctorCheck | None:
    """The check of the doctor with that name; None if it makes none."""
    checks = examine(Home(shell.seat.path), lambda url: LocalTransport(url, shell.seat.service))
    return next((each for each in checks if each.name == name), None)


def hide_key(shell: Shell) -> Path:
    """The sealed key is somewhere else."""
    file = shell.seat.path / "sealed.key"
    return file.rename(shell.seat.path / "elsewhere")


def test_every_view_says_whose_program_owes_a_card(alice: Shell, bob: Shell) -> None:
    game = begin(alice, bob)
    assert "alice's program must give you a card." in answered(alice, bob, game).out
    shown = bob("show", game)
    assert "alice's program must give you a card." in shown.out
    assert "turn to" not in shown.out
    position = bob("show", game, "--json").json
    assert (position["due"], position["actor"], position["to_move"]) == ("release", 0, "alice")
    assert position["dealer"] == bob("games", "--json").json[0]["dealer"] == "sealed/v1"
    assert "hanamikoji, sealed" in bob("games").out
    kept = alice("show", game, "--offline").out
    assert "It is bob's turn" in kept
    hide_key(alice)
    owing = alice("show", game).out
    assert "Your program owes bob a card." in owing
    assert f"hkoji release {game[:8]}" in owing
    released = alice("release")
    assert (released.code, "your program still owes a card" in released.err) == (Exit.MOVE, True)


def test_release_says_which_cards_it_has_released(alice: Shell, bob: Shell) -> None:
    game = str(alice("new", "--sealed", "--invite", "bob", "--keep-draws", "--json").json["game"])
    looked = "Sealed games looked at: 1.\n"
    assert bob("join", game, "--sealed", "--keep-draws").code == 0
    assert alice("release").out == f"Game {game[:8]}: 6 cards released.\n{looked}"
    answered(alice, bob, game)
    assert alice("release").out == f"Game {game[:8]}: 1 card released.\n{looked}"
    assert alice("release").out == looked
    move(bob, game, "3")
    move(alice, game, "-")
    (told,) = bob("release", "--json").json
    assert told == {"v": 1, "game": game, "seq": told["seq"], "owes": False}


def test_release_does_not_count_the_cards_of_another_machine(alice: Shell, bob: Shell, tmp_path: Path) -> None:
    game = begin(alice, bob)
    shutil.copytree(alice.seat.path, tmp_path / "second")
    second = Shell(LocalPlayer(alice.seat.service, "alice", tmp_path / "second"))
    answered(alice, bob, game)
    assert "1 card released" in second("release").out
    assert alice("release").out == "Sealed games looked at: 1.\n"


def test_the_end_of_a_round_is_told_with_its_score(alice: Shell, bob: Shell, service: MemoryService) -> None:
    game = begin(alice, bob, "--max-rounds", "1")
    shells, released = {0: alice, 1: bob}, ""
    while (position := shells[0]("show", game, "--json").json)["due"] not in ("reveal", "release", "over"):
        shell = shells[position["actor"]]
        shell("move", game, shell("show", game, "--json").json["legal"][0])
        released = bob("release").out
    assert "1 card released" in released  # the face-down card that counts
    if position["due"] == "release":
        assert "The round ends when bob's program turns up the face-down card that counts." in alice("show", game).out
    bob("show", game)
    ended = alice("show", game).out
    assert "revealed the secret" in ended
    assert "round 1: bob" in ended
    assert service.games[game].lines[-2].entry.kind == Release.KIND


@pytest.mark.parametrize(
    ("draws", "said"),
    [
        ("--deposit-draws", "bob's draws are deposited with the service."),
        ("--keep-draws", "Your program keeps bob's draws until they are due."),
    ],
)
def test_show_says_who_keeps_the_draws(alice: Shell, bob: Shell, draws: str, said: str) -> None:
    assert f"A sealed game (beta). {said}" in alice("show", begin(alice, bob, draws=draws)).out


def test_without_its_sealed_key_a_game_is_shown_and_can_only_be_given_up(
    alice: Shell, bob: Shell, service: MemoryService
) -> None:
    game = begin(alice, bob)
    move(alice, game, "3")
    assert bob("show", game).code == 0
    hide_key(bob)
    shown = bob("show", game)
    assert shown.code == 0
    assert "your hand    X X X X X X" in shown.out
    assert f"{ADVICE}: copy `sealed.key` from your other machine" in " ".join(shown.out.split())
    assert f"hkoji resign {game[:8]}" in shown.out
    before = list(service.games[game].lines)
    for words in (("move", game, "-A"), ("move", "--dry-run", game, "-A"), ("sign", game, "-A")):
        done = bob(*words)
        assert (done.code, "copy `sealed.key`" in done.err) == (Exit.FAILURE, True), words
    assert bob("plan", game, "-", "--yes", stdin="3* : -A\n").code == Exit.FAILURE
    assert bob("bot", "run", game, "--bot", "greedy").code == Exit.FAILURE
    assert bob("play", game).code == Exit.FAILURE
    eyes = bob("replay", game, "--eyes", "bob")
    assert (eyes.code, "only with its sealed key" in eyes.err) == (Exit.MOVE, True)
    for looking in (("next",), ("games",), ("audit", game), ("replay", game), ("clock", game), ("log", game)):
        assert bob(*looking).code == 0, looking
    assert service.games[game].lines == before
    assert bob("resign", game, "--yes").code == 0
    assert alice("show", game, "--json").json["result"] == {"reason": "resign", "winner": 0}


def test_without_its_sealed_key_a_game_can_be_given_up_before_any_card(alice: Shell, bob: Shell) -> None:
    game = str(alice("new", "--sealed", "--invite", "bob", "--keep-draws", "--json").json["game"])
    hide_key(alice)
    assert bob("join", game, "--sealed", "--keep-draws").code == 0
    shown = alice("show", game)
    assert (shown.code, ADVICE in shown.out) == (0, True)
    moved = alice("move", game, "1A")
    assert (moved.code, "waits for alice" in moved.err) == (Exit.TURN, False)
    assert alice("release").code == Exit.MOVE
    assert alice("resign", game, "--yes").code == 0


def test_an_old_sealed_key_can_stand_behind_a_new_one(alice: Shell, bob: Shell) -> None:
    before = begin(alice, bob)
    old = hide_key(alice)
    since = begin(alice, bob, "--new-key")
    assert ADVICE in alice("show", before).out
    file = alice.seat.path / "sealed.key"
    new = file.read_text()
    file.write_text(new + old.read_text())
    third = begin(alice, bob)
    for game in (before, since, third):
        assert "X" not in alice("show", game, "--json").json["hand"]
        move(alice, game, "3")
    file.write_text(new)  # without the old one
    assert [ADVICE in alice("show", game).out for game in (before, since, third)] == [True, False, False]


def test_a_machine_that_has_not_opened_the_game_is_not_told_to_give_it_up(
    alice: Shell, bob: Shell, service: MemoryService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sealed key is there, and only the other machine may begin. Without the key it is told so."""
    shutil.copytree(alice.seat.path, tmp_path / "second")
    second = Shell(LocalPlayer(service, "alice", tmp_path / "second"))
    game = str(alice("new", "--sealed", "--invite", "bob", "--keep-draws", "--json").json["game"])
    shutil.copy(alice.seat.path / "sealed.key", second.seat.path)
    assert bob("join", game, "--sealed", "--keep-draws").code == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    shown = second("show", game)
    assert "you locked the deck of round 1 on another machine" in " ".join(second.seat.said) + shown.err
    assert (ADVICE in shown.out, "hkoji resign" in shown.out) == (False, False)
    found = doctor(second, "sealed")
    assert found is not None
    assert found.verdict == "ok"
    hide_key(second)
    assert ADVICE in second("show", game).out
    missing = doctor(second, "sealed")
    assert missing is not None
    assert missing.verdict == "fail"


def test_without_its_library_a_game_is_shown_and_can_only_be_given_up(
    alice: Shell, bob: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = begin(alice, bob)
    monkeypatch.setattr(sodium, "is_installed", lambda: False)
    shown = alice("show", game)
    assert shown.code == 0
    assert "your hand    X X X X X X X" in shown.out
    assert f"{ADVICE}: sealed games need PyNaCl, which is not installed; install it with" in " ".join(shown.out.split())
    assert alice("move", game, "1A").code == Exit.USAGE
    found = doctor(alice, "sealed")
    assert found is not None
    assert (found.verdict, "PyNaCl" in found.said) == ("fail", True)
    assert alice("resign", game, "--yes").code == 0


def test_a_signed_move_is_named_with_its_cards_and_sent_from_anywhere(
    alice: Shell, bob: Shell, service: MemoryService, tmp_path: Path
) -> None:
    game = begin(alice, bob, draws="--deposit-draws")
    legal = alice("show", game, "--json").json["legal"]
    signed = alice("sign", game, legal[0])
    assert "you cannot sign another move for this turn" in signed.err
    assert "keep it to yourself" not in signed.err
    kept = alice("show", game, "--offline", "--json").json
    assert kept["unsent"] == [{"seq": kept["seq"] + 1, "kind": "move", "action": legal[0]}]
    other = next(each for each in legal if each[0] == "2")
    assert alice("move", game, other).code == Exit.MOVE
    carl = Shell(registered(service, "carl", tmp_path / "carl"))
    assert carl("submit", "-", stdin=signed.out).code == 0
    assert alice("show", game, "--json").json["seq"] == kept["seq"] + 1


def test_a_dry_run_shows_the_own_cards_and_sends_nothing(alice: Shell, bob: Shell, service: MemoryService) -> None:
    game = begin(alice, bob)
    action = alice("show", game, "--json").json["legal"][0]
    before = list(service.games[game].lines)
    tried = alice("move", "--dry-run", game, action, "--json").json
    assert tried["move"]["action"] == action
    assert tried["position"]["state"]["secrets"] == [action[1:], ""]
    assert service.games[game].lines == before


def test_the_doctor_looks_for_the_sealed_keys_of_running_games(alice: Shell, bob: Shell) -> None:
    assert doctor(alice, "sealed") is None
    game = begin(alice, bob)
    found = doctor(alice, "sealed")
    assert found is not None
    assert (found.verdict, game[:8] in found.said) == ("ok", True)
    file = alice.seat.path / "sealed.key"
    file.chmod(0o644)
    readable = doctor(alice, "permissions")
    assert readable is not None
    assert (readable.verdict, str(file) in readable.said) == ("warn", True)
    file.write_text("00" * 32)
    missing = doctor(alice, "sealed")
    assert missing is not None
    assert (missing.verdict, game[:8] in missing.said) == ("fail", True)
    alice("resign", game, "--yes")
    assert doctor(alice, "sealed") is None


def test_the_history_names_the_programs_that_give_cards(alice: Shell, bob: Shell) -> None:
    game = begin(alice, bob)
    answered(alice, bob, game)
    alice("show", game)
    alice("resign", game, "--yes")
    told = bob("watch", game, "--after", "-1").out
    assert "alice's program gives a card" in told
    own, everything = bob("replay", game, "--eyes", "bob"), bob("replay", game)
    assert own.code == everything.code == 0
    hand = bob("show", game, "--json").json["hand"]
    assert "X" not in hand
    assert "=XXXXXX/" in own.out
    assert bob("replay", game, "--eyes", "alice").code == Exit.MOVE


def test_with_yes_nothing_is_asked(alice: Shell, bob: Shell, service: MemoryService) -> None:
    game = str(alice("new", "--sealed", "--invite", "bob", "--clock", "2h", "--json").json["game"])
    before = list(service.games[game].lines)
    refused = bob("join", game, "--sealed", stdin="n\n", terminal=True)
    assert (refused.code, "A turn has only 2 hours." in refused.err) == (Exit.CANCELLED, True), refused
    assert service.games[game].lines == before
    joined = bob("join", game, "--sealed", "--yes", terminal=True)
    assert (joined.code, "[y/N]" in joined.err) == (0, False), joined
    assert "This is a sealed game (beta)" in joined.err


def test_nobody_is_advised_to_invite_by_mail(alice: Shell, service: MemoryService) -> None:
    before = len(service.games)
    sealed = alice("new", "--sealed", "--invite", "carol")
    assert (sealed.code, "--link instead of --invite" in sealed.err, "--mail" in sealed.err) == (2, True, False)
    other = alice("new", "--invite", "carol")
    assert (other.code, "--mail" in other.err) == (2, True)
    assert len(service.games) == before


def test_a_rematch_says_and_asks_what_a_first_game_does(alice: Shell, bob: Shell, service: MemoryService) -> None:
    game = begin(alice, bob, draws="--deposit-draws")
    alice("resign", game, "--yes")
    opened = alice("rematch", game, stdin="y\n", terminal=True)
    assert opened.code == 0, opened
    assert "This is a sealed game (beta)" in opened.err
    assert "Does bob run this service?" in opened.err
    assert "Your program keeps bob's draws until they are due." in opened.err
    assert "Your program must run to release cards" in opened.err
    other, before = opened.out.strip(), len(service.games)
    joined = bob("rematch", game)
    assert joined.code == 0, joined
    for each in ("This is a sealed game (beta)", "Your program must run to release cards", "sealed.key"):
        assert each in joined.err
    assert len(service.games) == before
    assert alice("show", other, "--json").json["status"] == "playing"


@pytest.mark.parametrize("words", [(), ("--link",)])
def test_a_game_for_anybody_names_the_option_against_a_guest_who_runs_the_service(
    alice: Shell, words: tuple[str, ...]
) -> None:
    advice = "open the game with --keep-draws"
    assert advice in alice("new", "--sealed", *words).err
    assert advice not in alice("new", "--sealed", "--keep-draws", *words).err
    assert advice not in alice("new", *words).err


def test_an_open_game_is_shown_with_the_command_that_joins_it(alice: Shell, bob: Shell) -> None:
    game = str(alice("new", "--sealed", "--json").json["game"])
    assert f"hkoji join {game[:8]} --sealed" in bob("show", game).out
