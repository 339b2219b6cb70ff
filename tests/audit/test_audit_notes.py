"""The audit's notes on a log that holds agree with counts made by other means; so do those on keys that are held."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import EvidenceFile, format_evidence
from hkoji.audit.log_audit import LOG_STEPS, AuditStep, audit
from hkoji.cli.audit.report import audit_json, audit_text
from hkoji.game.agreement import Agreement
from hkoji.game.held_keys import SeatGrade
from hkoji.log.line import format_log, parse_log
from hkoji.log.mail_claim import MailGrade
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.forgery import changed_body, entry_number, rewrite
from tests.support.table import held_game, new_game
from tests.support.timed_table import MINUTES, TimedTable

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
        elif kind == "release" and by != "server":  # a turn of its own, within that of the other seat
            turns += 1
            author = None if "close" in entry["body"] else author
        elif kind in ("chance", "reveal"):
            author = None
    return turns


def count_proofs(bodies: list[dict[str, Any]]) -> int:
    """The proofs of a sealed game: one for each lock, share, close, and card shown or hidden."""
    whole = sum(part in body for body in bodies for part in ("lock", "give", "close"))
    return whole + sum(len(body.get("show", {}).get("copies", ())) + len(body.get("hide", ())) for body in bodies)


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.stem)
def test_the_notes_count_what_is_in_the_file(path: Path) -> None:
    text = path.read_text()
    texts = [json.loads(line)["entry"] for line in text.splitlines()]
    entries: list[dict[str, Any]] = [json.loads(entry) for entry in texts]
    kinds = Counter(entry["kind"] for entry in entries)
    bodies = [entry["body"] for entry in entries]
    end = bodies[-2] if kinds["unseal"] else bodies[-1]
    finished = bool(kinds["end"])
    sealed = bodies[0]["dealer"]["name"] == "sealed/v1"
    unopened = finished and end["seed"] is None and not kinds["unseal"] and not sealed
    seed_is_known = finished and not unopened and not sealed
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
    still = f", {closed} still closed" * bool(closed) + ", the seed still unopened" * unopened
    assert notes[AuditStep.COMMITMENTS] == f"{opened} opened{still}"
    by_players = f"dealt by alice and bob, {count_proofs(bodies)} proofs"
    last = by_players if sealed else "dealt from the seed" if dealt else "unopened" if unopened else "reached"
    assert notes[AuditStep.DEAL].endswith(last)
    known = "" if seed_is_known or sealed else ", as far as cards are open"
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
        never = sum(len(body.get("hide", ())) - ("close" in body) for body in bodies)
        left = f"; {never} card{'s' * (never > 1)} never opened" * bool(never)
        assert notes[AuditStep.RESULT] == f"{winner} wins {REASONS[end['result']['reason']]}{left}"

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


# --- keys that the service holds --------------------------------------------------------------------------------------


def test_it_counts_what_was_signed_for_a_player_and_says_what_that_proves() -> None:
    table = TimedTable(Hanamikoji(), 51, agreement=Agreement(MINUTES), held=(1,)).begin()
    while table.course.actor == 1:
        table.play(1)
    table.give(60).play(2)
    result = audit(table.text, {"server": table.server.public})
    by_bob = sum(line.entry.by == "bob" for line in table.lines)
    (signed,) = result.signed_for
    assert (signed.name, signed.entries, signed.statements, signed.drawn) == ("bob", by_bob, 1, True)
    assert signed.claims == {MailGrade.DKIM: 0, MailGrade.TOKEN: by_bob, MailGrade.NONE: 1}
    assert result.grades == {"alice": SeatGrade.OWN, "bob": SeatGrade.WORD}
    text = audit_text(result)
    assert "2 keys of players, 0 as expected; bob's is held by the service" in text
    assert "They prove what the service says, not what bob did. The service drew bob's part in the shuffle." in text
    assert "the word of the service alone" not in text
    (alice, bob) = audit_json(result)["players"]
    assert alice == {"name": "alice", "grade": "own", "signed_for": None}
    assert bob["signed_for"]["statements"] == 1


def test_with_two_held_seats_the_deal_is_the_word_of_the_service() -> None:
    result = audit(held_game(52, held=(0, 1), grade=MailGrade.DKIM).play(4).text, {})
    assert result.grades == {"alice": SeatGrade.CLAIMED, "bob": SeatGrade.CLAIMED}
    assert "The deal is the word of the service alone" in audit_text(result)


def test_a_fault_of_a_held_key_names_the_service_and_never_the_player() -> None:
    table = held_game(53).play(4)
    number = entry_number(table, "seed")
    assert table.lines[number].entry.by == "bob"
    forged = rewrite(table, changed_body(table, number, entropy="ab" * 32))
    server, bob = table.server.public, table.keys[1].public
    for pins, named in (
        ({"server": server}, "the service, for bob"),
        ({"server": server, "bob": bob}, "the service, for bob"),
        ({"bob": bob}, f"server with the unpinned key {server.fingerprint}, for bob"),
    ):
        (finding,) = audit(forged, pins).findings
        assert (finding.step, finding.entry, finding.signer) == (AuditStep.COMMITMENTS, number, named)
        evidence = format_evidence(EvidenceFile(table.game, {}, forged, ()))  # whose receipts are its word once more
        assert audit_file(evidence, pins).findings[0] == finding


def test_a_player_with_an_own_key_pinned_does_not_turn_up_held() -> None:
    table, own = held_game(54), new_game(54).keys[0].public
    (finding,) = audit(table.text, {"server": table.server.public, "bob": own}).findings
    assert (finding.step, finding.entry, finding.signer) == (AuditStep.KEYS, 2, None)
