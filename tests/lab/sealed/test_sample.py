"""The proofs of sealed games: a sample of what measure.py tries, and what it says when something is wrong."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hkoji.sealed import ristretto, sodium
from tests.lab.sealed import measure
from tests.lab.sealed.damage import LOGS, damages, found_by_package, found_by_page, places
from tests.lab.sealed.measure import bits, encodings, noble, noble_packages, vectors
from tests.lab.sealed.uniform import FIXED, MOST, copies, deviation, positions
from tests.lab.sealed.visits import MOST_SPLIT, RULESETS, simulate
from tests.sealed.test_vectors import VECTORS
from tests.support.sealed import KINDS, small


def sample() -> dict[str, Any]:
    """The vectors with an honest one of each kind and two spoilt ones, whose bytes are malformed and are not."""
    chosen = dict(VECTORS)
    for kind in KINDS:
        spoilt = [vector for vector in VECTORS[kind] if not vector["ok"]]
        chosen[kind] = [VECTORS[kind][0], spoilt[0], spoilt[-1]]
    return chosen


def test_encodings_and_bits(capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(5)
    assert encodings(50, rng) == 0
    for sent in small("sample").values():
        assert bits(sent, 12, rng) == 0
    said = capsys.readouterr().out
    assert said.count("       12 changed bits, of ") == 5
    assert "missed" not in said


def test_faults_would_be_detected(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    decode = ristretto.decode
    monkeypatch.setattr(ristretto, "decode", lambda raw: (found := decode(raw)) and ristretto.negate(found))
    assert encodings(20, random.Random(5)) >= 20
    monkeypatch.undo()
    monkeypatch.setattr(measure, "check", lambda combine, sent: None)
    assert bits(small("sample")["close"], 12, random.Random(5)) == 12
    monkeypatch.undo()
    monkeypatch.setattr(measure, "VECTORS", {kind: [{**VECTORS[kind][1], "error": "other"}] for kind in KINDS})
    assert vectors("libsodium", sodium.combine) == 5
    assert "12 missed" in capsys.readouterr().out


def test_noble_curves_judge_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if noble_packages() is None:
        pytest.skip("Node.js 20 or npm is missing")
    file = tmp_path / "sealed.json"
    file.write_text(json.dumps(sample()))
    assert noble(file) is False, capsys.readouterr().out
    assert "63 constants: 63 hold" in (said := capsys.readouterr().out)
    assert all(f" {kind}: 1 hold" in said for kind in KINDS)

    changed = json.loads(file.read_text())
    changed["close"][0]["place"]["seq"] += 1
    changed["constants"]["blind"] = changed["constants"]["bases"][0]
    changed["transcripts"][3]["items"][0][1] += 1
    changed["seals"][0]["lock_order"].reverse()
    changed["hide"][1]["error"] = "malformed"
    changed = {**changed, "lock": [], "share": changed["share"][:1], "show": []}
    file.write_text(json.dumps(changed))
    assert noble(file) is True
    assert "5 judged otherwise" in capsys.readouterr().out


def test_noble_fails_without_vectors(tmp_path: Path) -> None:
    if noble_packages() is None:
        pytest.skip("Node.js 20 or npm is missing")
    file = tmp_path / "sealed.json"
    file.write_text(json.dumps({**VECTORS, **{kind: [] for kind in KINDS}}))
    assert noble(file) is True


def test_positions_and_copies_tell_nothing() -> None:
    rng = random.Random(5)
    for fixed in FIXED.values():
        assert positions(400, fixed, rng) < MOST
    assert all(figure < MOST for figure in copies(3000, rng).values())
    # A table that tells something is found: as if the copy with the lowest number were always played.
    assert deviation(Counter({"G1": 300, "G2": 200, "G3": 120, "G4": 60, "G5": 20}), 5, 140) > 10 * MOST


def test_a_changed_bit_of_a_log_is_found_by_package_and_page() -> None:
    resigned = tuple(path for path in LOGS if "resigned" in path.name)
    place = next(each for each in places(resigned) if "lock" not in each.entry.body)
    assert not found_by_package(place, place.entry.body)
    assert not found_by_page(place, place.entry.body)
    assert [(package, page) for _, package, page in damages(12, random.Random(5), resigned)] == [(True, True)] * 12


def test_visits_of_players_who_both_deposit() -> None:
    """A few games only, so the figure varies: the measured one is at most 0.31."""
    both, nobody = (simulate(RULESETS[0], deposit, 4, seed=2) for deposit in ((True, True), (False, False)))
    assert both.rounds > 4
    assert both.split < 2 * MOST_SPLIT < 3 < nobody.split
    assert both.alone > both.added - both.alone
