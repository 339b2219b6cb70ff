"""Follows a game with its naive referee, and counts with the engine every way to go on from a position.

The referees are modules of plain functions. This module knows, for each game, how their dictionaries map to a
position's JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hkoji.rules.events import DECISIONS, Chance, Deal, Draw, Reveal
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, DECISION_KINDS, Due, Json, Ruleset, State
from tests.support import naive_geishas_road, naive_hanamikoji
from tests.support.naive import Naive, Table
from tests.support.rules import Played, dealt


@dataclass(frozen=True)
class Referee:
    """One game's referee, how it begins, and how its dictionaries map to the fields of a position's JSON."""

    naive: Naive
    begin: Callable[[Ruleset], Table]
    chance: Callable[[Table, Chance], None]
    face_down: str
    """The key under which a game has each player's face-down card that counts."""
    fields: Callable[[Table], dict[str, Json]]


def follow(play: Played) -> None:
    """Plays the same game in the naive referee and compares every position except those between two reveals."""
    referee = REFEREES[play.ruleset.name]
    naive = referee.naive
    game = referee.begin(play.ruleset)
    for event, state in zip(play.events, play.states[1:], strict=True):
        match event:
            case Chance():
                referee.chance(game, event)
            case Deal(hands, rest, aside):
                naive.deal(game, *hands, rest, *filter(None, [aside]))
            case Draw(seat, _):
                assert naive.draw_is_due(game)
                assert seat == naive.decider(game)
                naive.draw(game)
            case Reveal(seat, cards):
                assert game[referee.face_down][seat] == [cards]
                if state.due is Due.REVEAL:
                    continue
                assert naive.round_is_over(game)
                naive.score(game)
            case _:
                assert isinstance(event, DECISIONS), f"{event} is not for a referee of whole games"
                assert event.seat == naive.decider(game)
                assert event.action in naive.moves(game)
                naive.decide(game, event.action)
        assert state.to_json() == as_json(referee, game, state)
        assert (state.due is Due.REVEAL) == (naive.round_is_over(game) and not isinstance(event, Reveal))
        assert (state.due is Due.DRAW) == naive.draw_is_due(game)
        if state.due in DECISION_DUE:
            assert set(state.legal_actions()) == naive.moves(game)


def as_json(referee: Referee, game: Table, state: State) -> dict[str, Json]:
    """The fields of a position's JSON as the naive game has them; `follow` compares what is due."""
    result = game["result"]
    return {
        "ruleset": state.ruleset.to_json(),
        "round": game["round"],
        "first": game["starter"],
        "due": state.due.value,
        "actor": None if result else referee.naive.decider(game),
        "hands": both(game["hands"]),
        "deck": "".join(game["deck"]),
        "outcome": result and {"reason": result[0], "winner": result[1]},
    } | referee.fields(game)


def both(places: list[list[str]]) -> list[Json]:
    """Two places' cards as text, sorted."""
    return ["".join(sorted(place)) for place in places]


def used(game: Table, actions: list[Json]) -> list[Json]:
    """The actions that have been used."""
    return [[action for action in actions if game["round"] and action not in unused] for unused in game["unused"]]


def starter_of(first: str) -> int | None:
    return {"host": 0, "guest": 1, "random": None}[first]


# --- Hanamikoji -----------------------------------------------------------------------------------------------------


def _begin_hanamikoji(ruleset: Ruleset) -> Table:
    assert isinstance(ruleset, Hanamikoji)
    return naive_hanamikoji.new_game(starter_of(ruleset.first), ruleset.max_rounds, ruleset.tiebreak)


def _hanamikoji_chance(game: Table, event: Chance) -> None:
    game["starter"] = event.first


def _hanamikoji_fields(game: Table) -> dict[str, Json]:
    offered = [card for share in game["offer"] or [] for card in share]
    return {
        "used": used(game, [1, 2, 3, 4]),
        "rows": both(game["rows"]),
        "secrets": both(game["secret"]),
        "trade_offs": both(game["discard"]),
        "offer": naive_hanamikoji.spell(len(offered), offered) if offered else None,
        "removed": "".join(game["removed"]),
        "markers": list(game["markers"].values()),
        "charm": [sum(naive_hanamikoji.favours(game["markers"], player)) for player in (0, 1)],
        "geisha": [len(naive_hanamikoji.favours(game["markers"], player)) for player in (0, 1)],
    }


