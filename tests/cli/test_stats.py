"""`hkoji stats`: files, folders and standard input, games left out and reported as such, charts and tables."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hkoji.cli.files import UnreadableLog, split
from hkoji.cli.output import Exit
from hkoji.cli.study.stats import read_logs
from hkoji.log.line import format_log
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.study.tally import GameRecord
from tests.support.shell import run
from tests.support.table import new_game, whole_game

ROW, ROAD = Hanamikoji("random"), GeishasRoad("random")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty games of each ruleset, in two folders."""
    top = tmp_path_factory.mktemp("games")
    (top / "below").mkdir()
    for seed in range(20):
        (top / f"{seed}.jsonl").write_text(whole_game(seed, ROW).text)
        (top / "below" / f"{seed}.jsonl").write_text(whole_game(100 + seed, ROAD).text)
    (top / "notes.txt").write_text("no log\n")
    return top


def test_a_folder_is_counted_with_all_below(folder: Path) -> None:
    done = run("stats", str(folder), "--json")
    assert done.code == 0
    told = done.json
    assert (told["games"], told["repeated"], told["unreadable"], told["broken"], told["problems"]) == (40, 0, 0, 0, [])
    assert told["verified"] is False
    assert "Signatures were not checked" in done.err
    road, row = told["rulesets"]
    assert row["ruleset"] == "hanamikoji/1 first=random max_rounds=0 tiebreak=geisha"
    assert (row["games"], road["games"]) == (20, 20)
    assert [each["name"] for each in told["players"]] in (["alice", "bob"], ["bob", "alice"])


def test_it_does_not_matter_how_the_logs_come_or_in_how_many_processes(folder: Path) -> None:
    expected = run("stats", str(folder), "--json").out
    files = sorted(str(path) for path in folder.rglob("*.jsonl"))
    assert run("stats", *files, "--json").out == expected
    assert run("stats", *files[20:], str(folder / "nothing"), *files[:20], "--json").json["games"] == 40
    assert run("stats", str(folder), "--json", "--jobs", "2").out == expected
    together = "".join(Path(file).read_text() for file in files)
    assert run("stats", "-", "--json", stdin=together).out == expected
    assert run("stats", "-", *files[1:], "--json", "--jobs", "2", stdin=Path(files[0]).read_text()).out == expected


def test_a_game_is_counted_once(folder: Path) -> None:
    done = run("stats", str(folder), str(folder / "below"))
    assert done.code == 0
    assert "40 games" in done.out
    assert "20 more logs of games counted already" in done.out


def test_games_that_are_not_counted_are_named(tmp_path: Path) -> None:
    good, cut, forged = whole_game(1, ROW).text, whole_game(2, ROW).text, whole_game(3, ROW).text.splitlines(True)
    files = {
        "good": good,
        "cut": cut[:-10],
        "empty": "",
        "strange": "no log\n",
        "swapped": "".join([*forged[:7], forged[8], forged[7], *forged[9:]]),
        "headless": "".join(forged[1:]),
        "late": good + "".join(forged[:5]) + "\n",
        "running": new_game(4, ROW).play(4).text,
    }
    for name, text in files.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    missing = str(tmp_path / "missing")
    done = run("stats", str(tmp_path), missing, "--json")
    assert done.code == Exit.FAILURE
    told = done.json
    problems = {Path(each["file"]).stem: each for each in told["problems"]}
    assert {name: (each["line"], each["read"]) for name, each in problems.items()} == {
        "cut": (len(cut.splitlines()), False),
        "empty": (None, False),
        "strange": (1, False),
        "swapped": (8, True),
        "headless": (1, True),
        "late": (len(good.splitlines()) + 6, False),
        "missing": (None, False),
    }
    assert (told["games"], told["repeated"], told["unreadable"], told["broken"]) == (2, 1, 5, 2)
    assert '"exit_code": 1' in done.err
    assert "7 logs were not counted" in done.err
    shown = run("stats", str(tmp_path), missing)
    assert shown.code == Exit.FAILURE
    assert "Not counted: 5 that could not be read, 2 that do not hold" in shown.out
    for name in problems:
        assert f"{name}" in shown.out
    assert f"swapped.jsonl:8: {problems['swapped']['reason']}" in shown.out
    assert "2, of which 1 not over" in shown.out


