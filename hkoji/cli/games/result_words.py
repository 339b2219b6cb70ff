"""How a listed game ended, in words: `won by charm`, `lost on time`, `called off by agreement`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client import Client

Summary = dict[str, Any]  # Any: JSON

_CALLED_OFF: Final = tell("called off by agreement")


def result_words(client: Client, game: Summary) -> str:
    """Returns how a listed game ended; empty for one that goes on, and for one of which only that is known."""
    if game["result"] is None:
        return ""
    from hkoji.game.result_text import lapse_text, own_result_text, result_text

    if lapse := game.get("lapse"):
        return lapse_text(lapse["reason"], lapse["why"])
    if game["status"] == "cancelled":
        return _CALLED_OFF if game["guest"] is not None else ""
    from hkoji.rules.events import Outcome
    from hkoji.rules.registry import RULESETS

    outcome = Outcome(game["result"]["reason"], game["result"]["winner"])
    players, me, name = (game["host"], game["guest"]), client.identity.name, game["ruleset"]["name"]
    winner = None if outcome.winner is None else players[outcome.winner]
    reasons = RULESETS[name].reasons if name in RULESETS else {}
    if me in players and winner is not None:
        return own_result_text(outcome, reasons, won=winner == me)
    return result_text(outcome, reasons, winner)
