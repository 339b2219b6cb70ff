"""Failing calls to PostgreSQL leave nothing incomplete, in a sample of what measure.py does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.store.postgres.connections import LostError, PostgresConnections

from tests.lab.faults.measure import judge
from tests.lab.faults.postgres import KINDS, OnPostgres
from tests.lab.faults.scenario import Scenario, run_on
from tests.support.cluster import Cluster

_APPEND = "WITH moved AS"
_NEW_GAME = "WITH made AS"
_COMMIT = "the end of a pipeline"


@contextmanager
def _empty(cluster: Cluster) -> Iterator[OnPostgres]:
    name = cluster.create()
    try:
        yield OnPostgres(cluster.url(name))
    finally:
        cluster.drop(name)


@pytest.fixture(scope="module")
def clean(cluster: Cluster) -> Scenario:
    """A run without a fault. `names` are those of calls whose connections do not survive them."""
    with _empty(cluster) as kept:
        return run_on(kept, "lost, after")


def test_without_a_fault_calls_of_every_kind_are_made_and_all_goes_well(clean: Scenario) -> None:
    assert clean.complaints == []
    assert all(clean.fault.calls[kind] for kind in KINDS)
    assert {409, 200, 201} <= {status for _, status in clean.verdicts}
    assert any(name.startswith("CREATE TABLE") for name in clean.fault.names)  # the schema is among these calls


def _append(names: list[str]) -> int:
    """The number of the statement that writes the guest's first move."""
    return [number for number, name in enumerate(names, 1) if name.startswith(_APPEND)][6]


def _commit(names: list[str]) -> int:
    return names.index(_COMMIT, _append(names)) + 1


def _new_game(names: list[str]) -> int:
    return next(number for number, name in enumerate(names, 1) if name.startswith(_NEW_GAME))


@pytest.mark.parametrize(
    ("kind", "which", "told"), [("lost, after", _commit, 0), ("ended", _append, 0), ("no space", _new_game, 1)]
)
def test_a_failed_call_is_done_once(
    cluster: Cluster, clean: Scenario, kind: str, which: Callable[[list[str]], int], told: int
) -> None:
    """The store finds out what a lost connection has committed; after a refusal the client repeats the request."""
    with _empty(cluster) as kept:
        scenario = run_on(kept, kind, which(clean.fault.names))
    assert judge(scenario, clean.verdicts) == []
    assert scenario.failures == told


async def _hopeful(self: PostgresConnections, work: Any) -> Any:  # Any: the work on a connection
    """Treats an append whose connection was lost as done."""
    try:
        return await self.once(work)
    except LostError:
        return None, (1, None)


def test_a_store_that_takes_a_lost_append_for_done_is_detected(cluster: Cluster, clean: Scenario) -> None:
    with _empty(cluster) as kept, patch.object(PostgresConnections, "again", _hopeful):
        scenario = run_on(kept, "ended", _append(clean.fault.names))
    assert any("was acknowledged and is lost" in complaint for complaint in scenario.complaints), scenario.complaints