# --- Geisha's Road --------------------------------------------------------------------------------------------------


def _begin_geishas_road(ruleset: Ruleset) -> Table:
    assert isinstance(ruleset, GeishasRoad)
    return naive_geishas_road.new_game(starter_of(ruleset.first), ruleset.starting_markers)


def _geishas_road_chance(game: Table, event: Chance) -> None:
    if event.first is not None:
        game["starter"] = event.first
    if event.markers is not None:
        naive_geishas_road.give_markers(game, event.markers)


def _geishas_road_fields(game: Table) -> dict[str, Json]:
    offered = [card for share in game["offer"] or [] for card in share]
    scored = game["influence"] is not None
    influence = game["influence"] or [naive_geishas_road.influence(game, player) for player in (0, 1)]
    return {
        "used": used(game, ["R", "I", "G", "C"]),
        "tableaus": both(game["tableaus"]),
        "intrigues": both(game["kept"]),
        "revealed": [scored, scored],
        "discards": both(game["discarded"]),
        "offer": naive_geishas_road.spell("GC"[len(offered) == 4], offered) if offered else None,
        "left": "".join(sorted(game["left"])) if game["left"] else None,
        "places": [walked % naive_geishas_road.TEAHOUSES for walked in game["walked"].values()],
        "homes": list(game["homecomings"].values()),
        "lanterns": [sum(points) for points in game["lanterns"].values()],
        "light": game["light"],
        "dark": game["dark"],
        "markers": list(game["markers"].values()),
        "influence": [[int(2 * points) for points in of_seat.values()] for of_seat in influence],
        "wins": game["wins"],
        "loser": game["loser"],
    }


REFEREES: Final = {
    "hanamikoji": Referee(naive_hanamikoji, _begin_hanamikoji, _hanamikoji_chance, "secret", _hanamikoji_fields),
    "geishas-road": Referee(
        naive_geishas_road, _begin_geishas_road, _geishas_road_chance, "kept", _geishas_road_fields
    ),
}


FOLDER = Path(__file__).parents[1] / "data"


def lines(game: str) -> list[str]:
    """A game's positions with their counts."""
    return [line for line in (FOLDER / f"{game}.perft").read_text().splitlines() if line and not line.startswith("#")]


def name(line: str) -> str:
    """The position of a line."""
    return line.partition(" ;")[0]


def check(ruleset: Callable[[str], Ruleset], line: str) -> None:
    """Asserts that the position of `line` has as many continuations as the line says."""
    start = position(ruleset, name(line))
    expected = [int(number) for number in line.partition(" ; ")[2].split()]
    assert expected
    assert [count(start, depth) for depth in range(1, len(expected) + 1)] == expected


def position(ruleset: Callable[[str], Ruleset], text: str) -> State:
    """The position that a line describes, ready for a decision; `ruleset` makes the game from who starts."""
    first, deal, *tokens = text.split()
    state = drawn(ruleset(first).initial().apply(dealt(deal)))
    for token in tokens:
        for action in re.findall(r"^[^->]+|[->][^->]+", token):
            state = decide(state, action)
    return state


def decide(state: State, action: str) -> State:
    """The position after a decision and the draw that follows."""
    assert state.actor is not None
    return drawn(state.apply(DECISION_KINDS[state.due](state.actor, action)))


def drawn(state: State) -> State:
    """The position after the draw, if one is due."""
    if state.due is not Due.DRAW:
        return state
    assert state.actor is not None
    return state.apply(Draw(state.actor, state.deck[: state.ruleset.pack.width]))


def count(state: State, depth: int) -> int:
    """The number of sequences of so many decisions."""
    if depth == 1:
        return len(state.legal_actions())
    return sum(count(decide(state, action), depth - 1) for action in state.legal_actions())
