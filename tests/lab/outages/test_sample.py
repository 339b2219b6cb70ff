"""Two processes are struck in every way, in a sample of what measure.py does. Planted faults are found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lab.outages.measure import FOUND_BY, Plan, tormented
from tests.lab.outages.planted import ON_POSTGRES, PLANTED

STRIKES = (
    "both stand still",
    "one stops within a transaction, then both",
    "one is killed while it records",
    "one waits long before its commit",
    "a clock goes wrong by an hour",
)


@pytest.mark.parametrize("database", [None, "postgres"])
def test_nothing_is_contradicted(tmp_path: Path, database: str | None, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(database) if database else None
    done = tormented(tmp_path, Plan(len(STRIKES), STRIKES, seed=2), url)
    assert done.wrong == []
    assert done.counts["outages"] >= 1
    assert done.counts["heads"] > 5
    assert done.counts["entries"] > 20


FAULTS = {
    "decisions of any age are written": "contradicts the head",
    "outages are recorded without the lock": "lies in the outage",
    "outages begin after the last beat": "lies in the outage",
    "heads wait for nothing": "contradicts the head",
    "the clock is trusted": "contradicts the head",
}


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in ON_POSTGRES])
def test_a_fault_of_the_service_is_seen(tmp_path: Path, fault: str) -> None:
    _see(fault, tmp_path, None)


@pytest.mark.parametrize("fault", ON_POSTGRES)
def test_on_postgresql_a_fault_of_the_service_is_seen(tmp_path: Path, postgres: str, fault: str) -> None:
    _see(fault, tmp_path, postgres)


def _see(fault: str, folder: Path, database: str | None) -> None:
    done = tormented(folder, Plan(_ENOUGH, (FOUND_BY[fault],), fault, seed=5), database)
    assert any(re.search(FAULTS[fault], complaint) for complaint in done.wrong), (done.wrong, done.counts)


_ENOUGH = 3
"""The strikes in which a fault shows; one strike may find no entry to delay."""


def test_all_faults_are_tried() -> None:
    assert set(FAULTS) == set(PLANTED) == set(FOUND_BY)
