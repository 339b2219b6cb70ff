"""Games run out of time on a service that is killed, in a sample of what measure.py does. Planted faults are found."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.timeouts.measure import FOUND_BY, Plan, run_out
from tests.lab.timeouts.planted import PLANTED
from tests.lab.timeouts.service import NARROW
from tests.support.cluster import Cluster


@pytest.mark.parametrize("database", [None, "postgres"])
def test_each_game_ends_by_one_timeout(tmp_path: Path, database: str | None, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(database) if database else None
    done = run_out(tmp_path, Plan(12, pairs=12, seed=3), url)
    assert done.wrong == []
    assert done.counts["kind timeout"] >= 12
    assert done.counts["workers killed"] + done.counts["services killed"] > 5


def test_a_gift_that_is_written_late_is_not_overlooked(tmp_path: Path) -> None:
    """The honest service, in the situation in which a fault of the store is found."""
    done = run_out(tmp_path, Plan(8, pairs=8, stories=("gifts",), waits=NARROW, seed=4), None)
    assert done.wrong == []
    assert done.counts["gifts acknowledged"] > 3


FAULTS = {
    "the store does not compare deadlines": "is not 1 s after",
    "gifts do not move the deadline": "is not 1 s after",
    "gifts are acknowledged and not kept": "is not 1 s after|was credited 0 s",
    "late entries are taken": "is late",
    "timeouts come early": "the deadline of the log",
}


_TRIES = 3
"""How often a fault has the chance to do harm: that depends on which process is first."""


SAMPLE = "the store does not compare deadlines"
"""The fault that is tried here. `measure --planted` tries each, which takes a quarter of a minute."""


def test_a_fault_of_the_store_is_seen(tmp_path: Path) -> None:
    _see(SAMPLE, tmp_path, lambda: None)


def test_on_postgresql_a_fault_of_the_store_is_seen(tmp_path: Path, cluster: Cluster) -> None:
    _see(SAMPLE, tmp_path, lambda: cluster.url(cluster.create("migrated")))


def _see(fault: str, folder: Path, database: Callable[[], str | None]) -> None:
    wrong: list[str] = []
    for number in range(_TRIES):
        (folder / f"{number}").mkdir()
        plan = Plan(8, pairs=8, fault=fault, stories=(FOUND_BY[fault],), waits=NARROW, seed=5 + number)
        wrong += run_out(folder / f"{number}", plan, database()).wrong
        if any(re.search(FAULTS[fault], complaint) for complaint in wrong):
            return
    pytest.fail(f"{fault}: {wrong}")


def test_every_fault_has_words_by_which_it_is_found() -> None:
    assert set(FAULTS) == set(PLANTED) == set(FOUND_BY)
