"""Two homes with one key, and one home on two machines: real commands, several processes at once, a real service.

docs/two-machines.md describes what these tests try. A player may sign two entries for one place, so nothing that two
honest homes sign may ever convict anybody: each test ends with an audit of all that they have.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from hkoji.cli.output import Exit
from tests.support.forked import ForkedProcess
from tests.support.home_shell import HomeShell, alice, begin, bob, key_file, kinds, my_move, second_home, service
from tests.support.service import Service

__all__ = ["alice", "bob", "service"]


def together(*calls: tuple[HomeShell, Sequence[str]]) -> list[tuple[int, str]]:
    """The exit codes and errors of commands that run at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for number, (shell, words) in enumerate(calls):
            said = Path(folder, f"{number}.err")
            out = said.with_suffix(".out")
            running.append((ForkedProcess(words, env=shell.environment, stdout=out, stderr=said), said))
        ended = [(process.wait(300), said.read_text()) for process, said in running]
    assert not any("Traceback" in said for _, said in ended)
    return ended


def copy(shell: HomeShell, name: str) -> HomeShell:
    """The same home on another machine."""
    return HomeShell(Path(shutil.copytree(shell.home, shell.home.with_name(name))))


def nobody_is_convicted(game: str, *shells: HomeShell) -> None:
    """Audits the evidence of all homes, each alone and their logs together."""
    files = []
    for shell in shells:
        file = shell.home.with_name(f"{shell.home.name}-evidence.jsonl")
        file.unlink(missing_ok=True)
        shell.run("evidence", game, "--with-cards", "--output", str(file))
        shell.run("audit", str(file))
        files.append(str(file))
    shells[0].run("audit", *files)


def same_game(game: str, *shells: HomeShell) -> None:
    """Checks that all homes of a player show the same game and the same cards."""
    shown = [shell.json("show", game) for shell in shells]
    assert len({each["head"] for each in shown}) == 1
    assert all(each["hand"] == shown[0]["hand"] for each in shown)


def test_both_homes_sign_for_the_same_turn(service: Service, alice: HomeShell, bob: HomeShell) -> None:
    game = begin(alice, bob)
    other = second_home(service, alice)
    legal = other.json("show", game)["legal"]
    entry = other.run("sign", game, legal[0]).stdout
    alice.run("move", game, legal[-1])
    assert "moved on" in other.run("submit", "-", stdin=entry, code=Exit.CONFLICT).stderr
    assert other.fails(Exit.TURN, "move", game, legal[0])
    for _ in range(2):
        same_game(game, alice, other)
    bob.run("move", game, my_move(bob, game))
    nobody_is_convicted(game, alice, other, bob)


def test_both_homes_move_at_once(service: Service, alice: HomeShell, bob: HomeShell) -> None:
    """Face-down cards get other salts in each home, so even the same move is another entry."""
    game = begin(alice, bob)
    other = second_home(service, alice)
    hidden = next(each for each in other.json("show", game)["legal"] if each.startswith("1"))
    ended = together((alice, ("move", game, hidden)), (other, ("move", game, hidden)))
    codes = sorted(code for code, _ in ended)
    assert codes[0] == Exit.OK
    assert codes[1] in (Exit.CONFLICT, Exit.TURN), ended
    same_game(game, alice, other)
    nobody_is_convicted(game, alice, other, bob)


def test_both_homes_join_at_once(service: Service, alice: HomeShell, bob: HomeShell) -> None:
    """Both homes have the entropy of the key, and play on afterwards."""
    game = str(alice.json("new")["game"])
    other = second_home(service, bob)
    ended = together((bob, ("join", game)), (other, ("join", game)))
    assert sorted(code for code, _ in ended)[0] == Exit.OK, ended
    assert {code for code, _ in ended} <= {Exit.OK, Exit.CONFLICT, Exit.MOVE}, ended
    alice.run("move", game, my_move(alice, game))
    same_game(game, bob, other)
    assert kinds(alice, game).count("join") == 1
    other.run("move", game, my_move(other, game))
    same_game(game, bob, other)
    nobody_is_convicted(game, alice, other, bob)


def test_a_game_begins_in_either_home_of_a_key(service: Service, alice: HomeShell, bob: HomeShell) -> None:
    other = second_home(service, alice)
    game = str(alice.json("new")["game"])
    bob.run("join", game)
    assert "waits for your entropy" not in other.run("show", game).stderr
    assert kinds(bob, game)[-2:] == ["seed", "seed"]
    same_game(game, alice, other)
    nobody_is_convicted(game, alice, other, bob)


def test_a_game_goes_on_without_its_folder(service: Service, alice: HomeShell, bob: HomeShell) -> None:
    game = str(alice.json("new")["game"])
    shutil.rmtree(alice.home / "games" / game)
    bob.run("join", game)
    assert alice.json("show", game)["hand"]
    assert kinds(bob, game)[-2:] == ["seed", "seed"]


