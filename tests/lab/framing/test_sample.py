"""No file of evidence convicts the honest: a sample of the files that measure.py tries."""

from __future__ import annotations

import random

import pytest

from hkoji.audit.evidence_file import EvidenceFile, format_evidence
from hkoji.game import entry_kinds
from tests.lab.framing.measure import accused, false_game, planted
from tests.support.adversary import follow
from tests.support.forgery import every_pin, pins
from tests.support.framed_files import damages, frame
from tests.support.framing import evidence, head_of, innocents, shown, stories
from tests.support.table import new_game


def test_an_accusation_of_the_innocent_would_be_detected() -> None:
    """Shows that the laws here can fail."""
    told, _ = stories()[0]
    bad = format_evidence(evidence(told, refused=(shown(told.table, 0, head="ab" * 32),)))
    for known in (pins(told.table), {}):
        assert len(accused(bad, known) & innocents(told)) == 1


@pytest.mark.parametrize("number", range(9))
def test_no_file_that_bob_puts_together_convicts_the_others(number: int) -> None:
    """Bob may have convicted himself."""
    rng = random.Random(number)
    told = stories()[number][0]
    for _ in range(25):
        text = frame(rng, stories()[number])
        for known in (every_pin(told.table), {}):
            assert not accused(text, known) & innocents(told), text


@pytest.mark.parametrize("number", range(3))
def test_no_play_of_cards_not_held_convicts_the_opponent_or_without_the_seed_its_player(number: int) -> None:
    rng = random.Random(number)
    for _ in range(20):
        tried = false_game(rng)
        for known in (every_pin(tried.told.table), {}):
            assert not accused(tried.text, known) & innocents(tried.told, tried.guilty), tried.text


def test_an_audit_that_judges_plays_by_their_order_is_found() -> None:
    rng = random.Random(1)
    with planted():
        tried = [false_game(rng) for _ in range(20)]
        found = [accused(each.text, pins(each.told.table)) & innocents(each.told, each.guilty) for each in tried]
    assert {"alice"} <= set().union(*found)


def test_no_damage_to_an_honest_file_convicts_anybody() -> None:
    for number in (1, 4):
        told, _ = stories()[number]
        short = evidence(told, 0, refused=(told.table.lines[-1], told.seen_by(0)[-1], told.heads[0]))
        for text in damages(format_evidence(short), random.Random(number), 40):
            assert accused(text, pins(told.table)) == set()


def test_no_damage_to_a_file_that_convicts_one_convicts_another() -> None:
    table = new_game(3).play(4)
    lines = tuple(follow(table.server, table.lines[-1], entry_kinds.Timeout(seat)) for seat in (0, 1))
    text = format_evidence(
        EvidenceFile(table.game, {}, table.text, (shown(table, 0),), lines, (head_of(table, 5, after=121),))
    )
    assert accused(text, pins(table)) == {"server"}
    for each in damages(text, random.Random(1), 60):
        assert accused(each, pins(table)) <= {"server"}
