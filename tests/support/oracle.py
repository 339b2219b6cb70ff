"""A game of Hanamikoji followed by the naive referee, which has to agree with every position."""

from __future__ import annotations

from hkoji.rules.events import Act, Answer, Chance, Deal, Draw, Reveal
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, Due, Json, State
from tests.support import naive_hanamikoji as naive
from tests.support.rules import Played


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
            case Chance(first):
                game["starter"] = first
            case Deal(hands, rest, aside):
                naive.deal(game, *hands, rest, aside)
            case Draw():
                naive.draw(game)
            case Act(_, action) | Answer(_, action):
                assert action in naive.moves(game)
                naive.decide(game, action)
            case Reveal(seat, cards):
                assert game["secret"][seat] == [cards]
                if state.due is Due.REVEAL:
                    continue
                assert naive.round_is_over(game)
                naive.score(game)
            case _:
                raise AssertionError(f"{event} is not for a referee of whole games")
        assert state.to_json() == as_json(game, state)
        assert (state.due is Due.REVEAL) == (naive.round_is_over(game) and not isinstance(event, Reveal))
        if state.due in DECISION_DUE:
            assert set(state.legal_actions()) == naive.moves(game)
