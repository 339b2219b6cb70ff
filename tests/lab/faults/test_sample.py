"""Failing calls leave nothing incomplete, in a sample of what measure.py does; and it finds planted faults."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from hkoji_server.store.sqlite.connections import SqliteReader
from hkoji_server.store.sqlite.writer import Prepared, SqliteWriter
from sqlalchemy import Connection

from hkoji.errors import HkojiError, StorageError
from tests.lab.faults.measure import judge
from tests.lab.faults.scenario import Scenario, run_with
from tests.lab.faults.sqlite import KINDS


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    scenario = run_with(tmp_path_factory.mktemp("clean"))
    assert scenario.complaints == []
    return scenario


def test_the_scenario_makes_calls_of_every_kind_and_the_same_ones_each_time(clean: Scenario, tmp_path: Path) -> None:
    assert all(clean.fault.calls[kind] for kind in KINDS)
    again = run_with(tmp_path)
    assert (again.fault.calls, again.verdicts) == (clean.fault.calls, clean.verdicts)
    assert sum(fact.table == "opening" for fact in clean.ledger.facts) >= 3
    assert {409, 200, 201} <= {status for _, status in clean.verdicts}


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_fails_leaves_nothing_half_done(clean: Scenario, kind: str, tmp_path: Path) -> None:
    """One call of each kind, in the middle of the game."""
    scenario = run_with(tmp_path, kind, clean.fault.calls[kind] * 2 // 5)
    assert scenario.fault.hit
    assert judge(scenario, clean.verdicts) == []


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The calls of the driver in a run without a fault."""
    return run_with(tmp_path_factory.mktemp("calls"), "driver").fault.names


def test_a_stop_ends_well_though_its_tidying_up_fails(calls: list[str], tmp_path: Path) -> None:
    # The checkpoint is the last call of a stop.
    checkpoint = next(number for number, name in enumerate(calls, 1) if "wal_checkpoint" in name)
    at = max(number for number, name in enumerate(calls[:checkpoint], 1) if name.startswith("rollback"))
    scenario = run_with(tmp_path, "driver", at)
    assert (scenario.fault.hit, scenario.complaints) == (calls[at - 1], [])


def _careless(self: SqliteWriter, connection: Connection, batch: list[Prepared]) -> None:
    """Without a transaction, the statements of a move are committed one by one."""
    for job, work in batch:
        try:
            job.result = work(connection)
        except Exception as error:
            job.error = error if isinstance(error, HkojiError) else StorageError("no", hint="no")


def test_a_writer_without_transactions_is_detected(tmp_path: Path) -> None:
    with patch.object(SqliteWriter, "_write", _careless):
        calls = run_with(tmp_path / "without", "driver").fault.names
        at = 1 + next(number for number, name in enumerate(calls) if name.startswith("execute INSERT INTO opening"))
        scenario = run_with(tmp_path / "with", "driver", at)
    assert any("the opening of entry" in complaint for complaint in scenario.complaints)


def test_an_error_not_reported_as_one_of_storage_is_detected(calls: list[str], tmp_path: Path) -> None:
    def raw(_: SqliteReader, error: Exception) -> RuntimeError:
        return RuntimeError(str(error))

    at = 1 + next(number for number, name in enumerate(calls) if name.startswith("execute SELECT entry.text"))
    with patch.object(SqliteReader, "_unreadable", raw):
        scenario = run_with(tmp_path, "driver", at)
    assert any("the failure is reported as 500" in complaint for complaint in scenario.complaints)
