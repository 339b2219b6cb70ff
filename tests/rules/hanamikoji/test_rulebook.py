"""Hanamikoji: the rulebooks' examples, the first actions, notation, and refusals under partial knowledge."""

from __future__ import annotations

from pathlib import Path

import pytest

from hkoji.errors import IllegalActionError, IllegalError, NotationError, NotUnderstoodError
from hkoji.rules.events import Act, Answer, Chance, Deal, Draw, Reveal
from hkoji.rules.hanamikoji import position
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, State
from hkoji.rules.registry import parse_ruleset
from hkoji.rules.transcript import parse_transcript

ROOT = Path(__file__).parents[3]
KINDS = "ABCDEFG"


def test_the_examples_of_the_rulebooks() -> None:
    assert position.winner("000...0") is not None
    eleven = position.winner("1.11110")  # 2 + 2 + 3 + 3 + 4 = 14 charm
    assert eleven is not None
    assert (eleven.reason, eleven.winner) == ("charm", 1)
    both = position.winner("0000.11")  # four geisha with 9 charm; two with 9
    assert both is not None
    assert (both.reason, both.winner) == ("geisha", 0)
    charm = position.winner("0001.11".replace(".", "1"))  # 2+2+2 against 3+3+4+5
    assert charm is not None
    assert (charm.reason, charm.winner) == ("charm", 1)
    assert position.limit("00....1", "geisha").winner == 0  # two geisha against one
    assert position.limit("00....1", "charm").winner == 1  # 4 charm against 5
    assert position.limit("1..00.1".replace("00", "0."), "charm").winner == 1


def test_one_of_each_hand_has_168_first_actions() -> None:
    state: State = Hanamikoji().initial()
    state = state.apply(Deal(("ABCDEF", "ABCDEF"), "GGGGGDEF", "F")).apply(Draw(0, "G"))
    by_number = [sum(a[0] == number for a in state.legal_actions()) for number in "1234"]
    assert by_number == [7, 21, 35, 105]
    assert len(state.legal_actions()) == 168


# --- notation -----------------------------------------------------------------------------------------------------


def test_the_example_round_can_be_played() -> None:
    tokens = ["2GG", "2FF", "1D", "3EEG-E", "3AFF-F", "1C", "4ABEG-AB", "4BCDD-DD"]
    spectator = "1. =XXXXXX/XXXXXX " + " ".join(f"+X {token}" for token in tokens)
    text = f'[Ruleset "hanamikoji/1 first=host max_rounds=0 tiebreak=geisha"]\n\n{spectator} ?D/C\n'
    transcript = parse_transcript(text)
    *_, last = transcript.states()
    assert last.due in (Due.DEAL, Due.OVER)
    played = [event.action for event in transcript.events if isinstance(event, Act)]
    assert played == [token.split("-")[0] for token in tokens]


# --- partial knowledge --------------------------------------------------------------------------------------------


def view() -> State:
    """Seat 0's knowledge after its draw."""
    state: State = Hanamikoji().initial()
    return state.apply(Deal(("AABBCC", "XXXXXX"), "XXXXXXXX", "X")).apply(Draw(0, "D"))


def test_an_unknown_hand_is_checked_for_consistency_only() -> None:
    state = view().apply(Act(0, "1A")).apply(Draw(1, "X"))
    for impossible in ("3AAB", "3CCC", "1A1", "4AABB"):
        with pytest.raises((IllegalError, NotationError)):
            state.apply(Act(1, impossible))
    after = state.apply(Act(1, "3DGG"))
    assert after.legal_actions() == ("-D", "-G")
    hidden = state.apply(Act(1, "2XX"))
    with pytest.raises(IllegalActionError, match="has been used"):
        hidden.apply(Draw(0, "E")).apply(Act(0, "2AB")).apply(Draw(1, "X")).apply(Act(1, "2XX"))


def test_a_known_hand_never_plays_unknown_cards() -> None:
    with pytest.raises(IllegalActionError):
        view().apply(Act(0, "1X"))


def test_a_draw_that_cannot_be_is_refused() -> None:
    state: State = Hanamikoji().initial()
    dealt = state.apply(Deal(("AABBCC", "XXXXXX"), "XXXXXXXX", "X"))
    with pytest.raises(IllegalError, match="more copies"):
        dealt.apply(Draw(0, "A"))


def test_a_revealed_card_that_cannot_be_is_refused() -> None:
    state: State = Hanamikoji().initial()
    state = state.apply(Deal(("AABBCC", "XXXXXX"), "XXXXXXXX", "X"))
    for event in (
        Draw(0, "D"),
        Act(0, "3AAB"),
        Answer(1, "-A"),
        Draw(1, "X"),
        Act(1, "1X"),
        Draw(0, "E"),
        Act(0, "1B"),
        Draw(1, "X"),
        Act(1, "2XX"),
        Draw(0, "F"),
        Act(0, "2CC"),
        Draw(1, "X"),
        Act(1, "3GGG"),
        Answer(0, "-G"),
        Draw(0, "F"),
        Act(0, "4DEFF"),
        Answer(1, "-DE"),
        Draw(1, "X"),
        Act(1, "4EEFG"),
        Answer(0, "-EE"),
    ):
        state = state.apply(event)
    assert state.due_reveals() == (0, 1)
    for impossible in ("A", "B", "C"):
        with pytest.raises(IllegalError, match="more copies"):
            state.apply(Reveal(1, impossible))
    assert state.apply(Reveal(1, "D")).due_reveals() == (0,)


def test_options_and_versions() -> None:
    for options in ({"first": "nobody"}, {"max_rounds": -1}, {"max_rounds": 100}, {"tiebreak": "charm"}):
        with pytest.raises(IllegalError):
            Hanamikoji(**options)
    known = Hanamikoji().to_json()
    with pytest.raises(NotUnderstoodError):
        parse_ruleset({**known, "version": 2})
    with pytest.raises(NotUnderstoodError):
        parse_ruleset({**known, "colour": "red"})
    with pytest.raises(NotUnderstoodError):
        parse_ruleset({**known, "name": "go"})
    random_first = Hanamikoji(first="random").initial()
    assert random_first.due is Due.CHANCE
    assert random_first.apply(Chance(first=1)).due is Due.DEAL
    with pytest.raises(IllegalError):
        random_first.apply(Chance())
