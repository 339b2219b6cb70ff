"""Moves as people type them: which texts are understood, their canonical form, and the errors for the others."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import NotationError
from hkoji.rules.events import Answer, Deal, Draw, Event, Reveal
from hkoji.rules.hanamikoji import actions
from hkoji.rules.hanamikoji.actions import parse
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_KINDS, Due, State
from hkoji.rules.transcript import Transcript, format_rounds, parse_transcript
from tests.rules.notation_texts import is_brief_about
from tests.support import naive_hanamikoji as naive
from tests.support.rules import fold

HANDS = st.permutations("AABBCCDDDEEEFFFFGGGGG").map(lambda cards: cards[:4])


@pytest.mark.parametrize("piece", ["b", " ", ",", "/", "-", "3", "x", "gift ", "trade-off", "\0", "(", "b,/ "])
def test_a_long_text_is_refused_fast_and_not_repeated_whole(piece: str) -> None:
    for start in ("", "gift ", "-", "4 "):
        is_brief_about(parse, start + piece * (200_000 // len(piece)) + "?")


@given(number=st.sampled_from((1, 2, 3, 4)), cards=HANDS, seed=st.integers(0, 2**32 - 1))
def test_writing_does_not_depend_on_how_cards_are_typed(number: int, cards: list[str], seed: int) -> None:
    chance = random.Random(seed)
    cards = cards[:number]
    canonical = naive.spell(number, cards)
    if number == 4:
        pairs = [chance.sample(cards[:2], 2), chance.sample(cards[2:], 2)]
        chance.shuffle(pairs)
        cards = [*pairs[0], *pairs[1]]
    else:
        chance.shuffle(cards)
    word = chance.choice({1: ["1", "secret"], 2: ["2", "discard"], 3: ["3", "gift"], 4: ["4", "compete"]}[number])
    typed = word + "".join(chance.choice(["", " ", ", "]) + chance.choice([card, card.lower()]) for card in cards)
    assert parse(typed) == parse(canonical) == canonical
    assert actions.read(canonical).number == number


@given(number=st.sampled_from((1, 2, 3, 4)), cards=HANDS)
def test_only_canonical_notation_is_played(number: int, cards: list[str]) -> None:
    """The engine, unlike the parser of typed moves, reads one form of each action."""
    text = f"{number}{''.join(cards[:number])}"
    canonical = naive.spell(number, cards[:number])
    if text == canonical:
        assert actions.write(number, tuple(cards[:number])) == text
        return
    with pytest.raises(NotationError, match=f"canonical form is {canonical}"):
        actions.read(text)


# --- the examples of the notation, in a round -----------------------------------------------------------------------

ROUND = "2GG 2FF 1D 3EEG-E 3AFF-F 1C 4ABEG-AB 4BCDD-DD"
DEAL = Deal(("AABDGG", "BCEFFG"), "FDFEECGD", "G")


def play_line(state: State, line: str) -> list[Event]:
    """The events of a round line, with the draws that come between its moves."""
    events: list[Event] = []

    def happens(event: Event) -> None:
        nonlocal state
        state = state.apply(event)
        events.append(event)

    for token in line.split():
        assert state.actor is not None
        happens(Draw(state.actor, state.deck[0]))
        offer, dash, chosen = token.partition("-")
        for action in [offer, dash + chosen] if dash else [offer]:
            assert state.actor is not None
            assert action in state.legal_actions()
            assert state.parse_action(action) == action
            if state.due is Due.ANSWER:
                assert state.parse_action(f" {action[1:].lower()}") == action
            happens(DECISION_KINDS[state.due](state.actor, action))
    return events


def test_the_example_of_a_round_line_is_a_round() -> None:
    start = Hanamikoji().initial().apply(DEAL)
    events = play_line(start, ROUND)
    assert [event.action for event in events if isinstance(event, Answer)] == ["-E", "-F", "-AB", "-DD"]
    over = fold(Hanamikoji(), [DEAL, *events])
    assert over.due is Due.REVEAL
    scored = over.apply(Reveal(0, "D")).apply(Reveal(1, "C"))
    position = scored.to_json()
    assert position["rows"] == ["ADDDEEFG", "ABBCCEFG"]
    assert position["trade_offs"] == ["GG", "FF"]
    assert position["markers"] == [None, 1, 1, 0, 0, None, None]
    assert (scored.due, scored.round, scored.outcome) == (Due.DEAL, 1, None)


def test_the_example_as_a_transcript() -> None:
    events = (DEAL, *play_line(Hanamikoji().initial().apply(DEAL), ROUND), Reveal(0, "D"), Reveal(1, "C"))
    (line,) = format_rounds(Hanamikoji(), events)
    shown = "+F 2GG +D 2FF +F 1D +E 3EEG-E +E 3AFF-F +C 1C +G 4ABEG-AB +D 4BCDD-DD"
    assert line == f"1. =AABDGG/BCEFFG/FDFEECGD/G {shown} ?D/C"
    assert " ".join(token for token in shown.split() if token[0] != "+") == ROUND
    read = parse_transcript(f'[Ruleset "hanamikoji/1 first=host max_rounds=0 tiebreak=geisha"]\n{line}\n')
    assert read == Transcript(Hanamikoji(), (), events)
