"""`hkoji games` and `hkoji next`: lists of games."""

from __future__ import annotations

from typing import Any, Final

from hkoji.cli.language import _, translate
from hkoji.cli.output import CommandOutput
from hkoji.client import Client
from hkoji.errors import UsageError
from hkoji.game.course import STATUSES
from hkoji.game.result_text import result_text
from hkoji.messages.text import shorten, tell
from hkoji.rules.events import Outcome
from hkoji.rules.registry import RULESETS

_STATUS: Final = dict(zip(STATUSES, (tell("open"), tell("playing"), tell("finished"), tell("cancelled")), strict=True))


def joinable(client: Client, out: CommandOutput) -> None:
    """Lists everybody's games that the player can join."""
    _listing(client, out, client.joinable(), tell("No game can be joined. Open one with: hkoji new"))


def games(client: Client, out: CommandOutput, *, everybody: bool = False, status: str | None = None) -> None:
    """Lists the player's games, or everybody's."""
    if status is not None and status not in STATUSES:
        raise UsageError(
            tell("there is no status {status!r}", status=shorten(status)),
            hint=tell("statuses: {names}", names=", ".join(STATUSES)),
        )
    found = client.games(everybody=everybody, status=status)
    _listing(client, out, found, tell("No games. Open one with: hkoji new"))


def waiting(client: Client, out: CommandOutput) -> None:
    """Lists the games that wait for the player."""
    _listing(client, out, client.waiting(), tell("No game waits for you."))


def _listing(client: Client, out: CommandOutput, games: list[dict[str, Any]], empty: str) -> None:  # Any: JSON
    def text() -> str:
        if not games:
            return translate(empty)
        me = client.identity.name
        head = (_("game"), _("ruleset"), _("status"), _("host"), _("guest"), _("round"), _("to move"), _("updated"))
        rows: list[tuple[str, ...]] = [(*head, _("result"))]
        for each in games:
            mover = each["to_move"] or ""
            if each["status"] == "open":
                mover = each["invite"] or _("anyone")
            rows.append(
                (
                    each["game"][:8],
                    each["ruleset"]["name"],
                    translate(_STATUS.get(each["status"], each["status"])),
                    each["host"] or "",
                    each["guest"] or "",
                    str(each["round"] or ""),
                    _("you") if mover == me else mover,
                    (each["updated"] or "")[:16].replace("T", " "),
                    translate(_result(each, me)),
                )
            )
        if not any(row[-1] for row in rows[1:]):
            rows = [row[:-1] for row in rows]
        widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
        lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines[0] = out.style.paint(lines[0], "dim")
        return "\n".join(lines)

    out.result(games, text)


def _result(game: dict[str, Any], me: str) -> str:  # Any: JSON
    """Returns who has won a game and why. It is empty for a game that goes on or is cancelled, as its status says."""
    if game["result"] is None or game["status"] == "cancelled":
        return ""
    outcome = Outcome(game["result"]["reason"], game["result"]["winner"])
    winner = None if outcome.winner is None else (game["host"], game["guest"])[outcome.winner]
    name = game["ruleset"]["name"]
    return result_text(outcome, RULESETS[name].reasons if name in RULESETS else {}, winner, you=winner == me)
