"""Options: the rulebooks' variants can be chosen, anything else is refused; who starts; when a game ends."""

from __future__ import annotations

import random

import pytest

from hkoji.errors import IllegalError, MalformedError
from hkoji.rules.events import Chance, Deal, Draw
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Json
from hkoji.rules.registry import parse_ruleset
from tests.support.rules import Played, random_game, refuses

OPTIONS: dict[str, Json] = {
    "first": "host",
    "max_rounds": 0,
    "name": "hanamikoji",
    "tiebreak": "geisha",
    "version": 1,
}
BLANK = Deal(("XXXXXX", "XXXXXX"), "XXXXXXXX", "X")


def test_the_default_is_the_base_game() -> None:
    assert Hanamikoji().to_json() == OPTIONS
    assert parse_ruleset(OPTIONS) == Hanamikoji()


@pytest.mark.parametrize(
    "options",
    [
        {"first": "youngest"},
        {"first": ""},
        {"max_rounds": -1},
        {"max_rounds": 100},
        {"tiebreak": "random"},
        {"tiebreak": "charm"},
        {"max_rounds": 3, "tiebreak": ""},
    ],
)
def test_options_that_no_edition_has_are_refused(options: dict[str, Json]) -> None:
    with pytest.raises(IllegalError):
        Hanamikoji(**options)  # type: ignore[arg-type] # the wrong values are the point
    with pytest.raises(MalformedError):
        parse_ruleset({**OPTIONS, **options})


@pytest.mark.parametrize(
    "change",
    [{"max_rounds": True}, {"max_rounds": "3"}, {"max_rounds": None}, {"tiebreak": None}],
)
def test_an_unreadable_option(change: dict[str, Json]) -> None:
    with pytest.raises(MalformedError):
        parse_ruleset({**OPTIONS, **change})


@pytest.mark.parametrize(("first", "seat"), [("host", 0), ("guest", 1)])
def test_the_options_say_who_starts(first: str, seat: int) -> None:
    state = Hanamikoji(first).initial()
    assert Hanamikoji(first).chance() == ()
    assert (state.due, state.apply(BLANK).actor) == (Due.DEAL, seat)


@pytest.mark.parametrize("seat", [0, 1])
def test_chance_says_who_starts(seat: int) -> None:
    state = Hanamikoji("random").initial()
    assert Hanamikoji("random").chance() == ("first",)
    assert state.due is Due.CHANCE
    for event in (Chance(None), Chance(2), Chance(-1), Chance(0, "AB"), Chance(None, "AB")):
        refuses(state, event, IllegalError, "seat 0 or 1")
    refuses(state, BLANK, IllegalError, "chance is due")
    assert state.apply(Chance(seat)).apply(BLANK).actor == seat


def rounds(play: Played) -> list[int]:
    """The seat that drew first in each round."""
    starters = []
    for before, event in zip(play.events, play.events[1:], strict=False):
        if isinstance(before, Deal):
            assert isinstance(event, Draw)
            starters.append(event.seat)
    return starters


@pytest.mark.parametrize("first", ["host", "guest", "random"])
def test_the_second_player_of_a_round_starts_the_next(first: str) -> None:
    longest = 0
    for seed in range(30):
        play = random_game(Hanamikoji(first), seed)
        starters = rounds(play)
        assert starters == [starters[0] ^ (number & 1) for number in range(len(starters))]
        longest = max(longest, len(starters))
    assert longest >= 3


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("tiebreak", ["geisha", "charm"])
def test_a_limit_ends_the_game_after_its_last_round(limit: int, tiebreak: str) -> None:
    reached = 0
    for seed in range(40):
        play = random_game(Hanamikoji("host", limit, tiebreak), seed)
        last = play.states[-1]
        assert last.outcome is not None
        assert last.round <= limit
        assert (last.outcome.reason == "limit") <= (last.round == limit)
        reached += last.outcome.reason == "limit"
    assert reached > 0


def test_a_deal_removes_the_top_card_then_hands_then_draws() -> None:
    deck = [kind for _, kind in Hanamikoji().pack.deck()]
    random.Random(3).shuffle(deck)
    deal = Hanamikoji().deal(tuple(deck))
    assert "".join(deck) == deal.aside + deal.hands[0] + deal.hands[1] + deal.rest
    assert [len(part) for part in (deal.aside, *deal.hands, deal.rest)] == [1, 6, 6, 8]
