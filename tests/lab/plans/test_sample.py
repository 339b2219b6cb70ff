"""Games with plans that are disturbed in every way, in a sample of what measure.py does. Planted faults are found."""

from __future__ import annotations

import re

import pytest

from tests.lab.plans.measure import measured
from tests.lab.plans.planted import PLANTED


def test_no_move_of_a_plan_is_illegal_stale_early_or_made_twice() -> None:
    done = measured(40, seed=4)
    assert done.wrong == []
    assert done.counts["moves by plans"] > 5
    assert done.counts["trials with moves"] > 5
    assert done.counts["killed"] > 5
    assert done.counts["faster"] > 20


@pytest.mark.parametrize("fault", ["own moves do not end a plan", "the time of a reply is drawn anew"])
def test_a_planted_fault_is_found(fault: str) -> None:
    """`measure --planted` tries the others."""
    done = measured(60, seed=7, fault=fault)
    assert any(re.search(PLANTED[fault].found_as, each) for each in done.wrong), done.wrong
