"""`hkoji games` and `hkoji next`: lists of games."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from hkoji.cli.games.game_words import grades_cell, local_time, reserve_text, short_time, until_text
from hkoji.cli.games.told import ask_or_keep, tell_news
from hkoji.cli.language import _, translate
from hkoji.cli.output import client, out
from hkoji.cli.terminal import columns
from hkoji.errors import UsageError
from hkoji.game.dealer import SEALED_V1
from hkoji.messages.text import shorten, tell
from hkoji.show.terms import clock_words

if TYPE_CHECKING:
    from hkoji.client.kept_game import KeptGame

STATUS: Final = {
    "open": tell("open"),
    "playing": tell("playing"),
    "finished": tell("finished"),
    "cancelled": tell("cancelled"),
}

_COLUMNS: Final = {
    "game": tell("game"),
    "ruleset": tell("ruleset"),
    "status": tell("status"),
    "host": tell("host"),
    "guest": tell("guest"),
    "round": tell("round"),
    "to move": tell("to move"),
    "for": tell("for"),
    "clock": tell("clock"),
    "rated": tell("rated"),
    "left": tell("time left"),
    "until": tell("until"),
    "reserve": tell("reserve"),
    "call off": tell("call off"),
    "by mail": tell("by mail"),
    "updated": tell("updated"),
    "result": tell("result"),
}
_MINUTES: Final = len("2026-11-20 12:00")
_OPTIONAL: Final = ("left", "until", "reserve", "call off", "by mail", "result")
"""Columns that are shown only if a game has something there."""
_ONLY_OF_OFFERS: Final = ("for", "clock", "rated")
_LESS_NEEDED: Final = ("updated", "round", "reserve", "until")
"""Columns that a list with times does without, one after the other, where there is no room."""
_OF_OFFERS: Final = ("game", "ruleset", "host", "for", "clock", "rated", "until")
"""The columns of a list of offers: what somebody who joins agrees to."""


CLOCKS: Final = ("none", "fast", "days", "slow")
"""The sorts of clocks by which open games are listed."""


def joinable(ruleset: str | None, rated: bool | None, clock: str | None, *, offline: bool) -> None:
    """Lists everybody's games that the player can join, of a ruleset, rated or not, by the sort of clock."""
    from hkoji.rules.registry import RULESETS

    if offline:
        raise _not_kept()
    for given, words in ((ruleset, tuple(RULESETS)), (clock, CLOCKS)):
        if given is not None and given not in words:
            raise UsageError(
                tell("{word!r} is not one of: {words}", word=shorten(given), words=", ".join(words)),
                hint=tell("see `hkoji games --help`"),
            )
    found = client().joinable(ruleset=ruleset, rated=rated, clock=clock)
    none = tell("No game can be joined. Open one with: hkoji new")
    empty = none if (ruleset, rated, clock) == (None, None, None) else tell("No such game can be joined.")

    def text() -> str:
        # The columns say what each player would agree to.
        return _fitting([_row(each) for each in found], _OF_OFFERS) if found else translate(empty)

    out.result(found, text)


def _not_kept() -> UsageError:
    return UsageError(
        tell("everybody's games are not kept here"), hint=tell("leave --offline out, or --open and --all")
    )


def games(*, everybody: bool = False, status: str | None = None, offline: bool = False) -> None:
    """Lists the player's games, or everybody's."""
    verify_status(status)
    none = tell("No games. Open one with: hkoji new")
    if everybody:
        if offline:
            raise _not_kept()
        _listing(client().games(everybody=True, status=status), none)
        return
    _own(lambda: client().games(status=status), none, offline=offline, status=status)


def verify_status(status: str | None) -> None:
    """Raises `UsageError` if games have no such status."""
    if status is not None and status not in STATUS:
        raise UsageError(
            tell("there is no status {status!r}", status=shorten(status)),
            hint=tell("statuses: {names}", names=", ".join(STATUS)),
        )


def waiting(*, offline: bool = False) -> None:
    """Lists the games that wait for the player."""
    _own(client().waiting, tell("No game waits for you."), offline=offline, waiting=True)


def _own(
    ask: Callable[[], list[dict[str, Any]]],  # Any: JSON
    none: str,
    *,
    offline: bool,
    waiting: bool = False,
    status: str | None = None,
) -> None:
    """Lists the player's games: what `ask` returns, or those that are kept here."""
    client().news.begin()

    def show_kept() -> list[KeptGame]:
        kept = client().kept_games(waiting=waiting, status=status)
        summaries = [each.summary for each in kept]
        empty = tell("None of the games kept here waits for you.") if waiting else tell("No such game is kept here.")
        _listing(summaries, empty, waiting=waiting)
        return kept

    def show_asked(found: list[dict[str, Any]]) -> None:  # Any: JSON
        _listing(client().news.listed(found) if out.json or out.keep else found, none, waiting=waiting)
        tell_news()

    ask_or_keep(ask, show_asked, show_kept, offline=offline)