def test_a_log_whose_first_line_occurs_twice_is_one_invalid_log(tmp_path: Path) -> None:
    """It is no running game with a repetition: files are split as for an audit."""
    text, other = whole_game(1, ROW).text, whole_game(2, ROW).text
    doubled = tmp_path / "doubled.jsonl"
    doubled.write_text(text.splitlines(True)[0] + text + other)
    told = run("stats", str(doubled), "--json").json
    assert (told["games"], told["repeated"], told["unreadable"], told["broken"]) == (1, 0, 0, 1)
    (problem,) = told["problems"]
    assert (problem["line"], problem["read"]) == (2, True)
    assert told["rulesets"][0]["finished"] == 1


def test_time_is_that_of_the_receipts(tmp_path: Path) -> None:
    table = new_game(1, Hanamikoji(max_rounds=1))
    table.play(11)
    table.send(table.move(table.course.state.legal_actions()[0]), at="2026-11-21T15:46:45Z")
    file = tmp_path / "game.jsonl"
    file.write_text(table.text)
    (group,) = run("stats", str(file), "--json").json["rulesets"]
    assert group["length"]["seconds"] == {"count": 1, "min": 100000, "max": 100000, "mean": 100000.0, "median": 100000}
    assert "1 d 3 h" in run("stats", str(file)).out
    file.write_text(format_log(table.lines, receipts=False))
    (group,) = run("stats", str(file), "--json").json["rulesets"]
    assert group["length"]["seconds"] is None
    assert "time" not in run("stats", str(file)).out


def test_the_report_is_readable_and_linear_if_asked(folder: Path) -> None:
    drawn, plain = run("stats", str(folder)), run("stats", str(folder), "--plain")
    assert "█" in drawn.out
    assert "4 competition" in drawn.out
    assert "R reveal" in drawn.out
    assert max(map(len, drawn.out.splitlines())) <= 100
    assert not set(plain.out) & set("█▏│─")
    assert "competition taken 1st: " in plain.out


def test_charts_are_drawn(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "plot.svg"
    done = run("stats", str(folder), "--plot", str(file))
    assert done.code == 0
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    words = " ".join(element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text"))
    for said in ("40 games", "hanamikoji/1 first=random", "won by first", "rounds by first", "4 competition"):
        assert said in words
    again = tmp_path / "again.svg"
    run("stats", str(folder), "--plot", str(again), "--jobs", "2")
    assert again.read_bytes() == file.read_bytes()
    nowhere = run("stats", str(folder), "--plot", str(tmp_path / "no" / "plot.svg"))
    assert nowhere.code == Exit.FAILURE
    assert "cannot write" in nowhere.err


def test_logs_are_read_one_after_the_other() -> None:
    """An endless stream gives its first games: nothing waits for the end, and an overlong line is skipped."""
    text = whole_game(1, ROW).text.encode() + whole_game(2, ROW).text.encode()

    class Endless(io.RawIOBase):
        def __init__(self) -> None:
            self.parts = itertools.chain([text], itertools.repeat(b"x" * 65536))
            self.rest = b""
            self.given = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: object) -> int:
            view = memoryview(buffer)  # type: ignore[arg-type] # a buffer
            self.rest = self.rest or next(self.parts)
            size = min(len(view), len(self.rest))
            view[:size], self.rest = self.rest[:size], self.rest[size:]
            self.given += size
            return size

    stream = Endless()
    games = read_logs(split(io.BufferedReader(stream), "endless"))
    assert isinstance(next(games), GameRecord)
    assert stream.given < len(text) + 65536
    rest = list(games)
    assert [type(each) for each in rest] == [UnreadableLog]
    assert stream.given < 10**7


def test_usage() -> None:
    assert run("stats").code == Exit.USAGE
    assert run("stats", "-", "-").code == Exit.USAGE
    assert run("stats", "x", "--jobs", "0").code == Exit.USAGE
    assert run("stats", "/no/such/folder").code == Exit.FAILURE
