"""Options: who starts and how the first markers are given; who starts later rounds; when a game ends."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from hkoji.errors import IllegalError, MalformedError, NotationError
from hkoji.rules.events import Chance, Deal, Draw, Pick
from hkoji.rules.geishas_road.ruleset import GeishasRoad, GeishasRoadState
from hkoji.rules.protocol import Due, Json
from hkoji.rules.registry import parse_ruleset
from tests.support.rules import random_game, refuses

OPTIONS: dict[str, Json] = {"first": "host", "markers": "choose", "name": "geishas-road", "version": 1}
BLANK = Deal(("XXXXXX", "XXXXXX"), "XXXXXXXX")


def test_the_default_is_the_game_of_the_rulebook() -> None:
    assert GeishasRoad().to_json() == OPTIONS
    assert parse_ruleset(OPTIONS) == GeishasRoad()


@pytest.mark.parametrize("options", [{"first": "youngest"}, {"first": ""}, {"markers": "none"}, {"markers": ""}])
def test_options_that_the_game_has_not_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(IllegalError):
        GeishasRoad(options.get("first", "host"), options.get("markers", "choose"))
    with pytest.raises(MalformedError):
        parse_ruleset({**OPTIONS, **options})


@pytest.mark.parametrize("markers", [None, 0, True, ["random"], {}])
def test_an_unreadable_option(markers: Json) -> None:
    with pytest.raises(MalformedError):
        parse_ruleset({**OPTIONS, "markers": markers})


@pytest.mark.parametrize(("first", "seat"), [("host", 0), ("guest", 1)])
def test_the_options_say_who_starts(first: str, seat: int) -> None:
    ruleset = GeishasRoad(first)
    assert ruleset.chance() == ()
    state = ruleset.initial()
    assert state.due is Due.DEAL
    dealt = state.apply(BLANK)
    assert (dealt.due, dealt.actor, dealt.first) == (Due.PICK, seat, seat)


@pytest.mark.parametrize(
    ("first", "markers", "decides", "good", "bad"),
    [
        ("random", "choose", ("first",), Chance(1), (Chance(), Chance(2), Chance(-1), Chance(0, "AB"))),
        ("host", "random", ("markers",), Chance(None, "CA"), (Chance(), Chance(0), Chance(0, "AB"), Chance(1, "AB"))),
        ("guest", "random", ("markers",), Chance(None, "CA"), (Chance(), Chance(1), Chance(1, "CA"))),
        ("random", "random", ("first", "markers"), Chance(1, "CA"), (Chance(1), Chance(None, "CA"), Chance(2, "CA"))),
    ],
)
def test_chance_says_what_the_options_leave_to_it(
    first: str, markers: str, decides: tuple[str, ...], good: Chance, bad: tuple[Chance, ...]
) -> None:
    ruleset = GeishasRoad(first, markers)
    assert ruleset.chance() == decides
    state = ruleset.initial()
    assert state.due is Due.CHANCE
    refuses(state, BLANK, IllegalError, "chance is due")
    for event in bad:
        refuses(state, event, IllegalError, "chance")
    after = state.apply(good)
    assert after.due is Due.DEAL
    starter = {"host": 0, "guest": 1, "random": 1}[first]
    assert after.first == starter
    given = after.to_json()["markers"]
    assert given == ([1 - starter, None, starter, None, None] if "markers" in decides else [None] * 5)
    dealt = after.apply(BLANK)
    assert (dealt.actor, dealt.due) == (starter, Due.DRAW if "markers" in decides else Due.PICK)


@pytest.mark.parametrize("markers", ["", "A", "AA", "ABC", "AF", "ab", "A1", "XX", "BA "])
def test_chance_draws_two_different_markers(markers: str) -> None:
    for first in ("host", "random"):
        state = GeishasRoad(first, "random").initial()
        refuses(state, Chance(0 if first == "random" else None, markers), IllegalError, "two different markers")


def test_a_deal_is_two_hands_and_then_the_draws_and_removes_nothing() -> None:
    deck = [kind for _, kind in GeishasRoad().pack.deck()]
    random.Random(3).shuffle(deck)
    deal = GeishasRoad().deal(tuple(deck))
    assert "".join(deck) == deal.hands[0] + deal.hands[1] + deal.rest
    assert [len(part) // 2 for part in (*deal.hands, deal.rest, deal.aside)] == [6, 6, 8, 0]


def test_a_game_is_the_best_of_three_rounds() -> None:
    """Two wins end it at once; the result names the winner. Both lengths and both winners occur."""
    seen = Counter[tuple[int, int | None]]()
    for seed in range(80):
        play = random_game(GeishasRoad("random", "random"), seed)
        last = play.states[-1]
        assert last.outcome is not None
        assert last.outcome.reason == "rounds"
        scored = [state for state in play.states if state.due in (Due.DEAL, Due.OVER) and state.round]
        wins = [state.wins for state in scored if isinstance(state, GeishasRoadState)]
        assert [sum(pair) for pair in wins] == list(range(1, last.round + 1))
        assert wins[-1] in ([(2, 0), (2, 1)] if last.outcome.winner == 0 else [(0, 2), (1, 2)])
        assert all(2 not in pair for pair in wins[:-1])
        seen[last.round, last.outcome.winner] += 1
    assert set(seen) == {(2, 0), (2, 1), (3, 0), (3, 1)}


def test_the_loser_of_a_round_chooses_who_starts_the_next() -> None:
    """The loser chooses after seeing their hand, before anybody draws; both answers occur, from both seats."""
    chosen = Counter[tuple[int, str]]()
    for seed in range(40):
        play = random_game(GeishasRoad("host", "random"), seed)
        for before, state, event, later in zip(
            play.states, play.states[1:], play.events[1:], play.events[2:], strict=False
        ):
            if state.round == 1 or state.due is not Due.PICK:
                continue
            position = before.to_json()
            assert before.due is Due.DEAL
            assert state.actor == position["loser"] == state.to_json()["loser"]
            view = state.project(state.actor)
            assert "X" not in view.ruleset.pack.decode(view.hands[state.actor or 0])
            assert view.legal_actions() == ("^0", "^1")
            assert isinstance(event, Pick)
            assert isinstance(later, Draw)
            assert later.seat == int(event.action[1])
            chosen[event.seat, event.action] += 1
    assert set(chosen) == {(0, "^0"), (0, "^1"), (1, "^0"), (1, "^1")}


@pytest.mark.parametrize(
    ("action", "cards"),
    [
        ("IXX", ()),
        ("IXX", ("A1",)),
        ("IXX", ("A1", "B2", "C3")),
        ("IXX", ("A1B2", "")),
        ("IXX", ("A1", "X")),
        ("IXX", ("X", "X")),
        ("IXX", ("A1", "A1")),
        ("IXX", ("A1", "F1")),
        ("IXX", ("a1", "B2")),
        ("IA1B2", ("A1", "B2")),
        ("IA1X", ("A1", "B2")),
        ("RA1", ("A1",)),
    ],
)
def test_cards_that_do_not_complete_an_intrigue(action: str, cards: tuple[str, ...]) -> None:
    with pytest.raises(NotationError):
        GeishasRoad().complete(action, cards)


@pytest.mark.parametrize("action", ["I", "IA1", "IX", "IXXX", "IA1B2C3", "IA", "IA1B", "I??", "Ia1b2"])
def test_an_action_that_is_no_intrigue_hides_nothing(action: str) -> None:
    with pytest.raises(NotationError):
        GeishasRoad().hidden(action)


def test_an_intrigue_is_hidden_in_two_parts_of_which_the_first_counts() -> None:
    ruleset = GeishasRoad()
    assert [(part.cards, part.counts) for part in ruleset.hidden("IB2A1")] == [("B2", True), ("A1", False)]
    assert ruleset.complete("IXX", ("B2", "A1")) == "IB2A1"
    assert ruleset.public("IB2A1") == ruleset.public("IB2X") == "IXX"
    for action in ("RA1", "GA1B2C3", "CA1B2C3D4", "-A1", "-B2A1", ">B2A1", "!A", "^0"):
        assert (ruleset.hidden(action), ruleset.public(action), ruleset.complete(action, ())) == ((), action, action)
