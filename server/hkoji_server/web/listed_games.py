"""Games in the lists of pages, as values for templates."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from hkoji.game.agreement import Agreement, read_agreement
from hkoji.game.result_text import result_text
from hkoji.messages.text import Speaker
from hkoji.rules.events import Outcome
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import parse_ruleset
from hkoji.show.games import board_type, brief_type
from hkoji.show.terms import clock_words
from hkoji_server.store.game_values import GameSummary


class ListedGame(NamedTuple):
    """A row of a list. `result` is empty until the game is over, `clock` in the form `3d/14d`."""

    game: str
    title: str
    host: str
    guest: str | None
    invite: str | None
    status: str
    terms: str
    clock: str
    result: str
    updated: str
    to_move: str | None


def listed(found: Iterable[GameSummary], say: Speaker) -> list[ListedGame]:
    """Returns the rows of games that have been opened."""
    return [_row(each, each.host, say) for each in found if each.host is not None]


def _row(summary: GameSummary, host: str, say: Speaker) -> ListedGame:
    ruleset, agreement = _ruleset(summary.ruleset), _agreement(summary.agreement)
    result = ""
    if summary.reason is not None:
        winner = None if summary.winner is None else (host, summary.guest)[summary.winner]
        result = say(result_text(Outcome(summary.reason, summary.winner), ruleset.reasons, winner))
    return ListedGame(
        game=summary.game,
        title=board_type(ruleset.name).game,
        host=host,
        guest=summary.guest,
        invite=summary.invite,
        status=summary.status,
        terms=say(brief_type(ruleset.name).terms(ruleset)),
        clock=say(clock_words(agreement.clock)),
        result=result,
        updated=summary.updated,
        to_move=summary.to_move,
    )


@lru_cache(maxsize=64)
def _ruleset(text: str) -> Ruleset:
    return parse_ruleset(json.loads(text))


@lru_cache(maxsize=256)
def _agreement(text: str) -> Agreement:
    return read_agreement(json.loads(text))
