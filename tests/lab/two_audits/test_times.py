"""The shell script judges times and clocks as `hkoji audit` does, and as the games worked out by hand say.

A sample; `python -m tests.lab.agreement.audits` compares the two audits on any number of logs.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hkoji.audit.log_audit import audit
from hkoji.audit.times import TimedLine, TimedLog, last_worded
from hkoji.game.clock import LAST_TIME
from hkoji.game.entry_kinds import parse_body
from hkoji.log.line import format_log, parse_log
from tests.lab.two_audits.timed_logs import TIMES, damaged_time, timed_tables
from tests.support.clock_games import ClockEntry, ClockGame, clock_games
from tests.support.drafts import pins
from tests.support.shell_audit import by_hkoji, by_script, run, run_part, tools
from tests.support.timed_table import later

__all__ = ["tools"]

NAMES = ("alice", "bob")
HEAD = "0" * 64


# --- the clock by itself ---------------------------------------------------------------------------------------------


def rows(game: ClockGame, entries: Sequence[ClockEntry], last: tuple[str, dict[str, Any], str]) -> str:
    """A game as step 1 of the script hands it to step 5; after its entries comes one more: its kind, body and time."""
    move, bank, add, cap = game.numbers
    clock = {"add": add, "bank": bank, "cap": cap, "move": move, "rest": game.rest, "zone": game.zone}
    first = entries[0].at
    told: list[tuple[str, str, dict[str, Any], str]] = [
        ("offer", "server", {"agreement": {"clock": clock, "expires": None}}, first),
        ("open", NAMES[0], {"invite": None, "key": "host's"}, first),
    ]
    for each in entries:
        by = "server" if each.by is None else NAMES[each.by]
        body: dict[str, Any] = {"key": "guest's"} if each.kind == "join" else {}
        if each.kind in ("timeout", "annul"):
            body = {"gift": None, "outages": [], "seat": each.owes or 0, "sigs": ["", ""]}
        told.append((each.kind, by, body, each.at))
        if each.credits is not None:
            gift = {"head": HEAD, "seconds": each.credits, "sig": ""}
            told.append(("credit", "server", {"gift": gift, "outages": []}, each.at))
    kind, body, at = last
    told.append((kind, "server" if kind == "timeout" else NAMES[0], body, at))
    lines = []
    for seq, (kind, by, body, at) in enumerate(told):
        seen = told[seq - 1][3] if seq else None
        entry = {"at": at, "body": body, "by": by, "game": "", "kind": kind, "prev": HEAD, "seen": seen, "seq": seq}
        fields = ["-"] * 25
        fields[4], fields[5] = ("server", "a key") if kind == "offer" else (by, "-")
        fields[20], fields[23] = at, json.dumps(entry)
        lines.append("\t".join(fields) + "\n")
    return "".join(lines)


Judged = tuple[set[int], tuple[int, int]]
"""The entries that the script's clock finds too late or too early, and the reserves after the last."""


def judged(given: Sequence[str]) -> list[Judged]:
    """The account of the script's clock for each game."""
    return [read_judged(lines) for lines in run_part("entries", [rows.splitlines() for rows in given])]


def read_judged(lines: Sequence[str]) -> Judged:
    found = [fields for step, *fields in (line.split("\t") for line in lines) if step == "5"]
    left = re.search(r"alice (\d+) s, bob (\d+) s", found[-1][3])
    assert left, found[-1]
    return {int(row[1]) for row in found if row[0] == "3"}, (int(left[1]), int(left[2]))


def asked(game: ClockGame, count: int) -> list[str]:
    """A game's first `count` entries as the script is asked about them: with a resignation, and with timeouts."""
    entries = game.entries[:count]
    last = entries[-1]
    said: list[tuple[str, dict[str, Any], str]] = [("resign", {}, last.at)]
    if last.owes is not None and last.deadline is not None:
        after = min(later(last.deadline, 1), LAST_TIME)
        said += [("timeout", {"seat": last.owes}, at) for at in (last.deadline, after)]
    return [rows(game, entries, each) for each in said]


