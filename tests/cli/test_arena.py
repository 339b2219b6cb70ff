"""`hkoji arena`: its output, its errors, and the files after an interrupt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hkoji.bots import registry
from hkoji.bots.protocol import Seen
from hkoji.cli.output import Exit
from tests.support.shell import run

TIMED = ("seconds", "games_per_second", "moves_per_second", "jobs")


def untimed(value: dict[str, object]) -> dict[str, object]:
    """A match without the parts that differ between runs."""
    sides = value["bots"]
    assert isinstance(sides, list)
    kept = [{name: side[name] for name in side if not name.startswith("ms_")} for side in sides]
    return {**{name: value[name] for name in value if name not in TIMED}, "bots": kept}


@pytest.mark.parametrize("ruleset", ["hanamikoji", "geishas-road"])
def test_json(ruleset: str) -> None:
    done = run("arena", "random", "random", "--games", "8", "--seed", "s", "--ruleset", ruleset, "--json")
    assert (done.code, done.err) == (0, "")
    found = done.json
    for side in found["bots"]:
        assert 0 <= side["by_games"][0] <= side["score"] <= side["by_games"][1] <= 1
        assert 0 <= side["by_deals"][0] <= side["score"] <= side["by_deals"][1] <= 1
        assert 0 < side["ms_median"] <= side["ms_p95"]
    one, other = found["bots"]
    assert one["wins"] + other["wins"] + found["shared"] == found["games"] == 2 * found["deals"] == 8
    assert one["score"] + other["score"] == 1
    assert one["moves"] + other["moves"] == found["moves"]
    assert (found["complete"], found["seed"], found["ruleset"], found["export"]) == (True, "s", ruleset, None)


def test_a_seed_repeats_a_match_and_processes_change_nothing() -> None:
    words = ("arena", "random", "greedy", "--games", "12", "--seed", "again", "--json")
    one = run(*words).json
    assert untimed(run(*words).json) == untimed(one)
    assert untimed(run(*words, "--jobs", "2").json) == untimed(one)
    assert run("arena", "random", "random", "--games", "2", "--json").json["seed"] != "again"


def test_options_of_the_game_are_those_of_new() -> None:
    words = ("--games", "2", "--json", "--first", "random", "--max-rounds", "1", "--option", "tiebreak=charm")
    found = run("arena", "random", "random", *words).json
    assert found["options"] == {
        "first": "random",
        "max_rounds": 1,
        "name": "hanamikoji",
        "tiebreak": "charm",
        "version": 1,
    }


def test_an_edition_can_be_chosen_as_for_new() -> None:
    found = run("arena", "random", "random", "--games", "2", "--json", "--edition", "2018-it").json
    assert (found["options"]["max_rounds"], found["options"]["tiebreak"]) == (3, "charm")
    road = run("arena", "random", "random", "--games", "2", "--json", "--edition", "2021").json
    assert road["ruleset"] == "geishas-road"
    both = run("arena", "random", "random", "--games", "2", "--ruleset", "hanamikoji", "--edition", "2021")
    assert (both.code, both.out) == (2, "")


def test_text_fits_a_terminal_and_plain_is_sentences() -> None:
    words = ("arena", "random", "greedy", "--games", "8", "--seed", "3")
    for more in ((), ("--lang", "it")):
        done = run(*words, *more)
        assert done.code == 0
        assert done.err == ""
        assert all(len(line) <= 80 for line in done.out.splitlines())
        assert "greedy" in done.out
    plain = run(*words, "--plain")
    assert "  " not in plain.out
    assert "greedy won " in plain.out
    assert run(*words, "--plain", terminal=True).err == ""


def test_a_bar_is_shown_at_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("arena", "random", "random", "--games", "4")
    monkeypatch.setenv("TERM", "xterm")
    shown = run(*words, terminal=True)
    assert "0/2" in shown.err
    assert "/2" not in shown.out
    monkeypatch.setenv("TERM", "dumb")
    assert run(*words, terminal=True).err == ""
    assert run(*words).err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("random", "random", "--games", "7"), "number of games is odd (7)"),
        (("random", "nobody"), "there is no bot 'nobody'"),
        (("random", "./nobody"), "there is no program './nobody'"),
        (("random", "random", "--ruleset", "go"), "there is no ruleset 'go'"),
        (("random", "random", "--markers", "random"), "has no option 'markers'"),
        (("random", "random", "--seed", ""), "a seed is plain"),
        (("random", "random", "--seed", 'a"b'), "a seed is plain"),
        (("random", "random", "--games", "0"), "--games"),
        (("random", "random", "--jobs", "0"), "--jobs"),
        (("random",), "BOT"),
    ],
)
def test_usage(words: tuple[str, ...], said: str) -> None:
    done = run("arena", *words, "--json")
    assert done.code == Exit.USAGE
    assert done.out == ""
    assert said in done.error["message"]


def test_a_bot_that_does_not_play_the_game_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from hkoji.bots import registry

    monkeypatch.delitem(registry.BRAINS, ("greedy", "geishas-road"), raising=False)
    done = run("arena", "greedy", "random", "--ruleset", "geishas-road", "--json")
    assert done.code == Exit.USAGE
    assert "the bot 'greedy' does not play geishas-road" in done.error["message"]


class Cheat:
    """Plays a card that no game has."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def decide(self, seen: Seen) -> str:
        return "1Z"

    def close(self) -> None:
        """Holds nothing."""


