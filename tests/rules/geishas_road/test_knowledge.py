"""A game under partial knowledge refuses events that contradict what is known, and changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import (
    IllegalActionError,
    IllegalError,
    IllegalEventError,
    NotationError,
    NotYourTurnError,
    UnknownHandError,
)
from hkoji.rules.events import Act, Deal, Draw, Reveal
from hkoji.rules.geishas_road.ruleset import GeishasRoad, GeishasRoadState
from hkoji.rules.protocol import Due
from tests.rules.geishas_road.positions import UNSEEN, position, unseen
from tests.support.rules import GAMES, Played, played, refuses

GEISHAS_ROAD = next(game for game in GAMES if game.name == "geishas-road")
OWN = "1. =A1A2B3C4D1E2/XXXXXX"
ALL = "1. =A1A2B3C4D1E2/A3A4B1B2C1C2/C3D2B4D3D4E1E3E4"
UNKNOWN = "X" * 8


@pytest.mark.parametrize(
    ("deal", "error", "word"),
    [
        (Deal(("A1A2B3C4D1", "XXXXXX"), UNKNOWN), IllegalEventError, "two hands of 6"),
        (Deal(("A1A2B3C4D1E2E3", "XXXXX"), UNKNOWN), IllegalEventError, "two hands of 6"),
        (Deal(("A1A2B3C4D1E2", "XXXXXX"), "X" * 7), IllegalEventError, "8 cards to draw"),
        (Deal(("A1A2B3C4D1E2", "XXXXXX"), UNKNOWN, "X"), IllegalEventError, "8 cards to draw"),
        (Deal(("A1A2B3C4D1E2", "XXXXXX"), "X" * 7, "X"), IllegalEventError, "8 cards to draw"),
        (Deal(("", ""), ""), IllegalEventError, "two hands of 6"),
        (Deal(("A1A1B3C4D1E2", "XXXXXX"), UNKNOWN), NotationError, "only one A1 card"),
        (Deal(("A1A2B3C4D1E2", "A1XXXXX"), UNKNOWN), IllegalEventError, "a card twice"),
        (Deal(("A1A2B3C4D1E2", "XXXXXX"), "XXXE2XXXX"), IllegalEventError, "a card twice"),
        (Deal(("XXXXXX", "XXXXXE4"), "E4XXXXXXX"), IllegalEventError, "a card twice"),
        (Deal(("A1A2B3C4D1E5", "XXXXXX"), UNKNOWN), NotationError, "no card 'E5'"),
        (Deal(("a1a2b3c4d1e2", "XXXXXX"), UNKNOWN), NotationError, "no card 'a1'"),
        (Deal(("A1A2B3C4D1E", "XXXXXX"), UNKNOWN), NotationError, "no card 'E'"),
    ],
)
def test_a_deal_has_the_cards_of_the_game(deal: Deal, error: type[IllegalError], word: str) -> None:
    refuses(GeishasRoad().initial(), deal, error, word)


@pytest.mark.parametrize("markers", ["choose", "random"])
def test_a_draw_is_the_top_card_for_who_is_to_act(markers: str) -> None:
    picks = " !A !B" if markers == "choose" else ""
    state = position(ALL + picks, markers=markers)
    refuses(state, Draw(1, "C3"), IllegalEventError, "seat 0 is to draw")
    refuses(state, Draw(0, "D2"), IllegalEventError, "not the top card")
    refuses(state, Draw(0, "X"), IllegalEventError, "not the top card")
    refuses(state, Draw(0, "C3D2"), IllegalEventError, "not the top card")
    own = position(OWN + picks, markers=markers)
    for card in ("", "B1B2", "XX", "XXXX", "B1X"):
        refuses(own, Draw(0, card), IllegalEventError, "one card")
    refuses(own, Draw(0, "A1"), IllegalEventError, "in two places")
    refuses(own, Draw(0, "F1"), NotationError, "no card 'F1'")
    assert own.apply(Draw(0, "B1")).to_json()["hands"] == ["A1A2B1B3C4D1E2", "XXXXXX"]
    assert own.apply(Draw(0, "X")).to_json()["hands"] == ["A1A2B3C4D1E2X", "XXXXXX"]


def test_a_known_hand_plays_what_it_has() -> None:
    state = position(f"{OWN} +B1")
    refuses(state, Act(0, "RE1"), IllegalActionError, "the hand does not have E1")
    refuses(state, Act(0, "GA1B2E1"), IllegalActionError, "the hand does not have B2 or E1")
    refuses(state, Act(0, "IA1A3"), IllegalActionError, "the hand does not have A3")
    refuses(state, Act(0, "CA1B3C4C3"), NotationError, "canonical form is CA1B3C3C4")
    refuses(state, Act(0, "CA1B3C3C4"), IllegalActionError, "the hand does not have C3")
    refuses(state, Act(0, "IXX"), IllegalActionError, "X stands for cards that are not known")
    refuses(state, Act(0, "IA1X"), IllegalActionError, "X stands for cards that are not known")
    refuses(state, Act(0, "IXA1"), NotationError, "only for the cards of an intrigue")
    refuses(state, Act(0, "GXXX"), NotationError, "only for the cards of an intrigue")
    for sign in ("-A1", ">A1A2", "!A", "^0"):
        refuses(state, Act(0, sign), IllegalActionError, "an action is due")
    refuses(state, Act(1, "IXX"), NotYourTurnError, "seat 0 is to act")


def test_an_unknown_hand_plays_what_it_can_have() -> None:
    state = position(f"{OWN} +B1 RA1 +X")
    with pytest.raises(UnknownHandError):
        state.legal_actions()
    for action in ("IXX", "IE1E3", "IE1X", "RE1", "GA3B2C1", "CA3A4B2B4"):
        state.apply(Act(1, action))
    for action in ("RA1", "RA2", "IE2X", "IE1E2", "GA1A3C1", "CA3A4B2C4"):
        refuses(state, Act(1, action), IllegalEventError, "in two places")


def test_a_hand_is_used_up() -> None:
    """A partly known hand gives known cards from either part, unknown ones only from the unknown part."""
    state = position("1. =A1A2B3C4D1E2/B1C1D2XXX +X RA1 +X")
    assert state.apply(Act(1, "GA3B1E1")).to_json()["hands"] == ["A2B3C4D1E2X", "C1D2XX"]
    assert state.apply(Act(1, "IXX")).to_json()["hands"] == ["A2B3C4D1E2X", "B1C1D2XX"]
    assert state.apply(Act(1, "IB1X")).to_json()["hands"] == ["A2B3C4D1E2X", "C1D2XXX"]
    known = position("1. =A1A2B3C4D1E2/B1C1D2D3E3E4 +X RA1 +X")
    refuses(known, Act(1, "IXX"), IllegalActionError, "does not have that many cards")
    refuses(known, Act(1, "IA3A4"), IllegalActionError, "does not have that many cards")
    assert known.apply(Act(1, "IA3E4")).to_json()["hands"] == ["A2B3C4D1E2X", "B1C1D2D3E3"]


def test_an_intrigue_is_taken_once_a_round_by_an_unknown_hand_too() -> None:
    state = position(f"1. {unseen('IXX IXX')} +X")
    for action in ("IXX", "IE1E2", "IE1X"):
        error = refuses(state, Act(0, action), IllegalActionError, "intrigue has been used this round")
        assert isinstance(error, IllegalActionError)
        assert error.shape == state.shape() == ("R??", "G??????", "C????????")


def test_the_revealed_part_of_an_intrigue_can_be_played_back() -> None:
    """`IB2X`: the card kept has been seen since, the one discarded has not."""
    for action, kept in (("IXX", "X"), ("IB2X", "B2")):
        state = position(f"1. {unseen(action)}")
        assert (state.to_json()["intrigues"], state.to_json()["discards"]) == ([kept, ""], ["X", ""])
    for action in ("IXB2", "IXb2", "Ib2X"):
        refuses(position(f"1. {UNSEEN} +X"), Act(0, action), NotationError)


ROUND = "IXX IXX RA1 RA2 GB1C1D1-B1 GB2C2D2-B2 CA3E1B3E2-A3E1 CC3E3C4E4-C3E3"


def test_a_reveal_is_one_card_that_can_be_there() -> None:
    state = position(f"1. {unseen(ROUND)}")
    assert (state.due, state.due_reveals()) == (Due.REVEAL, (0, 1))
    for cards in ("", "X", "XX", "A4B4"):
        refuses(state, Reveal(0, cards), IllegalEventError, "one card")
    refuses(state, Reveal(0, "b4"), NotationError, "no card 'b4'")
    refuses(state, Reveal(2, "B4"), IllegalEventError, "no intrigue of seat 2")
    for played_already in ("A1", "B1", "C3", "E4"):
        refuses(state, Reveal(0, played_already), IllegalEventError, "in two places")
    once = state.apply(Reveal(1, "A4"))
    refuses(once, Reveal(0, "A4"), IllegalEventError, "in two places")
    refuses(once, Reveal(1, "B4"), IllegalEventError, "no intrigue of seat 1")
    assert once.due_reveals() == (0,)
    scored = once.apply(Reveal(0, "B4"))
    assert (scored.due, scored.round) == (Due.DEAL, 1)


def test_a_reveal_is_the_card_that_the_owner_kept() -> None:
    state = position(f"1. {unseen(ROUND.replace('IXX', 'IB4D4', 1))}")
    refuses(state, Reveal(0, "A4"), IllegalEventError, "another card")
    refuses(state, Reveal(0, "D4"), IllegalEventError, "another card")
    refuses(state, Reveal(1, "B4"), IllegalEventError, "in two places")
    refuses(state, Reveal(1, "D4"), IllegalEventError, "in two places")
    state.apply(Reveal(0, "B4"))


@given(play=played(GEISHAS_ROAD), data=st.data())
def test_a_view_takes_no_event_that_its_own_cards_rule_out(play: Played, data: st.DataObject) -> None:
    """The opponent can never play a card that the observer holds, has put away or has seen played."""
    seat = data.draw(st.sampled_from((0, 1)))
    acts = [n for n, event in enumerate(play.events) if isinstance(event, Act) and event.seat != seat]
    at = data.draw(st.sampled_from(acts))
    view = play.states[at].project(seat)
    assert isinstance(view, GeishasRoadState)
    pack = play.ruleset.pack
    seen = "".join(pack.decode(cards) for cards in (*view.hands, *view.tableaus, *view.intrigues, *view.discards))
    for kind in pack.kinds:
        for shape, action in (("R??", f"R{kind}"), ("I????", f"I{kind}X")):
            if shape not in view.shape():
                continue
            if kind in pack.split(seen):
                refuses(view, Act(1 - seat, action), IllegalEventError, "in two places")
            else:
                view.apply(Act(1 - seat, action))
