"""The commands with their options and help. Each imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hkoji import __version__
from hkoji.cli import rulesets
from hkoji.cli.output import out
from hkoji.text import tell

if TYPE_CHECKING:
    from hkoji.client import Client

app = typer.Typer(
    name="hkoji",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Hanamikoji and Geisha's Road by correspondence: signed games that anyone can check.",
    epilog="Begin with: hkoji play. With others: hkoji init NAME, then hkoji register --server URL, "
    "then hkoji new or hkoji join GAME.",
)

_MOVES = {"ignore_unknown_options": True}  # a move may begin with a dash: -C, -BD

Json = Annotated[bool, typer.Option("--json", help="Print the result as one line of JSON.")]
Plain = Annotated[bool, typer.Option("--plain", help="Print sentences, for screen readers.")]
Game = Annotated[str, typer.Argument(metavar="GAME", help="The game's id, or its first digits.", show_default=False)]
Notation = Annotated[
    list[str], typer.Argument(metavar="NOTATION", help="A move: 3BCC, -C, 1e, gift b c c …", show_default=False)
]
Source = Annotated[
    str, typer.Argument(metavar="FILE|GAME", help="A log file, - for standard input, or a game.", show_default=False)
]


def _client() -> Client:
    from hkoji.cli.output import client

    return client()


def _version(wanted: bool) -> None:
    if wanted:
        print(f"hkoji {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    # Taken out of every command line before it comes here: they stand here to be seen in the help.
    _lang: Annotated[
        str | None, typer.Option("--lang", help="Language: en or it. In any command, at any place.", show_default=False)
    ] = None,
    _deck: Annotated[
        str | None,
        typer.Option("--deck", help="How cards are named: standard or everdeck. The same.", show_default=False),
    ] = None,
) -> None:
    return


@app.command(epilog="Example: hkoji serve --data ~/hkoji-data --port 8000")
def serve(
    data: Annotated[Path, typer.Option("--data", help="Folder of the database; made if missing.")],
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any free one.")] = 8000,
    log_level: Annotated[
        str, typer.Option("--log-level", help="debug, info (a line a request), warning or error.")
    ] = "warning",
) -> None:
    """Run a service: one folder, one SQLite file."""
    from importlib.metadata import entry_points

    from hkoji.errors import UsageError

    if log_level not in ("debug", "info", "warning", "error"):
        raise UsageError(
            tell("there is no log level {log_level!r}", log_level=log_level),
            hint=tell("one of debug, info, warning, error"),
        )
    found = entry_points(group="hkoji.serve", name="serve")
    try:
        run = next(iter(found)).load()
    except (StopIteration, ImportError) as error:
        raise UsageError(
            tell("the service is not installed"), hint=tell("install it with: pip install 'hkoji[server]'")
        ) from error
    run(data, host, port, log_level=log_level)


@app.command(epilog="Examples: hkoji play; hkoji play --level hard; hkoji play --ruleset geishas-road --new")
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
    from hkoji.cli import against

    out.json, out.plain = json, plain
    options = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    given = {name: value for name, value in options.items() if value is not None}
    wish = against.Wish(ruleset, edition, given, tuple(option or ()), bot, level, new)
    raise typer.Exit(against.run(out, game, wish, listed=list_))


@app.command(epilog="Example: hkoji init alice --key ~/.ssh/id_ed25519")
def init(
    name: Annotated[str, typer.Argument(help="Your name as a player.", show_default=False)],
    key: Annotated[
        Path | None,
        typer.Option("--key", help="An Ed25519 SSH key (a .pub file for one in ssh-agent); default: a new one."),
    ] = None,
    json: Json = False,
) -> None:
    """Make your identity: a name and a key, in HKOJI_HOME."""
    from hkoji.cli import player

    out.json = json
    player.init(out, name, key)


@app.command()
def whoami(json: Json = False) -> None:
    """Print your name, key and service."""
    from hkoji.cli import player

    out.json = json
    player.whoami(_client(), out)


@app.command(epilog="Example: hkoji key > alice.pub; who has it runs: hkoji audit GAME --key alice=alice.pub")
def key(json: Json = False) -> None:
    """Print your public key, to give to others."""
    from hkoji.cli import player

    out.json = json
    player.key(_client(), out)


@app.command(epilog="Example: hkoji register --server https://hanamikoji.example")
def register(
    server: Annotated[str, typer.Option("--server", help="The service's address.", show_default=False)],
    json: Json = False,
) -> None:
    """Register your name and key at a service, and make it yours."""
    from hkoji.cli import player

    out.json = json
    player.register(_client(), out, server)


@app.command(
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
    from hkoji.cli import play

    out.json = json
    given = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    made = rulesets.make_ruleset(ruleset, given, option, edition)
    play.new(_client(), out, made, invite)


@app.command(epilog="Examples: hkoji rules; hkoji rules geishas-road --lang it; hkoji rules --edition 2018-it")
def rules(
    game: Annotated[str | None, typer.Argument(metavar="[GAME]", help="hanamikoji or geishas-road.")] = None,
    edition: Annotated[str | None, typer.Option("--edition", help="In the words and options of an edition.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the editions instead.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Print the rules of a game."""
    from hkoji.cli import rules

    out.json, out.plain = json, plain
    rules.show_list(out) if list_ else rules.show(out, game, edition)


