"""Declares the commands of the group "Play": games at the prompt, rules and cards, and bots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import (
    GAME_HELP,
    EditionName,
    First,
    Game,
    JoinSealed,
    Json,
    Markers,
    MaxRounds,
    MoreOptions,
    Plain,
    RulesetName,
    TieBreak,
    as_json,
)

commands = typer.Typer()
bots = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Let a bot play: a built-in one or your program.")


@commands.command(epilog="Examples: hkoji play; hkoji play --level hard; hkoji play --ruleset geishas-road --new")
def play(
    game: Annotated[
        str | None,
        typer.Argument(
            metavar="GAME",
            help="A game in progress, on this machine or a service.",
            autocompletion=completion.prompt_games,
        ),
    ] = None,
    bot: Annotated[
        str | None,
        typer.Option(help="The opponent: a bot's name, or a program as in ./mybot.", autocompletion=completion.bots),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(help="beginner, easy (the default), normal or hard.", autocompletion=completion.levels),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin a new game, even if one is in progress.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the games against bots instead.")] = False,
    ruleset: RulesetName = None,
    edition: EditionName = None,
    first: First = None,
    max_rounds: MaxRounds = None,
    tiebreak: TieBreak = None,
    markers: Markers = None,
    option: MoreOptions = None,
    json: Annotated[
        bool, typer.Option("--json", help="With --list: print one line of JSON.", callback=as_json)
    ] = False,
    plain: Plain = False,
) -> None:
    """Play at a prompt, against a bot or by correspondence.

    Without GAME you play against a bot, and nothing needs to be set up. With GAME you continue that game.
    """
    from hkoji.cli.play import play as prompt

    options = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    given = {name: value for name, value in options.items() if value is not None}
    wish = prompt.PlayOptions(ruleset, edition, given, tuple(option or ()), bot, level, new)
    raise typer.Exit(prompt.run(game, wish, listed=list_))


@commands.command(epilog="Examples: hkoji rules; hkoji rules geishas-road --lang it; hkoji rules --edition 2018-it")
def rules(
    game: Annotated[
        str | None, typer.Argument(metavar="RULESET", help=GAME_HELP, autocompletion=completion.rulesets)
    ] = None,
    edition: Annotated[
        str | None,
        typer.Option(help="Use the terms and options of an edition.", autocompletion=completion.editions),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the editions instead.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Print the rules of a game."""
    from hkoji.cli.play import rulebook

    rulebook.show_editions() if list_ else rulebook.show_rules(game, edition)


@commands.command(epilog="Example: hkoji deck --deck everdeck")
def deck(json: Json = False, plain: Plain = False) -> None:
    """List the cards of a deck that a game at a table needs.

    The deck is the Everdeck unless you choose another.
    """
    from hkoji.cli.play import rulebook as decklist

    decklist.show_deck()


commands.add_typer(bots, name="bot")


@bots.command(
    "run",
    epilog="Examples: hkoji bot run 2714 --bot greedy; hkoji bot run 2714 --timeout 5 -- python3 mybot.py",
)
def bot_run(
    game: Game,
    program: Annotated[
        list[str] | None, typer.Argument(metavar="-- PROGRAM", help="A program and its arguments.")
    ] = None,
    bot: Annotated[
        str | None, typer.Option(help="A built-in bot, by its name.", autocompletion=completion.bots)
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Use one process for all moves: it reads and writes one line a move.")
    ] = False,
    interface: Annotated[
        str,
        typer.Option(
            help="The program's input: json, or referee as in programming contests.",
            autocompletion=completion.one_of("json", "referee"),
        ),
    ] = "json",
    timeout: Annotated[float | None, typer.Option(min=0.01, help="Seconds for a move; default: 60.")] = None,
    seed: Annotated[int | None, typer.Option(help="A number that makes play repeatable; default: random.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Play what is due now, and do not wait.")] = False,
    sealed: JoinSealed = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Let a bot play your seat of a game until it is over."""
    from hkoji.cli.play import bot as bots

    chosen = bots.choose(bot, program or (), seed, keep=keep, interface=interface, timeout=timeout)
    bots.run(game, chosen, once=once, sealed=sealed)


@bots.command("list", epilog="Example: hkoji bot list --json")
def bot_list(json: Json = False) -> None:
    """List the bots with their games and their levels in `hkoji play`."""
    from hkoji.cli.play import bot as bots

    bots.listing()


@commands.command(epilog="Examples: hkoji arena greedy random --games 1000; hkoji arena greedy random --export match")
def arena(
    bot: Annotated[str, typer.Argument(metavar="BOT", help="A bot, by its name.", autocompletion=completion.bots)],
    other: Annotated[str, typer.Argument(metavar="BOT", help="Its opponent.", autocompletion=completion.bots)],
    games: Annotated[int, typer.Option(min=2, help="The number of games; each deal is played twice.")] = 100,
    seed: Annotated[str | None, typer.Option(help="The source of all cards and decisions; default: random.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    export: Annotated[Path | None, typer.Option(metavar="DIR", help="Write signed logs that anyone can check.")] = None,
    ruleset: RulesetName = None,
    edition: EditionName = None,
    first: First = None,
    max_rounds: MaxRounds = None,
    tiebreak: TieBreak = None,
    markers: Markers = None,
    option: MoreOptions = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Play two bots against each other and compare them.

    Each deal is played twice, with the seats exchanged.
    """
    from hkoji.cli.games.rulesets import make_ruleset
    from hkoji.cli.play import arena as match

    given = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    plan = match.make_plan((bot, other), make_ruleset(ruleset, given, option, edition), games, seed)
    raise typer.Exit(match.run(plan, jobs=jobs, folder=export))
