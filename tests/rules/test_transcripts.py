"""A complete game, or a seat's view of it, can be written as text that parses back, for every game.

docs/rules/notation.md describes the text; a test of the documentation reads its examples.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import HkojiError, InvalidError, MalformedError
from hkoji.rules.events import Deal, Event, Reveal
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due
from hkoji.rules.transcript import Transcript, format_outcome, format_rounds, format_transcript, parse_transcript
from tests.support.plays import in_each, plays
from tests.support.rules import (
    OBSERVERS,
    Game,
    Played,
    every_game,
    fold,
    random_game,
    text_of,
)

TAGS = (("Host", "alice"), ("Guest", "bob"), ("Note", "a [b] c; 1. #0"))


def in_order(play: Played, events: tuple[Event, ...]) -> tuple[Event, ...]:
    """The events with two successive reveals in the order that the state names: the text has one token for both."""
    ordered = list(events)
    for at in range(len(ordered) - 1):
        one, two = ordered[at : at + 2]
        if isinstance(one, Reveal) and isinstance(two, Reveal) and one.seat != play.states[at].due_reveals()[0]:
            ordered[at : at + 2] = two, one
    return tuple(ordered)


@every_game
@in_each
def test_a_transcript_parses_back(game: Game, play: Played) -> None:
    for observer in OBSERVERS:
        events = in_order(play, play.seen_by(observer))
        transcript = Transcript(play.ruleset, TAGS, events)
        text = format_transcript(transcript)
        again = parse_transcript(text)
        assert again == transcript
        assert format_transcript(again) == text
        *_, last = again.states()
        assert text_of(last) == text_of(play.states[-1].project(observer))


@every_game
@in_each
def test_the_order_of_two_reveals_is_not_written(game: Game, play: Played) -> None:
    text = "\n".join(format_rounds(play.ruleset, play.events))
    assert text == "\n".join(format_rounds(play.ruleset, in_order(play, play.events)))
    assert fold(play.ruleset, in_order(play, play.events)) == play.states[-1]


@every_game
@in_each
def test_a_round_is_a_line(game: Game, play: Played) -> None:
    lines = list(format_rounds(play.ruleset, play.events))
    outcome = play.states[-1].outcome
    if outcome is not None:
        assert lines.pop() == format_outcome(outcome)
    rounds = play.states[-1].round
    assert [line.split()[0] for line in lines if line[0].isdigit()] == [f"{n}." for n in range(1, rounds + 1)]
    assert all(line.isascii() and line == " ".join(line.split()) for line in lines)


@every_game
@in_each
def test_spaces_and_line_ends_do_not_matter(game: Game, play: Played) -> None:
    transcript = Transcript(play.ruleset, (), in_order(play, play.events))
    tags, rounds = format_transcript(transcript).split("\n\n", 1)
    assert parse_transcript(f"\n  {tags}\r\n" + rounds.replace(" ", " \t ").replace("\n", "  \r\n\r\n")) == transcript
    assert parse_transcript(f"{tags}\n{rounds}".rstrip()) == transcript
    wrapped = re.sub(r" (?=[+?])", "\n", rounds)
    assert parse_transcript(f"{tags}\n{wrapped}") == transcript


@every_game
@given(data=st.data())
def test_a_changed_transcript_is_another_game_or_none(game: Game, data: st.DataObject) -> None:
    """Any text gives a game that formats and parses to itself, or an `InvalidError`."""
    play = data.draw(st.sampled_from(plays(game)))
    text = format_transcript(Transcript(play.ruleset, TAGS, in_order(play, play.events)))
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(st.text('ABCDEFGX0123=+?*#-/>. \n[]"', max_size=3))
    changed = text[:at] + new + text[at + data.draw(st.integers(0, 4)) :]
    try:
        transcript = parse_transcript(changed)
    except InvalidError:
        return
    assert parse_transcript(format_transcript(transcript)) == transcript


@every_game
def test_tags_that_cannot_be_written_are_refused(game: Game) -> None:
    play = random_game(game.rulesets[0], 1)
    for tag in (
        ("Ruleset", "x"),
        ("host", "x"),
        ("", "x"),
        ("A b", "x"),
        ("Host", 'a"b'),
        ("Host", "a\nb"),
        ("Host", "a\\b"),
        ("Host", "\u00e9"),
    ):
        with pytest.raises(MalformedError, match="malformed tag"):
            format_transcript(Transcript(play.ruleset, (tag,), play.events))


# --- texts that are wrong -------------------------------------------------------------------------------------------

HEAD = '[Ruleset "hanamikoji/1 first=host max_rounds=0 tiebreak=geisha"]\n'


def test_a_wrong_result_is_refused() -> None:
    play = next(p for p in (random_game(Hanamikoji(), seed) for seed in range(20)) if p.states[-1].outcome)
    text = format_transcript(Transcript(play.ruleset, (), in_order(play, play.events)))
    assert text.splitlines()[-1].startswith("#")
    *rounds, result = text.splitlines()
    for wrong in ("#= limit", "#0 resign", "#1 resign", f"#{1 - int(result[1])}{result[2:]}"):
        with pytest.raises(HkojiError, match="not how the game ended"):
            parse_transcript("\n".join([*rounds, wrong]))
    # The result of a finished game follows from the game: it may be left out.
    assert format_transcript(parse_transcript("\n".join(rounds))) == text


@pytest.mark.parametrize(("first", "order"), [("host", [0, 1]), ("guest", [1, 0])])
def test_two_secrets_are_read_with_the_starting_players_first(first: str, order: list[int]) -> None:
    play = random_game(Hanamikoji(first), 4)
    text = format_transcript(Transcript(play.ruleset, (), play.events))
    events = parse_transcript(text).events
    assert [event.seat for event in events if isinstance(event, Reveal)][:2] == order
    due = next(state for state in play.states if state.due is Due.REVEAL)
    assert list(due.due_reveals()) == order


def test_a_deal_without_its_draws_is_read_as_unknown() -> None:
    (event,) = parse_transcript(HEAD + "1. =ABCDEF/XXXXXX").events
    assert event == Deal(("ABCDEF", "XXXXXX"), "X" * 8, "X")