@app.command(epilog="Example: hkoji deck --deck everdeck")
def deck(json: Json = False, plain: Plain = False) -> None:
    """List the cards to pick from a deck to play at a table; from the Everdeck unless another is chosen."""
    from hkoji.cli import decklist

    out.json, out.plain = json, plain
    decklist.show(out)


@app.command(epilog="Examples: hkoji config; hkoji config lang it; hkoji config deck --unset")
def config(
    key: Annotated[str | None, typer.Argument(help="lang or deck; all if left out.", show_default=False)] = None,
    value: Annotated[str | None, typer.Argument(help="Keep this from now on.", show_default=False)] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Keep nothing for the key.")] = False,
    json: Json = False,
) -> None:
    """Show the settings, or keep one."""
    from hkoji.cli import config

    out.json = json
    config.run(out, key, value, unset=unset)


@app.command(epilog="Example: hkoji join 2714")
def join(game: Game, json: Json = False) -> None:
    """Join an open game."""
    from hkoji.cli import play

    out.json = json
    play.join(_client(), out, game)


@app.command(epilog="Examples: hkoji games --open; hkoji games --status finished")
def games(
    open_: Annotated[bool, typer.Option("--open", help="Everybody's games that wait for someone to join.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Everybody's games.")] = False,
    status: Annotated[str | None, typer.Option("--status", help="open, playing or finished.")] = None,
    json: Json = False,
) -> None:
    """List your games, or those open to join."""
    from hkoji.cli import play

    out.json = json
    play.games(_client(), out, everybody=open_ or all_, status="open" if open_ else status)


@app.command("next", epilog="Example: hkoji next --json")
def next_(json: Json = False) -> None:
    """List the games that wait for you."""
    from hkoji.cli import play

    out.json = json
    play.waiting(_client(), out)


@app.command(epilog="Example: hkoji show 2714")
def show(game: Game, json: Json = False, plain: Plain = False) -> None:
    """Show a game as you see it, and what you can do."""
    from hkoji.cli import play

    out.json, out.plain = json, plain
    play.show(_client(), out, game)


@app.command(
    context_settings=_MOVES, epilog="Examples: hkoji move 2714 3BCC; hkoji move 2714 -C; hkoji move 2714 gift b c c"
)
def move(game: Game, notation: Notation, json: Json = False, plain: Plain = False) -> None:
    """Make a move."""
    from hkoji.cli import play

    out.json, out.plain = json, plain
    play.move(_client(), out, game, notation)


@app.command(epilog="Example: hkoji wait 2714 --timeout 600 && hkoji show 2714")
def wait(
    game: Game,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0, help="Give up after so many seconds.")] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Wait until it is your turn or the game is over."""
    from hkoji.cli import play

    out.json, out.plain = json, plain
    play.wait(_client(), out, game, timeout)


@app.command(epilog="Example: hkoji resign 2714")
def resign(
    game: Game,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first. Without a terminal nothing is asked.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Give a game up."""
    from hkoji.cli import play

    out.json, out.plain = json, plain
    play.resign(_client(), out, game, yes=yes)