def _listing(
    games: list[dict[str, Any]],  # Any: JSON
    empty: str,
    *,
    waiting: bool = False,
) -> None:
    out.result(games, lambda: listing(games, waiting=waiting) if games else translate(empty))


def listing(games: Sequence[dict[str, Any]], *, waiting: bool = False) -> str:
    """Returns games, of which there are some, as a table; where there is no room, in paragraphs."""
    rows = [_row(each) for each in games]
    # A column is left out if the others say it already, or if no game has anything there.
    hidden = {name for name in _OPTIONAL if not any(row[name] for row in rows)}
    if waiting:
        hidden |= {"to move"} | ({"status"} if all(each["status"] == "playing" for each in games) else set())
    return _fitting(rows, [name for name in _COLUMNS if name not in hidden and name not in _ONLY_OF_OFFERS])


def _fitting(rows: list[dict[str, str]], whole: Sequence[str]) -> str:
    """Returns rows as a table with these columns; where there is no room without some, and then in paragraphs."""
    shown = list(whole)
    room = out.style.width
    # A list without times looks the same whatever is left out, so it is not tried.
    for left_out in ("", *(_LESS_NEEDED if {"left", "clock"} & set(whole) else ())):
        shown = [name for name in shown if name != left_out]
        heads = [translate(_COLUMNS[name]) for name in shown]
        lines = columns([heads, *([row[name] for name in shown] for row in rows)])
        if room is None or max(map(len, lines)) <= room:
            lines[0] = out.style.paint(lines[0], "dim")
            return "\n".join(lines)
    return "\n".join(_paragraph(row, whole) for row in rows)


def _row(game: dict[str, Any]) -> dict[str, str]:  # Any: JSON
    """Returns the cells of a game by the names of the columns."""
    from hkoji.client.kept_game import listed_time

    time, me = listed_time(game, client().service().now()), client().identity.name
    mover, name = game["to_move"] or "", game["ruleset"]["name"]
    if game["status"] == "open":
        mover = game["invite"] or (_("whoever has the link") if game.get("by_link") else _("anyone"))
    return {
        "game": game["game"][:8],
        "ruleset": _("{ruleset}, sealed", ruleset=name) if game.get("dealer") == SEALED_V1 else name,
        "status": translate(STATUS.get(game["status"], game["status"])),
        "host": game["host"] or "",
        "guest": game["guest"] or "",
        "round": str(game["round"] or ""),
        "to move": _("you") if mover == me else mover,
        "for": _("you") if mover == me else mover,
        "clock": translate(clock_words(time.agreement.clock)),
        "rated": _("yes") if time.agreement.rated else _("no"),
        "left": until_text(time),
        "until": "" if time.reading.deadline is None else short_time(time.reading.deadline, time.now),
        "reserve": reserve_text(time),
        "call off": _asked(game["annul"], me),
        "by mail": grades_cell(game["by_mail"], me),
        "updated": local_time(game["updated"])[:_MINUTES] if game["updated"] else "",
        "result": translate(_result(game, me)),
    }


def _asked(names: Sequence[str], me: str) -> str:
    """Returns who has asked to call a game off; empty if nobody has."""
    return ", ".join(_("asked by you") if name == me else _("asked by {name}", name=name) for name in names)


def _paragraph(row: dict[str, str], columns: Sequence[str]) -> str:
    """Returns a game for a terminal that is too narrow for the table."""
    told = ", ".join(f"{translate(_COLUMNS[name])} {row[name]}" for name in columns[1:] if row[name])
    return f"{row['game']}\n  {told}"


def _result(game: dict[str, Any], me: str) -> str:  # Any: JSON
    """Returns how a game ended: `won by charm`, `lost on time`, `declined: later`; empty for one that goes on."""
    if game["result"] is None:
        return ""
    from hkoji.game.result_text import lapse_text, own_result_text, result_text

    lapse = game.get("lapse")
    if lapse is not None:
        return lapse_text(lapse["reason"], lapse["why"])
    if game["status"] == "cancelled":
        if game["guest"] is not None:
            return tell("called off by agreement")
        if "lapse" not in game:  # only the log says how, and it is not kept here
            return tell("ended before it began")
        return tell("cancelled by you") if game["host"] == me else tell("cancelled by {name}", name=game["host"])
    from hkoji.rules.events import Outcome
    from hkoji.rules.registry import RULESETS

    outcome = Outcome(game["result"]["reason"], game["result"]["winner"])
    players, name = (game["host"], game["guest"]), game["ruleset"]["name"]
    winner = None if outcome.winner is None else players[outcome.winner]
    reasons = RULESETS[name].reasons if name in RULESETS else {}
    if me in players and winner is not None:
        return own_result_text(outcome, reasons, won=winner == me)
    return result_text(outcome, reasons, winner)
