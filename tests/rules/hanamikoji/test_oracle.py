"""The engine against a referee written from the rulebook alone, move by move."""

from __future__ import annotations

from itertools import combinations_with_replacement

from hypothesis import given
from hypothesis import strategies as st

from hkoji.rules.events import Deal, Draw
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, Due, Json, State
from tests.support import naive_hanamikoji as naive
from tests.support.rules import GAMES, KINDS, Played, fewer, played, refuses

HANAMIKOJI = next(game for game in GAMES if game.name == "hanamikoji")


def as_json(game: naive.Table, state: State) -> dict[str, Json]:
    """What the naive game says of the fields of a position's JSON."""
    turn, result = game["turn"], game["result"]
    if game["offer"] is not None:
        turn = 1 - turn
    started = game["round"] > 0
    return {
        "ruleset": state.ruleset.to_json(),
        "round": game["round"],
        "first": game["starter"],
        "due": state.due.value,
        "actor": None if result else turn,
        "hands": ["".join(sorted(hand)) for hand in game["hands"]],
        "used": [[n for n in (1, 2, 3, 4) if started and n not in unused] for unused in game["unused"]],
        "rows": ["".join(sorted(row)) for row in game["rows"]],
        "secrets": ["".join(cards) for cards in game["secret"]],
        "trade_offs": ["".join(sorted(cards)) for cards in game["discard"]],
        "offer": naive.spell(*offered) if (offered := offer_of(game)) else None,
        "deck": "".join(game["deck"]),
        "removed": "".join(game["removed"]),
        "markers": list(game["markers"].values()),
        "charm": [sum(naive.favors(game["markers"], player)) for player in (0, 1)],
        "geisha": [len(naive.favors(game["markers"], player)) for player in (0, 1)],
        "outcome": result and {"reason": result[0], "winner": result[1]},
    }


def offer_of(game: naive.Table) -> tuple[int, list[str]] | None:
    if game["offer"] is None:
        return None
    cards = [card for share in game["offer"] for card in share]
    return len(cards), cards


def follow(play: Played) -> None:
    """Plays the same game in the naive referee, comparing every position but those between two reveals."""
    ruleset = play.ruleset
    assert isinstance(ruleset, Hanamikoji)
    starter = {"host": 0, "guest": 1, "random": None}[ruleset.first]
    game = naive.new_game(starter, ruleset.max_rounds, ruleset.tiebreak)
    for event, state in zip(play.events, play.states[1:], strict=True):
        match event:
            case Deal(hands, rest, aside):
                naive.deal(game, *hands, rest, aside)
            case Draw():
                naive.draw(game)
            case _ if play.states[0].due is Due.CHANCE and game["starter"] is None:
                game["starter"] = getattr(event, "first", None)
            case _ if hasattr(event, "action"):
                assert event.action in naive.moves(game)
                naive.decide(game, event.action)
            case _ if state.due is Due.REVEAL:
                continue
            case _:
                assert naive.round_is_over(game)
                naive.score(game)
        assert state.to_json() == as_json(game, state)
        assert (state.due is Due.REVEAL) == (naive.round_is_over(game) and game["secret"] != [[], []])
        if state.due in DECISION_DUE:
            assert set(state.legal_actions()) == naive.moves(game)


@fewer
@given(play=played(HANAMIKOJI))
def test_the_naive_referee_agrees(play: Played) -> None:
    follow(play)


@fewer
@given(play=played(HANAMIKOJI), data=st.data())
def test_of_all_that_can_be_written_only_the_legal_actions_are_taken(play: Played, data: st.DataObject) -> None:
    for due in (Due.ACT, Due.ANSWER):
        state = data.draw(st.sampled_from([state for state in play.states if state.due is due]))
        legal = set(state.legal_actions())
        assert state.actor is not None
        assert legal <= WRITABLE
        for action in sorted(WRITABLE):
            event = KINDS[due](state.actor, action)
            if action in legal:
                state.apply(event)
            else:
                refuses(state, event)


def _writable() -> set[str]:
    found = set()
    for number in (1, 2, 3, 4):
        for cards in combinations_with_replacement("ABCDEFG", number):
            found.add(naive.spell(number, list(cards)))
            if number == 4:
                a, b, c, d = cards
                found |= {naive.spell(4, [a, c, b, d]), naive.spell(4, [a, d, b, c])}
            elif number < 3:
                found.add("-" + "".join(cards))
    return found


WRITABLE = _writable()


def test_writable_actions_are_what_they_should_be() -> None:
    """7 secrets, 28 trade-offs, 84 gifts, 7 + 28 answers; pairs of 28 pairs for the competitions."""
    assert len(WRITABLE) == 7 + 28 + 84 + 28 * 29 // 2 + 7 + 28
