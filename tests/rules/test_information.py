"""A program learns of a game only what the view, its events and its legal actions say."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from hkoji.rules.transcript import INFORMATION_VERSION, format_rounds, information_json
from tests.support.plays import plays
from tests.support.rules import OBSERVERS, Game, every_game, fewer


@every_game
@fewer
@given(data=st.data())
def test_it_says_what_the_view_says(game: Game, data: st.DataObject) -> None:
    play = data.draw(st.sampled_from(plays(game)))
    at = data.draw(st.integers(0, len(play.events)))
    for observer in OBSERVERS:
        events = play.seen_by(observer)[:at]
        view = play.states[at].project(observer)
        told = information_json(view, observer, events, (legal for legal in ("1A", "2BC")))
        assert json.loads(json.dumps(told)) == {
            "v": INFORMATION_VERSION,
            "ruleset": game.name,
            "options": play.ruleset.to_json(),
            "seat": observer,
            "actor": view.actor,
            "round": view.round,
            "hand": None if observer is None else play.ruleset.pack.decode(view.hands[observer]),
            "legal": ["1A", "2BC"],
            "due": view.due.value,
            "result": view.outcome and {"reason": view.outcome.reason, "winner": view.outcome.winner},
            "rounds": list(format_rounds(play.ruleset, events)),
            "state": view.to_json(),
        }
    assert INFORMATION_VERSION == 1
