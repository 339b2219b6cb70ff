"""Bots: let them play each other, or a seat of a game."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hkoji.cli.commands.arguments import Game, Json, Plain, client
from hkoji.cli.games import rulesets
from hkoji.cli.output import out

commands = typer.Typer()
bots = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Let a bot play: one of ours, or your program.")
commands.add_typer(bots, name="bot")


@commands.command(epilog="Examples: hkoji arena greedy random --games 1000; hkoji arena greedy random --export match")
def arena(
    bot: Annotated[str, typer.Argument(metavar="BOT", help="A bot, by its name.", show_default=False)],
    other: Annotated[str, typer.Argument(metavar="BOT", help="Its opponent.", show_default=False)],
    games: Annotated[int, typer.Option("--games", min=2, help="How many games; every deal is played twice.")] = 100,
    seed: Annotated[
        str | None,
        typer.Option("--seed", help="What cards and bots come from; else a new one.", show_default=False),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="How many processes play.")] = 1,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="DIR", help="Write signed logs for anyone to check.", show_default=False),
    ] = None,
    ruleset: rulesets.Name = "hanamikoji",
    first: rulesets.First = None,
    max_rounds: rulesets.MaxRounds = None,
    tiebreak: rulesets.TieBreak = None,
    markers: rulesets.Markers = None,
    option: rulesets.More = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Let two bots play each other: every deal twice, with the seats exchanged."""
    from hkoji.cli.bots import arena as match

    out.json, out.plain = json, plain
    given = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    plan = match.make_plan((bot, other), rulesets.make_ruleset(ruleset, given, option), games, seed)
    raise typer.Exit(match.run(out, plan, jobs=jobs, folder=export))


@bots.command(
    "run",
    epilog="Examples: hkoji bot run 2714 --bot greedy; hkoji bot run 2714 --timeout 5 -- python3 mybot.py",
)
def bot_run(
    game: Game,
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- PROGRAM...]", help="A program and its arguments.", show_default=False),
    ] = None,
    bot: Annotated[str | None, typer.Option("--bot", help="A bot by its name.", show_default=False)] = None,
    keep: Annotated[bool, typer.Option("--keep", help="One process for all moves: a line in, a line out.")] = False,
    interface: Annotated[
        str, typer.Option("--interface", help="How the program is asked: json, or referee as in contests.")
    ] = "json",
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0.01, help="Seconds for a move; 60 if not given.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="To play the same again; random if not given.", show_default=False),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Play what is due now, and do not wait.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Let a bot play your seat of a game until it is over."""
    from hkoji.cli.bots import run as bots

    out.json, out.plain = json, plain
    chosen = bots.choose(bot, program or (), seed, keep=keep, interface=interface, timeout=timeout)
    bots.run(client(), out, game, chosen, once=once)


@bots.command("list", epilog="Example: hkoji bot list --json")
def bot_list(json: Json = False) -> None:
    """List the bots, the games they play, and the levels of `hkoji play`."""
    from hkoji.cli.bots import run as bots

    out.json = json
    bots.listing(out)
