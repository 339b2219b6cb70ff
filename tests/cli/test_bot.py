"""`hkoji bot`: bots and programs at correspondence games; failures change nothing; the document's examples work."""

from __future__ import annotations

import json
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hkoji.bots.program import JSON_LINE
from hkoji.bots.protocol import see
from hkoji.bots.registry import BOTS, LEVELS
from hkoji.rules.events import Deal, Draw
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.registry import RULESETS
from tests.support.bot_positions import FIRST
from tests.support.memory_service import MemoryService, playing, registered
from tests.support.shell import Shell, run
from tests.support.terminal import advised, session

DOCUMENT = (Path(__file__).parents[2] / "docs" / "programs-as-bots.md").read_text()


@pytest.fixture
def game(alice: Shell, bob: Shell) -> str:
    """A game of one round that waits for alice's first move."""
    made = str(alice("new", "--max-rounds", "1", "--json").json["game"])
    assert bob("join", made).code == 0
    assert alice("show", made, "--json").json["legal"]
    return made


def entries(service: MemoryService, game: str) -> int:
    return len(service.games[game].lines)


# --- whole games ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bot",
    [
        ["--bot", "random"],
        ["--bot", "greedy"],
        ["--bot", f"cmd:{sys.executable} PROGRAM"],
        ["--", sys.executable, "PROGRAM"],
        ["--keep", "--timeout", "300", "--", sys.executable, "KEPT"],
    ],
    ids=["random", "greedy", "cmd", "program", "kept"],
)
def test_a_bot_plays_a_seat_to_the_end(
    bot: list[str], alice: Shell, bob: Shell, service: MemoryService, game: str, tmp_path: Path
) -> None:
    (tmp_path / "bot.py").write_text(FIRST)
    (tmp_path / "kept.py").write_text(
        "import sys, json\nfor line in sys.stdin:\n    print(json.loads(line)['legal'][0], flush=True)\n"
    )
    names = {"PROGRAM": str(tmp_path / "bot.py"), "KEPT": str(tmp_path / "kept.py")}
    words = [re.sub("PROGRAM|KEPT", lambda found: names[found[0]], word) for word in bot]
    with playing(service, bob.seat, game):
        done = alice("bot", "run", game[:8], "--seed", "5", *(["--json"] if words[0] != "--" else []), *words)
    assert done.code == 0
    moves = re.findall(r"Entry \d+ is on record: (\S+)\.", done.err)
    assert 5 <= len(moves) <= 6
    assert service.games[game].refereed.course.outcome is not None
    if words[0] != "--":
        assert done.json["status"] == "finished"
    else:
        assert "The game is over" in done.out
    assert alice("audit", game).code == 0


def test_an_open_game_is_joined(alice: Shell, bob: Shell, service: MemoryService) -> None:
    game = str(alice("new", "--max-rounds", "1", "--json").json["game"])
    with playing(service, alice.seat, game):
        done = bob("bot", "run", game, "--bot", "random", "--json")
    assert done.code == 0
    assert done.json["guest"] == "bob"
    assert done.json["status"] == "finished"


def test_once_plays_what_is_due(alice: Shell, bob: Shell, service: MemoryService, game: str) -> None:
    before = entries(service, game)
    move = ["bot", "run", game, "--once", "--bot", "random", "--json"]
    first = alice(*move)
    assert first.code == 0
    assert first.json["status"] == "playing"
    assert entries(service, game) == before + 1
    again = alice(*move)
    assert again.code == 0
    assert again.err == ""
    assert entries(service, game) == before + 1


def test_the_same_seed_plays_the_same(alice: Shell, game: str, service: MemoryService) -> None:
    kept = service.games[game].refereed, list(service.games[game].lines)
    moves = set()
    for home in ("one", "two"):
        service.games[game].refereed, service.games[game].lines = kept[0], list(kept[1])
        path = alice.seat.path.with_name(home)
        shutil.copytree(alice.seat.path, path)
        copy = Shell(type(alice.seat)(service, "alice", path))
        moves.add(copy("bot", "run", game, "--once", "--bot", "random", "--seed", "3").err)
    assert len(moves) == 1


# --- what fails -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('pass')", "'pass' is not a move"),
        ("print('1AA')", "is not a move"),
        ("print('-A')", "-A is not legal"),
        ("", "it wrote nothing"),
        ("raise SystemExit(1)", "exit code 1"),
        ("import time; time.sleep(3600)", "not answered within 0.4 s"),
    ],
)
def test_a_program_that_fails_changes_nothing(
    text: str, said: str, alice: Shell, game: str, service: MemoryService, tmp_path: Path
) -> None:
    program = tmp_path / "bot.py"
    program.write_text(text)
    before = entries(service, game), sorted((alice.seat.folder(game)).iterdir())
    timeout = "0.4" if "sleep" in text else "300"
    command = ["bot", "run", game, "--json", "--once", "--timeout", timeout, "--", sys.executable, str(program)]
    done = alice(*command)
    assert done.code == 10
    assert done.out == ""
    error = done.error
    assert error["code"] == "bot-failed"
    assert error["exit_code"] == 10
    assert said in error["message"]
    assert "nothing was sent" in error["hint"]
    assert (entries(service, game), sorted(alice.seat.folder(game).iterdir())) == before
    program.write_text(FIRST)
    assert alice(*command[:5], *command[7:]).code == 0
    assert entries(service, game) == before[0] + 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the name of a bot or a program"),
        (["--bot", "random", "--", "./mybot"], "the name of a bot or a program"),
        (["--bot", "random", "--keep"], "are for programs"),
        (["--bot", "random", "--timeout", "3"], "are for programs"),
        (["--bot", "nobody"], "there is no bot"),
        (["--interface", "smoke", "--", "true"], "there is no interface"),
        (["--", "there-is-none-of-that-name"], "no program"),
    ],
)
def test_a_name_that_is_no_bot(words: list[str], said: str, alice: Shell, game: str) -> None:
    done = alice("bot", "run", game, *words)
    assert done.code == 2
    assert said in done.err


