"""A changed byte of a log, a signature, a receipt or a key is found, in its place, and nobody is accused.

A sample; `python -m tests.lab.damage.measure` tries a million.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from hkoji.audit.log_audit import audit
from tests.lab.damage.pieces import (
    SAME,
    Auditor,
    Damage,
    Sound,
    all_damages,
    complaint,
    flips,
    held_logs,
    pieces,
    some_damages,
    sound_logs,
    undetected,
)
from tests.support.shell_audit import missing_tools


@pytest.mark.parametrize("log", sound_logs(), ids=lambda log: log.name)
def test_damage_to_a_log_is_found_where_it_is(log: Sound) -> None:
    auditor = Auditor(log)
    rng = random.Random(log.name)
    found = Counter[str]()
    for place in rng.sample(range(len(log.data)), 12):
        for damage in some_damages(log.data, range(place, place + 1), 5, rng):
            word, wrong = auditor.complaint(damage)
            assert not wrong, damage
            found[word] += 1
    assert len(found) > 2


def test_a_flipped_bit_in_a_log_of_held_keys_passes_neither_audit(tmp_path: Path) -> None:
    if missing := missing_tools():
        pytest.fail(missing)
    assert {"held.jsonl", "delegated.jsonl"} <= {log.name for log in held_logs()}
    tried = [each for each in islice(flips(random.Random(5)), 200) if "begun" in each[0].name]
    assert list(undetected(tried[:10], tmp_path, 2)) == []
    for log, damage in islice(flips(random.Random(6)), 60):
        assert not audit(damage.of(log.data), log.pins).ok, (log.name, damage)


def test_the_memory_of_the_sound_log_changes_nothing() -> None:
    log = next(log for log in sound_logs() if log.name == "invited")
    auditor = Auditor(log)
    rng = random.Random(1)
    for place in rng.sample(range(len(log.data)), 10):
        for damage in some_damages(log.data, range(place, place + 1), 5, rng):
            assert auditor.complaint(damage) == auditor.complaint(damage, plain=True)


def test_an_undetected_damage_is_reported() -> None:
    """A "damage" that makes a sound log of an unsound one: the only way to test that it would be reported."""
    log = next(log for log in sound_logs() if log.name == "cancelled")
    auditor = Auditor(log)
    end = len(log.data)
    assert auditor.complaint(Damage("taken out", end - 1)) == ("step 1 parse", "")
    auditor.log = Sound(log.name, log.data[:-1] + b" ", log.pins)
    assert auditor.complaint(Damage("byte", end - 1, ord("\n"))) == ("holds", "it holds")


def test_damage_to_a_signature_a_receipt_or_a_key_is_found(tmp_path: Path) -> None:
    rng = random.Random(1)
    names = []
    for piece in pieces(tmp_path):
        names.append(piece.name)
        undamaged, _ = complaint(piece, piece.data)
        assert undamaged in (SAME, "holds"), piece.name
        for damage in rng.sample(list(all_damages(piece.data)), 150):
            _, wrong = complaint(piece, damage.of(piece.data))
            assert not wrong, (piece.name, damage)
    assert len(names) == len(set(names)) == 14


def test_every_damage_is_another_file() -> None:
    for data in (b"", b"a", b"aab", b"abab", b"\n\n"):
        files = [damage.of(data) for damage in all_damages(data)]
        assert len(files) == len(set(files))
        assert data not in files
        changed = {data[:i] + bytes((v,)) + data[i + 1 :] for i in range(len(data)) for v in range(256)} - {data}
        longer = {data[:i] + bytes((v,)) + data[i:] for i in range(len(data) + 1) for v in range(256)}
        shorter = {data[:i] + data[i + 1 :] for i in range(len(data))}
        swapped = {data[:i] + data[i + 1 : i + 2] + data[i : i + 1] + data[i + 2 :] for i in range(len(data))} - {data}
        assert set(files) == changed | longer | shorter | swapped


def test_the_logs_hold_and_end_in_every_way() -> None:
    ends = Counter(
        (result.finished, result.outcome.reason if result.outcome else "")
        for result in (audit(log.data, log.pins) for log in sound_logs())
        if result.ok
    )
    assert ends.total() == len(sound_logs()) == 31
    assert {reason for _, reason in ends} >= {"", "charm", "resign", "cancel", "limit", "timeout"}
