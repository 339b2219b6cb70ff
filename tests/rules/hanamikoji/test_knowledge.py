"""A game under partial knowledge refuses events that contradict what is known, and changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import IllegalActionError, IllegalError, IllegalEventError, NotationError, NotYourTurnError
from hkoji.rules.events import Act, Answer, Deal, Draw, Event, Reveal
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, State
from tests.support.rules import GAMES, Played, fold, played, refuses

OWN = Deal(("AACDFG", "XXXXXX"), "XXXXXXXX", "X")
BLANK = Deal(("XXXXXX", "XXXXXX"), "XXXXXXXX", "X")
ALL = Deal(("AABDGG", "BCEFFG"), "FDFEECGD", "G")


def after(*events: Event) -> State:
    return fold(Hanamikoji(), events)


@pytest.mark.parametrize(
    ("deal", "error", "word"),
    [
        (Deal(("AACDF", "XXXXXX"), "XXXXXXXX", "X"), IllegalEventError, "two hands of 6"),
        (Deal(("AACDFGG", "XXXXX"), "XXXXXXXX", "X"), IllegalEventError, "two hands of 6"),
        (Deal(("AACDFG", "XXXXXX"), "XXXXXXX", "XX"), IllegalEventError, "8 cards to draw and 1 removed"),
        (Deal(("AACDFG", "XXXXXX"), "XXXXXXXXX", ""), IllegalEventError, "8 cards to draw and 1 removed"),
        (Deal(("", ""), "", ""), IllegalEventError, "two hands of 6"),
        (Deal(("AAACDF", "XXXXXX"), "XXXXXXXX", "X"), NotationError, "only two A cards"),
        (Deal(("AACDFG", "AXXXXX"), "XXXXXXXX", "X"), IllegalEventError, "more copies"),
        (Deal(("AACDFG", "XXXXXX"), "XXXXAXXX", "X"), IllegalEventError, "more copies"),
        (Deal(("AACDFG", "XXXXXX"), "XXXXXXXX", "A"), IllegalEventError, "more copies"),
        (Deal(("GGGXXX", "XXXGXX"), "XGXXXXXX", "G"), IllegalEventError, "more copies"),
        (Deal(("AACDF?", "XXXXXX"), "XXXXXXXX", "X"), NotationError, "no card '?'"),
        (Deal(("aacdfg", "XXXXXX"), "XXXXXXXX", "X"), NotationError, "no card 'a'"),
    ],
)
def test_a_deal_has_the_cards_of_the_game(deal: Deal, error: type[IllegalError], word: str) -> None:
    refuses(Hanamikoji().initial(), deal, error, word)


def test_a_draw_is_the_top_card_for_who_is_to_act() -> None:
    state = after(ALL)
    refuses(state, Draw(1, "F"), IllegalEventError, "seat 0 is to draw")
    refuses(state, Draw(0, "D"), IllegalEventError, "not the top card")
    refuses(state, Draw(0, "X"), IllegalEventError, "not the top card")
    own = after(OWN)
    refuses(own, Draw(0, ""), IllegalEventError, "one card")
    refuses(own, Draw(0, "BC"), IllegalEventError, "one card")
    refuses(own, Draw(0, "A"), IllegalEventError, "more copies")
    refuses(own, Draw(0, "H"), NotationError, "no card 'H'")
    assert own.apply(Draw(0, "B")).to_json()["hands"] == ["AABCDFG", "XXXXXX"]
    assert own.apply(Draw(0, "X")).to_json()["hands"] == ["AACDFGX", "XXXXXX"]


def test_a_known_hand_plays_what_it_has() -> None:
    state = after(OWN, Draw(0, "B"))
    refuses(state, Act(0, "1E"), IllegalActionError, "does not have any E card")
    refuses(state, Act(0, "3AAE"), IllegalActionError, "does not have any E card")
    refuses(state, Act(0, "3FFG"), IllegalActionError, "does not have two F cards")
    refuses(state, Act(0, "4BEEG"), IllegalActionError, "does not have two E cards")
    refuses(state, Act(0, "2BB"), IllegalActionError, "does not have two B cards")
    refuses(state, Act(0, "1X"), IllegalActionError, "X stands for cards that are not known")
    refuses(state, Act(0, "2XX"), IllegalActionError, "X stands for cards that are not known")
    refuses(state, Act(0, "2BA"), NotationError, "canonical form is 2AB")
    refuses(state, Act(0, "2AX"), NotationError, "only for all cards")
    refuses(state, Act(0, "3XXX"), NotationError, "only for all cards")
    refuses(state, Act(0, "-A"), IllegalActionError, "no proposal waits")
    refuses(state, Act(1, "1X"), NotYourTurnError, "seat 0 is to act")


def test_an_unknown_hand_plays_what_it_can_have() -> None:
    state = after(OWN, Draw(0, "B"), Act(0, "2AA"), Draw(1, "X"))
    for action in ("1X", "1E", "1B", "2XX", "2BC", "3BEE", "4BCEE", "4FFGG"):
        state.apply(Act(1, action))
    refuses(state, Act(1, "1A"), IllegalEventError, "more copies")
    refuses(state, Act(1, "2BB"), IllegalEventError, "more copies")
    refuses(state, Act(1, "3CCG"), IllegalEventError, "more copies")
    refuses(state, Act(1, "4DDDE"), IllegalEventError, "more copies")
    refuses(state, Act(1, "4FFFF"), IllegalEventError, "more copies")


def test_a_hand_is_used_up() -> None:
    """A partly known hand gives known cards from either part, unknown ones only from the unknown part."""
    deal = Deal(("AACDFG", "BCDXXX"), "XXXXXXXX", "X")
    state = after(deal, Draw(0, "X"), Act(0, "2AA"), Draw(1, "X"))
    assert state.apply(Act(1, "3BEE")).to_json()["hands"] == ["CDFGX", "CDXX"]
    assert state.apply(Act(1, "2XX")).to_json()["hands"] == ["CDFGX", "BCDXX"]
    known = after(Deal(("AACDFG", "BCDEEF"), "XXXXXXXX", "X"), Draw(0, "X"), Act(0, "1X"), Draw(1, "X"))
    refuses(known, Act(1, "2XX"), IllegalActionError, "does not have that many cards")
    refuses(known, Act(1, "2GG"), IllegalActionError, "does not have that many cards")
    assert known.apply(Act(1, "1G")).to_json()["hands"] == ["AACDFG", "BCDEEF"]


def test_an_action_is_used_once_a_round_by_an_unknown_hand_too() -> None:
    for action in ("1X", "2XX"):
        state = after(BLANK, Draw(0, "X"), Act(0, action), Draw(1, "X"), Act(1, "1X"), Draw(0, "X"))
        other = {"1X": "1E", "2XX": "2EF"}[action]
        refuses(state, Act(0, action), IllegalActionError, "has been used this round")
        error = refuses(state, Act(0, other), IllegalActionError, "has been used this round")
        assert isinstance(error, IllegalActionError)
        assert error.shape == state.shape()
        assert other[0] not in {shape[0] for shape in error.shape}


def test_an_answer_takes_what_is_offered() -> None:
    state = after(BLANK, Draw(0, "X"), Act(0, "4BCDD"))
    for answer in ("-B", "-CD", "-BD", "-BCDD", "-CB", "-XX", "-", "BC", "3BCD", ""):
        refuses(state, Answer(1, answer), IllegalActionError, "-BC or -DD")
    refuses(state, Answer(0, "-BC"), NotYourTurnError, "seat 1 is to answer")
    assert state.apply(Answer(1, "-DD")).to_json()["rows"] == ["BC", "DD"]


def test_twins_are_one_answer() -> None:
    gift = after(BLANK, Draw(0, "X"), Act(0, "3GGG"))
    assert gift.legal_actions() == gift.shape() == ("-G",)
    assert gift.apply(Answer(1, "-G")).to_json()["rows"] == ["GG", "G"]
    pairs = after(BLANK, Draw(0, "X"), Act(0, "4ABAB"))
    assert pairs.legal_actions() == ("-AB",)
    assert pairs.apply(Answer(1, "-AB")).to_json()["rows"] == ["AB", "AB"]


def reveal_due(deal: Deal = BLANK, first: str = "1X", second: str = "1X") -> State:
    """The position before the reveals of a round in which everything else is open."""
    state = after(deal)
    for action in (first, second, "2XX", "2XX", "3ABC", "3DEF", "4EFGG", "4DFEG"):
        assert state.actor is not None
        state = state.apply(Draw(state.actor, "X"))
        assert state.actor is not None
        state = state.apply(Act(state.actor, action))
        if state.due in DECISION_DUE:
            assert state.actor is not None
            state = state.apply(Answer(state.actor, state.legal_actions()[0]))
    return state


def test_a_reveal_is_one_card_that_can_be_there() -> None:
    state = reveal_due()
    refuses(state, Reveal(0, ""), IllegalEventError, "one card")
    refuses(state, Reveal(0, "X"), IllegalEventError, "one card")
    refuses(state, Reveal(0, "BC"), IllegalEventError, "one card")
    refuses(state, Reveal(0, "b"), NotationError, "no card 'b'")
    refuses(state, Reveal(2, "B"), IllegalEventError, "no secret of seat 2")
    # all copies of A and C but one are elsewhere
    once = state.apply(Reveal(1, "A"))
    refuses(once, Reveal(0, "A"), IllegalEventError, "more copies")
    refuses(once, Reveal(1, "C"), IllegalEventError, "no secret of seat 1")
    assert once.due_reveals() == (0,)
    assert once.apply(Reveal(0, "B")).round == 1


def test_a_reveal_is_the_card_that_the_owner_put_there() -> None:
    own = Deal(("BXXXXX", "XXXXXX"), "XXXXXXXX", "X")
    state = reveal_due(own, first="1B")
    refuses(state, Reveal(0, "A"), IllegalEventError, "another card")
    refuses(state, Reveal(1, "B"), IllegalEventError, "more copies")
    state.apply(Reveal(0, "B"))


@given(play=played(next(game for game in GAMES if game.name == "hanamikoji")), data=st.data())
def test_a_view_takes_no_event_that_its_own_cards_rule_out(play: Played, data: st.DataObject) -> None:
    """The opponent can never show a card of which the observer holds or sees all copies."""
    seat = data.draw(st.sampled_from((0, 1)))
    at = data.draw(st.sampled_from([n for n, event in enumerate(play.events) if isinstance(event, Act)]))
    if (event := play.events[at]) and isinstance(event, Act) and event.seat != seat:
        view = play.states[at].project(seat)
        pack = play.ruleset.pack
        seen = [0] * 8
        position = view.to_json()
        for place in ("hands", "rows", "secrets", "trade_offs"):
            pair = position[place]
            assert isinstance(pair, list)
            for cards in pair:
                seen = [a + b for a, b in zip(seen, pack.counts(pack.encode(str(cards))), strict=True)]
        for kind, copies, count in zip(pack.kinds, pack.copies, seen, strict=False):
            secret = Act(event.seat, f"1{kind}")
            if "1?" in view.shape():
                if count == copies:
                    refuses(view, secret, IllegalEventError, "more copies")
                else:
                    view.apply(secret)
