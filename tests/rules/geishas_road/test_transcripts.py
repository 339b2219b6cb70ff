"""The order of two cards of Geisha's Road in a transcript."""

from __future__ import annotations

import pytest

from hkoji.rules.transcript import format_rounds
from tests.rules.geishas_road.positions import game, unseen

ORDERED = unseen("RC1 CA1B2C4D1-A1B2 GA4B3E1-E1")
"""After it the order of A4 and B3 is due: the next Light lanterns are worth 3 and 4."""


@pytest.mark.parametrize("order", [">A4B3", ">B3A4", " >A4B3", " order,b3,a4", " a4b3"])
def test_an_order_may_stand_apart_and_is_joined_when_written(order: str) -> None:
    play = game(f"1. {ORDERED}{order}")
    (line,) = list(format_rounds(play.ruleset, play.events))[-1:]
    assert line.endswith(("GA4B3E1-E1>A4B3", "GA4B3E1-E1>B3A4"))
    assert play.states[-1].due == "draw"
