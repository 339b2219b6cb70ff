"""The commands of the group "Host a service": running and maintaining one.

They carry out the operator's commands through the functions of the service, and show their results.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import Data, Database, Json
from hkoji.cli.commands.host_mail import Config, mail
from hkoji.cli.language import _, _n, translate
from hkoji.cli.output import out
from hkoji.cli.service import service_function
from hkoji.cli.terminal import columns
from hkoji.errors import AuditError, UsageError
from hkoji.messages.text import plural, tell

commands = typer.Typer()
admin = typer.Typer(help="Maintain a service: invite, revoke, back up, check.", no_args_is_help=True)

_FORK = tell(
    "Players have seen entries that are newer than this copy. To their programs the restored service looks like a "
    "fork, and they refuse every game that went on after the copy was made. Those games cannot be recovered; players "
    "keep their logs and can audit them. Players, keys and revocations added since then are lost too: repeat the "
    "revocations. docs/hosting.md explains what to do."
)


@commands.command(epilog="Example: hkoji serve --data ~/hkoji-data --port 8000 --workers auto")
def serve(
    data: Annotated[Path | None, typer.Option(help="The folder of the database; created if missing.")] = None,
    database: Annotated[
        str | None,
        typer.Option(
            help="A PostgreSQL database by its URL. Other users see it: put passwords into HKOJI_DATABASE.",
        ),
    ] = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on [127.0.0.1].")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="The port; 0 for any free one [8000].")] = None,
    origin: Annotated[str | None, typer.Option(help="Its address for players, as in https://my.example.")] = None,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="A certificate (PEM), to serve https without a proxy.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key.")] = None,
    workers: Annotated[
        str | None, typer.Option(help="Number of processes [1], or auto: one for each processor.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="A proxy (address or network) trusted to report clients' addresses."),
    ] = None,
    registration: Annotated[
        str | None, typer.Option(help="Registration of players: open, code or closed [open].")
    ] = None,
    web: Annotated[
        bool | None, typer.Option("--web/--no-web", help="Whether it has pages for people with a browser [web].")
    ] = None,
    sealed: Annotated[
        bool | None, typer.Option("--sealed/--no-sealed", help="Whether it offers sealed games (beta) [sealed].")
    ] = None,
    operators: Annotated[
        str | None,
        typer.Option(
            help="The players who run this service, as in alice,bob: other players' programs deposit no draws in "
            "sealed games against them [none]."
        ),
    ] = None,
    max_body: Annotated[int | None, typer.Option(help="The largest request in bytes [16384].")] = None,
    max_connections: Annotated[int | None, typer.Option(help="Most connections of a process [20000].")] = None,
    limit_address: Annotated[str | None, typer.Option(help="The limit for one address [6000/minute], or off.")] = None,
    limit_player: Annotated[str | None, typer.Option(help="The limit for one player [3000/minute], or off.")] = None,
    request_timeout: Annotated[float | None, typer.Option(help="Seconds to wait for a complete request [20].")] = None,
    keep_alive: Annotated[int | None, typer.Option(help="Seconds to keep a connection after an answer [30].")] = None,
    metrics: Annotated[str | None, typer.Option(help="HOST:PORT for Prometheus metrics.")] = None,
    log_level: Annotated[
        str | None,
        typer.Option(
            help="debug, info (a line per request), warning or error [warning].",
            autocompletion=completion.one_of("debug", "info", "warning", "error"),
        ),
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(help="json or text [json].", autocompletion=completion.one_of("json", "text")),
    ] = None,
    config: Config = None,
) -> None:
    """Run a service, on SQLite or PostgreSQL.

    With SQLite it needs one folder. All settings are in docs/cli.md.
    """
    given = {name: value for name, value in locals().items() if name not in ("data", "host", "port")}
    given["trusted_proxy"] = trusted_proxy or None
    service_function("serve")(data, host, port, **given)


commands.add_typer(admin, name="admin")
admin.add_typer(mail, name="mail")


@admin.command(epilog="Example: hkoji admin revoke alice --data ~/hkoji-data")
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The player whose key is lost or stolen.")],
    data: Data = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Revoke all keys of a player and print the code for a new one.

    First make sure that the request comes from the player.
    """
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


