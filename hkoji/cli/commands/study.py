"""Declares the commands of the group "Check and study": logs, audits, replays and counts."""

from __future__ import annotations

from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.audit import AuditOptions, RequiredGrade
from hkoji.cli.commands.arguments import Force, Game, Jobs, Json, Offline, Plain, Source

commands = typer.Typer()


@commands.command(
    epilog="Examples: hkoji audit game.jsonl --key 'alice=ssh-ed25519 AAAA…' --key bob=bob.pub; "
    "hkoji audit match/ --keys match/keys.txt --jobs 4"
)
def audit(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES|GAME",
            help="Log files, folders of *.jsonl, - for standard input; or one game.",
            autocompletion=completion.games,
        ),
    ],
    key: Annotated[
        list[str] | None, typer.Option(metavar="NAME=KEY", help="A key you expect; text or a .pub file.")
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="A file of keys you expect: lines NAME ssh-ed25519 AAAA…"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="Number of processes for many logs; default: one for each processor."),
    ] = None,
    clock: Annotated[
        bool, typer.Option("--clock", help="Also print how long each turn took, and the reserves.")
    ] = False,
    mails: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Also check the mails of a player, as `evidence` by mail sends them."),
    ] = None,
    require: Annotated[
        RequiredGrade | None,
        typer.Option(help="Fail unless each seat has its own key, or mails with checked DKIM signatures."),
    ] = None,
    dns: Annotated[
        bool, typer.Option("--dns", help="Ask DNS whether it still has the keys of the mails' DKIM signatures.")
    ] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Check every signature, card and move of one or more logs.

    Several logs are also compared with one another.
    """
    from hkoji.cli.audit import command

    wish = AuditOptions(tuple(key or ()), tuple(keys or ()), jobs, clock, tuple(mails or ()), require, dns)
    raise typer.Exit(command.run(sources, wish))


@commands.command(epilog="Examples: hkoji replay game.jsonl --eyes alice; hkoji replay 2714 --at 9 --eyes guest")
def replay(
    source: Source,
    at: Annotated[
        int | None, typer.Option(min=0, help="Show the position after this entry; default: the last.")
    ] = None,
    eyes: Annotated[
        str,
        typer.Option(
            metavar="WHOSE",
            help="Show what this player saw: host, guest, a name, spectator; or all.",
            autocompletion=completion.eyes,
        ),
    ] = "all",
    step: Annotated[
        bool | None,
        typer.Option(
            "--step/--notation",
            help="Go step by step (with --json: list every step), or print the game; default: step at a terminal.",
        ),
    ] = None,
    svg: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw the position into this file; - for output.")
    ] = None,
    png: Annotated[str | None, typer.Option(metavar="FILE", help="The same as PNG; needs the extra `png`.")] = None,
    force: Force = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Step through a game, or print it in notation."""
    from hkoji.cli.study.replay import show_replay

    show_replay(source, at, eyes, step, svg, png, force=force)


@commands.command(epilog="Examples: hkoji stats games/ --jobs 4 --plot games.svg; hkoji stats - < games.jsonl")
def stats(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES", help="Log files, folders of *.jsonl, or - for standard input.")
    ],
    jobs: Jobs = 1,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw bar charts into this SVG file.")] = None,
    force: Force = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Count games: length, results, actions, players.

    Signatures are not checked.
    """
    from hkoji.cli.study.stats import show_stats

    show_stats(files, jobs, plot, force=force)


@commands.command(epilog="Example: hkoji log 2714 | tail -n 1")
def log(game: Game, offline: Offline = False, json: Json = False) -> None:
    """Print the public log of a game, one JSON object per line."""
    from hkoji.cli.games import export

    export.log(game, offline=offline)


@commands.command(epilog="Example: hkoji export 2714 > game.jsonl")
def export(
    game: Game,
    kept: Annotated[
        bool,
        typer.Option("--kept", help="Print the copy kept on this machine, finished or not, without asking a service."),
    ] = False,
    json: Json = False,
) -> None:
    """Print a finished game, with receipts, for others to check.

    The output has one JSON object per line.
    """
    from hkoji.cli.games import export

    export.export(game, kept=kept)


@commands.command(epilog="Example: hkoji evidence 2714 --output evidence.jsonl && hkoji audit evidence.jsonl")
def evidence(
    game: Game,
    output: Annotated[str | None, typer.Option(metavar="FILE", help="Write it into this file.")] = None,
    cards: Annotated[
        bool, typer.Option("--with-cards", help="Before the game is over, also include what reveals your own cards.")
    ] = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Print what you hold of a game as evidence for an audit.

    That is the log, the signed views, and the statements that you refused.
    """
    from hkoji.cli.games import export

    export.evidence(game, output, cards=cards, force=force)
