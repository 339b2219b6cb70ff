"""A position as plain data, for JSON: what programs, templates and other languages read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hkoji.rules.hanamikoji import scoring
from hkoji.rules.hanamikoji.actions import NUMBERS, PACK, bit
from hkoji.rules.protocol import Json

if TYPE_CHECKING:
    from hkoji.rules.hanamikoji.state import HanamikojiState


def describe(state: HanamikojiState) -> dict[str, Json]:
    """The position as plain data. Cards are text, lists of two are by seat, lists of seven by geisha.

    `used` holds action numbers, `markers` 0, 1 or null, `charm` and `geisha` the totals on each side.
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
        "used": [[n for n in NUMBERS if mask & bit(n)] for mask in state.used],
        "rows": [PACK.decode(c) for c in state.rows],
        "secrets": [PACK.decode(c) for c in state.secrets],
        "trade_offs": [PACK.decode(c) for c in state.trade_offs],
        "offer": state.offer or None,
        "deck": state.deck,
        "removed": PACK.decode(state.aside),
        "markers": [None if m == scoring.NEUTRAL else int(m) for m in state.markers],
        "charm": [scoring.charm(state.markers, seat) for seat in (0, 1)],
        "geisha": [scoring.geisha(state.markers, seat) for seat in (0, 1)],
        "outcome": outcome,
    }
