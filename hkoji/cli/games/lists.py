"""`hkoji games` and `hkoji next`: lists of games."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hkoji.cli.language import _, translate
from hkoji.cli.output import CommandOutput
from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell

if TYPE_CHECKING:
    from hkoji.client import Client

STATUS: Final = {"open": tell("open"), "playing": tell("playing"), "finished": tell("finished")}


def games(client: Client, out: CommandOutput, *, everybody: bool = False, status: str | None = None) -> None:
    """Lists the player's games, or everybody's."""
    if status not in (None, "open", "playing", "finished"):
        raise UsageError(
            tell("there is no status {status!r}", status=shorten(status)), hint=tell("one of open, playing, finished")
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
        rows = [(_("game"), _("ruleset"), _("status"), _("host"), _("guest"), _("round"), _("to move"), _("updated"))]
        for each in games:
            mover = each["to_move"] or ""
            if each["status"] == "open":
                mover = each["invite"] or _("anyone")
            rows.append(
                (
                    each["game"][:8],
                    each["ruleset"]["name"],
                    translate(STATUS.get(each["status"], each["status"])),
                    each["host"] or "",
                    each["guest"] or "",
                    str(each["round"] or ""),
                    _("you") if mover == me else mover,
                    (each["updated"] or "")[:16].replace("T", " "),
                )
            )
        widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
        lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines[0] = out.style.paint(lines[0], "dim")
        return "\n".join(lines)

    out.result(games, text)
