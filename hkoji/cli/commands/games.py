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
    OptionalGame,
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
        show_default=False,
        autocompletion=completion.one_of("10m..3h", "1h", "0"),
    ),
]


@commands.command(
    epilog="Examples: hkoji new --invite bob --edition 2018-it; hkoji new --clock 2d/10d --rest 67; "
    "hkoji new --ruleset geishas-road --clock none; hkoji new --link"
)
def new(
    ruleset: RulesetName = None,
    edition: EditionName = None,
    invite: Annotated[
        str | None,
        typer.Option("--invite", help="The only player who may join.", autocompletion=completion.players),
    ] = None,
    link: Annotated[bool, typer.Option("--link", help="Print a link with which one friend can join.")] = False,
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
    series: Annotated[
        int | None,
        typer.Option(
            "--series",
            metavar="GAMES",
            help="The first game of a series, best of 3, 5, 7 or 9; hkoji rematch opens the others.",
            show_default=False,
            autocompletion=completion.one_of("3", "5", "7", "9"),
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Open a game for someone to join.

    Prints the clock, and how long the game can take at most. With --link, prints the command that a friend types to
    join; the friend need not be registered. Whoever has the link can join, so send it to nobody else.
    """
    from hkoji.cli.games.new import Invited, new, read_terms
    from hkoji.cli.games.rulesets import make_ruleset

    out.json = json
    given = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    made = make_ruleset(ruleset, given, option, edition)
    terms = read_terms(clock, rest, zone, expires, unrated=unrated, series=series)
    new(client(), out, made, Invited(invite, link), terms)


@commands.command(
    epilog="Examples: hkoji join 2714; hkoji join 2714 --clock 3d/14d; "
    "hkoji join 'https://hanamikoji.example/i/2714…#5b0e…'"
)
def join(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME|LINK",
            help="The game's id or its first characters; a link; - for a link on standard input.",
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
    origin: Origin = None,
    code: Annotated[
        str | None,
        typer.Option(
            "--code",
            help="With a link: the code from the operator, if its service needs one; - to ask for it.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Join an open game.

    Prints the rules and the clock before it joins. Give a link in quotes, or the whole line that you were sent. If
    necessary, you are registered at the service of the link.
    """
    from hkoji.cli.games.new import join, read_join_terms

    out.json = json
    join(client(), out, game, read_join_terms(clock, rest, zone, origin, code))


@commands.command(epilog="Example: hkoji rematch 2714")
def rematch(
    game: Game,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires",
            metavar="DUR",
            help="How long to wait for the opponent, 14d if not given; none: no limit.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Ask for another game after one that is over, or accept.

    The rules and the clock stay the same, and the other player starts. If your opponent has asked already, you join
    their game. A series goes on with its next game.
    """
    from hkoji.cli.games.rematch import rematch

    out.json = json
    rematch(client(), out, game, expires)


@commands.command(epilog="Examples: hkoji games --open --clock days; hkoji games --with bob")
def games(
    open_: Annotated[bool, typer.Option("--open", help="List the games that you can join.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="List everybody's games.")] = False,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            help="open, playing, finished (the cancelled ones too) or cancelled.",
            autocompletion=completion.one_of("open", "playing", "finished", "cancelled"),
        ),
    ] = None,
    ruleset: Annotated[
        str | None,
        typer.Option(
            "--ruleset", help="With --open: of this ruleset.", show_default=False, autocompletion=completion.rulesets
        ),
    ] = None,
    rated: Annotated[
        bool | None, typer.Option("--rated/--unrated", help="With --open: rated or unrated.", show_default=False)
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(
            "--clock",
            help="With --open: none, fast (the first turn under a day), days (to 31) or slow.",
            show_default=False,
            autocompletion=completion.one_of("none", "fast", "days", "slow"),
        ),
    ] = None,
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="NAME",
            help="List your games with this player, and the score.",
            show_default=False,
            autocompletion=completion.players,
        ),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(
            "--series",
            metavar="SERIES",
            help="List the games of a series, by the first digits of its id, and the score.",
            show_default=False,
        ),
    ] = None,
    offline: Offline = False,
    json: Json = False,
) -> None:
    """List your games, or those open to join."""
    from hkoji.cli.games.history import games_of_series, games_with, verify_alone
    from hkoji.cli.games.lists import OpenGames, games, joinable, refuse_filters

    out.json = json
    wanted = OpenGames(ruleset, rated, clock)
    if not open_:
        refuse_filters(wanted)
    if with_ is not None or series is not None:
        verify_alone(open_=open_, all_=all_, status=status, with_=with_, series=series)
        if series is not None:
            games_of_series(client(), out, series, offline=offline)
        elif with_ is not None:
            games_with(client(), out, with_, status=status, offline=offline)
    elif open_:
        joinable(client(), out, wanted, offline=offline)
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
def move(
    game: Game,
    notation: Notation,
    dry: Annotated[bool, typer.Option("--dry-run", help="Show what the move would do, and send nothing.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Make a move."""
    from hkoji.cli.games import move

    out.json, out.plain = json, plain
    if dry:
        move.dry_run(client(), out, game, notation)
    else:
        move.move(client(), out, game, notation)


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


@commands.command(
    epilog="Examples: hkoji watch 2714; hkoji watch --all --json | while read -r line; do ...; done; "
    "hkoji watch --all --exec -- sh -c 'cat >> log'"
)
def watch(
    game: OptionalGame = None,
    rest: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- CMD", help="With --exec: a command and its arguments.", show_default=False),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Watch all your unfinished games, and new ones.")] = False,
    exec_: Annotated[
        bool, typer.Option("--exec", help="Run CMD for each entry, which it reads as JSON; at most 60 s.")
    ] = False,
    notify: Annotated[bool, typer.Option("--notify", help="Show a notification when it is your turn.")] = False,
    after: Annotated[
        int | None,
        typer.Option("--after", min=-1, help="Begin after this entry instead of now.", show_default=False),
    ] = None,
    plans: Annotated[bool, typer.Option("--plans", help="With --all: also play what your plans say.")] = False,
    delay: Delay = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Print the entries of a game as they arrive.

    It ends when the game is over, and then says who has won. With --all it runs until you interrupt it.
    """
    from hkoji.cli.games.watch import watch
    from hkoji.cli.games.watch_commands import read_commands

    out.json, out.plain = json, plain
    game, commands = read_commands(game, rest, all_=all_, run=exec_, notify=notify)
    watch(client(), out, game, after, all_=all_, commands=commands, plans=plans, delay=delay)


@commands.command(
    epilog="Examples: printf '3* : -G -F -E\\n** : only\\n' | hkoji plan 2714 - --yes; hkoji plan 2714 --try '3BCC +D'"
)
def plan(
    game: OptionalGame = None,
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="A new plan; - for standard input.", show_default=False),
    ] = None,
    tried: Annotated[
        str | None,
        typer.Option("--try", metavar="TOKENS", help="Say what the plan does if this is seen.", show_default=False),
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
    from hkoji.cli.games.plan import PlanWishes, plan

    out.json = json
    plan(client(), out, game, PlanWishes(file, tried, drop, list_, yes))


commands.add_typer(plans, name="plans")


@plans.command("run", epilog="Example, for cron: */10 * * * * hkoji plans run")
def plans_run(delay: Delay = None, json: Json = False) -> None:
    """Make the moves of your plans that are due, once."""
    from hkoji.cli.games.plan_runs import read_delay, run

    out.json = json
    raise typer.Exit(run(client(), out, read_delay(delay)))


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


@commands.command(epilog="Examples: hkoji decline 2714; hkoji decline 2714 --why later")
def decline(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME",
            help="The game's id or its first characters.",
            show_default=False,
            autocompletion=completion.invitations,
        ),
    ],
    why: Annotated[
        str | None,
        typer.Option(
            "--why",
            metavar="WORD",
            help="A reason for the host: no, later, shorter, longer (clock), ruleset, rated or bot.",
            show_default=False,
            autocompletion=completion.one_of("no", "later", "shorter", "longer", "ruleset", "rated", "bot"),
        ),
    ] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Decline an invitation.

    The game ends without a winner. The reason stands in its public log.
    """
    from hkoji.cli.games.new import decline

    out.json, out.plain = json, plain
    decline(client(), out, game, why)


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


@commands.command(epilog="Examples: hkoji talk 2714; hkoji talk 2714 well played; hkoji talk 2714 - < letter")
def talk(
    game: Game,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What to say; - for standard input.", show_default=False),
    ] = None,
    delete: Annotated[
        int | None,
        typer.Option("--delete", metavar="N", min=1, help="Delete your message N.", show_default=False),
    ] = None,
    mute: Annotated[
        bool | None,
        typer.Option(
            "--mute/--unmute", help="Do not show your opponent's messages here, or show them again.", show_default=False
        ),
    ] = None,
    offline: Offline = False,
    json: Json = False,
) -> None:
    """Read and write messages to your opponent.

    They are private and signed. Each has at most 1,000 bytes. They are not part of the game's log.
    """
    from hkoji.cli.games import talk

    out.json = json
    if sum((bool(words), delete is not None, mute is not None)) > 1:
        raise UsageError(tell("give one of TEXT, --delete and --mute"), hint=tell("nothing was sent"))
    if delete is not None:
        talk.delete(client(), out, game, delete)
    elif mute is not None:
        talk.mute(client(), out, game, muted=mute)
    else:
        talk.talk(client(), out, game, words, offline=offline)


@commands.command(epilog="Examples: hkoji note 2714 she keeps the pipes; hkoji note 2714; hkoji note 2714 --delete")
def note(
    game: Game,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What to add to the note; - for standard input.", show_default=False),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the note by TEXT.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the note.")] = False,
    json: Json = False,
) -> None:
    """Note something about a game, for yourself.

    Without TEXT it prints the note. It stays on this machine.
    """
    from hkoji.cli.games.note import note

    out.json = json
    note(client(), out, game, words, replace=replace, delete=delete)


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
