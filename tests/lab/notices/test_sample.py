"""Processes that deliver notices are killed, in a sample of what measure.py does. A planted fault is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.notices.deliverer import PLANTED
from tests.lab.notices.measure import measured, run_notices
from tests.support.cluster import Cluster
from tests.support.timed_laboratory import Wanted, see

SAMPLE = "notices are deleted before they are sent"
"""The fault that is tried here. `measure --planted` tries each."""


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_every_notice_arrives_and_none_is_stale(tmp_path: Path, cluster: Cluster, store: str) -> None:
    database = cluster.url(cluster.create("migrated")) if store == "postgres" else None
    done = run_notices(tmp_path, Wanted(8, 3), database, kills=0.05)
    assert done.wrong == []
    assert done.counts["notices arrived"] >= 8


def test_a_notice_that_is_lost_is_seen(tmp_path: Path) -> None:
    assert see(measured, Wanted(8, 5, SAMPLE), PLANTED[SAMPLE], tmp_path, lambda: None).wrong
