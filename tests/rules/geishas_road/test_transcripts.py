"""Faulty transcripts of Geisha's Road are refused: the error names the line and the fault."""

from __future__ import annotations

import pytest

from hkoji.errors import MalformedError
from hkoji.rules.transcript import format_rounds, parse_transcript
from tests.rules.geishas_road.positions import game, unseen

HEAD = '[Ruleset "geishas-road/1 first=host markers=choose"]\n'
DEALT = "1. =A1A2B3C4D1E2/A3A4B1B2C1C2/C3D2B4D3D4E1E3E4"
BEGUN = f"{DEALT} !A !B +C3"
ORDERED = unseen("RC1 CA1B2C4D1-A1B2 GA4B3E1-E1")
"""After it the order of A4 and B3 is due: the next Light lanterns are worth 3 and 4."""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{DEALT}/E4", "two hands of 6 and 8 cards to draw"),
        (f"{DEALT}/X", "two hands of 6 and 8 cards to draw"),
        ("1. =A1A2B3C4D1E2/A1A3B1B2C1C2", "a card twice"),
        ("1. =A1A2B3C4D1E/XXXXXX", "no card 'E'"),
        ("*AB", "a chance cannot happen now"),
        (f"{DEALT} +C3", "pick is due"),
        (f"{DEALT} !A !A", "a marker in the middle"),
        (f"{DEALT} !A ^0", "a marker in the middle"),
        (f"{DEALT} !A !B !C", "'!C' comes where draw is due"),
        (f"{DEALT} !F", "one of the colours A to E"),
        (f"{BEGUN} RA3", "the hand does not have A3"),
        (f"{BEGUN} RA1-A1", "'-A1' comes where draw is due"),
        (f"{BEGUN} GA1B3C4-A2", "can be answered -A1 or -B3 or -C4"),
        (f"{BEGUN} GA1B3C4-A1>B3C4", "'>B3C4' comes where draw is due"),
        (f"{BEGUN} CA1B3C3C4-B3A1", "both orders come to the same here, so it is written -A1B3"),
        (f"{BEGUN} CA1B3C3C4-C3", "can be answered -A1B3 or -C3C4"),
        (f"{BEGUN} CA1B3C3C4-A1B3-C3C4", "'-C3C4' comes where draw is due"),
        (f"{BEGUN} IXX", "X stands for cards that are not known"),
        (f"{BEGUN} ?A1/B2", "a reveal cannot happen now"),
        (f"{BEGUN}\n#0 rounds", "the game has not ended by rounds"),
        (f"{BEGUN}\n#0 charm", "the game has not ended by charm"),
        (f"{BEGUN}\n2. =XXXXXX/XXXXXX", "a deal cannot happen now"),
    ],
)
def test_a_wrong_text_is_refused_with_line_and_reason(text: str, words: str) -> None:
    with pytest.raises(MalformedError, match=rf"line {2 + text.count(chr(10))}") as caught:
        parse_transcript(HEAD + text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (" +X", "order is due"),
        (">A4E1", ">A4B3 or >B3A4"),
        (">A4", "two cards that are left"),
        (" -E1", "the cards left are played >A4B3 or >B3A4"),
        (">A4B3>B3A4", "'>B3A4' comes where draw is due"),
    ],
)
def test_an_order_that_is_due_is_written(more: str, words: str) -> None:
    with pytest.raises(MalformedError) as caught:
        game(f"1. {ORDERED}{more}")
    assert words in str(caught.value)


@pytest.mark.parametrize("order", [">A4B3", ">B3A4", " >A4B3", " order,b3,a4", " a4b3"])
def test_an_order_may_stand_apart_and_is_joined_when_written(order: str) -> None:
    play = game(f"1. {ORDERED}{order}")
    (line,) = list(format_rounds(play.ruleset, play.events))[-1:]
    assert line.endswith(("GA4B3E1-E1>A4B3", "GA4B3E1-E1>B3A4"))
    assert play.states[-1].due == "draw"
