"""A sample of the random stories; and letters that take the place of the one about a turn without showing it."""

from __future__ import annotations

import pytest
from hkoji_server.service.mail import letter_facts

from tests.lab.mail.stories import run_stories
from tests.support.letters import KINDS


def test_everybody_who_owes_a_move_has_a_letter_by_which_it_can_be_made() -> None:
    done = run_stories(2, seed=4)
    assert done.wrong == []
    assert done.counts["turns"] > 0
    assert done.counts["kills"] > 0


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letter_facts, "SHOW_TURN", KINDS)
    done = run_stories(1, seed=14)
    assert len(done.wrong) == 1
    assert "no letter takes it" in done.wrong[0]
