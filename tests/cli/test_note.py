"""`hkoji note`, and `hkoji move --dry-run`: what a player does for themself, which is never sent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.memory_service import MemoryService, begin, play_on
from tests.support.shell import Shell


@pytest.fixture
def game(alice: Shell, bob: Shell) -> str:
    return begin(alice.seat, bob.seat)


def stamps(shell: Shell) -> dict[str, tuple[int, int, int]]:
    """Every file and folder of a home, with its times and its size."""
    found = {}
    for path in (shell.seat.path, *shell.seat.path.rglob("*")):
        status = path.stat()
        found[str(path)] = (status.st_mtime_ns, status.st_ctime_ns, status.st_size)
    return found


# --- notes ------------------------------------------------------------------------------------------------------------


def test_a_note_is_kept_here_and_nothing_is_sent(service: MemoryService, alice: Shell, bob: Shell, game: str) -> None:
    asked = len(service.requests)
    assert "There is no note" in alice("note", game).out
    assert alice("note", game[:6], "she", "keeps", "pipes").out == "she keeps pipes\n"
    assert alice("note", game, "-", stdin="and\nfans\n").code == 0
    assert alice("note", game, "--json").json == {"v": 1, "game": game, "note": "she keeps pipes\nand\nfans"}
    assert alice("note", game, "all new", "--replace").out == "all new\n"
    assert len(service.requests) == asked
    assert bob("note", game, "--json").json["note"] is None
    assert alice("note", game, "--delete").code == 0
    assert alice("note", game, "--delete").code == 0
    assert alice("note", game, "--json").json["note"] is None
    assert len(service.requests) == asked


def test_no_part_of_a_note_from_standard_input_is_kept_for_the_whole(alice: Shell, game: str) -> None:
    for text in ("x" * 65_536 + "\nrest", "x\r\n" * 65_536, "x" * 65_537):
        assert alice("note", game, "-", stdin=text).code == 1
    assert alice("note", game, "--json").json["note"] is None
    assert alice("note", game, "-", stdin="x" * 65_534 + "\r\ny\r\n").code == 0
    assert alice("note", game, "--json").json["note"] == "x" * 65_534 + "\ny"


def test_show_has_the_note_of_its_player(alice: Shell, bob: Shell, game: str) -> None:
    assert "note" not in alice("show", game, "--json").json
    assert alice("note", game, "-", stdin="look\x1b[2J out\nfor E").code == 0
    shown = alice("show", game, "--plain").out
    assert "Note: look\\x1b[2J out / for E" in shown
    assert "look" in alice("show", game).out
    assert alice("show", game, "--json").json["note"] == "look\x1b[2J out\nfor E"
    assert alice("show", game, "--offline", "--json").json["note"] == "look\x1b[2J out\nfor E"
    assert "look" not in bob("show", game).out
    for words in (("log",), ("evidence", "--with-cards")):
        assert "look" not in alice(words[0], game, *words[1:]).out


@pytest.mark.parametrize(
    "words", [("--delete", "text"), ("--delete", "--replace"), ("--replace",), ("x" * 65_537,), ("y" * 65_530,)]
)
def test_a_note_that_is_refused_changes_nothing(alice: Shell, game: str, words: tuple[str, ...]) -> None:
    alice("note", game, "what was there")
    done = alice("note", game, *words)
    assert done.code != 0
    assert "nothing was changed" in done.err
    assert alice("note", game, "--json").json["note"] == "what was there"


@pytest.mark.parametrize("text", ["x" * 65_536 + "\nmore", "x" * 65_536 + "é", "x" * 65_535 + "éé"])
def test_a_note_from_standard_input_is_never_cut(alice: Shell, game: str, text: str) -> None:
    done = alice("note", game, "-", stdin=text)
    assert (done.code, done.out) == (1, "")
    assert "the note is larger than 65536 bytes\n  nothing was changed" in done.err
    assert alice("note", game, "--json").json["note"] is None
    assert alice("note", game, "-", stdin="x" * 65_536 + "\n").code == 0


def test_a_note_needs_a_game_that_is_known_here(alice: Shell, game: str) -> None:
    for name in ("0" * 32, "0000", "x"):
        done = alice("note", name, "text")
        assert (done.code, done.out) == (2, "")
        assert not (alice.seat.path / "games" / name).exists()


# --- dry runs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", [Hanamikoji(), GeishasRoad()], ids=["hanamikoji", "geishas-road"])
def test_a_dry_run_shows_what_the_move_does_and_leaves_everything_as_it_is(
    service: MemoryService, alice: Shell, bob: Shell, ruleset: Ruleset
) -> None:
    game = begin(alice.seat, bob.seat, ruleset)
    tried = 0
    for number in range(16):
        for shell in (alice, bob):
            legal = shell("show", game, "--json").json["legal"]
            if not legal:
                continue
            before, asked = stamps(shell), len(service.requests)
            action = legal[number % len(legal)]
            done = shell("move", game, action, "--dry-run", "--json")
            assert (done.code, done.err) == (0, ""), (number, action, done.err)
            board = shell("move", game, "--dry-run", action).out
            assert "Nothing was sent." in board
            assert "holds" not in board  # a player's own board says your hand
            assert "hkoji " not in board
            assert (stamps(shell), len(service.requests)) == (before, asked)
            made = shell("move", game, action, "--json")
            assert made.code == 0
            assert done.json["move"] == {key: made.json["move"][key] for key in ("seq", "action")}
            expected, found = made.json, done.json["position"]
            drawn = "X" in found["state"]["hands"][found["seat"]]
            if expected["seq"] == found["seq"] and not drawn:  # nothing has followed by itself
                tried += 1
                assert found == {key: expected[key] for key in found}
            elif expected["seq"] == found["seq"]:
                assert found["legal"] == []
                assert found["actor"] == expected["actor"]
            else:
                assert found["round"] <= expected["round"]
    assert tried > 4


def test_a_dry_run_refuses_what_move_refuses(service: MemoryService, alice: Shell, bob: Shell, game: str) -> None:
    play_on((alice.seat, bob.seat), game, 1)
    assert alice("show", game).code == bob("show", game).code == 0
    for words in (("1X",), ("3AAA",), ("2",), ("",)):
        for shell in (alice, bob):
            before, asked = stamps(shell), len(service.requests)
            tried = shell("move", game, *words, "--dry-run", "--json")
            assert (stamps(shell), len(service.requests)) == (before, asked)
            made = shell("move", game, *words, "--json")
            assert (tried.code, tried.error["code"]) == (made.code, made.error["code"])
            assert tried.code != 0
    done = alice("move", "0" * 32, "1A", "--dry-run")
    assert done.code == 2
    assert not (alice.seat.path / "games" / ("0" * 32)).exists()


def test_a_dry_run_says_that_the_game_may_be_old(alice: Shell, bob: Shell, game: str) -> None:
    legal = alice("show", game, "--json").json["legal"]
    done = alice("move", game, legal[0], "--dry-run")
    assert "your saved copy, from " in done.err
    assert done.code == 0
    shown = alice("move", game, legal[0], "--dry-run", "--json").json
    assert (shown["offline"], shown["dry_run"]) == (True, True)
    assert "head" not in shown["position"]


def test_a_dry_run_touches_no_file_by_the_clock_of_find(alice: Shell, game: str, tmp_path: Path) -> None:
    legal = alice("show", game, "--json").json["legal"]
    mark = tmp_path / "mark"
    mark.touch()
    newest = max(each.stat().st_mtime for each in (alice.seat.path, *alice.seat.path.rglob("*")))
    os.utime(mark, (newest, newest))
    assert alice("move", game, legal[0], "--dry-run").code == 0
    assert [each for each in alice.seat.path.rglob("*") if each.stat().st_mtime > mark.stat().st_mtime] == []