@admin.command(epilog="Example: hkoji admin invite --uses 12 --days 3 --data /var/lib/hkoji")
def invite(
    uses: Annotated[int | None, typer.Option(min=1, max=10_000, help="How many players may register [1].")] = None,
    days: Annotated[int | None, typer.Option(min=1, max=3650, help="For how long [7, or code_lifetime].")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Make none: list the valid codes by their digests.")] = False,
    withdraw: Annotated[
        str | None,
        typer.Option(metavar="DIGEST", help="Make none: withdraw the code whose digest in the list begins so."),
    ] = None,
    data: Data = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Make a code with which new players may register.

    A service with `registration = "code"` asks for one.
    """
    if listed + (withdraw is not None) + (uses is not None or days is not None) > 1:
        raise UsageError(
            tell("--list and --withdraw make no code; nothing was changed"),
            hint=tell("give one of them alone, or --uses and --days"),
        )
    if withdraw is not None:
        made = service_function("admin").withdraw(data, withdraw, database=database)
        out.result(made, lambda: _("The code {digest} is withdrawn: {left}.", digest=made["digest"], left=_left(made)))
    elif listed:
        _list_invitations(data, database)
    else:
        _invite(1 if uses is None else uses, days, data, database)


def _invite(uses: int, days: int | None, data: Path | None, database: str | None) -> None:
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


def _list_invitations(data: Path | None, database: str | None) -> None:
    """Lists the codes for new players that are valid, by the beginnings of their digests."""
    found: list[dict[str, Any]] = service_function("admin").invitations(data, database=database)  # Any: JSON
    out.result(
        found,
        lambda: "\n".join(f"{each['digest']}  {_left(each)}" for each in found) if found else _("There are no codes."),
    )


def _left(code: dict[str, Any]) -> str:  # Any: JSON
    return _n(
        "for {n} player, until {expires}", "for {n} players, until {expires}", code["uses"], expires=code["expires"]
    )


@admin.command(epilog="Example: hkoji admin backup /var/backups/hkoji --data /var/lib/hkoji")
def backup(
    target: Annotated[Path, typer.Argument(metavar="DEST", help="A new file with a suffix, or a folder for one.")],
    data: Data = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Copy the database while the service runs.

    The copy has every move acknowledged before it was begun. No file is overwritten.
    """
    made = service_function("admin").backup(target, data, database)
    out.result(
        made,
        lambda: _(
            "The copy is complete: {file}, {size}. It contains the service's private key: protect it like the service.",
            file=made["file"],
            size=_size(made["bytes"]),
        ),
    )


@admin.command(epilog="Example: hkoji admin restore hkoji-20261121T030000Z.sqlite3 --data /var/lib/hkoji-new")
def restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file made by `backup`.")],
    data: Annotated[Path, typer.Option(help="A folder without a database.")],
    json: Json = False,
) -> None:
    """Make a service's folder from a backup.

    An existing database is never replaced. Read the command's warning about forks.
    """
    made = service_function("admin").restore(source, data)
    out.result(
        made, lambda: _("The folder {folder} has the copy now, {size}.", folder=made["data"], size=_size(made["bytes"]))
    )
    out.say(_FORK)


@admin.command(epilog="Example: hkoji admin check --data /var/lib/hkoji --jobs 2")
def check(
    data: Data = None,
    database: Database = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Number of processes.")] = 1,
    json: Json = False,
) -> None:
    """Audit the complete database.

    That is every log, receipt, summary, seed and opening. Exit code 8 if something is wrong.
    """
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


@admin.command(epilog="Example: hkoji admin tidy --data /var/lib/hkoji")
def tidy(data: Data = None, database: Database = None, json: Json = False) -> None:
    """Remove unopened offers, old codes and logins, void statements.

    A running service does this by itself, several times an hour.
    """
    made = service_function("admin").tidy(data, database=database)
    rows = (
        (_("offers that were not opened"), made["offers"]),
        (_("expired logins"), made["logins"]),
        (_("expired login challenges"), made["challenges"]),
        (_("expired codes"), made["codes"]),
        (_("statements about games that have moved on"), made["statements"]),
        (_("notices to channels that were removed"), made["notices"]),
    )
    out.result(made, lambda: f"{_('Removed:')}\n{_table(rows)}")


@admin.command(epilog="Example: hkoji admin outage 2026-11-20T12:00:00Z 2026-11-20T13:30:00Z --data /var/lib/hkoji")
def outage(
    begin: Annotated[str, typer.Argument(metavar="FROM", help="Its first second, in UTC.")],
    until: Annotated[str, typer.Argument(metavar="UNTIL", help="The second after its last.")],
    way: Annotated[str, typer.Option(metavar="http|mail", help="How players could not reach it.")] = "http",
    data: Data = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Record that players could not reach the service.

    The time counts for no player whom it concerns: with `http` those with a key of their own, with `mail` those whose
    key the service holds. The service itself records when it did not run. Nothing can have come that way then.
    """
    from hkoji.game.clock import Way

    if way not in set(Way):
        raise UsageError(tell("{way} is not a way", way=way), hint=tell("write --way http or --way mail"))
    made = service_function("admin").outage(data, begin, until, database=database, way=Way(way))

    def text() -> str:
        given = {"begin": made["from"], "until": made["until"]}
        if made["way"] == Way.MAIL:
            return _(
                "The time from {begin} until {until} counts for no player whose key the service holds. "
                "Their next entries say so.",
                **given,
            )
        return _(
            "The time from {begin} until {until} counts for no player with a key of their own. Their next entries say "
            "so.",
            **given,
        )

    out.result(made, text)


@admin.command(epilog="Example: hkoji admin vacuum --data /var/lib/hkoji")
def vacuum(data: Data = None, database: Database = None, json: Json = False) -> None:
    """Delete expired logins and free unused disk space.

    Stop the service first: otherwise moves wait, or are refused.
    """
    made = service_function("admin").vacuum(data, database)
    out.result(
        made,
        lambda: _(
            "The size was {before}; it is {after} now.", before=_size(made["before"]), after=_size(made["after"])
        ),
    )


@admin.command(epilog="Example: hkoji admin stats --data /var/lib/hkoji --json")
def stats(data: Data = None, database: Database = None, json: Json = False) -> None:
    """Print the numbers of games, entries and players, and the size."""
    from hkoji.cli.games.lists import STATUS

    value: dict[str, Any] = service_function("admin").stats(data, database)  # Any: JSON
    games, words = value["games"], {"offered": tell("offered, not opened"), **STATUS}
    rows = (
        (_("games"), games["total"]),
        *((f"  {translate(words.get(name, name))}", count) for name, count in games.items() if name != "total"),
        (_("entries"), value["entries"]),
        (_("players"), value["players"]),
        (_("earlier keys"), value["earlier_keys"]),
        (_("logins"), value["logins"]),
        (_("codes"), value["codes"]),
        (_("channels for notices"), value["channels"]),
        (_("notices to be sent"), value["notices"]),
        (_("size"), _size(value["bytes"])),
        *(((_("of it unused"), _size(value["free_bytes"])),) if value["free_bytes"] is not None else ()),
    )
    out.result(value, lambda: _table(rows))


def _table(rows: Sequence[tuple[str, object]]) -> str:
    return "\n".join(columns([(name, str(count)) for name, count in rows]))


def _size(number: int) -> str:
    """Formats a number of bytes for people."""
    value = float(number)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
