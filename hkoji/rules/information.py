"""What one seat knows of a game, as plain data for programs: for `hkoji show --json` and for bots.

docs/json.md. It holds only what the rules say; callers add a game's id, names and log.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hkoji.rules.events import Event, Seat
from hkoji.rules.protocol import Json, State
from hkoji.rules.transcript import format_rounds

INFORMATION_VERSION: Final = 1
"""Rises when a field changes its meaning or is removed, not when a field is added."""


def information_json(view: State, seat: Seat | None, events: Iterable[Event], legal: Iterable[str]) -> dict[str, Json]:
    """The view of `seat` (None: a spectator), how it came about, and the decisions that are open to it now."""
    ruleset, outcome = view.ruleset, view.outcome
    return {
        "v": INFORMATION_VERSION,
        "ruleset": ruleset.name,
        "options": ruleset.to_json(),
        "seat": seat,
        "actor": view.actor,
        "round": view.round,
        "hand": ruleset.pack.decode(view.hands[seat]) if seat is not None else None,
        "legal": list(legal),
        "due": view.due.value,
        "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
        "rounds": list(format_rounds(ruleset, events, view)),
        "state": view.to_json(),
    }
