"""No answer begins to go out before the sync that covers its frames of the write-ahead log has returned.

This uses the record of SQLite's operations; measure_syncs.py traces the system calls of a complete service.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lab.power_cuts.measure import Record, planted, record
from tests.support.ledger import Fact


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return record(tmp_path_factory.mktemp("record"), None, 105, seed=9)


def _unsynced(kept: Record) -> list[Fact]:
    """Entries that were acknowledged before a sync that followed their writing."""
    early = []
    for fact in kept.facts:
        if fact.table != "entry" or '"kind":"offer"' in fact.row[0] or fact.since == 0:
            continue
        head = json.loads(fact.row[2])["head"].encode()
        written = next(
            place
            for place, call in enumerate(kept.log)
            if call.what == "write" and call.name.endswith("-wal") and head in call.data
        )
        synced = next(
            (
                place
                for place, call in enumerate(kept.log[written:], written)
                if call.what == "sync" and call.name.endswith("-wal")
            ),
            len(kept.log),
        )
        if synced >= fact.since:
            early.append(fact)
    return early


def test_every_acknowledged_entry_was_synced_before(kept: Record) -> None:
    assert sum(fact.table == "entry" for fact in kept.facts) > 25
    assert _unsynced(kept) == []


def test_a_store_that_syncs_less_is_detected(tmp_path: Path) -> None:
    with planted("NORMAL"):
        careless = record(tmp_path, None, 105, seed=6)
    assert _unsynced(careless)