def test_a_bot_that_fails_is_named_with_game_and_position(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(registry.BOTS, "cheat", Cheat)
    folder = tmp_path / "match"
    done = run("arena", "random", "cheat", "--seed", "1", "--json", "--export", str(folder))
    assert done.code == Exit.BOT
    assert done.out == ""
    assert done.error["code"] == "bot-failed"
    assert done.error["message"].startswith("cheat failed in game 1a: 1Z is not legal: ")
    assert "1. =XXXXXX/" in done.error["hint"]
    assert json.loads((folder / "arena.json").read_text())["complete"] is False
    text = run("arena", "cheat", "random", "--seed", "1")
    assert "hkoji: cheat failed in game 1a" in text.err
    assert "\n  1. =" in text.err


def test_an_export_can_be_audited(tmp_path: Path) -> None:
    folder = tmp_path / "match"
    done = run("arena", "random", "greedy", "--games", "4", "--seed", "x", "--export", str(folder), "--json")
    assert done.code == 0
    assert done.json["export"] == str(folder)
    same = run("arena", "random", "greedy", "--games", "4", "--seed", "x", "--json").json
    assert {**untimed(done.json), "export": None} == untimed(same)
    logs = sorted(folder.glob("*.jsonl"))
    assert [log.name for log in logs] == ["0001-a.jsonl", "0001-b.jsonl", "0002-a.jsonl", "0002-b.jsonl"]
    keys = [line.replace(" ", "=", 1) for line in (folder / "keys.txt").read_text().splitlines()]
    pins = [word for key in keys for word in ("--key", key)]
    for log in logs:
        audited = run("audit", str(log), *pins, "--json")
        assert audited.code == 0
        assert audited.json["finished"]
        assert all(party["pinned"] for party in audited.json["parties"])
    again = run("arena", "random", "greedy", "--games", "4", "--export", str(folder), "--json")
    assert again.code == Exit.FAILURE
    assert "is not empty" in again.error["message"]


def test_in_a_batch() -> None:
    done = run("batch", stdin="arena random random --games 2 --seed 1\n")
    (answer,) = [json.loads(line) for line in done.out.splitlines()]
    assert answer["ok"]
    assert answer["result"]["games"] == 2


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_leaves_the_figures_of_what_was_played(jobs: str, tmp_path: Path) -> None:
    folder = tmp_path / "match"
    words = ("arena", "random", "random", "--games", "1000000", "--jobs", jobs, "--export", str(folder), "--json")
    process = subprocess.Popen(
        [sys.executable, "-c", "from hkoji.cli.main import main; main()", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 300
    while len(list(folder.glob("*.jsonl"))) < 6:
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to every process
    printed, said = process.communicate(timeout=300)
    assert process.returncode == Exit.INTERRUPTED
    assert said.splitlines() == ["Interrupted: the figures cover what was played until then."]
    found = json.loads(printed)
    assert found["complete"] is False
    assert found["games"] >= 6
    facts = json.loads((folder / "arena.json").read_text())
    assert facts["complete"] is False
    assert {game["file"] for game in facts["games"]} == {log.name for log in folder.glob("*.jsonl")}
    assert not list(folder.glob("*.part"))
    assert len(facts["games"]) == found["games"]


def test_an_interrupt_before_the_first_deal_is_just_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Cheat, seen: Seen) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(Cheat, "decide", interrupt)
    monkeypatch.setitem(registry.BOTS, "cheat", Cheat)
    done = run("arena", "cheat", "random")
    assert (done.code, done.out) == (Exit.INTERRUPTED, "")
    assert done.err == "Interrupted before a deal was finished.\n"
