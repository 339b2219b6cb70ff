"""Games run out of time on a service that is killed, in a sample of what measure.py does. Planted faults are found."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial

import pytest

from tests.lab.timeouts.measure import Plan, measured, run_out
from tests.lab.timeouts.planted import PLANTED
from tests.lab.timeouts.service import NARROW
from tests.support.at_the_same_time import at_the_same_time
from tests.support.cluster import Cluster
from tests.support.timed_laboratory import Done, Wanted, see

SAMPLE = "the store does not compare deadlines"
"""The fault that is tried here. `measure --planted` tries each, which takes a quarter of a minute."""
KILLS = 12
"""Most games run out of time meanwhile. On a slow machine a service that is killed without end does nothing."""
STORES = ("sqlite", "postgres")

Results = Mapping[tuple[str, str], Future[Done]]
"""The result of each story, by its name and the store."""


@pytest.fixture(scope="module")
def results(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """All stories, each with a service of its own. They mostly wait, and so they go on at the same time."""

    def database(store: str) -> str | None:
        return cluster.url(cluster.create("migrated")) if store == "postgres" else None

    killed = Plan(8, pairs=8, seed=3, kills=KILLS)
    narrow = Plan(8, pairs=8, stories=("gifts",), waits=NARROW, seed=4)
    planted = Wanted(8, seed=5, fault=SAMPLE)
    folder = tmp_path_factory.mktemp
    return at_the_same_time(
        {("narrow", "sqlite"): partial(run_out, folder("narrow"), narrow)}
        | {("killed", each): partial(run_out, folder("killed"), killed, database(each)) for each in STORES}
        | {
            ("planted", each): partial(
                see, measured, planted, PLANTED[SAMPLE], folder("planted"), partial(database, each)
            )
            for each in STORES
        }
    )


@pytest.mark.parametrize("store", STORES)
def test_each_game_ends_by_one_timeout(results: Results, store: str) -> None:
    done = results["killed", store].result()
    assert done.wrong == []
    assert done.counts["kind timeout"] >= 8
    assert done.counts["workers killed"] + done.counts["services killed"] > 5


def test_a_gift_that_is_written_late_is_not_overlooked(results: Results) -> None:
    """The honest service, in the situation in which a fault of the store is found."""
    done = results["narrow", "sqlite"].result()
    assert done.wrong == []
    assert done.counts["gifts acknowledged"] > 3


@pytest.mark.parametrize("store", STORES)
def test_a_fault_of_the_store_is_seen(results: Results, store: str) -> None:
    assert results["planted", store].result().wrong
