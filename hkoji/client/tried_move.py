"""A move that is tried out: the game after it, as far as its player knows it then. Nothing is sent or kept.

In a sealed game `hkoji.client.sealed_play` tries out moves.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from hkoji.client.service import utc_now
from hkoji.client.verified_log import KnownGame
from hkoji.errors import NotShownError, UnknownHandError
from hkoji.game.commitments import Opening
from hkoji.game.dealer import Dealer
from hkoji.game.knowledge import SeatKnowledge, SpectatorKnowledge
from hkoji.game.position import Position, read_position, studied_position, time_of_record
from hkoji.game.replay import player_knowledge, replay, require_whole
from hkoji.game.submission import draft_move
from hkoji.log.line import Line
from hkoji.rules.events import Deal, Seat
from hkoji.rules.protocol import Ruleset, State


@dataclass(frozen=True, slots=True)
class _CardsSoFar(SeatKnowledge):
    """Knowledge of a seat's cards, in which a card that the service has not shown yet is unknown."""

    def deal(self, ruleset: Ruleset, dealer: Dealer | None, round_number: int) -> Deal:
        try:
            return SeatKnowledge.deal(self, ruleset, dealer, round_number)
        except NotShownError:
            return SpectatorKnowledge().deal(ruleset, dealer, round_number)

    def draw(self, state: State, seat: Seat, index: int) -> str:
        try:
            return SeatKnowledge.draw(self, state, seat, index)
        except NotShownError:
            return SpectatorKnowledge().draw(state, seat, index)


def after_move(known: KnownGame, openings: Iterable[Opening], action: str, name: str) -> Position:
    """Returns the position after a legal move of the player with that name, as far as this player knows it then.

    `action` is canonical, and `openings` are those of the player's earlier moves. A card that the player draws after
    the move is unknown, and what the service or the opponent add to the log is not in it.
    """
    course, seat = known.position.course, known.seat
    assert seat is not None
    seen = time_of_record(known.lines[-1])
    draft = draft_move(course, action, secrets.token_bytes, by=name, at=utc_now(), seen=seen)
    lines = (Line(draft.entry, b""),)  # nothing is signed
    shown = player_knowledge(lines, seat, known.view, (*openings, *draft.opening), course.setup.ruleset)
    cards = _CardsSoFar(shown.seat, shown.dealt, shown.openings)
    after = require_whole(replay(lines, cards, after=known.replay))
    try:
        return read_position(after, seat, name)
    except UnknownHandError:
        return studied_position(after, seat)
