"""The checker of pages finds what `hkoji audit` finds, and names whom it names, in each engine.

A sample; `python -m tests.lab.two_audits.measure N SEED --page` compares them on any number of logs.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.lab.two_audits.damaged_logs import cases
from tests.lab.two_audits.timed_logs import time_cases
from tests.support.browsers import BrowserName
from tests.support.chance import ENVIRONMENT
from tests.support.page_audit import by_page
from tests.support.page_modules import ENGINES
from tests.support.shell_audit import by_hkoji
from tests.support.vectors import FOLDER


@pytest.mark.parametrize("engine", ENGINES)
def test_the_page_agrees_on_one_log_of_every_sort_of_damage(engine: BrowserName) -> None:
    rng = random.Random(f"{os.environ.get(ENVIRONMENT, '')} {engine}")
    logs = [*cases(rng), *time_cases(rng)]
    found = by_page(engine, ((case.log, case.pins) for case in logs))
    differences = [
        f"{case.name}: the page says {page}, hkoji says {hkoji}"
        for case, page in zip(logs, found, strict=True)
        if not page.agrees(hkoji := by_hkoji(case.log, case.pins))
    ]
    assert differences == []
    assert len(logs) > 90


def test_the_page_does_not_understand_the_dealer_of_a_sealed_game() -> None:
    logs = sorted(FOLDER.glob("sealed-*.jsonl"))
    found = by_page("node", ((path.read_bytes(), {}) for path in logs))
    assert [(each.exit, each.found, each.holds) for each in found] == [(3, ((1, 0),), 0)] * len(logs)
    assert logs