def test_both_homes_change_the_key_at_once(service: Service, alice: HomeShell, bob: HomeShell) -> None:
    game = begin(alice, bob)
    other = second_home(service, alice)
    ended = together((alice, ("rekey",)), (other, ("rekey",)))
    assert sorted(code == 0 for code, _ in ended) == [False, True], ended
    first, late = (alice, other) if ended[0][0] == 0 else (other, alice)
    refused = max(ended)
    assert refused[0] in (Exit.KEY, Exit.FAILURE)
    assert "hkoji rekey --key" in refused[1]
    late.run("rekey", "--key", key_file(first))
    ended = together((first, ("show", game)), (late, ("show", game)))  # both bring the new key to the game
    assert [code for code, _ in ended] == [0, 0], ended
    assert kinds(bob, game).count("rekey") == 1
    same_game(game, first, late)
    late.run("move", game, my_move(late, game))
    nobody_is_convicted(game, alice, other, bob)


def test_two_processes_in_one_home(alice: HomeShell, bob: HomeShell) -> None:
    """The folder of a game is locked: the second command sees what the first has done."""
    game = begin(alice, bob)
    legal = [each for each in alice.json("show", game)["legal"] if each.startswith("1")]
    ended = together(*((alice, ("move", game, each)) for each in (legal[0], legal[-1])))
    assert sorted(code for code, _ in ended) == [Exit.OK, Exit.TURN], ended
    ended = together(*((bob, ("show", game)) for _ in range(3)))
    assert [code for code, _ in ended] == [0, 0, 0]
    same_game(game, alice)
    nobody_is_convicted(game, alice, bob)


def test_a_move_that_waits_is_sent_from_both_copies_of_a_home(alice: HomeShell, bob: HomeShell) -> None:
    """The copies send the same bytes, and the service gives the same receipt."""
    game = begin(alice, bob)
    move = next(each for each in alice.json("show", game)["legal"] if each.startswith("1"))
    outbox = alice.home / "games" / game / "outbox.signed"  # as it is when the command is killed before the answer
    outbox.write_text(alice.run("sign", game, move).stdout)
    other = copy(alice, "copy")
    for shell in (other, alice):
        shell.run("move", game, move)
        assert "unsent" not in {each["name"] for each in shell.json("doctor")["checks"] if each["verdict"] != "ok"}
    assert kinds(bob, game).count("move") == 1
    same_game(game, alice, other)
    nobody_is_convicted(game, alice, other, bob)


FILES = ("log.jsonl", "view.json", "secrets.json", "views.signed")


@pytest.mark.parametrize("old", [*((file,) for file in FILES), FILES[:2], FILES[1:], ("log.jsonl", "secrets.json")])
def test_a_synced_folder_with_half_a_state(alice: HomeShell, bob: HomeShell, old: tuple[str, ...]) -> None:
    """Some files are of before the last moves and the others of after, in either way; the service has the rest."""
    game = begin(alice, bob)
    before = copy(alice, "before")
    hidden = next(each for each in alice.json("show", game)["legal"] if each.startswith("1"))
    alice.run("move", game, hidden)
    bob.run("move", game, next(each for each in bob.json("show", game)["legal"] if each.startswith("2")))
    alice.json("show", game)
    after = copy(alice, "after")
    for file in old:
        here, there = (shell.home / "games" / game / file for shell in (before, after))
        one, two = here.read_bytes(), there.read_bytes()
        here.write_bytes(two)
        there.write_bytes(one)
    for shell in (before, after):
        for _ in range(2):
            same_game(game, alice, shell)
    after.run("move", game, my_move(after, game))
    same_game(game, alice, before, after)
    nobody_is_convicted(game, before, after, alice, bob)


def test_a_log_that_is_cut_short_is_completed_and_a_view_is_reported(alice: HomeShell, bob: HomeShell) -> None:
    game = begin(alice, bob)
    log, view = (alice.home / "games" / game / file for file in ("log.jsonl", "view.json"))
    whole = log.read_bytes()
    log.write_bytes(whole[: len(whole) // 2])
    alice.run("show", game)
    assert log.read_bytes() == whole
    view.write_bytes(view.read_bytes()[: view.stat().st_size // 2])
    assert str(view) in alice.fails(Exit.FAILURE, "show", game)
    view.rename(view.with_suffix(".conflict"))
    alice.run("show", game)
    alice.run("move", game, my_move(alice, game))
    nobody_is_convicted(game, alice, bob)


def test_a_copy_of_before_a_game_catches_up(alice: HomeShell, bob: HomeShell) -> None:
    other = copy(alice, "copy")
    game = begin(alice, bob)
    alice.run("move", game, my_move(alice, game))
    bob.run("move", game, my_move(bob, game))
    same_game(game, alice, other)
    nobody_is_convicted(game, alice, other, bob)
