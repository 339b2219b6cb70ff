"""Declares the commands of the group "Your games": games by correspondence."""

from __future__ import annotations

from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import (
    MOVES,
    EditionName,
    First,
    Game,
    Json,
    Markers,
    MaxRounds,
    MoreOptions,
    Notation,
    Offline,
    Origin,
    Plain,
    Rest,
    RulesetName,
    TieBreak,
    Yes,
    Zone,
    client,
)
from hkoji.cli.output import out

commands = typer.Typer()


@commands.command(
    epilog="Examples: hkoji new --invite bob --edition 2018-it; hkoji new --clock 2d/10d --rest 67; "
    "hkoji new --ruleset geishas-road --clock none"
)
def new(
    ruleset: RulesetName = None,
    edition: EditionName = None,
    invite: Annotated[
        str | None,
        typer.Option("--invite", help="The only player who may join.", autocompletion=completion.players),
    ] = None,
    first: First = None,
    max_rounds: MaxRounds = None,
    tiebreak: TieBreak = None,
    markers: Markers = None,
    option: MoreOptions = None,
    clock: Annotated[
        str | None,
        typer.Option(
            "--clock",
            help="Time for each turn / in reserve, 3d/14d if not given; none: no clock.",
            show_default=False,
            autocompletion=completion.one_of("3d/14d", "3d", "1d/7d", "/30d", "/30d+1d^45d", "none"),
        ),
    ] = None,
    rest: Rest = None,
    zone: Zone = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires",
            metavar="DUR",
            help="How long to wait for someone to join, 14d if not given; none: no limit.",
            show_default=False,
        ),
    ] = None,
    unrated: Annotated[bool, typer.Option("--unrated", help="The game does not count for ratings.")] = False,
    json: Json = False,
) -> None:
    """Open a game for someone to join.

    Prints the clock, and how long the game can take at most.
    """
    from hkoji.cli.games.new import new, read_terms
    from hkoji.cli.games.rulesets import make_ruleset

    out.json = json
    given = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    made = make_ruleset(ruleset, given, option, edition)
    new(client(), out, made, invite, read_terms(clock, rest, zone, expires, unrated=unrated))


@commands.command(epilog="Examples: hkoji join 2714; hkoji join 2714 --clock 3d/14d")
def join(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME",
            help="The game's id or its first characters.",
            show_default=False,
            autocompletion=completion.open_games,
        ),
    ],
    clock: Annotated[
        str | None,
        typer.Option("--clock", help="Join only if the game has this clock, as in hkoji new.", show_default=False),
    ] = None,
    rest: Rest = None,
    zone: Zone = None,
    json: Json = False,
) -> None:
    """Join an open game.

    Prints the clock before it joins.
    """
    from hkoji.cli.games.new import join, read_join_terms

    out.json = json
    join(client(), out, game, read_join_terms(clock, rest, zone))


@commands.command(epilog="Examples: hkoji games --open; hkoji games --status finished")
def games(
    open_: Annotated[bool, typer.Option("--open", help="List the games that you can join.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="List everybody's games.")] = False,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            help="open, playing, finished or cancelled.",
            autocompletion=completion.one_of("open", "playing", "finished", "cancelled"),
        ),
    ] = None,
    offline: Offline = False,
    json: Json = False,
) -> None:
    """List your games, or those open to join."""
    from hkoji.cli.games.lists import games, joinable

    out.json = json
    if open_:
        joinable(client(), out, offline=offline)
    else:
        games(client(), out, everybody=all_, status=status, offline=offline)


@commands.command("next", epilog="Example: hkoji next --json")
def next_(offline: Offline = False, json: Json = False) -> None:
    """List the games that wait for you, the most urgent first."""
    from hkoji.cli.games.lists import waiting

    out.json = json
    waiting(client(), out, offline=offline)


@commands.command(epilog="Example: hkoji show 2714")
def show(game: Game, offline: Offline = False, json: Json = False, plain: Plain = False) -> None:
    """Show a game as you see it, and what you can do."""
    from hkoji.cli.games.show import show

    out.json, out.plain = json, plain
    show(client(), out, game, offline=offline)