def check(game: ClockGame, count: int, said: Sequence[Judged]) -> None:
    """Compares the script's clock after the first `count` entries of a game with that of the hand."""
    entries = game.entries[:count]
    move, _, add, cap = game.numbers
    last = entries[-1]
    found, left = said[0]
    number, late, plays = 2, set[int](), set[int]()
    for each in entries:
        if each.kind in ("seed", "move"):
            plays.add(number)
        if each.late:
            late.add(number)
        number += 1 + (each.credits is not None)
    assert found & plays == late
    for seat in (0, 1):
        if seat != last.owes:
            assert left[seat] == last.banks[seat]
        elif last.by == seat and last.kind in ("seed", "move"):  # the turn goes on, and the resignation ends it
            assert last.spent is not None
            assert left[seat] == max(0, last.banks[seat] - max(0, last.spent - move))
    if last.owes is None or last.deadline is None:
        return
    (early, _), (due, _) = said[1:]
    if last.deadline >= last.at:
        assert number in early
    if last.deadline != LAST_TIME and later(last.deadline, 1) >= last.at:
        assert number not in due
    if last.by != last.owes:
        assert last.banks[last.owes] == min(cap, left[last.owes] + add)


@cache
def answered() -> dict[str, list[list[Judged]]]:
    """The account of the script's clock for each game, by its name: of the first entry, of the first two, and so on."""
    games = {game.name: [asked(game, count + 1) for count in range(len(game.entries))] for game in clock_games()}
    answers = iter(judged([each for counts in games.values() for some in counts for each in some]))
    return {name: [[next(answers) for _ in some] for some in counts] for name, counts in games.items()}


@pytest.mark.parametrize("game", clock_games(), ids=lambda game: game.name)
def test_the_clock_of_the_script_is_that_of_the_hand(game: ClockGame) -> None:
    said = answered()[game.name]
    assert len(said) == len(game.entries)
    for count, some in enumerate(said, 1):
        check(game, count, some)


# --- both audits -----------------------------------------------------------------------------------------------------


def test_both_audits_agree_on_a_quarter_of_the_sorts_of_damage_to_times(tmp_path: Path) -> None:
    rng = random.Random(5)
    logs = [damaged_time(name, rng, receipts=number % 2 == 0) for number, name in enumerate([*TIMES][::4])]

    def difference(number: int) -> str:
        case = logs[number]
        path = tmp_path / f"{number}"
        path.write_bytes(case.log)
        script, hkoji = by_script(path, case.pins), by_hkoji(case.log, case.pins)
        return "" if script.agrees(hkoji) else f"{case.name}: the script says {script}, hkoji says {hkoji}"

    with ThreadPoolExecutor(4) as pool:
        assert [words for words in pool.map(difference, range(len(logs))) if words] == []


def test_there_are_sixteen_sorts_and_each_does_damage() -> None:
    assert len(TIMES) == 16
    for name in TIMES:
        rng = random.Random(name)
        assert any(audit(damaged_time(name, rng, receipts=number % 2 == 0).log).findings for number in range(24)), name


@pytest.mark.parametrize("number", [4, 8], ids=["rest days", "time is added"])
def test_the_reserves_are_the_same_with_and_without_receipts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    table = timed_tables()[number]
    monkeypatch.setenv("TZ", "America/New_York")  # the local time of the reader does not matter
    said = []
    for receipts in (True, False):
        log = format_log(table.lines, receipts=receipts)
        (tmp_path / "log").write_text(log)
        done = run(tmp_path / "log", pins(table))
        assert done.returncode == 0, done
        left = re.search(r"(?m)^5 times .* in reserve: alice (\d+) s, bob (\d+) s$", done.stdout)
        assert left, done.stdout
        lines = parse_log(log)
        timed = [TimedLine(line, parse_body(line.entry.kind, line.entry.body)) for line in lines]
        said.append((int(left[1]), int(left[2])))
        assert TimedLog(timed, last_worded(lines)).reserves() == said[-1]
    assert said[0] == said[1]
