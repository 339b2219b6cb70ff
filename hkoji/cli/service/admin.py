"""`hkoji admin`: carries out the operator's commands through the service's functions, and shows their results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hkoji.cli.language import _, _n, translate
from hkoji.cli.output import CommandOutput
from hkoji.cli.service.serve import service_function
from hkoji.errors import AuditError, UsageError
from hkoji.game.clock import Way
from hkoji.messages.text import plural, tell

_FORK = tell(
    "Players have seen entries that are newer than this copy. To their programs the restored service looks like a "
    "fork, and they refuse every game that went on after the copy was made. Those games cannot be recovered; players "
    "keep their logs and can audit them. Players, keys and revocations added since then are lost too: repeat the "
    "revocations. docs/hosting.md explains what to do."
)


def revoke(out: CommandOutput, name: str, data: Path | None, database: str | None) -> None:
    """Revokes all keys of a player and shows the code for a new one."""
    code = service_function("admin").revoke_keys(data, name, database=database)
    out.result(
        {"name": name, "code": code},
        lambda: _(
            "All keys of {name} are revoked. {name} can register another key with this code, once and before the code "
            "expires (after a week, unless you have set code_lifetime):\n"
            "{code}\n"
            "Give it only to {name}, who then runs: hkoji recover {name} --server URL",
            name=name,
            code=code,
        ),
    )


def invite(out: CommandOutput, uses: int, days: int | None, data: Path | None, database: str | None) -> None:
    """Makes a code for new players and shows it."""
    made = service_function("admin").invite(data, uses, days, database=database)
    out.result(
        made,
        lambda: _n(
            "With this code {n} new player can register, until {expires}:\n"
            "{code}\n"
            "They run: hkoji register --server {origin} --code {code}",
            "With this code {n} new players can register, until {expires}:\n"
            "{code}\n"
            "They run: hkoji register --server {origin} --code {code}",
            uses,
            expires=made["expires"],
            code=made["code"],
            origin=made["origin"] or "URL",
        ),
    )


def invitations(out: CommandOutput, data: Path | None, database: str | None) -> None:
    """Lists the codes for new players that are valid, by the beginnings of their digests."""
    found: list[dict[str, Any]] = service_function("admin").invitations(data, database)  # Any: JSON
    out.result(
        found,
        lambda: "\n".join(f"{each['digest']}  {_left(each)}" for each in found) if found else _("There are no codes."),
    )


def withdraw(out: CommandOutput, digest: str, data: Path | None, database: str | None) -> None:
    """Withdraws a code for new players."""
    made = service_function("admin").withdraw(data, digest, database)
    out.result(made, lambda: _("The code {digest} is withdrawn: {left}.", digest=made["digest"], left=_left(made)))


def _left(code: dict[str, Any]) -> str:  # Any: JSON
    return _n(
        "for {n} player, until {expires}", "for {n} players, until {expires}", code["uses"], expires=code["expires"]
    )


def tidy(out: CommandOutput, data: Path | None, database: str | None) -> None:
    """Removes what is no longer needed and shows how much that was."""
    made = service_function("admin").tidy(data, database)
    rows = (
        (_("offers that were not opened"), made["offers"]),
        (_("expired logins"), made["logins"]),
        (_("expired login challenges"), made["challenges"]),
        (_("expired codes"), made["codes"]),
        (_("statements about games that have moved on"), made["statements"]),
        (_("notices to channels that were removed"), made["notices"]),
    )
    out.result(made, lambda: f"{_('Removed:')}\n{_table(rows)}")


def outage(out: CommandOutput, begin: str, until: str, data: Path | None, database: str | None, *, way: str) -> None:
    """Records a time in which players could not reach the service some way. Raises `UsageError` for another word."""
    if way not in set(Way):
        raise UsageError(tell("{way} is not a way", way=way), hint=tell("write --way http or --way mail"))
    made = service_function("admin").outage(data, begin, until, database, way=Way(way))
    out.result(made, lambda: _outage_text(made))


def _outage_text(made: dict[str, Any]) -> str:  # Any: JSON
    if made["way"] == Way.MAIL:
        return _(
            "The time from {begin} until {until} counts for no player whose key the service holds. "
            "Their next entries say so.",
            begin=made["from"],
            until=made["until"],
        )
    return _(
        "The time from {begin} until {until} counts for no player with a key of their own. Their next entries say so.",
        begin=made["from"],
        until=made["until"],
    )


def backup(out: CommandOutput, target: Path, data: Path | None, database: str | None) -> None:
    """Copies the database."""
    made = service_function("admin").backup(target, data, database)
    out.result(
        made,
        lambda: _(
            "The copy is complete: {file}, {size}. It contains the service's private key: protect it like the service.",
            file=made["file"],
            size=size(made["bytes"]),
        ),
    )


def restore(out: CommandOutput, source: Path, data: Path) -> None:
    """Makes a service's folder from a copy."""
    made = service_function("admin").restore(source, data)
    out.result(
        made, lambda: _("The folder {folder} has the copy now, {size}.", folder=made["data"], size=size(made["bytes"]))
    )
    out.say(_FORK)


