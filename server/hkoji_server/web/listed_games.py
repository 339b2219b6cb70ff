"""Games in the lists of pages, and those that the form for a new game offers, as values for templates.

Scripts know neither rules nor clocks: the form has their texts as values, as they stand in the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final, NamedTuple

from hkoji.game.agreement import Agreement, parse_time_control, read_agreement
from hkoji.game.result_text import result_text
from hkoji.messages.text import Speaker, Text, tell
from hkoji.rules.events import Outcome
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import RULESETS, parse_ruleset
from hkoji.show.games import board_type, brief_type
from hkoji.show.terms import clock_words
from hkoji_server.store.game_values import GameSummary

CLOCKS: Final = {
    "3d/14d": tell("3 days for each turn, and 14 days in reserve"),
    "1d/7d": tell("1 day for each turn, and 7 days in reserve"),
    "none": tell("No clock: nobody can lose on time"),
}
"""The clocks of the form as they are typed, the usual one first, each with its words."""


class ListedGame(NamedTuple):
    """A row of a list. `result` is empty until the game is over, `clock` in the form `3d/14d`."""

    summary: GameSummary
    title: str
    terms: str
    clock: str
    result: str


def listed(found: Iterable[GameSummary], say: Speaker) -> list[ListedGame]:
    """Returns the rows of games that have been opened."""
    return [_row(each, say) for each in found if each.host is not None]


def _row(summary: GameSummary, say: Speaker) -> ListedGame:
    ruleset, agreement = _ruleset(summary.ruleset), _agreement(summary.agreement)
    result = ""
    if summary.reason is not None:
        winner = None if summary.winner is None else (summary.host, summary.guest)[summary.winner]
        result = say(result_text(Outcome(summary.reason, summary.winner), ruleset.reasons, winner))
    terms = say(brief_type(ruleset.name).terms(ruleset))
    return ListedGame(summary, board_type(ruleset.name).game, terms, say(clock_words(agreement.clock)), result)


@lru_cache(maxsize=64)
def _ruleset(text: str) -> Ruleset:
    return parse_ruleset(json.loads(text))


@lru_cache(maxsize=256)
def _agreement(text: str) -> Agreement:
    return read_agreement(json.loads(text))


@cache
def offered_games() -> list[tuple[str, str]]:
    """Returns the name of each game for people, and its ruleset with the usual options as JSON."""
    return [(board_type(name).game, json.dumps(RULESETS[name]().to_json())) for name in RULESETS]


@cache
def offered_clocks() -> list[tuple[Text, str]]:
    """Returns the words of each clock, and the clock as JSON; `null` is no clock."""
    controls = [(words, parse_time_control(typed)) for typed, words in CLOCKS.items()]
    return [(words, json.dumps(None if control is None else control.to_json())) for words, control in controls]
