"""A tab is killed at each step of a join: no entry is signed twice for a place, and the player gets the seat."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from tests.support.service import Service
from tests.web.test_crash import kill_at_steps_of_a_join


def test_a_tab_is_killed_at_each_step_of_a_join(service: Service, tmp_path: Path) -> None:
    kill_at_steps_of_a_join(service, tmp_path, count(1))
