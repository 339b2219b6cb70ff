"""The `hkoji` program: commands, their options and help. Each imports what it needs when it runs, since scripts start
this program thousands of times.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hkoji import __version__
from hkoji.cli.exits import Exit, exit_code
from hkoji.cli.output import Output
from hkoji.errors import HkojiError

app = typer.Typer(
    name="hkoji",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Hanamikoji by correspondence: signed games that anyone can check.",
    epilog="Begin with: hkoji init NAME, then hkoji register --server URL, then hkoji new or hkoji join GAME.",
)
out = Output()

# A move may begin with a dash (-C, -BD) and must not be taken for an option.
_MOVES = {"ignore_unknown_options": True}

Json = Annotated[bool, typer.Option("--json", help="Print the result as one line of JSON.")]
Plain = Annotated[bool, typer.Option("--plain", help="Print sentences, for screen readers.")]
Game = Annotated[str, typer.Argument(metavar="GAME", help="The game's id, or its first digits.", show_default=False)]
Notation = Annotated[
    list[str], typer.Argument(metavar="NOTATION", help="A move: 3BCC, -C, 1e, gift b c c …", show_default=False)
]
Source = Annotated[
    str, typer.Argument(metavar="FILE|GAME", help="A log file, - for standard input, or a game.", show_default=False)
]


def _client() -> Any:  # Any: hkoji.client is imported only when a command needs it
    from hkoji.client.session import Client

    kept = _kept_client
    if kept:
        return kept[0]
    return Client(say=out.say)


_kept_client: list[Any] = []  # in `hkoji batch`, the one client of all lines; Any: as above


def _version(wanted: bool) -> None:
    if wanted:
        print(f"hkoji {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
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
        raise UsageError(f"there is no log level {log_level!r}", hint="one of debug, info, warning, error")
    found = entry_points(group="hkoji.serve", name="serve")
    try:
        run = next(iter(found)).load()
    except (StopIteration, ImportError) as error:
        raise UsageError("the service is not installed", hint="install it with: pip install 'hkoji[server]'") from error
    run(data, host, port, log_level=log_level)


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

    from hkoji.client.home import Home
    from hkoji.client.identity import create

    out.json = json or out.json
    home = Home()
    with home.lock():
        identity = create(home, name, key, os.urandom(32))
    value = {
        "name": identity.name,
        "key": identity.key.text,
        "fingerprint": identity.key.fingerprint,
        "home": str(home.path),
    }
    out.result(
        value,
        lambda: (
            f"You are {identity.name}, key {identity.key.fingerprint}, kept in {home.path}\n"
            "Then: hkoji register --server URL"
        ),
    )


@app.command()
def whoami(json: Json = False) -> None:
    """Print your name, key and service."""
    out.json = json or out.json
    client = _client()
    identity = client.identity
    config = client.home.config()
    value = {
        "name": identity.name,
        "key": identity.key.text,
        "fingerprint": identity.key.fingerprint,
        "server": config.get("server"),
        "home": str(client.home.path),
    }
    out.result(value, lambda: f"{identity.name}\n{identity.key.text}\nservice: {config.get('server') or 'none yet'}")


@app.command(epilog="Example: hkoji register --server https://hanamikoji.example")
def register(
    server: Annotated[str, typer.Option("--server", help="The service's address.", show_default=False)],
    json: Json = False,
) -> None:
    """Register your name and key at a service, and make it yours."""
    out.json = json or out.json
    value = _client().register(server)
    out.result(
        value, lambda: f"{value['name']} is registered at {value['server']}\nThen: hkoji new, or: hkoji games --open"
    )


@app.command(epilog="Example: hkoji new --invite bob --max-rounds 3 --tiebreak charm")
def new(
    ruleset: Annotated[str, typer.Option("--ruleset", help="The game.")] = "hanamikoji",
    invite: Annotated[str | None, typer.Option("--invite", help="Only this player may join.")] = None,
    first: Annotated[str, typer.Option("--first", help="Who starts: host, guest or random.")] = "host",
    max_rounds: Annotated[int, typer.Option("--max-rounds", min=0, help="A limit of rounds; 0 for none.")] = 0,
    tiebreak: Annotated[
        str | None, typer.Option("--tiebreak", help="At the limit: geisha (English rules) or charm (Italian).")
    ] = None,
    json: Json = False,
) -> None:
    """Open a game for someone to join."""
    from hkoji.cli import play

    out.json = json or out.json
    play.new(_client(), out, play.make_ruleset(ruleset, first, max_rounds, tiebreak), invite)


@app.command()
def join(game: Game, json: Json = False) -> None:
    """Join an open game."""
    from hkoji.cli import play

    out.json = json or out.json
    play.join(_client(), out, game)


@app.command(epilog="Example: hkoji games --open")
def games(
    open_: Annotated[bool, typer.Option("--open", help="Everybody's games that wait for someone to join.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Everybody's games.")] = False,
    status: Annotated[str | None, typer.Option("--status", help="open, playing or finished.")] = None,
    json: Json = False,
) -> None:
    """List your games, or those open to join."""
    from hkoji.cli import play
    from hkoji.errors import UsageError

    out.json = json or out.json
    if status not in (None, "open", "playing", "finished"):
        raise UsageError(f"there is no status {status!r}", hint="one of open, playing, finished")
    client = _client()
    found = client.games(everybody=open_ or all_, status="open" if open_ else status)
    play.listing(out, found, "No games. Open one with: hkoji new", client.identity.name)


@app.command("next")
def next_(json: Json = False) -> None:
    """List the games that wait for you."""
    from hkoji.cli import play

    out.json = json or out.json
    client = _client()
    play.listing(out, client.waiting(), "No game waits for you.", client.identity.name)


@app.command()
def show(game: Game, json: Json = False, plain: Plain = False) -> None:
    """Show a game as you see it, and what you can do."""
    from hkoji.cli import play

    out.json, out.plain = json or out.json, plain
    client = _client()
    play.show(out, client.position(client.find(game)))


@app.command(
    context_settings=_MOVES, epilog="Examples: hkoji move 2714 3BCC; hkoji move 2714 -C; hkoji move 2714 gift b c c"
)
def move(game: Game, notation: Notation, json: Json = False, plain: Plain = False) -> None:
    """Make a move."""
    from hkoji.cli import play

    out.json, out.plain = json or out.json, plain
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

    out.json, out.plain = json or out.json, plain
    client = _client()
    play.show(out, client.wait(client.find(game), timeout))


@app.command()
def resign(game: Game, json: Json = False, plain: Plain = False) -> None:
    """Give a game up."""
    from hkoji.cli import play

    out.json, out.plain = json or out.json, plain
    client = _client()
    play.show(out, client.resign(client.find(game)))


@app.command()
def cancel(game: Game, json: Json = False, plain: Plain = False) -> None:
    """Take back a game that nobody has joined."""
    from hkoji.cli import play

    out.json, out.plain = json or out.json, plain
    client = _client()
    play.show(out, client.cancel(client.find(game)))


@app.command(context_settings=_MOVES, epilog="Example: hkoji sign 2714 1E > entry.json")
def sign(game: Game, notation: Notation) -> None:
    """Sign a move without sending it, from what you have seen last."""
    from hkoji.cli import play

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

    out.json = json or out.json
    play.submit(_client(), out, file, server)


@app.command()
def log(game: Game) -> None:
    """Print the public log, one JSON object a line."""
    from hkoji.cli import logs

    logs.log(_client(), out, game)


@app.command(epilog="Example: hkoji export 2714 > game.jsonl")
def export(game: Game) -> None:
    """Print a finished game with receipts, one JSON object a line."""
    from hkoji.cli import logs

    logs.export(_client(), out, game)


@app.command(epilog="Example: hkoji replay game.jsonl --at 9")
def replay(
    source: Source,
    at: Annotated[
        int | None, typer.Option("--at", min=0, help="The position after this entry; default: the last.")
    ] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Show a game in notation, and the position after an entry."""
    from hkoji.cli import logs

    out.json, out.plain = json or out.json, plain
    logs.show_replay(_client(), out, source, at)


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

    out.json = json or out.json
    logs.show_audit(_client(), out, source, key or [])


@app.command()
def batch() -> None:
    """Read commands from standard input, one a line; answer each with one line of JSON."""
    from hkoji.cli.batch import run

    raise typer.Exit(run(app, out, _kept_client))


def main() -> None:
    """Runs the program and exits with one of `Exit`."""
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except HkojiError as error:
        _flush()
        out.error(error)
        code = exit_code(error)
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("\nhkoji: interrupted; what was acknowledged stands\n")
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing more can be said, and closing must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = Exit.OK
    except Exception as error:
        code = _usage(error)
    sys.exit(code or 0)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return


def _usage(error: Exception) -> int:
    """Shows a usage error the way Typer does; anything else is a fault of this program and is raised."""
    show_error = getattr(error, "show", None)
    if show_error is None:
        raise error
    show_error()
    return int(getattr(error, "exit_code", Exit.USAGE))
