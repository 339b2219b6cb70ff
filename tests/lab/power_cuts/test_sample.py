"""Power cuts lose nothing acknowledged, in a sample of what measure.py does; and it finds planted losses."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.lab.power_cuts.disk import CHOICES, Content, Disk
from tests.lab.power_cuts.measure import Record, cut, planted, record
from tests.support.sqlite_files import Call


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return record(tmp_path_factory.mktemp("record"), None, 150, seed=5)


def test_a_record_has_what_it_is_for(kept: Record) -> None:
    """In the middle of the record, players were answered while the database was written and synced."""
    told = {fact.table for fact in kept.facts}
    assert told == {"player", "token", "challenge", "entry", "secret", "statement"} | ({"opening"} & told)
    assert sum(fact.table == "entry" for fact in kept.facts) > 60
    assert {call.what for call in kept.log} == {"open", "write", "truncate", "sync", "delete", "folder"}
    assert {call.name for call in kept.log} >= {"hkoji.sqlite3", "hkoji.sqlite3-wal", "hkoji.sqlite3-journal"}
    positions = [fact.since for fact in kept.facts]
    assert 0 < min(positions) < max(positions) <= len(kept.log)


def test_no_power_cut_loses_what_was_acknowledged(kept: Record, tmp_path: Path) -> None:
    told = cut(kept, 70, 1, tmp_path / "image", deep=6)
    assert told.wrong == []
    assert sum(told.counts.values()) == 70
    assert set(told.counts) == set(CHOICES)


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_a_store_that_loses_writes_is_detected(synchronous: str, tmp_path: Path) -> None:
    with planted(synchronous):
        careless = record(tmp_path, None, 45, seed=6)
    told = cut(careless, 20, 1, tmp_path / "image", deep=100)
    assert any("was acknowledged and is lost" in complaint for complaint in told.wrong)


def test_an_acknowledgement_before_its_sync_is_detected(kept: Record, tmp_path: Path) -> None:
    """Pretends that each answer went out four syncs earlier; with one sync, few images fall between the two."""
    syncs = [0] * 4 + [place for place, call in enumerate(kept.log) if call.what == "sync"]
    early = [fact._replace(since=[place for place in syncs if place < fact.since][-4]) for fact in kept.facts]
    told = cut(kept._replace(facts=early), 30, 1, tmp_path / "image", deep=100)
    assert any("is lost" in complaint for complaint in told.wrong)


def test_synced_writes_stay_and_the_rest_may_go() -> None:
    """The model of the disk, on a file of two sectors."""
    file = Content(b"a" * 1024)
    file.pending = [Call("write", "x", 0, b"b" * 1024), Call("write", "x", 512, b"c" * 1024)]
    rng = random.Random(1)
    seen: set[bytes] = set()
    for choice in CHOICES:
        seen |= {file.image(rng, choice) for _ in range(200)}
    whole = {bytes(image[place] for place in (0, 512)) for image in seen}
    assert {b"aa", b"ba", b"ab", b"ac", b"bb", b"bc"} <= whole
    assert {len(image) for image in seen} == {1024, 1536}
    assert b"b" * 1024 in seen
    assert b"b" * 512 + b"c" * 1024 in seen
    file.sync()
    assert {file.image(rng, choice) for choice in CHOICES} == {b"b" * 512 + b"c" * 1024}


def test_a_name_is_there_or_not_until_the_folder_is_synced() -> None:
    disk = Disk({"old": b"1"})
    for call in (Call("open", "new"), Call("write", "new", 0, b"2"), Call("sync", "new"), Call("delete", "old")):
        disk.apply(call)
    rng = random.Random(1)
    names = {tuple(sorted(disk.image(rng, "everything"))) for _ in range(100)}
    assert names == {("old",), ("new", "old"), ("new",)}
    disk.apply(Call("folder", ""))
    assert disk.image(rng, "nothing") == {"new": b"2"}