def check(out: CommandOutput, data: Path | None, database: str | None, jobs: int) -> None:
    """Audits the database. Raises `AuditError` if something does not hold."""
    tally = service_function("admin").check(data, database, jobs=jobs)
    value = {
        "ok": not tally.count,
        "games": tally.games,
        "entries": tally.entries,
        "players": tally.players,
        "faults": tally.count,
        "found": [{"kind": each.kind, "name": each.name, "reason": str(each.reason)} for each in tally.faults],
    }
    out.result(
        value,
        lambda: "\n".join(
            (
                *(f"{each.kind} {each.name}: {translate(each.reason)}".replace(" :", ":") for each in tally.faults),
                _(
                    "Checked: {games}, {entries}, {players}.",
                    games=_n("{n} game", "{n} games", tally.games),
                    entries=_n("{n} entry", "{n} entries", tally.entries),
                    players=_n("{n} player", "{n} players", tally.players),
                ),
                _("Everything holds.") if not tally.count else _n("{n} fault.", "{n} faults.", tally.count),
            )
        ),
    )
    if tally.count:
        raise AuditError(
            None,
            plural("there is {n} fault in the database", "there are {n} faults in the database", tally.count),
            seq=None,
            signer=None,
        )


def vacuum(out: CommandOutput, data: Path | None, database: str | None) -> None:
    """Frees unused disk space."""
    made = service_function("admin").vacuum(data, database)
    out.result(
        made,
        lambda: _("The size was {before}; it is {after} now.", before=size(made["before"]), after=size(made["after"])),
    )


def stats(out: CommandOutput, data: Path | None, database: str | None) -> None:
    """Shows the numbers of games, entries and players, and the size."""
    value: dict[str, Any] = service_function("admin").stats(data, database)  # Any: JSON
    games = value["games"]
    rows = (
        (_("games"), games["total"]),
        *((f"  {_status(name)}", count) for name, count in games.items() if name != "total"),
        (_("entries"), value["entries"]),
        (_("players"), value["players"]),
        (_("earlier keys"), value["earlier_keys"]),
        (_("logins"), value["logins"]),
        (_("codes"), value["codes"]),
        (_("channels for notices"), value["channels"]),
        (_("notices to be sent"), value["notices"]),
        (_("size"), size(value["bytes"])),
        *(((_("of it unused"), size(value["free_bytes"])),) if value["free_bytes"] is not None else ()),
    )
    out.result(value, lambda: _table(rows))


def _table(rows: Sequence[tuple[str, object]]) -> str:
    width = max(len(name) for name, _count in rows)
    return "\n".join(f"{name:{width}}  {count}" for name, count in rows)


def _status(name: str) -> str:
    names = {
        "offered": _("offered, not opened"),
        "open": _("open"),
        "playing": _("playing"),
        "finished": _("finished"),
        "cancelled": _("cancelled"),
    }
    return names.get(name, name)


def size(number: int) -> str:
    """Formats a number of bytes for people."""
    value = float(number)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
