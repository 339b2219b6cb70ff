"""Playing at a prompt, who one is, and what one needs at hand: rules, decks, settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hkoji.cli.commands.arguments import Json, Plain, client
from hkoji.cli.games import rulesets
from hkoji.cli.output import out

commands = typer.Typer()


@commands.command(epilog="Examples: hkoji play; hkoji play --level hard; hkoji play --ruleset geishas-road --new")
def play(
    game: Annotated[
        str | None,
        typer.Argument(metavar="[GAME]", help="A game that was begun, here or on a service.", show_default=False),
    ] = None,
    bot: Annotated[
        str | None,
        typer.Option("--bot", help="The bot to play against: a name, or a program as in ./mybot.", show_default=False),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option("--level", help="beginner, easy (if not given), normal or hard.", show_default=False),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin another game, even if one is still going on.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the games against bots instead.")] = False,
    ruleset: rulesets.Name = None,
    edition: rulesets.Edition = None,
    first: rulesets.First = None,
    max_rounds: rulesets.MaxRounds = None,
    tiebreak: rulesets.TieBreak = None,
    markers: rulesets.Markers = None,
    option: rulesets.More = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Play at a prompt: against a bot, with nothing to set up, or a GAME by correspondence."""
    from hkoji.cli.prompt import play as against

    out.json, out.plain = json, plain
    options = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    given = {name: value for name, value in options.items() if value is not None}
    wish = against.PlayOptions(ruleset, edition, given, tuple(option or ()), bot, level, new)
    raise typer.Exit(against.run(out, game, wish, listed=list_))


@commands.command(epilog="Example: hkoji init alice --key ~/.ssh/id_ed25519")
def init(
    name: Annotated[str, typer.Argument(help="Your name as a player.", show_default=False)],
    key: Annotated[
        Path | None,
        typer.Option("--key", help="An Ed25519 SSH key (a .pub file for one in ssh-agent); default: a new one."),
    ] = None,
    json: Json = False,
) -> None:
    """Make your identity: a name and a key, in HKOJI_HOME."""
    from hkoji.cli.player import identity as player

    out.json = json
    player.init(out, name, key)


@commands.command()
def whoami(json: Json = False) -> None:
    """Print your name, key and service."""
    from hkoji.cli.player import identity as player

    out.json = json
    player.whoami(client(), out)


@commands.command(epilog="Example: hkoji key > alice.pub; who has it runs: hkoji audit GAME --key alice=alice.pub")
def key(json: Json = False) -> None:
    """Print your public key, to give to others."""
    from hkoji.cli.player import identity as player

    out.json = json
    player.key(client(), out)


@commands.command(epilog="Example: hkoji register --server https://hanamikoji.example")
def register(
    server: Annotated[str, typer.Option("--server", help="The service's address.", show_default=False)],
    json: Json = False,
) -> None:
    """Register your name and key at a service, and make it yours."""
    from hkoji.cli.player import identity as player

    out.json = json
    player.register(client(), out, server)


@commands.command(epilog="Examples: hkoji config; hkoji config lang it; hkoji config deck --unset")
def config(
    key: Annotated[str | None, typer.Argument(help="lang or deck; all if left out.", show_default=False)] = None,
    value: Annotated[str | None, typer.Argument(help="Keep this from now on.", show_default=False)] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Keep nothing for the key.")] = False,
    json: Json = False,
) -> None:
    """Show the settings, or keep one."""
    from hkoji.cli.player import config

    out.json = json
    config.run(out, key, value, unset=unset)


@commands.command(epilog="Examples: hkoji rules; hkoji rules geishas-road --lang it; hkoji rules --edition 2018-it")
def rules(
    game: Annotated[str | None, typer.Argument(metavar="[GAME]", help="hanamikoji or geishas-road.")] = None,
    edition: Annotated[str | None, typer.Option("--edition", help="In the words and options of an edition.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the editions instead.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Print the rules of a game."""
    from hkoji.cli.manual import rules

    out.json, out.plain = json, plain
    rules.show_list(out) if list_ else rules.show(out, game, edition)


@commands.command(epilog="Example: hkoji deck --deck everdeck")
def deck(json: Json = False, plain: Plain = False) -> None:
    """List the cards to pick from a deck to play at a table; from the Everdeck unless another is chosen."""
    from hkoji.cli.manual import deck as decklist

    out.json, out.plain = json, plain
    decklist.show(out)
