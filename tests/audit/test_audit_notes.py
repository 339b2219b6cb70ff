"""The audit's notes on a log that holds agree with counts made from the file by other means."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hkoji.audit.log_audit import LOG_STEPS, AuditStep, audit
from hkoji.log.line import format_log, parse_log
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji

REASONS = {"resign": "by resignation", "timeout": "on time", **Hanamikoji.reasons, **GeishasRoad.reasons}
GAMES = sorted((Path(__file__).parents[1] / "data" / "vectors" / "games").glob("*.jsonl"))


def count_turns(entries: list[dict[str, Any]]) -> int:
    """The turns on the clock that have been played, or were ended by a timeout: docs/spec/log.md, "Clock"."""
    if entries[0]["body"]["agreement"]["clock"] is None:
        return 0
    turns, author = 0, None
    for entry in entries:
        kind, by = entry["kind"], entry["by"]
        if kind == "timeout":
            kind, by = "move", entries[1 + entry["body"]["seat"]]["by"]
        if kind in ("seed", "move"):
            turns += by != author
            author = by
        elif kind in ("chance", "reveal"):
            author = None
    return turns


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.stem)
def test_the_notes_count_what_is_in_the_file(path: Path) -> None:
    text = path.read_text()
    texts = [json.loads(line)["entry"] for line in text.splitlines()]
    entries: list[dict[str, Any]] = [json.loads(entry) for entry in texts]
    kinds = Counter(entry["kind"] for entry in entries)
    bodies = [entry["body"] for entry in entries]
    end = bodies[-2] if kinds["unseal"] else bodies[-1]
    finished = bool(kinds["end"])
    sealed = finished and end["seed"] is None and not kinds["unseal"]
    seed_is_known = finished and not sealed
    dealt = seed_is_known and kinds["seed"] == 2
    proofs = kinds["rekey"] + sum(1 + bool(body["revocation"]) for body in bodies if "revocation" in body)
    openings = sum(len(body.get("openings", ())) for body in bodies)
    opened = openings + kinds["seed"] + seed_is_known
    closed = sum(len(body.get("commit", ())) for body in bodies) - openings
    names = {0: entries[1]["by"], 1: entries[2]["by"]}

    result = audit(text)
    notes = dict(result.notes)
    assert (result.entries, result.holds, result.findings) == (len(entries), len(entries), ())
    assert (result.game, result.finished) == (entries[0]["game"], finished)
    assert audit(text.encode()) == result
    assert list(notes) == list(LOG_STEPS) == [AuditStep(number) for number in range(1, 10)]
    assert notes[AuditStep.PARSE] == f"{len(entries)} entries in canonical form"
    head = hashlib.sha256(f"{texts[-1]}\n".encode()).hexdigest()
    assert notes[AuditStep.CHAIN] == f"head {head} at entry {len(entries) - 1}"
    assert notes[AuditStep.SIGNATURES] == f"{len(entries) + proofs} signatures"
    turns = count_turns(entries)
    on_the_clock = f", {turns} turn{'s' * (turns > 1)} on the clock" * bool(turns)
    assert notes[AuditStep.TIMES] == f"{len(entries)} receipts{on_the_clock}"
    still = f", {closed} still closed" * bool(closed) + ", the seed still sealed" * sealed
    assert notes[AuditStep.COMMITMENTS] == f"{opened} opened{still}"
    assert notes[AuditStep.DEAL].endswith("dealt from the seed" if dealt else "sealed" if sealed else "reached")
    known = "" if seed_is_known else ", as far as cards are open"
    assert notes[AuditStep.REPLAY] == f"{kinds['move']} moves by the rules{known}"
    if not finished:
        assert notes[AuditStep.RESULT] == "not reached: the game is still running"
    elif end["result"]["reason"] == "cancel":
        called_off = {"annul": "called off by agreement", "lapse": bodies[-2].get("reason")}
        assert notes[AuditStep.RESULT] == f"no winner, {called_off.get(entries[-2]['kind'], 'cancelled')}"
    elif end["result"]["winner"] is None:
        assert notes[AuditStep.RESULT] == f"a shared win, {REASONS[end['result']['reason']]}"
    else:
        winner = names[end["result"]["winner"]]
        assert notes[AuditStep.RESULT] == f"{winner} wins {REASONS[end['result']['reason']]}"

    bare = audit(format_log(parse_log(text), receipts=False))
    assert dict(bare.notes) == {**notes, AuditStep.TIMES: f"no receipts{on_the_clock}"}


@pytest.mark.parametrize(
    "path", [path for path in GAMES if path.read_text().count("\n") > 4], ids=lambda path: path.stem
)
def test_after_a_finding_nothing_more_is_said_to_hold(path: Path) -> None:
    text = path.read_text()
    damaged = text.replace('","seq":4,', '","seq":5,').replace('\\",\\"seq\\":4,', '\\",\\"seq\\":5,', 1)
    assert damaged != text
    result = audit(damaged)
    (finding,) = result.findings
    assert (finding.step, finding.entry, finding.signer, finding.understood) == (AuditStep.CHAIN, 4, None, True)
    assert (result.entries, result.holds, result.finished) == (text.count("\n"), 4, False)
    cut = audit(damaged[:-1])
    assert (cut.entries, cut.holds) == (text.count("\n"), 4)
