"""Two processes are struck in every way, in a sample of what measure.py does. Planted faults are found."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.outages.measure import FOUND_BY, Plan, tormented
from tests.lab.outages.planted import ON_POSTGRES, PLANTED
from tests.support.cluster import Cluster

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


_ENOUGH = 3
_TRIES = 3
"""The strikes of a try, and how often a fault has the chance to do harm: a strike may find no entry to delay."""


SAMPLE = "decisions of any age are written"
SAMPLE_ON_POSTGRES = "outages are recorded without the lock"
"""The faults that are tried here. `measure --planted` tries each, which takes a quarter of a minute."""


def test_a_fault_of_the_service_is_seen(tmp_path: Path) -> None:
    assert SAMPLE not in ON_POSTGRES
    _see(SAMPLE, tmp_path, lambda: None)


def test_on_postgresql_a_fault_of_the_service_is_seen(tmp_path: Path, cluster: Cluster) -> None:
    assert SAMPLE_ON_POSTGRES in ON_POSTGRES
    _see(SAMPLE_ON_POSTGRES, tmp_path, lambda: cluster.url(cluster.create("migrated")))


def _see(fault: str, folder: Path, database: Callable[[], str | None]) -> None:
    wrong: list[str] = []
    for number in range(_TRIES):
        (folder / f"{number}").mkdir()
        plan = Plan(_ENOUGH, (FOUND_BY[fault],), fault, seed=5 + number)
        wrong += tormented(folder / f"{number}", plan, database()).wrong
        if any(re.search(FAULTS[fault], complaint) for complaint in wrong):
            return
    pytest.fail(f"{fault}: {wrong}")


def test_every_fault_has_words_by_which_it_is_found() -> None:
    assert set(FAULTS) == set(PLANTED) == set(FOUND_BY)