def test_a_game_of_others_is_not_played(
    alice: Shell, bob: Shell, service: MemoryService, game: str, tmp_path: Path
) -> None:
    carol = Shell(registered(service, "carol", tmp_path / "carol"))
    done = carol("bot", "run", game, "--bot", "random")
    assert done.code == 9
    assert "you are not a player in game" in done.err


def test_the_list_of_bots() -> None:
    listed = run("bot", "list", "--json").json
    assert [each["bot"] for each in listed] == list(BOTS)
    assert {level for each in listed for level in each["levels"]} == set(LEVELS)
    assert all(set(each["games"]) <= set(RULESETS) for each in listed)
    assert next(each for each in listed if each["bot"] == "random")["games"] == list(RULESETS)
    text = run("bot", "list").out
    assert all(name in text for name in BOTS)


# --- the document's examples ------------------------------------------------------------------------------------------


def example(language: str, has: str) -> str:
    found = [
        text for kind, text in re.findall(r"```(\w+)\n(.*?)```", DOCUMENT, re.S) if kind == language and has in text
    ]
    (text,) = found
    return str(text)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HKOJI_HOME", str(tmp_path / "home"))

    def write(name: str, text: str) -> Path:
        file = tmp_path / name
        file.write_text(text)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return file

    return write


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not here")
def test_the_example_in_a_shell(here: Callable[[str, str], Path], alice: Shell, game: str) -> None:
    here("first.sh", example("sh", "jq"))
    before = alice("show", game, "--json").json["legal"][0]
    done = alice("bot", "run", game, "--once", "--", "./first.sh")
    assert done.code == 0
    assert f"is on record: {before}." in done.err


@pytest.mark.parametrize("keep", [[], ["--keep"]])
def test_the_example_in_python(
    keep: list[str], here: Callable[[str, str], Path], alice: Shell, bob: Shell, game: str, service: MemoryService
) -> None:
    here("hoarder.py", example("python", "json.loads"))
    with playing(service, bob.seat, game):
        done = alice("bot", "run", game, *keep, "--", sys.executable, "hoarder.py")
    assert done.code == 0
    assert "The game is over" in done.out


def test_the_contestant_plays_by_correspondence_and_at_the_prompt(
    here: Callable[[str, str], Path], alice: Shell, bob: Shell, game: str, service: MemoryService
) -> None:
    here("contestant.py", example("python", "def hanamikoji_action"))
    with playing(service, bob.seat, game):
        done = alice("bot", "run", game, "--interface", "referee", "--", sys.executable, "contestant.py")
    assert done.code == 0
    command = f"keep+referee:{sys.executable} contestant.py"
    done = session("play", "--bot", command, "--max-rounds", "2", types=advised)
    assert (done.code, done.err) == (0, "")
    assert "contestant-bot" in done.out
    assert "The game is over" in done.out


def test_the_contestant_reads_the_document_s_own_example(here: Callable[[str, str], Path]) -> None:
    """The three lines that the document shows, sent to the program that it shows."""
    here("contestant.py", example("python", "def hanamikoji_action"))
    (shown,) = re.findall(r"((?:    \S.*\n){3})\n- `history`", DOCUMENT)
    question = "".join(f"{line[4:]}\n" for line in shown.splitlines())
    answer = subprocess.run(
        [sys.executable, "contestant.py"], input=question, capture_output=True, text=True, check=True
    ).stdout
    history, cards, board = question.splitlines()
    assert history.split() == ["3EEG-E", "1X", "2AB"]
    assert len(board.split()) == 7
    assert re.fullmatch(r"[1-4][A-G]+\n", answer)
    assert set(answer.strip()[1:]) <= set(cards)


def test_the_document_names_the_fields_of_a_question() -> None:
    events = (Deal(("ABCDEF", "XXXXXX"), "X" * 8, "X"), Draw(0, "G"))
    seen = see(Hanamikoji(), events, 0)
    said = re.findall(r"of `hkoji show --json`\n.*?: (`v`.*?)\. `v` is 1", DOCUMENT, re.S)[0]
    assert set(re.findall(r"`(\w+)`", said)) == set(json.loads(JSON_LINE.question(seen)))
