"""Moves as people type them: which texts are understood, their canonical form, and the errors for the others."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import NotationError
from hkoji.rules.geishas_road import actions
from hkoji.rules.geishas_road.notation import parse
from hkoji.rules.protocol import DECISION_DUE, Due
from tests.rules.notation_texts import explains, is_brief_about
from tests.support import naive_geishas_road as naive

HANDS = st.permutations([f"{colour}{number}" for colour in naive.COLOURS for number in (1, 2, 3, 4)])

UNDERSTOOD = [
    ("RA3", "RA3"),
    ("ra3", "RA3"),
    (" r a3 ", "RA3"),
    ("r A 3", "RA3"),
    ("reveal A3", "RA3"),
    ("REVEALa3", "RA3"),
    ("IB2C1", "IB2C1"),
    ("IC1B2", "IC1B2"),
    ("i b2, c1", "IB2C1"),
    ("intrigue c1 b2", "IC1B2"),
    ("ixx", "IXX"),
    ("IB2X", "IB2X"),
    ("intrigue b2 x", "IB2X"),
    ("GA1B2C4", "GA1B2C4"),
    ("gc4a1b2", "GA1B2C4"),
    ("gift a1 b2 c4", "GA1B2C4"),
    ("Gift C4,B2,A1", "GA1B2C4"),
    ("CA1B2C3D4", "CA1B2C3D4"),
    ("cd4c3b2a1", "CA1B2C3D4"),
    ("c c3d4 / b2a1", "CA1B2C3D4"),
    ("c b2 c3 / a1 d4", "CA1D4B2C3"),
    ("competition c1 c2 c3 c4", "CC1C2C3C4"),
    ("compete c4c3/c2c1", "CC1C2C3C4"),
    ("-B2", "-B2"),
    ("- b2", "-B2"),
    ("take b2", "-B2"),
    ("-B2A1", "-B2A1"),
    ("-A1B2", "-A1B2"),
    ("take b2, a1", "-B2A1"),
    ("answer a1 b2", "-A1B2"),
    ("choose b2", "-B2"),
    (">C4A1", ">C4A1"),
    ("> c4 a1", ">C4A1"),
    ("order c4 a1", ">C4A1"),
    ("play a1 c4", ">A1C4"),
    ("!A", "!A"),
    ("! a", "!A"),
    ("marker a", "!A"),
    ("pick E", "!E"),
    ("^0", "^0"),
    ("^ 1", "^1"),
    ("^host", "^0"),
    ("start host", "^0"),
    ("starter guest", "^1"),
    ("first 1", "^1"),
]


@pytest.mark.parametrize(("typed", "canonical"), UNDERSTOOD)
def test_what_people_type(typed: str, canonical: str) -> None:
    """The sign or the word says which decision it is, whatever is due."""
    for due in DECISION_DUE:
        assert parse(typed, due=due) == canonical
        assert parse(canonical, due=due) == canonical


@pytest.mark.parametrize(
    ("due", "typed", "canonical"),
    [
        (Due.ANSWER, "b2", "-B2"),
        (Due.ANSWER, "c4 a1", "-C4A1"),
        (Due.ANSWER, "C1", "-C1"),
        (Due.ORDER, "c4 a1", ">C4A1"),
        (Due.ORDER, "C1,C4", ">C1C4"),
        (Due.PICK, "c", "!C"),
        (Due.PICK, "A", "!A"),
        (Due.PICK, "0", "^0"),
        (Due.PICK, "guest", "^1"),
    ],
)
def test_what_is_due_makes_the_sign_needless(due: Due, typed: str, canonical: str) -> None:
    assert parse(typed, due=due) == canonical
    with pytest.raises(NotationError):
        parse(typed)


@pytest.mark.parametrize(
    ("due", "typed", "words"),
    [
        (Due.ACT, "a1", "moves begin with"),
        (Due.ANSWER, "a", "moves begin with"),
        (Due.ANSWER, ",", "one card of a gift or one pair"),
        (Due.ANSWER, "a1 b2 c3", "one card of a gift or one pair"),
        (Due.ORDER, "a1", "two cards that are left"),
        (Due.PICK, "f", "one of the colours A to E"),
        (Due.PICK, "2", "one of the colours A to E"),
        (Due.PICK, "a1", "moves begin with"),
        (Due.PICK, "ab", "moves begin with"),
        (Due.PICK, ",,", "moves begin with"),
    ],
)
def test_what_is_due_makes_no_sense_of_everything(due: Due, typed: str, words: str) -> None:
    explains(lambda text: parse(text, due=due), typed, words)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("1A3", "moves begin with"),
        ("hello", "moves begin with"),
        ("A3", "moves begin with"),
        ("=A1", "moves begin with"),
        ("+A1", "moves begin with"),
        ("reveal", r"reveal \(R\) takes 1 card, not 0"),
        ("RA3A4", r"reveal \(R\) takes 1 card, not 2"),
        ("IB2", r"intrigue \(I\) takes 2 cards, not 1"),
        ("gift a1 b2", r"gift \(G\) takes 3 cards, not 2"),
        ("GA1B2C3D4", r"gift \(G\) takes 3 cards, not 4"),
        ("CA1B2C3", r"competition \(C\) takes 4 cards, not 3"),
        ("CA1B2C3D4E1", r"competition \(C\) takes 4 cards, not 5"),
        ("c a1/b2c3d4", "between the two pairs"),
        ("c a1b2c3/d4", "between the two pairs"),
        ("c a1/b2/c3/d4", "between the two pairs"),
        ("c a1b2/c3/d4", "between the two pairs"),
        ("c /a1b2c3d4", "between the two pairs"),
        ("competition a1b2c3d4/", "between the two pairs"),
        ("RF1", "not colours A to E with numbers 1 to 4"),
        ("RA5", "not colours A to E with numbers 1 to 4"),
        ("RA0", "not colours A to E with numbers 1 to 4"),
        ("R3A", "not colours A to E with numbers 1 to 4"),
        ("GA1B2C4-B2", "not colours A to E with numbers 1 to 4"),
        ("-B2>C4A1", "not colours A to E with numbers 1 to 4"),
        ("RA\u0663", "plain letters"),  # `int()` accepts this digit, we do not
        ("R\u0410\u0033", "plain letters"),  # a Cyrillic letter that looks like A
        ("IB2B2", "only one B2 card"),
        ("gift a1 a1 b2", "only one A1 card"),
        ("c a1a1/b2b2", "only one A1 card"),
        ("-A1A1", "only one A1 card"),
        (">A1A1", "only one A1 card"),
        ("RX", "only for the cards of an intrigue"),
        ("GXXX", "only for the cards of an intrigue"),
        ("CA1XXX", "only for the cards of an intrigue"),
        ("IXB2", "only for the cards of an intrigue"),
        ("-", "one card of a gift or one pair"),
        ("-A1B2C3", "one card of a gift or one pair"),
        ("take", "one card of a gift or one pair"),
        ("-X", "name their cards"),
        ("-XX", "name their cards"),
        (">XX", "name their cards"),
        (">A1", "two cards that are left"),
        (">A1B2C3", "two cards that are left"),
        ("order", "two cards that are left"),
        ("!", "one of the colours A to E"),
        ("!F", "one of the colours A to E"),
        ("!AB", "one of the colours A to E"),
        ("!A1", "one of the colours A to E"),
        ("!0", "one of the colours A to E"),
        ("marker", "one of the colours A to E"),
        ("^", "0 or host, 1 or guest"),
        ("^2", "0 or host, 1 or guest"),
        ("^00", "0 or host, 1 or guest"),
        ("^+1", "0 or host, 1 or guest"),
        ("start me", "0 or host, 1 or guest"),
    ],
)
def test_what_is_not_understood_is_explained(typed: str, words: str) -> None:
    explains(parse, typed, words)


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


@pytest.mark.parametrize("text", ["", "R", "A1", "r A1", "RA1 ", "-A1", "!A", "^0", ">A1B2", "IXB2", "RX", "GXXX", "S"])
def test_what_is_no_action_is_not_read_as_one(text: str) -> None:
    with pytest.raises(NotationError):
        actions.read(text)
