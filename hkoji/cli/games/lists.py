"""`hkoji games` and `hkoji next`: lists of games."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from hkoji.cli.games.offline import ask_or_keep
from hkoji.cli.language import _, translate
from hkoji.cli.output import CommandOutput
from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell

if TYPE_CHECKING:
    from hkoji.client import Client
    from hkoji.client.kept_game import KeptGame

STATUS: Final = {
    "open": tell("open"),
    "playing": tell("playing"),
    "finished": tell("finished"),
    "cancelled": tell("cancelled"),
}


def joinable(client: Client, out: CommandOutput, *, offline: bool = False) -> None:
    """Lists everybody's games that the player can join."""
    if offline:
        raise _not_kept()
    _listing(client, out, client.joinable(), tell("No game can be joined. Open one with: hkoji new"))


def _not_kept() -> UsageError:
    return UsageError(
        tell("everybody's games are not kept here"), hint=tell("leave --offline out, or --open and --all")
    )


def games(
    client: Client, out: CommandOutput, *, everybody: bool = False, status: str | None = None, offline: bool = False
) -> None:
    """Lists the player's games, or everybody's."""
    if status is not None and status not in STATUS:
        raise UsageError(
            tell("there is no status {status!r}", status=shorten(status)),
            hint=tell("statuses: {names}", names=", ".join(STATUS)),
        )
    none = tell("No games. Open one with: hkoji new")
    if everybody:
        if offline:
            raise _not_kept()
        _listing(client, out, client.games(everybody=True, status=status), none)
        return
    _own(client, out, lambda: client.games(status=status), none, offline=offline, status=status)


def waiting(client: Client, out: CommandOutput, *, offline: bool = False) -> None:
    """Lists the games that wait for the player."""
    _own(client, out, client.waiting, tell("No game waits for you."), offline=offline, waiting=True)


def _own(
    client: Client,
    out: CommandOutput,
    ask: Callable[[], list[dict[str, Any]]],  # Any: JSON
    none: str,
    *,
    offline: bool,
    waiting: bool = False,
    status: str | None = None,
) -> None:
    """Lists the player's games: what `ask` returns, or those that are kept here."""

    def show_kept() -> list[KeptGame]:
        kept = client.kept_games(waiting=waiting, status=status)
        _listing(client, out, [each.summary for each in kept], tell("No such game is kept here."))
        return kept

    ask_or_keep(out, ask, lambda found: _listing(client, out, found, none), show_kept, offline=offline)


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
                    translate(STATUS.get(each["status"], each["status"])),
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
        room = out.style.width
        if room is not None and max(map(len, lines)) > room:
            return "\n".join(_paragraph(rows[0], row) for row in rows[1:])
        lines[0] = out.style.paint(lines[0], "dim")
        return "\n".join(lines)

    out.result(games, text)


def _paragraph(titles: tuple[str, ...], row: tuple[str, ...]) -> str:
    """Returns a game for a terminal that is too narrow for the table."""
    told = ", ".join(f"{title} {cell}" for title, cell in zip(titles[1:], row[1:], strict=True) if cell)
    return f"{row[0]}\n  {told}"


def _result(game: dict[str, Any], me: str) -> str:  # Any: JSON
    """Returns who has won a game and why. It is empty for a game that goes on or is cancelled, as its status says."""
    if game["result"] is None or game["status"] == "cancelled":
        return ""
    from hkoji.game.result_text import result_text
    from hkoji.rules.events import Outcome
    from hkoji.rules.registry import RULESETS

    outcome = Outcome(game["result"]["reason"], game["result"]["winner"])
    winner = None if outcome.winner is None else (game["host"], game["guest"])[outcome.winner]
    name = game["ruleset"]["name"]
    return result_text(outcome, RULESETS[name].reasons if name in RULESETS else {}, winner, you=winner == me)
