"""The shell script does steps 1 to 6 of a sealed game as `hkoji audit` does, and does not understand its deal.

A sample; `python -m tests.lab.two_audits.sealed_logs` compares the two on any number of damaged logs.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hkoji.audit.log_audit import audit
from hkoji.game.agreement import TimeControl
from hkoji.game.clock import Effect, GameClock
from hkoji.rules.events import Seat
from tests.lab.two_audits.sealed_logs import (
    PARTS,
    gift_for,
    keys_of,
    odd_parts,
    sealed_draft,
    time_out,
)
from tests.lab.two_audits.timed_logs import DAY, retime, times_of
from tests.support.drafts import Draft, write_log
from tests.support.shell import run
from tests.support.shell_audit import by_hkoji, by_script, parsed_by_script, run_part, tools
from tests.support.timed_table import later
from tests.support.vectors import FOLDER

__all__ = ["tools"]

LATE, LONG = "sealed-timeout.jsonl", "sealed-hanamikoji.jsonl"
HEAD = "0" * 64
Damage = Callable[[list[Draft]], object]


def test_the_command_holds_a_whole_game_and_the_script_says_what_it_leaves_out(tmp_path: Path) -> None:
    path = FOLDER / "sealed-resigned.jsonl"
    script = by_script(path, keys_of(path.name))
    assert (script.exit, script.found) == (3, ())
    assert script.agrees(by_hkoji(path.read_bytes(), keys_of(path.name)))
    assert run("audit", str(path)).code == 0


def test_both_audits_agree_on_the_form_of_every_part() -> None:
    logs = []
    drafts = sealed_draft(LONG)
    for part in PARTS:
        holder = next(each for each in drafts if part in each.body)
        for value in odd_parts(part, holder.body[part]):
            pair = [copy.deepcopy(drafts[0]), copy.deepcopy(holder)]
            pair[1].body[part], pair[1].value["seq"] = value, 1
            logs.append(write_log(pair))
        for kind in ("offer", "join", "seed", "move", "release", "credit", "end"):  # also where it does not belong
            pair = [copy.deepcopy(drafts[0]), copy.deepcopy(next(each for each in drafts if each.kind == kind))]
            pair[1].body[part], pair[1].value["seq"] = holder.body[part], 1
            logs.append(write_log(pair))
    found = [[(int(each.step), each.understood) for each in audit(log).findings if each.step == 1] for log in logs]
    said = parsed_by_script(logs)
    assert [[(step, each.exit == 1) for step, _ in each.found] for each in said] == found
    assert {known for faults in found for _, known in faults} == {True, False}
    assert [] in found


# --- the clock by itself ---------------------------------------------------------------------------------------------


def played(rng: random.Random, control: TimeControl) -> tuple[list[str], set[int], tuple[int, int]]:
    """A game of seeds, moves and releases at random, as step 1 of the script hands it to step 5.

    Also the entries that are late by the clock of the package, and the reserves that it leaves.
    """
    at = "2026-11-28T12:00:00Z"
    agreement = {"clock": control.to_json(), "expires": None}
    told: list[tuple[str, str, dict[str, Any], str]] = [
        ("offer", "server", {"agreement": agreement}, at),
        ("open", "alice", {"invite": None, "key": "host's"}, at),
        ("join", "bob", {"key": "guest's"}, at),
    ]
    clock, late = GameClock.joined(control, HEAD, at), set[int]()
    for _ in range(12):
        seat: Seat = rng.randrange(2)
        kind, effect = rng.choice(
            [("move", Effect.PLAYS), ("move", Effect.PLAYS), ("release", Effect.RELEASES), ("release", Effect.SETTLES)]
        )
        before, at = at, later(at, rng.choice([0, 1, 30, 60, 90, 200]))
        credits = rng.choice([0, 0, 0, 1, 45, 300])
        if clock.settled(before).is_late(control, seat, at, credits):
            late.add(len(told))
        told.append((kind, ("alice", "bob")[seat], {"close": {}} if effect is Effect.SETTLES else {}, at))
        clock = clock.follow(effect, seat, HEAD, before)
        if credits:
            told.append(
                ("credit", "server", {"gift": {"head": HEAD, "seconds": credits, "sig": ""}, "outages": []}, at)
            )
            clock = clock.follow(Effect.CREDITS, None, HEAD, at, credits)
    told.append(("resign", "alice", {}, at))
    host, guest = clock.settled(at).broken(control, at).banks
    return [row(seq, told) for seq in range(len(told))], late, (host, guest)


def row(seq: int, told: list[tuple[str, str, dict[str, Any], str]]) -> str:
    kind, by, body, at = told[seq]
    seen = told[seq - 1][3] if seq else None
    entry = {"at": at, "body": body, "by": by, "game": "", "kind": kind, "prev": HEAD, "seen": seen, "seq": seq}
    fields = ["-"] * 25
    fields[4], fields[5] = (by, "a key") if kind == "offer" else (by, "-")
    fields[20], fields[23] = at, json.dumps(entry)
    return "\t".join(fields)


def test_the_clock_of_the_script_is_that_of_the_package() -> None:
    rng = random.Random(8)
    controls = [TimeControl(60, 120, 0, 120), TimeControl(60, 100, 20, 150), TimeControl(0, 600, 30, 700)]
    games = [played(rng, controls[number % 3]) for number in range(150)]
    said = run_part("entries", [rows for rows, _, _ in games])
    for lines, (_, late, left) in zip(said, games, strict=True):
        found = [fields for step, *fields in (line.split("\t") for line in lines) if step == "5"]
        assert {int(each[1]) for each in found if each[0] == "3"} == late
        reserves = re.search(r"alice (\d+) s, bob (\d+) s", found[-1][3])
        assert reserves
        assert (int(reserves[1]), int(reserves[2])) == left
    assert sum(map(len, (late for _, late, _ in games))) > 100


# --- damage ----------------------------------------------------------------------------------------------------------


def shifted(number: int, seconds: int) -> Damage:
    """From entry `number` on everything comes later."""

    def damage(drafts: list[Draft]) -> None:
        times = times_of(drafts)
        retime(drafts, [*times[:number], *(later(at, seconds) for at in times[number:])])

    return damage


def given(number: int, given_at: int, seconds: int, late: int = 0) -> Damage:
    """A credit behind entry `number`, with a gift about the head of entry `given_at`; and that entry comes later."""

    def damage(drafts: list[Draft]) -> None:
        shifted(number, late)(drafts)
        gift_for(drafts, number, given_at, seconds)

    return damage


# In the game entry 6 is an answer, 7 a release of alice's, and 8 bob's move, whose turn has begun at entry 5. Each
# has two hours a turn, 70 minutes in reserve at least, and ten minutes more for a turn.
@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        pytest.param(shifted(7, 3 * DAY), [(5, 7)], id="a late release"),
        pytest.param(given(7, 6, 4 * DAY, 3 * DAY), [], id="a gift for a release"),
        pytest.param(given(7, 5, 4 * DAY, 3 * DAY), [(5, 8)], id="a gift before the move before a release"),
        pytest.param(given(8, 6, 60), [], id="a gift across a release"),
        pytest.param(lambda drafts: time_out(drafts, 7, 0, 600), [(5, 7)], id="a timeout of a release, too early"),
        pytest.param(lambda drafts: time_out(drafts, 7, 0, 3 * DAY), [], id="a timeout of a release"),
        pytest.param(
            lambda drafts: drafts[-1].body.update(seed="5e" * 32),
            [(6, 11)],
            id="an end with a seed",
        ),
        pytest.param(lambda drafts: drafts[3].body.update(entropy="5e" * 32), [(6, 3)], id="other entropy"),
    ],
)
def test_both_audits_find_the_same_around_a_release(
    damage: Damage, expected: list[tuple[int, int]], tmp_path: Path
) -> None:
    drafts = sealed_draft(LATE)
    damage(drafts)
    path = tmp_path / "log.jsonl"
    path.write_bytes(write_log(drafts))
    script, hkoji = by_script(path, keys_of(LATE)), by_hkoji(path.read_bytes(), keys_of(LATE))
    assert script.agrees(hkoji)
    assert list(hkoji.found) == expected
    assert script.exit == (1 if expected else 3)
