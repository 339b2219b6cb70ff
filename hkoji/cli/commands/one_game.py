"""Declares the commands of the group "Your games" about one game: what is seen, played, agreed and said in it."""

from __future__ import annotations

from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.commands.arguments import MOVES, Game, Json, Notation, Offline, OptionalGame, Origin, Plain, Yes
from hkoji.errors import UsageError
from hkoji.messages.text import tell

commands = typer.Typer()
plans = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Run the plans that you have made.")

Delay = Annotated[
    str | None,
    typer.Option(
        "--delay",
        metavar="DUR",
        help="How long a planned move waits: 30m, 10m..3h (the default) or 0.",
        autocompletion=completion.one_of("10m..3h", "1h", "0"),
    ),
]


@commands.command(epilog="Example: hkoji show 2714")
def show(game: Game, offline: Offline = False, json: Json = False, plain: Plain = False) -> None:
    """Show a game as you see it, and what you can do."""
    from hkoji.cli.games.show import show

    show(game, offline=offline)


@commands.command(
    context_settings=MOVES, epilog="Examples: hkoji move 2714 3BCC; hkoji move 2714 -C; hkoji move 2714 gift b c c"
)
def move(
    game: Game,
    notation: Notation,
    dry: Annotated[bool, typer.Option("--dry-run", help="Show what the move would do, and send nothing.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Make a move."""
    from hkoji.cli.games import move

    if dry:
        move.dry_run(game, notation)
    else:
        move.move(game, notation)


@commands.command(epilog="Examples: hkoji release; hkoji release 2714 --here")
def release(
    game: OptionalGame = None,
    here: Annotated[
        bool, typer.Option("--here", help="Go on here, although you locked this round on another machine.")
    ] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Send the cards that your program owes in sealed games.

    Without GAME it looks at all your sealed games once; run it so from a timer. Every command that looks at a game
    releases its cards too, and so does hkoji watch.
    """
    from hkoji.cli.games.release import release

    release(game, here=here)


@commands.command(epilog="Example: hkoji wait 2714 --timeout 600 && hkoji show 2714")
def wait(
    game: Game,
    timeout: Annotated[float | None, typer.Option(min=0, help="Give up after this many seconds.")] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Wait until it is your turn or the game is over."""
    from hkoji.cli.games.show import wait

    wait(game, timeout)


@commands.command(
    epilog="Examples: hkoji watch 2714; hkoji watch --all --json | while read -r line; do ...; done; "
    "hkoji watch --all --exec -- sh -c 'cat >> log'"
)
def watch(
    game: OptionalGame = None,
    rest: Annotated[
        list[str] | None, typer.Argument(metavar="-- CMD", help="With --exec: a command and its arguments.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Watch all your unfinished games, and new ones.")] = False,
    exec_: Annotated[
        bool, typer.Option("--exec", help="Run CMD for each entry, which it reads as JSON; at most 60 s.")
    ] = False,
    notify: Annotated[bool, typer.Option("--notify", help="Show a notification when it is your turn.")] = False,
    after: Annotated[int | None, typer.Option(min=-1, help="Begin after this entry instead of now.")] = None,
    plans: Annotated[bool, typer.Option("--plans", help="With --all: also play what your plans say.")] = False,
    delay: Delay = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Print the entries of a game as they arrive.

    It ends when the game is over, and then says who has won. With --all it runs until you interrupt it. While it runs,
    it releases the cards that you owe in sealed games.
    """
    from hkoji.cli.games.watch import read_commands, watch

    game, commands = read_commands(game, rest, all_=all_, run=exec_, notify=notify)
    watch(game, after, all_=all_, commands=commands, plans=plans, delay=delay)


@commands.command(
    epilog="Examples: printf '3* : -G -F -E\\n** : only\\n' | hkoji plan 2714 - --yes; hkoji plan 2714 --try '3BCC +D'"
)
def plan(
    game: OptionalGame = None,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="A new plan; - for standard input.")] = None,
    tried: Annotated[
        str | None, typer.Option("--try", metavar="TOKENS", help="Say what the plan does if this is seen.")
    ] = None,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the plan of the game.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List all your plans instead.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Say what to play next, before it is your turn.

    Without FILE it shows the plan of the game. A plan stays on this machine, and plays only while hkoji watch --all
    --plans runs here, or when hkoji plans run is called.
    """
    from hkoji.cli.games.plan import plan

    plan(game, file, tried, drop=drop, listed=list_, yes=yes)


commands.add_typer(plans, name="plans")


@plans.command("run", epilog="Example, for cron: */10 * * * * hkoji plans run")
def plans_run(delay: Delay = None, json: Json = False) -> None:
    """Make the moves of your plans that are due, once."""
    from hkoji.cli.games.plan import read_delay, run_plans

    raise typer.Exit(run_plans(read_delay(delay)))


@commands.command(epilog="Example: hkoji resign 2714")
def resign(game: Game, yes: Yes = False, json: Json = False, plain: Plain = False) -> None:
    """Resign a game."""
    from hkoji.cli.games.move import resign

    resign(game, yes=yes)


@commands.command(epilog="Example: hkoji cancel 2714")
def cancel(game: Game, json: Json = False, plain: Plain = False) -> None:
    """Cancel a game of yours that nobody has joined."""
    from hkoji.cli.games.new import cancel

    cancel(game)


@commands.command(epilog="Examples: hkoji decline 2714; hkoji decline 2714 --why later")
def decline(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME", help="The game's id or its first characters.", autocompletion=completion.invitations
        ),
    ],
    why: Annotated[
        str | None,
        typer.Option(
            metavar="WORD",
            help="A reason for the host: no, later, shorter, longer (clock), ruleset, rated or bot.",
            autocompletion=completion.one_of("no", "later", "shorter", "longer", "ruleset", "rated", "bot"),
        ),
    ] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Decline an invitation.

    The game ends without a winner. The reason stands in its public log.
    """
    from hkoji.cli.games.join import decline

    decline(game, why)


@commands.command(epilog="Example: hkoji clock 2714")
def clock(game: Game, offline: Offline = False, json: Json = False) -> None:
    """Show the clock of a game: time left and reserves."""
    from hkoji.cli.games.clock import clock

    clock(game, offline=offline)


@commands.command(epilog="Example: hkoji give 2714 2d")
def give(
    game: Game,
    duration: Annotated[str, typer.Argument(metavar="DUR", help="How much time: 2d, 1d12h; at most 30d.")],
    json: Json = False,
) -> None:
    """Give your opponent more time for the current turn.

    It cannot be taken back. If you give time twice in a turn, the larger gift counts.
    """
    from hkoji.cli.games.clock import give

    give(game, duration)


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

    annul(game, withdraw=withdraw)


@commands.command(epilog="Examples: hkoji talk 2714; hkoji talk 2714 well played; hkoji talk 2714 - < letter")
def talk(
    game: Game,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="The message; - for standard input.")
    ] = None,
    delete: Annotated[int | None, typer.Option(metavar="N", min=1, help="Delete your message N.")] = None,
    mute: Annotated[
        bool | None,
        typer.Option("--mute/--unmute", help="Do not show your opponent's messages here, or show them again."),
    ] = None,
    offline: Offline = False,
    json: Json = False,
) -> None:
    """Read and write messages to your opponent.

    They are private and signed. Each has at most 1,000 bytes. They are not part of the game's log. The same text again
    within ten seconds is the same message, unless you have read the messages in between.
    """
    from hkoji.cli.games import talk

    if sum((bool(words), delete is not None, mute is not None)) > 1:
        raise UsageError(tell("give one of TEXT, --delete and --mute"), hint=tell("nothing was sent"))
    if delete is not None:
        talk.delete(game, delete)
    elif mute is not None:
        talk.mute(game, muted=mute)
    else:
        talk.talk(game, words, offline=offline)


@commands.command(epilog="Examples: hkoji note 2714 she keeps the pipes; hkoji note 2714; hkoji note 2714 --delete")
def note(
    game: Game,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="The text to add to the note; - for standard input.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the note by TEXT.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the note.")] = False,
    json: Json = False,
) -> None:
    """Note something about a game, for yourself.

    Without TEXT it prints the note. It stays on this machine.
    """
    from hkoji.cli.games.talk import note

    note(game, words, replace=replace, delete=delete)


@commands.command(context_settings=MOVES, epilog="Example: hkoji sign 2714 1E > entry.json")
def sign(game: Game, notation: Notation, json: Json = False) -> None:
    """Sign a move without sending it.

    The move is for the last position that you have seen. The output is always JSON.
    """
    from hkoji.cli.games.move import sign

    sign(game, notation)


@commands.command(epilog="Example: hkoji submit entry.json --server https://hanamikoji.example")
def submit(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A signed move; - for standard input.")],
    server: Annotated[str | None, typer.Option(help="The service; default: the game's, or yours.")] = None,
    origin: Origin = None,
    json: Json = False,
) -> None:
    """Send a signed move, from any machine."""
    from hkoji.cli.games.move import submit

    submit(file, server, origin)


@commands.command(epilog=r"Example: printf 'next\nshow 2714\n' | hkoji batch")
def batch(
    context: typer.Context,
    json: Annotated[bool, typer.Option("--json", help="No effect: answers are always JSON.")] = False,
) -> None:
    """Run many commands from standard input, one per line.

    Each is answered with one line of JSON.
    """
    from hkoji.cli.batch import run

    raise typer.Exit(run(context.obj))
