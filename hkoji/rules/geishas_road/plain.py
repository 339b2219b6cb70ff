"""A position as plain data, for JSON: what programs, templates and other languages read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hkoji.rules.geishas_road import scoring
from hkoji.rules.geishas_road.actions import BITS, CODES, PACK
from hkoji.rules.protocol import Json

if TYPE_CHECKING:
    from hkoji.rules.geishas_road.state import GeishasRoadState


def describe(state: GeishasRoadState) -> dict[str, Json]:
    """The position as plain data. Cards are text, lists of two are by seat, lists of five by colour.

    `used` holds action letters, `markers` 0, 1 or null; `places` steps from home, `homes` homecomings and
    `lanterns` prestige of each geisha this round; `light` and `dark` the lanterns that are left;
    `influence` is in half points.
    """
    outcome: Json = None
    if state.outcome is not None:
        outcome = {"reason": state.outcome.reason, "winner": state.outcome.winner}
    return {
        "ruleset": state.ruleset.to_json(),
        "round": state.round,
        "first": state.first,
        "due": state.due.value,
        "actor": state.actor,
        "hands": [PACK.decode(c) for c in state.hands],
        "used": [[code for code in CODES if mask & BITS[code]] for mask in state.used],
        "tableaus": [PACK.decode(c) for c in state.tableaus],
        "intrigues": [PACK.decode(c) for c in state.intrigues],
        "revealed": [bool(state.revealed & (1 << seat)) for seat in (0, 1)],
        "discards": [PACK.decode(c) for c in state.discards],
        "offer": state.offer or None,
        "left": state.left or None,
        "deck": state.deck,
        "places": list(state.road.places),
        "homes": list(state.road.homes),
        "lanterns": list(state.road.lanterns),
        "light": list(state.road.light),
        "dark": list(state.road.dark),
        "markers": [None if m == scoring.MIDDLE else int(m) for m in state.markers],
        "influence": [list(state.influence(seat)) for seat in (0, 1)],
        "wins": list(state.wins),
        "loser": state.loser,
        "outcome": outcome,
    }
