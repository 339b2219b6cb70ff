"""The rulebook's sentences, one by one; test_oracle.py compares complete games.

Most positions are a spectator's: from hands that nobody has seen, any cards can be played.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given

from hkoji.errors import IllegalActionError, IllegalEventError, NotYourTurnError
from hkoji.rules.events import Act, Answer, Deal, Draw, Order, Outcome, Pick, Reveal
from hkoji.rules.geishas_road.ruleset import GeishasRoad, GeishasRoadState
from hkoji.rules.protocol import Due
from tests.rules.geishas_road.positions import UNSEEN, position, unseen
from tests.support.rules import GAMES, OBSERVERS, Played, played, random_game, refuses

GEISHAS_ROAD = next(game for game in GAMES if game.name == "geishas-road")

# --- setup ----------------------------------------------------------------------------------------------------------


def test_twenty_cards_four_of_each_colour() -> None:
    pack = GeishasRoad().pack
    assert (pack.size, pack.width) == (20, 2)
    assert pack.kinds == tuple(f"{colour}{number}" for colour in "ABCDE" for number in (1, 2, 3, 4))


def test_six_cards_each_eight_to_draw_and_none_removed() -> None:
    state = position(f"1. {UNSEEN}")
    assert [state.ruleset.pack.count(hand) for hand in state.hands] == [6, 6]
    assert state.deck == "X" * 8
    assert "removed" not in state.to_json()


@pytest.mark.parametrize(("first", "other"), [("host", 1), ("guest", 0)])
def test_the_starting_player_takes_a_marker_and_then_the_other_player_another(first: str, other: int) -> None:
    starter = 1 - other
    state = position(f"1. {UNSEEN}", first, "choose")
    assert (state.due, state.actor) == (Due.PICK, starter)
    assert state.legal_actions() == ("!A", "!B", "!C", "!D", "!E")
    refuses(state, Pick(other, "!A"), NotYourTurnError, f"seat {starter} is to choose")
    refuses(state, Pick(starter, "^0"), IllegalActionError, "a marker in the middle")
    refuses(state, Draw(starter, "X"), IllegalEventError, "pick is due")
    state = position(f"1. {UNSEEN} !C", first, "choose")
    assert (state.due, state.actor) == (Due.PICK, other)
    assert state.legal_actions() == ("!A", "!B", "!D", "!E")
    refuses(state, Pick(other, "!C"), IllegalActionError, "a marker in the middle")
    refuses(state, Pick(starter, "!D"), NotYourTurnError)
    state = position(f"1. {UNSEEN} !C !A", first, "choose")
    assert (state.due, state.actor) == (Due.DRAW, starter)
    assert state.to_json()["markers"] == [other, None, starter, None, None]


def test_markers_are_chosen_with_the_own_hand_known() -> None:
    hand = "A1A2B3C4D1E2"
    state = position(f"1. ={hand}/XXXXXX", markers="choose")
    assert state.due is Due.PICK
    assert state.to_json()["hands"] == [hand, "XXXXXX"]


# --- turns ----------------------------------------------------------------------------------------------------------


@given(play=played(GEISHAS_ROAD))
def test_players_alternate_a_draw_and_an_action_until_each_has_taken_all_four(play: Played) -> None:
    for number in range(1, play.states[-1].round + 1):
        happened = [event for state, event in zip(play.states, play.events, strict=False) if state.round == number]
        turns = [event for event in happened if isinstance(event, Draw | Act)]
        assert [type(event) for event in turns] == [Draw, Act] * 8
        starter = turns[0].seat
        assert [event.seat for event in turns] == [starter, starter, 1 - starter, 1 - starter] * 4
        taken = [(event.seat, event.action[0]) for event in turns if isinstance(event, Act)]
        assert sorted(taken) == [(seat, letter) for seat in (0, 1) for letter in "CGIR"]
    for state in play.states:
        if state.due is Due.REVEAL:
            assert (state.deck, state.hands) == ("", (0, 0))


def test_an_action_is_taken_once_a_round() -> None:
    state = position(f"1. {unseen('RA3 RB4')} +X")
    assert state.shape() == ("I????", "G??????", "C????????")
    refuses(state, Act(0, "RC1"), IllegalActionError, "reveal has been used this round")


def test_a_revealed_card_moves_its_geisha_at_once() -> None:
    state = position(f"1. {unseen('RA3 RB4')}")
    assert state.to_json()["tableaus"] == ["A3", "B4"]
    assert state.road.places == (3, 4, 0, 0, 0)
    assert (state.due, state.actor) == (Due.DRAW, 0)


def test_an_intrigue_moves_nobody_before_the_round_ends() -> None:
    state = position(f"1. {unseen('IA3B4')}")
    assert state.road == position(f"1. {UNSEEN}").road
    assert state.to_json()["tableaus"] == ["", ""]
    assert (state.to_json()["intrigues"], state.to_json()["discards"]) == (["A3", ""], ["B4", ""])
    for observer in (1, None):
        view = state.project(observer)
        assert (view.to_json()["intrigues"], view.to_json()["discards"]) == (["X", ""], ["X", ""])


BEFORE = "RC1 CA1B2C4D1-A1B2"
"""A stands one step from home, B two; C has taken the first Light lantern, so the next two are worth 3 and 4."""


@pytest.mark.parametrize(
    ("answer", "orders", "lanterns"),
    [("-A4", (">B3E1",), (3, 4, 3, 0, 0)), ("-B3", (">A4E1",), (4, 3, 3, 0, 0)), ("-E1", (">A4B3", ">B3A4"), None)],
)
def test_of_a_gift_the_opponent_plays_one_card_and_then_the_giver_the_other_two(
    answer: str, orders: tuple[str, ...], lanterns: tuple[int, ...] | None
) -> None:
    offered = position(f"1. {unseen(f'{BEFORE} GA4B3E1')}")
    assert (offered.due, offered.actor) == (Due.ANSWER, 1)
    assert offered.legal_actions() == ("-A4", "-B3", "-E1")
    answered = offered.apply(Answer(1, answer))
    if lanterns:
        assert (answered.due, answered.actor) == (Due.DRAW, 1)
        assert answered.road.lanterns == lanterns
        return
    assert (answered.due, answered.actor, answered.legal_actions()) == (Due.ORDER, 0, orders)
    assert answered.apply(Order(0, ">A4B3")).to_json()["lanterns"] == [3, 4, 3, 0, 0]
    assert answered.apply(Order(0, ">B3A4")).to_json()["lanterns"] == [4, 3, 3, 0, 0]


def test_of_a_competition_the_opponent_plays_a_pair_and_then_the_other_pair_is_played() -> None:
    offered = position(f"1. {unseen(f'{BEFORE} CA4E1B3D2')}")
    assert offered.legal_actions() == ("-A4E1", "-B3D2")
    taken = offered.apply(Answer(1, "-A4E1"))
    assert taken.to_json()["tableaus"] == ["A1B2B3C1D2", "A4C4D1E1"]
    assert taken.road.lanterns == (3, 4, 3, 0, 0)
    assert offered.apply(Answer(1, "-B3D2")).road.lanterns == (4, 3, 3, 0, 0)


def test_a_player_who_takes_a_pair_plays_it_in_their_own_order() -> None:
    offered = position(f"1. {unseen(f'{BEFORE} CA4B3E1E2')}")
    assert offered.legal_actions() == ("-A4B3", "-B3A4", "-E1E2")
    assert offered.apply(Answer(1, "-A4B3")).road.lanterns == (3, 4, 3, 0, 0)
    assert offered.apply(Answer(1, "-B3A4")).road.lanterns == (4, 3, 3, 0, 0)
    refuses(offered, Answer(1, "-E2E1"), IllegalActionError, "both orders come to the same here", "-E1E2")
    left = offered.apply(Answer(1, "-E1E2"))
    assert (left.due, left.actor, left.legal_actions()) == (Due.ORDER, 0, (">A4B3", ">B3A4"))


def test_one_offer_can_need_both_orders() -> None:
    """Each of the two pairs takes a geisha home in one order only."""
    offered = position(f"1. {unseen('RA1 RB3 CA2A4B1B2')}")
    assert offered.legal_actions() == ("-A2A4", "-A4A2", "-B1B2", "-B2B1")
    home, past = offered.apply(Answer(1, "-A4A2")), offered.apply(Answer(1, "-A2A4"))
    assert [state.road.places[0] for state in (home, past)] == [2, 2]
    assert [state.road.homes[0] for state in (home, past)] == [1, 0]
    assert home.legal_actions() == past.legal_actions() == (">B1B2", ">B2B1")
    refuses(home, Draw(1, "X"), IllegalEventError, "order is due")
    refuses(home, Order(1, ">B1B2"), NotYourTurnError, "seat 0")
    for wrong in (">B1", ">A2A4", ">B1B3", "-B1B2", ">B1B2B3", ""):
        refuses(home, Order(0, wrong), IllegalActionError, ">B1B2 or >B2B1")
    played_on = home.apply(Order(0, ">B2B1"))
    assert played_on.road.homes == (1, 1, 0, 0, 0)
    assert (played_on.due, played_on.actor, played_on.left) == (Due.DRAW, 1, "")
    assert home.apply(Order(0, ">B1B2")).to_json()["homes"] == [1, 0, 0, 0, 0]


@given(play=played(GEISHAS_ROAD))
def test_an_order_is_decided_exactly_where_it_makes_a_difference(play: Played) -> None:
    """The two orders lead to different positions for every viewer: the players and a spectator."""
    for state, event, after in zip(play.states, play.events, play.states[1:], strict=False):
        if not isinstance(event, Answer):
            continue
        assert isinstance(state, GeishasRoadState)
        assert isinstance(after, GeishasRoadState)
        names = state.ruleset.pack.split
        offered, legal = names(state.proposal[1:]), state.legal_actions()
        for one, other in (offered[:2], offered[2:]) if state.proposal[0] == "C" else ():
            differs = state.road.walk((one, other)) != state.road.walk((other, one))
            assert (f"-{one}{other}" in legal, f"-{other}{one}" in legal) == (True, differs)
        chosen = names(event.action[1:])
        left = tuple(card for card in offered if card not in chosen)
        road = state.road.walk(chosen)
        assert (after.due is Due.ORDER) == (road.walk(left) != road.walk(left[::-1]))
        if after.due is Due.ORDER:
            assert after.actor != event.seat
            for observer in OBSERVERS:
                view = after.project(observer)
                first, second = (view.apply(Order(1 - event.seat, text)) for text in view.legal_actions())
                assert first.to_json() != second.to_json()


# --- the round's end ------------------------------------------------------------------------------------------------

BOTH_COME_HOME = (
    "1. *DC =D2A3D1E3A4D4/C4B3E1D3E2A2/C2B4E4C3A1B2B1C1 +C2 GA3A4D4-A3 +B4 CB4E2C4D3-B4E2 +E4 ID1E3 +C3 RB3 +A1 RA1 "
    "+B2 IB2A2 +B1 CB1D2C2E4-B1D2 +C1 GC1C3E1-C1"
)
"""D1 and B2 were kept, B and D are that far from home, and the next Light lanterns are worth 3 and 4."""


def test_intrigues_are_played_by_the_starting_player_first_whatever_comes_first() -> None:
    state = position(BOTH_COME_HOME)
    assert (state.due, state.due_reveals(), state.road.light) == (Due.REVEAL, (0, 1), (3, 4, 4, 4))
    starters_first = state.apply(Reveal(0, "D1")).apply(Reveal(1, "B2"))
    others_first = state.apply(Reveal(1, "B2")).apply(Reveal(0, "D1"))
    assert starters_first == others_first
    assert starters_first.road.lanterns == (0, 4, 3, 3, 0)
    for half in (state.apply(Reveal(0, "D1")), state.apply(Reveal(1, "B2"))):
        assert (half.due, half.road, half.tableaus) == (Due.REVEAL, state.road, state.tableaus)
    between = state.apply(Reveal(1, "B2")).project(0).to_json()
    assert between["intrigues"] == ["D1", "B2"], "what has been turned up is open"
    assert state.apply(Reveal(0, "D1")).project(1).to_json()["intrigues"] == ["D1", "B2"]
    assert state.project(1).to_json()["intrigues"] == ["X", "B2"]


def test_the_kept_cards_count_and_the_discarded_ones_do_not() -> None:
    scored = position(f"{BOTH_COME_HOME} ?D1/B2")
    tableaus = scored.to_json()["tableaus"]
    assert isinstance(tableaus, list)
    mine, yours = (scored.ruleset.pack.split(str(cards)) for cards in tableaus)
    assert "D1" in mine
    assert "B2" in yours
    assert not {"E3", "A2"} & {*mine, *yours}
    assert len(mine) + len(yours) == 18
    assert scored.to_json()["discards"] == ["E3", "A2"]
    for observer, seen in ((0, ["E3", "X"]), (1, ["X", "A2"]), (None, ["X", "X"])):
        assert scored.project(observer).to_json()["discards"] == seen, "still face down"


def test_scoring_an_example() -> None:
    """Influence in half points, markers at D (host) and C (guest)."""
    scored = position(f"{BOTH_COME_HOME} ?D1/B2").to_json()
    assert scored["tableaus"] == ["A1A4B4C1C2D1D4E2E4", "A3B1B2B3C3C4D2D3E1"]
    assert scored["influence"] == [[10, 8, 6, 11, 12], [6, 12, 15, 10, 2]]
    assert scored["lanterns"] == [0, 4, 3, 3, 0]
    assert scored["markers"] == [0, 1, 1, 0, 0]
    assert scored["wins"] == [0, 1], "3 prestige to 7, and more markers do not help"
    assert scored["loser"] == 0


@pytest.mark.parametrize(
    ("rounds", "prestige", "markers", "winner"),
    [
        (
            "1. *CA =E3C4B4D4A2C3/E2B2D1D2D3C2/A1E1A4A3E4B3B1C1 +A1 CA1D4B4C3-B4C3 +E1 GB2D2D3-D2 +A4 IA2C4 +A3 RA3 "
            "+E4 GA4E3E4-A4 +B3 ID1C2 +B1 RB1 +C1 CB3C1E1E2-B3C1 ?A2/D1",
            [7, 7],
            [2, 3],
            1,
        ),
        (
            "1. *BC =A3B2B4C1D3C4/E4D4A2A1D1E2/E1A4D2C2E3B3C3B1 +E1 CC1D3C4E1-C1D3 +A4 IA2D4 +D2 GA3B4D2-A3 +C2 RC2 "
            "+E3 RE3 +B3 CA1A4D1E4-A1A4 +C3 IB2C3 +B1 GB1B3E2-B3 ?B2/A2",
            [7, 7],
            [2, 2],
            0,
        ),
    ],
    ids=["more markers", "the starting player"],
)
def test_ties_of_prestige(rounds: str, prestige: list[int], markers: list[int], winner: int) -> None:
    scored = position(rounds).to_json()
    after, lanterns = scored["markers"], scored["lanterns"]
    assert isinstance(after, list)
    assert isinstance(lanterns, list)
    points = [sum(int(str(n)) for n, m in zip(lanterns, after, strict=True) if m == seat) for seat in (0, 1)]
    assert (points, [after.count(seat) for seat in (0, 1)]) == (prestige, markers)
    assert scored["wins"] == [int(winner == seat) for seat in (0, 1)]


def test_markers_after_moving_break_a_tie_of_prestige() -> None:
    """Before the scoring each had one; the markers that moved have made the difference."""
    before = position(
        "1. *CA =E3C4B4D4A2C3/E2B2D1D2D3C2/A1E1A4A3E4B3B1C1 +A1 CA1D4B4C3-B4C3 +E1 GB2D2D3-D2 +A4 IA2C4 +A3 RA3 "
        "+E4 GA4E3E4-A4 +B3 ID1C2 +B1 RB1 +C1 CB3C1E1E2-B3C1"
    )
    assert [before.markers.count(str(seat)) for seat in (0, 1)] == [1, 1]


# --- rounds and the game --------------------------------------------------------------------------------------------


def test_a_new_round_resets_all_but_the_markers_and_the_wins() -> None:
    scored = position(f"{BOTH_COME_HOME} ?D1/B2")
    fresh, old = position(f"{BOTH_COME_HOME} ?D1/B2\n2. {UNSEEN}").to_json(), scored.to_json()
    assert (fresh["markers"], fresh["wins"]) == (old["markers"], old["wins"]) == ([0, 1, 1, 0, 0], [0, 1])
    assert fresh["lanterns"] == fresh["places"] == fresh["homes"] == [0] * 5
    assert (fresh["light"], fresh["dark"]) == ([3, 3, 4, 4, 4], [3, 2, 2, 2])
    assert fresh["tableaus"] == fresh["intrigues"] == fresh["discards"] == ["", ""]
    assert fresh["used"] == [[], []]
    assert fresh["influence"] == [[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]], "half a point for each marker"


def test_the_loser_chooses_who_starts_having_seen_the_hand_and_before_anybody_draws() -> None:
    state = position(f"{BOTH_COME_HOME} ?D1/B2\n2. =A1A2A3A4B1B2/XXXXXX")
    assert (state.due, state.actor, state.first) == (Due.PICK, 0, None)
    assert state.to_json()["hands"] == ["A1A2A3A4B1B2", "XXXXXX"]
    assert state.legal_actions() == ("^0", "^1")
    refuses(state, Pick(1, "^1"), NotYourTurnError, "seat 0 is to choose")
    refuses(state, Pick(0, "!D"), IllegalActionError, "who starts")
    for seat in (0, 1):
        refuses(state, Draw(seat, "X"), IllegalEventError, "pick is due")
        after = state.apply(Pick(0, f"^{seat}"))
        assert (after.due, after.actor, after.first) == (Due.DRAW, seat, seat)


def test_markers_are_chosen_before_the_first_round_only() -> None:
    play = random_game(GeishasRoad("host", "choose"), 3)
    picks = [
        (state.round, event.action[0])
        for state, event in zip(play.states, play.events, strict=False)
        if isinstance(event, Pick)
    ]
    assert picks == [(1, "!"), (1, "!"), *((number, "^") for number in range(2, play.states[-1].round + 1))]


def test_two_rounds_won_end_the_game() -> None:
    twice = BOTH_COME_HOME.replace("1. *DC", "2.").replace("+C2", "^0 +C2", 1)
    over = position(f"{BOTH_COME_HOME} ?D1/B2\n{twice} ?D1/B2")
    assert over.outcome == Outcome("rounds", 1)
    assert (over.due, over.round, over.wins) == (Due.OVER, 2, (0, 2))
    refuses(over, Deal(("XXXXXX", "XXXXXX"), "X" * 8), IllegalEventError, "over is due")


def test_prestige_is_not_carried_over() -> None:
    """A round's winner follows from its own lanterns, markers and start, whatever the rounds before."""
    seen = Counter[bool]()
    for seed in range(60):
        total = [0, 0]
        last = random_game(GeishasRoad("random", "random"), seed)
        for before, state in zip(last.states, last.states[1:], strict=False):
            if before.due is Due.REVEAL and state.due in (Due.DEAL, Due.OVER):
                assert isinstance(state, GeishasRoadState)
                points = [
                    sum(n for n, side in zip(state.road.lanterns, state.markers, strict=True) if side == str(seat))
                    for seat in (0, 1)
                ]
                total = [a + b for a, b in zip(total, points, strict=True)]
                winner = 1 - (state.loser or 0)
                assert points[winner] >= points[1 - winner]
                seen[total[winner] < total[1 - winner]] += 1
    assert seen[True] > 0, "some round is won by who has fewer points in all"