@app.command(epilog="Example: hkoji cancel 2714")
def cancel(game: Game, json: Json = False, plain: Plain = False) -> None:
    """Take back a game that nobody has joined."""
    from hkoji.cli import play

    out.json, out.plain = json, plain
    play.cancel(_client(), out, game)


@app.command(context_settings=_MOVES, epilog="Example: hkoji sign 2714 1E > entry.json")
def sign(game: Game, notation: Notation, json: Json = False) -> None:
    """Sign a move without sending it, from what you have seen last. Always JSON."""
    from hkoji.cli import play

    out.json = json
    play.sign(_client(), out, game, notation)


@app.command(epilog="Example: hkoji submit entry.json --server https://hanamikoji.example")
def submit(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A signed move; - for standard input.", show_default=False)
    ],
    server: Annotated[str | None, typer.Option("--server", help="The service; default: the game's, or yours.")] = None,
    json: Json = False,
) -> None:
    """Send a signed move, from any machine."""
    from hkoji.cli import play

    out.json = json
    play.submit(_client(), out, file, server)


@app.command(epilog="Example: hkoji log 2714 | tail -n 1")
def log(game: Game, json: Json = False) -> None:
    """Print the public log, one JSON object a line."""
    from hkoji.cli import play

    out.json = json
    play.log(_client(), out, game)


@app.command(epilog="Example: hkoji export 2714 > game.jsonl")
def export(game: Game, json: Json = False) -> None:
    """Print a finished game with receipts, one JSON object a line."""
    from hkoji.cli import logs

    out.json = json
    logs.export(_client(), out, game)


@app.command(epilog="Examples: hkoji replay game.jsonl --eyes alice; hkoji replay 2714 --at 9 --eyes guest")
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
    from hkoji.cli import study

    out.json, out.plain = json, plain
    study.show_replay(_client(), out, source, study.Wish(at, eyes, step, svg, png))


@app.command(epilog="Examples: hkoji stats games/ --jobs 4 --plot games.svg; hkoji stats - < games.jsonl")
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
    from hkoji.cli.stats import show_stats

    out.json, out.plain = json, plain
    show_stats(out, files, jobs, plot)


@app.command(epilog="Example: hkoji audit game.jsonl --key 'alice=ssh-ed25519 AAAA…' --key bob=bob.pub")
def audit(
    source: Source,
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="NAME=KEY", help="A key you expect; text or a .pub file.")
    ] = None,
    json: Json = False,
) -> None:
    """Check every signature, card and move of a log."""
    from hkoji.cli import logs

    out.json = json
    logs.show_audit(_client(), out, source, key or [])


@app.command(epilog="Examples: hkoji arena greedy random --games 1000; hkoji arena greedy random --export match")
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
    from hkoji.cli import arena as match

    out.json, out.plain = json, plain
    given = {"first": first, "max_rounds": max_rounds, "tiebreak": tiebreak, "markers": markers}
    plan = match.make_plan((bot, other), rulesets.make_ruleset(ruleset, given, option), games, seed)
    raise typer.Exit(match.run(out, plan, jobs=jobs, folder=export))


@app.command(epilog="Example: printf 'next\nshow 2714\n' | hkoji batch")
def batch(
    json: Annotated[bool, typer.Option("--json", help="Answers are JSON in any case.")] = False,
) -> None:
    """Read commands from standard input, one a line; answer each with one line of JSON."""
    from hkoji.cli.batch import run

    out.json = json
    raise typer.Exit(run(app, out))


bots = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Let a bot play: one of ours, or your program.")
app.add_typer(bots, name="bot")


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
    from hkoji.cli import bot as bots

    out.json, out.plain = json, plain
    chosen = bots.choose(bot, program or (), seed, keep=keep, interface=interface, timeout=timeout)
    bots.run(_client(), out, game, chosen, once=once)


@bots.command("list", epilog="Example: hkoji bot list --json")
def bot_list(json: Json = False) -> None:
    """List the bots, the games they play, and the levels of `hkoji play`."""
    from hkoji.cli import bot as bots

    out.json = json
    bots.listing(out)
