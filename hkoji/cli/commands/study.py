"""Finished games: replay, count, audit."""

from __future__ import annotations

from typing import Annotated

import typer

from hkoji.cli.commands.arguments import Json, Plain, Source, client
from hkoji.cli.output import out

commands = typer.Typer()


@commands.command(epilog="Examples: hkoji replay game.jsonl --eyes alice; hkoji replay 2714 --at 9 --eyes guest")
def replay(
    source: Source,
    at: Annotated[
        int | None, typer.Option("--at", min=0, help="The position after this entry; default: the last.")
    ] = None,
    eyes: Annotated[
        str,
        typer.Option("--eyes", metavar="WHOSE", help="host, guest, a player's name, spectator, or all that is known."),
    ] = "all",
    step: Annotated[
        bool | None,
        typer.Option(
            "--step/--notation",
            help="Go through it step by step (with --json: list every step), or print it; default: step at a terminal.",
            show_default=False,
        ),
    ] = None,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE", help="Draw the position into this file; - for output.")
    ] = None,
    png: Annotated[str | None, typer.Option("--png", metavar="FILE", help="The same as PNG; needs hkoji[png].")] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Go through a game as a player saw it, or show it in notation with one position."""
    from hkoji.cli.study import replay as study

    out.json, out.plain = json, plain
    study.show_replay(client(), out, source, study.ReplayOptions(at, eyes, step, svg, png))


@commands.command(epilog="Examples: hkoji stats games/ --jobs 4 --plot games.svg; hkoji stats - < games.jsonl")
def stats(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES", help="Log files, folders of *.jsonl, or - for standard input.", show_default=False
        ),
    ],
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=256, help="So many processes.")] = 1,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw bar charts into this SVG file.")
    ] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Count over many games: length, results, actions, players. Signatures are not checked."""
    from hkoji.cli.study.stats import show_stats

    out.json, out.plain = json, plain
    show_stats(out, files, jobs, plot)


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
            show_default=False,
        ),
    ],
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="NAME=KEY", help="A key you expect; text or a .pub file.")
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option("--keys", metavar="FILE", help="Keys you expect: a file of lines NAME ssh-ed25519 AAAA…"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=256, help="So many processes, for many logs.")] = 1,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Check every signature, card and move of a log, or of many logs and these against one another."""
    from hkoji.cli.audit import command

    out.json, out.plain = json, plain
    raise typer.Exit(
        command.show(client, out, sources, command.AuditOptions(tuple(key or ()), tuple(keys or ()), jobs))
    )
