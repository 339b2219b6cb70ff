"""`hkoji replay`: step by step, through each viewer's eyes, without what that viewer must not see."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hkoji.cli import settings
from hkoji.cli.boards import draw
from hkoji.cli.output import Exit, TextStyle
from hkoji.cli.study.replay import ReplayWalk
from hkoji.extras import install_command
from hkoji.game.replay import replay
from hkoji.log.line import parse_log
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from hkoji.rules.transcript import parse_transcript
from hkoji.study.stops import ALL, EVERY, GUEST, HOST, SPECTATOR, Eyes
from tests.support.redistribution import retold
from tests.support.shell import Done, Shell, run
from tests.support.table import whole_game

GAMES = Path(__file__).parents[1] / "data" / "vectors" / "games"
WHOLE = str(GAMES / "whole.jsonl")
LIMIT = str(GAMES / "random-first-limit.jsonl")
RUNNING = str(GAMES / "running.jsonl")
TITLE = re.compile(r"^(\d+) of (\d+), entry (\d+): (.*)   \(eyes: (.*)\)$", re.MULTILINE)


def step(source: str, typed: str, *words: str) -> Done:
    return run("replay", source, "--step", *words, stdin=typed)


def titles(done: Done) -> list[tuple[str, ...]]:
    return [tuple(match.groups()) for match in TITLE.finditer(re.sub(r"\x1b\[[\d;]*m", "", done.out))]


# --- step by step -----------------------------------------------------------------------------------------------------


def test_a_game_is_gone_through_forwards_and_backwards() -> None:
    there = step(LIMIT, "n\n" * 40)
    assert there.code == 0
    shown = titles(there)
    assert [number for number, _, _, told, _ in shown if re.match(r"(alice|bob): ", told)] == [
        str(number) for number in range(1, 25)
    ]
    assert [told for *_, told, _ in shown if "begins" in told] == ["round 1 begins", "round 2 begins"]
    assert [told for *_, told, _ in shown if "scored" in told] == [
        "round 1 is scored: ?B/G",
        "round 2 is scored: ?G/G",
    ]
    assert there.err.splitlines() == ["this is the last position"] * (40 - len(shown) + 1)
    back = titles(step(LIMIT, "$\n" + "p\n" * (len(shown) - 1)))
    assert back[0] == shown[0]
    assert back[1:] == shown[::-1]


def test_boards_and_talk_are_kept_apart() -> None:
    done = step(WHOLE, "?\n\nnonsense\n99\n@99\nr 7\nr x\nrp\np\np\nq\nn\n")
    assert done.code == 0
    assert [number for number, *_ in titles(done)] == ["0", "1", "0"]
    for said in (
        "after decision 7",
        "no command 'nonsense' (? lists the commands)",
        "decisions 1 to 12",
        "nothing to see at entry 99",
        "no round 7",
        "'x' is not a number",
        "this is the first round",
        "this is the first position",
    ):
        assert said in done.err
        assert said not in done.out


@pytest.mark.parametrize(
    ("command", "number", "entry"),
    [("7", "7", "12"), ("@9", "4", "9"), ("0", "0", "5"), ("$", "24", "32"), ("r", "12", "18"), ("r 2", "12", "18")],
)
def test_going_to_a_place(command: str, number: str, entry: str) -> None:
    shown = titles(step(LIMIT, f"n\n{command}\n"))
    assert shown[-1][:3] == (number, "24", entry)


def test_rounds_back() -> None:
    assert [told for *_, told, _ in titles(step(LIMIT, "$\nrp\n"))][-1] == "round 1 begins"


def test_changing_eyes_stays_at_the_place() -> None:
    done = step(WHOLE, "e\ne\ne\ne\ne bob\ne carol\n", "--at", "9")
    shown = titles(done)
    assert {(number, entry) for number, _, entry, *_ in shown} == {("5", "9")}
    assert [eyes for *_, eyes in shown] == [
        "all that is known",
        "a spectator",
        "alice, host",
        "bob, guest",
        "all that is known",
        "bob, guest",
    ]
    assert "there are no eyes of 'carol'" in done.err


def test_eyes_that_know_nothing_are_passed_over() -> None:
    shown = titles(step(RUNNING, "e\ne\n"))
    assert [eyes for *_, eyes in shown] == ["all that is known", "a spectator", "all that is known"]


def test_at_a_terminal_it_steps_and_asks_else_it_prints() -> None:
    asked = run("replay", WHOLE, stdin="n\nq\n", terminal=True)
    assert [number for number, *_ in titles(asked)] == ["0", "1"]
    assert asked.err.count("q leave > ") == 2
    assert "q leave" not in asked.out
    for words in (("--notation",), ("--at", "9"), ("--json",)):
        done = run("replay", WHOLE, *words, stdin="n\n", terminal=True)
        assert (done.code, titles(done)) == (0, [])
    assert titles(run("replay", WHOLE, stdin="n\n")) == []


def test_standard_input_cannot_be_both() -> None:
    text = Path(WHOLE).read_text()
    assert run("replay", "-", "--step", stdin=text).code == Exit.USAGE
    assert run("replay", "-", stdin="").code == Exit.MOVE
    assert len(run("replay", "-", "--step", "--json", stdin=text).json["steps"]) == 15
    assert run("replay", "-", stdin=text, terminal=True).out.startswith("[Ruleset")


def test_a_cut_log_says_where_it_stops_at_its_last_position(tmp_path: Path) -> None:
    file = tmp_path / "cut.jsonl"
    file.write_bytes(Path(WHOLE).read_bytes()[:-20])
    done = step(str(file), "$\n")
    first, last = done.out.split("\n\n\n") if "\n\n\n" in done.out else (done.out[:400], done.out[400:])
    assert "The log stops there" not in first
    assert done.out.count("The log stops there: malformed line 19") == 1
    assert "does not end in LF" in last


def test_it_speaks_the_language_and_names_the_deck_in_use() -> None:
    try:
        done = step(LIMIT, "n\nn\nr\ne\n?\np\nrp\nrp\n", "--lang", "it", "--deck", "everdeck")
    finally:
        settings.apply({})
    assert done.code == 0
    first, answer, *_ = [line for line in done.out.splitlines() if " di 24, voce " in line][1:]
    assert re.search(r": bob: 4[^A-G]{4} ", first)
    assert re.search(r": alice: -[^A-G]{2} ", answer)
    assert "occhi: chi guarda" in done.out
    assert "questo aiuto" in done.err
    assert "questo è il primo round" in done.err


# --- eyes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("eyes", [HOST, GUEST, SPECTATOR], ids=lambda eyes: eyes.word)
@pytest.mark.parametrize("ruleset", [Hanamikoji("random", 2, "charm"), GeishasRoad()], ids=lambda r: r.name)
def test_not_a_byte_depends_on_what_the_eyes_could_not_see(ruleset: Ruleset, eyes: Eyes, plain: bool) -> None:
    full = replay(whole_game(4, ruleset).lines)
    style = TextStyle(colour=False, plain=plain)

    def everything(walk: ReplayWalk) -> list[str]:
        shown = []
        for index in range(len(walk.found)):
            walk.index = index
            shown.append(walk.title() + draw(walk.position, style))
        return shown

    here, openly = everything(ReplayWalk(full, eyes)), everything(ReplayWalk(full, ALL))
    differ = 0
    for seed in range(5):
        other = retold(full, eyes.seat, random.Random(seed))
        assert everything(ReplayWalk(other, eyes)) == here
        differ += everything(ReplayWalk(other, ALL)) != openly
    assert differ > 2


def test_eyes_and_place_go_together() -> None:
    shown = {word: run("replay", LIMIT, "--at", "9", "--eyes", word) for word in ("alice", "guest", "spectator", "all")}
    assert {done.code for done in shown.values()} == {0}
    assert "alice holds  G G G" in shown["alice"].out
    assert "bob holds" not in shown["alice"].out
    assert "bob holds    C D E G" in shown["guest"].out
    assert "alice holds" not in shown["guest"].out
    assert "holds" not in shown["spectator"].out
    assert "alice holds  G G G" in shown["all"].out
    assert "bob holds    C D E G" in shown["all"].out
    assert "5 cards to draw: F A B F B, F removed" in shown["all"].out
    assert "5 cards to draw, 1 removed unseen" in shown["alice"].out
    for done in shown.values():
        assert "After entry 9:" in done.out
        assert "hkoji " not in done.out
        assert "your" not in done.out


@pytest.mark.parametrize("eyes", [each.word for each in EVERY])
def test_the_notation_of_every_pair_of_eyes_parses_back(eyes: str) -> None:
    told = run("replay", LIMIT, "--eyes", eyes, "--json").json
    transcript = parse_transcript(told["text"])
    assert dict(transcript.tags).get("Eyes") == (None if eyes == "all" else eyes)
    *_, state = transcript.states()
    assert state.to_json() == told["state"]
    assert ("X" in json.dumps(told["state"]["trade_offs"])) == (eyes != "all")


def test_every_step_for_programs() -> None:
    told = run("replay", LIMIT, "--json", "--step", "--eyes", "bob").json
    assert (told["eyes"], told["decision"], told["decisions"], told["entries"]) == ("guest", 24, 24, 33)
    steps = told["steps"]
    assert set(steps[0]) == {"at", "by", "decision", "events", "kind", "round", "state", "time"}
    assert [each["at"] for each in steps if each["kind"] == "move"] == [*range(6, 18), *range(19, 31)]
    assert steps[-1]["state"] == told["state"]
    moves = [event["text"] for each in steps for event in each["events"] if event["decision"]]
    assert len(moves) == 24
    assert [each["state"]["due"] for each in steps if each["kind"] == "reveal"] == ["deal", "act", "over"]
    for each in steps:
        assert not set(each["state"]["hands"][0]) - {"X"}
        assert "X" not in each["state"]["hands"][1]
    assert "steps" not in run("replay", LIMIT, "--json").json


def test_eyes_are_refused_where_the_log_does_not_reveal_them() -> None:
    for word in ("host", "guest", "alice"):
        done = run("replay", RUNNING, "--eyes", word)
        assert (done.code, done.out) == (Exit.MOVE, "")
        assert "does not reveal what the" in done.err
        assert "--eyes spectator" in done.err
    assert run("replay", RUNNING, "--eyes", "spectator").code == 0
    wrong = run("replay", RUNNING, "--eyes", "carol")
    assert wrong.code == Exit.USAGE
    assert "a player: alice, bob" in wrong.err


def test_the_own_running_game_through_the_own_eyes(alice: Shell, bob: Shell) -> None:
    game = str(alice("new", "--json").json["game"])
    assert bob("join", game).code == 0
    hand = alice("show", game, "--json").json["hand"]
    shown = alice("replay", game, "--eyes", "alice")
    assert f"alice holds  {' '.join(hand)}" in shown.out
    assert alice("replay", game, "--eyes", "bob").code == Exit.MOVE
    assert bob("replay", game, "--eyes", "spectator", "--json").json["state"]["hands"] == ["X" * 7, "X" * 6]


# --- pictures ---------------------------------------------------------------------------------------------------------


def test_a_position_is_drawn_into_files(tmp_path: Path) -> None:
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    done = run("replay", LIMIT, "--at", "9", "--eyes", "bob", "--svg", str(svg), "--png", str(png), "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json == {
        "v": 1,
        "game": replay(parse_log(Path(LIMIT).read_bytes())).steps[0].entry.game,
        "at": 9,
        "eyes": "guest",
        "drawn": [str(svg), str(png)],
    }
    root = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert f"{done.json['game'][:8]} · entry 9 · decision 4 of 24 · as bob saw it" in words
    assert "bob took A D · -AD" in words
    assert "It is bob's turn to choose an action." in words
    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(head[16:20], "big") == 2 * int(root.get("width", ""))
    assert int.from_bytes(head[20:24], "big") == 2 * int(root.get("height", ""))
    printed = run("replay", LIMIT, "--at", "9", "--eyes", "bob", "--svg", str(svg), "--force")
    assert printed.out == f"{svg}\n"


def test_a_drawing_on_standard_output(tmp_path: Path) -> None:
    def hkoji(*words: str) -> bytes:
        program = [sys.executable, "-c", "from hkoji.cli.main import main; main()", "replay", LIMIT, *words]
        return subprocess.run(program, capture_output=True, check=True).stdout

    file = tmp_path / "a.svg"
    assert run("replay", LIMIT, "--svg", str(file)).code == 0
    assert hkoji("--svg", "-") == file.read_bytes()
    assert hkoji("--png", "-").startswith(b"\x89PNG")


def test_drawing_that_cannot_be_done_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, code, said in (
        (("--svg", "-", "--json"), Exit.USAGE, "holds one result"),
        (("--svg", "-", "--png", "-"), Exit.USAGE, "holds one result"),
        (("--svg", str(tmp_path / "no" / "a.svg")), Exit.FAILURE, "cannot write"),
    ):
        done = run("replay", LIMIT, *words)
        assert (done.code, done.out) == (code, "")
        assert said in done.err
    assert "at a terminal" in run("replay", LIMIT, "--png", "-", terminal=True).err
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    missing = run("replay", LIMIT, "--png", str(tmp_path / "a.png"))
    assert missing.code == Exit.USAGE
    assert f"install it with: {install_command('png')}" in missing.err
    assert not (tmp_path / "a.png").exists()
    assert run("replay", LIMIT, "--svg", str(tmp_path / "a.svg")).code == 0


def test_the_position_on_the_screen_can_be_drawn(tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    done = step(LIMIT, f"12\nn\ns {file}\ns nothing\ns a.txt\n", "--eyes", "alice")
    assert f"drawn in {file}" in done.err
    assert done.err.count("is neither an SVG nor a PNG file") == 2
    words = file.read_text(encoding="utf-8")
    assert "Round 1 is over." in words
    assert "as alice saw it" in words
    assert titles(done)[-1][3].startswith("round 1 is scored")
