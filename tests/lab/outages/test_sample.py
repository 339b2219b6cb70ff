"""Two processes are struck in every way, in a sample of what measure.py does. Planted faults are found."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial

import pytest

from tests.lab.outages.measure import Plan, measured, tormented
from tests.lab.outages.planted import PLANTED
from tests.support.at_the_same_time import at_the_same_time
from tests.support.cluster import Cluster
from tests.support.timed_laboratory import Done, Wanted, see

STRIKES = {
    "sqlite": ("both stand still", "one waits long before an append", "one is killed while it records"),
    "postgres": (
        "one stops before its commit, and the other before that",
        "one waits long before its commit",
        "a clock goes wrong by an hour",
        "one is killed while it records",
    ),
}
"""Those of each story, by the store, the last of which always makes an outage; `measure` strikes in every way."""
SAMPLES = {
    "sqlite": "decisions of any age are written",
    "postgres": "outages are recorded without the lock",
}
"""The faults that are tried here, by the store. `measure --planted` tries each, which takes a quarter of a minute."""

Results = Mapping[tuple[str, str], Future[Done]]
"""The result of each story, by its name and the store."""


@pytest.fixture(scope="module")
def results(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """All stories, each with a service of its own. They mostly wait, and so they go on at the same time."""

    def database(store: str) -> str | None:
        return cluster.url(cluster.create("migrated")) if store == "postgres" else None

    folder = tmp_path_factory.mktemp
    return at_the_same_time(
        {
            ("struck", each): partial(tormented, folder("struck"), Plan(len(strikes), strikes, seed=2), database(each))
            for each, strikes in STRIKES.items()
        }
        | {
            ("planted", each): partial(
                see,
                measured,
                Wanted(1, seed=5, fault=fault),
                PLANTED[fault],
                folder("planted"),
                partial(database, each),
            )
            for each, fault in SAMPLES.items()
        }
    )


@pytest.mark.parametrize("store", SAMPLES)
def test_nothing_is_contradicted(results: Results, store: str) -> None:
    done = results["struck", store].result()
    assert done.wrong == []
    assert done.counts["outages"] >= 1
    assert done.counts["heads"] > 5
    assert done.counts["entries"] > 20


@pytest.mark.parametrize("store", SAMPLES)
def test_a_fault_of_the_service_is_seen(results: Results, store: str) -> None:
    assert results["planted", store].result().wrong


def test_the_fault_tried_on_a_file_can_do_harm_there() -> None:
    assert not PLANTED[SAMPLES["sqlite"]].only_on_postgres
