"""Moves as people type them: which texts are understood, their canonical form, and the errors for the others."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import NotationError
from hkoji.rules.geishas_road import actions
from hkoji.rules.geishas_road.actions import parse
from hkoji.rules.protocol import DECISION_DUE
from hkoji.rules.transcript import format_rounds
from tests.rules.geishas_road.positions import game, unseen
from tests.rules.notation_texts import is_brief_about
from tests.support import naive_geishas_road as naive

HANDS = st.permutations([f"{colour}{number}" for colour in naive.COLOURS for number in (1, 2, 3, 4)])


@pytest.mark.parametrize("piece", ["a1", "x", " ", ",", "/", "-", ">", "a", "1", "gift ", "competition", "\0", "a1,/ "])
def test_a_long_text_is_refused_fast_and_not_repeated_whole(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    for start in ("", "gift ", "c", "-", ">", "!", "^", "i", "order"):
        is_brief_about(parse, f"{start}{text}?")
    for due in DECISION_DUE:
        is_brief_about(lambda typed, due=due: parse(typed, due=due), text)  # type: ignore[misc]


@given(code=st.sampled_from("RIGC"), cards=HANDS, seed=st.integers(0, 2**32 - 1))
def test_writing_does_not_depend_on_how_cards_are_typed(code: str, cards: list[str], seed: int) -> None:
    """Except an intrigue, whose first card is kept."""
    chance = random.Random(seed)
    cards = cards[: actions.SIZES[code]]
    canonical = naive.spell(code, cards)
    if code == "C":
        pairs = [chance.sample(cards[:2], 2), chance.sample(cards[2:], 2)]
        cards = [card for pair in chance.sample(pairs, 2) for card in pair]
    elif code == "G":
        chance.shuffle(cards)
    word = chance.choice([code, code.lower(), actions.NAMES[code]])
    typed = word + "".join(chance.choice(["", " ", ", "]) + chance.choice([card, card.lower()]) for card in cards)
    assert parse(typed) == parse(canonical) == canonical
    assert actions.read(canonical).code == code


@given(code=st.sampled_from("RIGC"), cards=HANDS)
def test_only_canonical_notation_is_played(code: str, cards: list[str]) -> None:
    """The engine, unlike the parser of typed moves, reads one form of each action."""
    cards = cards[: actions.SIZES[code]]
    text, canonical = code + "".join(cards), naive.spell(code, cards)
    if text == canonical:
        assert actions.write(code, tuple(cards)) == text
        return
    with pytest.raises(NotationError, match=f"canonical form is {canonical}"):
        actions.read(text)


# --- transcripts ------------------------------------------------------------------------------------------------------


ORDERED = unseen("RC1 CA1B2C4D1-A1B2 GA4B3E1-E1")
"""After it the order of A4 and B3 is due: the next Light lanterns are worth 3 and 4."""


@pytest.mark.parametrize("order", [">A4B3", ">B3A4", " >A4B3", " order,b3,a4", " a4b3"])
def test_an_order_may_stand_apart_and_is_joined_when_written(order: str) -> None:
    play = game(f"1. {ORDERED}{order}")
    (line,) = list(format_rounds(play.ruleset, play.events))[-1:]
    assert line.endswith(("GA4B3E1-E1>A4B3", "GA4B3E1-E1>B3A4"))
    assert play.states[-1].due == "draw"