@commands.command(
    context_settings=MOVES, epilog="Examples: hkoji move 2714 3BCC; hkoji move 2714 -C; hkoji move 2714 gift b c c"
)
def move(game: Game, notation: Notation, json: Json = False, plain: Plain = False) -> None:
    """Make a move."""
    from hkoji.cli.games.move import move

    out.json, out.plain = json, plain
    move(client(), out, game, notation)


@commands.command(epilog="Example: hkoji wait 2714 --timeout 600 && hkoji show 2714")
def wait(
    game: Game,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0, help="Give up after this many seconds.")] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Wait until it is your turn or the game is over."""
    from hkoji.cli.games.show import wait

    out.json, out.plain = json, plain
    wait(client(), out, game, timeout)


@commands.command(epilog="Examples: hkoji watch 2714; hkoji watch --all --json | while read -r line; do ...; done")
def watch(
    game: Annotated[
        str | None,
        typer.Argument(
            metavar="GAME",
            help="The game's id or its first characters.",
            show_default=False,
            autocompletion=completion.games,
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Watch all your unfinished games, and new ones.")] = False,
    after: Annotated[
        int | None,
        typer.Option("--after", min=-1, help="Begin after this entry instead of now.", show_default=False),
    ] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Print the entries of a game as they arrive.

    It ends when the game is over, and then says who has won. With --all it runs until you interrupt it.
    """
    from hkoji.cli.games.watch import watch

    out.json, out.plain = json, plain
    watch(client(), out, game, after, all_=all_)


@commands.command(epilog="Example: hkoji resign 2714")
def resign(game: Game, yes: Yes = False, json: Json = False, plain: Plain = False) -> None:
    """Resign a game."""
    from hkoji.cli.games.move import resign

    out.json, out.plain = json, plain
    resign(client(), out, game, yes=yes)


@commands.command(epilog="Example: hkoji cancel 2714")
def cancel(game: Game, json: Json = False, plain: Plain = False) -> None:
    """Cancel a game of yours that nobody has joined."""
    from hkoji.cli.games.new import cancel

    out.json, out.plain = json, plain
    cancel(client(), out, game)


@commands.command(epilog="Example: hkoji clock 2714")
def clock(game: Game, offline: Offline = False, json: Json = False) -> None:
    """Show the clock of a game: time left and reserves."""
    from hkoji.cli.games.clock import clock

    out.json = json
    clock(client(), out, game, offline=offline)


@commands.command(epilog="Example: hkoji give 2714 2d")
def give(
    game: Game,
    duration: Annotated[
        str, typer.Argument(metavar="DUR", help="How much time: 2d, 1d12h; at most 30d.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Give your opponent more time for the current turn.

    It cannot be taken back. If you give time twice in a turn, the larger gift counts.
    """
    from hkoji.cli.games.clock import give

    out.json = json
    give(client(), out, game, duration)


@commands.command(epilog="Example: hkoji annul 2714")
def annul(
    game: Game,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take your request back.")] = False,
    json: Json = False,
) -> None:
    """Ask to call a game off, or agree to that.

    The game ends without a winner if both players run this before the next move.
    """
    from hkoji.cli.games.clock import annul

    out.json = json
    annul(client(), out, game, withdraw=withdraw)


@commands.command(context_settings=MOVES, epilog="Example: hkoji sign 2714 1E > entry.json")
def sign(game: Game, notation: Notation, json: Json = False) -> None:
    """Sign a move without sending it.

    The move is for the last position that you have seen. The output is always JSON.
    """
    from hkoji.cli.games.move import sign

    out.json = json
    sign(client(), out, game, notation)


@commands.command(epilog="Example: hkoji submit entry.json --server https://hanamikoji.example")
def submit(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A signed move; - for standard input.", show_default=False)
    ],
    server: Annotated[str | None, typer.Option("--server", help="The service; default: the game's, or yours.")] = None,
    origin: Origin = None,
    json: Json = False,
) -> None:
    """Send a signed move, from any machine."""
    from hkoji.cli.games.move import submit

    out.json = json
    submit(client(), out, file, server, origin)


@commands.command(epilog=r"Example: printf 'next\nshow 2714\n' | hkoji batch")
def batch(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="No effect: answers are always JSON.")] = False,
) -> None:
    """Run many commands from standard input, one per line.

    Each is answered with one line of JSON.
    """
    from hkoji.cli.batch import run

    out.json = json
    raise typer.Exit(run(context.obj, out))
