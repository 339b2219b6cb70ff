"""Games by correspondence: open, look, move, wait, take the log away, and many such commands at once."""

from __future__ import annotations

from typing import Annotated

import typer

from hkoji.cli.commands.arguments import MOVES, Game, Json, Notation, Plain, client
from hkoji.cli.games import rulesets
from hkoji.cli.output import out

commands = typer.Typer()


@commands.command(
    epilog="Examples: hkoji new --invite bob --edition 2018-it; hkoji new --max-rounds 3; "
    "hkoji new --ruleset geishas-road"
)
def new(
    ruleset: rulesets.Name = None,
    edition: rulesets.Edition = None,
    invite: Annotated[str | None, typer.Option("--invite", help="Only this player may join.")] = None,
    first: rulesets.First = None,
    max_rounds: rulesets.MaxRounds = None,
    tiebreak: rulesets.TieBreak = None,
    markers: rulesets.Markers = None,
    option: rulesets.More = None,
    json: Json = False,
) -> None:
    """Open a game for someone to join."""
    from hkoji.cli.games import actions

    out.json = json
    given = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    made = rulesets.make_ruleset(ruleset, given, option, edition)
    actions.new(client(), out, made, invite)


@commands.command(epilog="Example: hkoji join 2714")
def join(game: Game, json: Json = False) -> None:
    """Join an open game."""
    from hkoji.cli.games import actions

    out.json = json
    actions.join(client(), out, game)


@commands.command(epilog="Examples: hkoji games --open; hkoji games --status finished")
def games(
    open_: Annotated[bool, typer.Option("--open", help="Everybody's games that wait for someone to join.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Everybody's games.")] = False,
    status: Annotated[str | None, typer.Option("--status", help="open, playing or finished.")] = None,
    json: Json = False,
) -> None:
    """List your games, or those open to join."""
    from hkoji.cli.games import actions

    out.json = json
    actions.games(client(), out, everybody=open_ or all_, status="open" if open_ else status)


@commands.command("next", epilog="Example: hkoji next --json")
def next_(json: Json = False) -> None:
    """List the games that wait for you."""
    from hkoji.cli.games import actions

    out.json = json
    actions.waiting(client(), out)


@commands.command(epilog="Example: hkoji show 2714")
def show(game: Game, json: Json = False, plain: Plain = False) -> None:
    """Show a game as you see it, and what you can do."""
    from hkoji.cli.games import actions

    out.json, out.plain = json, plain
    actions.show(client(), out, game)


@commands.command(
    context_settings=MOVES, epilog="Examples: hkoji move 2714 3BCC; hkoji move 2714 -C; hkoji move 2714 gift b c c"
)
def move(game: Game, notation: Notation, json: Json = False, plain: Plain = False) -> None:
    """Make a move."""
    from hkoji.cli.games import actions

    out.json, out.plain = json, plain
    actions.move(client(), out, game, notation)


@commands.command(epilog="Example: hkoji wait 2714 --timeout 600 && hkoji show 2714")
def wait(
    game: Game,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0, help="Give up after so many seconds.")] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Wait until it is your turn or the game is over."""
    from hkoji.cli.games import actions

    out.json, out.plain = json, plain
    actions.wait(client(), out, game, timeout)


@commands.command(epilog="Examples: hkoji watch 2714; hkoji watch --all --json | while read -r line; do ...; done")
def watch(
    game: Annotated[
        str | None,
        typer.Argument(metavar="[GAME]", help="A game: any unique beginning of its id.", show_default=False),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All your games that are not over, new ones included.")] = False,
    after: Annotated[
        int | None,
        typer.Option("--after", min=-1, help="Begin after this entry, not with the next one.", show_default=False),
    ] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Tell what happens, as it happens: until the game is over, or with --all until interrupted."""
    from hkoji.cli.games import watch

    out.json, out.plain = json, plain
    watch.watch(client(), out, game, after, all_=all_)


@commands.command(epilog="Example: hkoji resign 2714")
def resign(
    game: Game,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first. Without a terminal nothing is asked.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Give a game up."""
    from hkoji.cli.games import actions

    out.json, out.plain = json, plain
    actions.resign(client(), out, game, yes=yes)


@commands.command(epilog="Example: hkoji cancel 2714")
def cancel(game: Game, json: Json = False, plain: Plain = False) -> None:
    """Take back a game that nobody has joined."""
    from hkoji.cli.games import actions

    out.json, out.plain = json, plain
    actions.cancel(client(), out, game)


@commands.command(context_settings=MOVES, epilog="Example: hkoji sign 2714 1E > entry.json")
def sign(game: Game, notation: Notation, json: Json = False) -> None:
    """Sign a move without sending it, from what you have seen last. Always JSON."""
    from hkoji.cli.games import actions

    out.json = json
    actions.sign(client(), out, game, notation)


@commands.command(epilog="Example: hkoji submit entry.json --server https://hanamikoji.example")
def submit(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A signed move; - for standard input.", show_default=False)
    ],
    server: Annotated[str | None, typer.Option("--server", help="The service; default: the game's, or yours.")] = None,
    json: Json = False,
) -> None:
    """Send a signed move, from any machine."""
    from hkoji.cli.games import actions

    out.json = json
    actions.submit(client(), out, file, server)


@commands.command(epilog="Example: hkoji log 2714 | tail -n 1")
def log(game: Game, json: Json = False) -> None:
    """Print the public log, one JSON object a line."""
    from hkoji.cli.games import actions

    out.json = json
    actions.log(client(), out, game)


@commands.command(epilog="Example: hkoji export 2714 > game.jsonl")
def export(
    game: Game,
    kept: Annotated[
        bool, typer.Option("--kept", help="As it is kept on this machine, finished or not; no service is asked.")
    ] = False,
    json: Json = False,
) -> None:
    """Print a finished game with receipts, one JSON object a line."""
    from hkoji.cli.audit import report

    out.json = json
    report.export(client(), out, game, kept=kept)


@commands.command(epilog="Example: hkoji evidence 2714 --output evidence.jsonl && hkoji audit evidence.jsonl")
def evidence(
    game: Game,
    output: Annotated[
        str | None, typer.Option("--output", metavar="FILE", help="Write it into this file.", show_default=False)
    ] = None,
    cards: Annotated[
        bool, typer.Option("--with-cards", help="Before the game is over, too, put in what shows your own cards.")
    ] = False,
    json: Json = False,
) -> None:
    """Print a game as evidence for `hkoji audit`: the log, the signed views, and what you refused."""
    from hkoji.cli.audit import report

    out.json = json
    report.evidence(client(), out, game, output, cards=cards)


@commands.command(epilog="Example: printf 'next\nshow 2714\n' | hkoji batch")
def batch(
    json: Annotated[bool, typer.Option("--json", help="Answers are JSON in any case.")] = False,
) -> None:
    """Read commands from standard input, one a line; answer each with one line of JSON."""
    from hkoji.cli.app import app
    from hkoji.cli.batch import run

    out.json = json
    raise typer.Exit(run(app, out))
