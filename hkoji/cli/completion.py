"""Completes words of a command line for a shell. docs/cli.md, "Completion".

Typer has the protocols of the shells and completes commands and options. Here are the values: games, players and the
names in the program's tables. They come from what is kept in the home. Only for `hkoji join` the service is asked, and
not for longer than `PATIENCE`. Nothing is written, and a value that cannot be found out is left out without an error.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer

from hkoji.cli import language, settings
from hkoji.cli.terminal import ReaderGoneError
from hkoji.errors import HkojiError, OutputError
from hkoji.messages.text import LANGUAGES

if TYPE_CHECKING:
    from hkoji.client import Home

PATIENCE: Final = 1.0
"""Seconds to wait for a service."""

Values: TypeAlias = list[tuple[str, str]]
"""Values to choose from, each with a description, which may be empty; values without one are a list of texts."""

_SUITABLE: Final = {
    **dict.fromkeys(("annul", "give", "move", "plan", "resign", "run", "sign"), "playing"),
    "cancel": "open",
    "rematch": "finished",
}
"""The state of the games that a command is for, if it is not for all."""

_MOST_MOVES: Final = 60
_MOST_GAMES: Final = 200
_SHORT: Final = 8
_JOINS: Final = "=:"
"""bash splits words at these signs."""


# --- answering a shell ------------------------------------------------------------------------------------------------


def answer(run: Callable[[Sequence[str]], object]) -> None:
    """Prints the completions that a shell asks for, and exits. `run` completes the command line that it begins."""
    # Typer would render descriptions with Rich, which takes longer to load than all else here; None stops its import.
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type] # documented for sys.modules
    printed = io.StringIO()
    code: object = 1  # for fish: complete files
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere), contextlib.redirect_stdout(printed):
        try:
            with contextlib.suppress(HkojiError):
                settings.apply({})
            taken = _join_bash_words()
            run(_complete_words())
        except SystemExit as left:
            code = left.code
        except Exception:  # nothing that is wrong here may end up in the line that is being typed
            taken = ""
    try:
        sys.stdout.writelines(f"{line.removeprefix(taken)}\n" for line in printed.getvalue().splitlines())
        sys.stdout.flush()
    except (OutputError, ReaderGoneError):
        pass  # nobody is left to be told
    sys.exit(code)  # type: ignore[arg-type] # the code of an earlier exit


def _complete_words() -> list[str]:
    """Returns the words before the one that is being typed, as far as they can be split at spaces."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS")
    if line is not None:
        words = line.split()[1:]
        words = words if line[-1:].isspace() else words[:-1]
    else:
        words = os.environ.get("COMP_WORDS", "").split("\n")[1 : int(os.environ.get("COMP_CWORD", "1"))]
    with contextlib.suppress(HkojiError):
        return settings.split_options(words)[0]
    return []


def _join_bash_words() -> str:
    """Puts words together that bash has split, and returns the part of the last word that bash completes by itself.

    bash splits `--level=ha` and `search:ea` at the sign, and replaces only what follows it.
    """
    if "COMP_WORDS" not in os.environ:
        return ""
    given, at = os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"])
    words: list[str] = []
    for word in given[: at + 1]:
        joined = bool(words[1:]) and ((word[:1] in _JOINS and bool(word)) or words[-1][-1:] in _JOINS)
        if joined:
            words[-1] += word
        else:
            words.append(word)
    option, equals, value = words[-1].partition("=")
    if equals and option.startswith("--"):
        words[-1:] = [option, value]
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(words), str(len(words) - 1)
    return words[-1][: words[-1].rfind(":") + 1]


# --- names ------------------------------------------------------------------------------------------------------------


def keys_of(module: str, table: str) -> Callable[[], list[str]]:
    """Returns the completion of a value that is a key of a table. The module with the table is loaded only for that."""
    return lambda: list(getattr(import_module(module), table))


rulesets: Final = keys_of("hkoji.rules.registry", "RULESETS")
bots: Final = keys_of("hkoji.bots.registry", "BOTS")
levels: Final = keys_of("hkoji.bots.registry", "LEVELS")
decks: Final = keys_of("hkoji.show.games", "DECKS")


def editions() -> Values:
    """The published editions."""
    from hkoji.rules.editions import EDITIONS

    return [(each.name, language.translate(each.title)) for each in EDITIONS]


def languages() -> Values:
    """The languages, each in its own words."""
    return list(LANGUAGES.items())


def setting_values(ctx: typer.Context) -> Sequence[str | tuple[str, str]]:
    """The values of the setting that the line names."""
    values: dict[str, Callable[[], Sequence[str | tuple[str, str]]]] = {
        "lang": languages,
        "deck": decks,
        "always": one_of(*settings.ALWAYS),
        "deposits": one_of(*settings.DEPOSITS),
        "invites": one_of("everyone", "known", "nobody"),
    }
    return values.get(ctx.params.get("key") or "", list)()


def one_of(*values: str) -> Callable[[], list[str]]:
    """Returns the completion of a value that is one of a few words."""
    return lambda: list(values)


# --- players and games ------------------------------------------------------------------------------------------------


def players() -> list[str]:
    """The players that this home knows, without its own."""
    from hkoji.client import Home
    from hkoji.client.kept.files import read_json

    home = Home()
    pinned = (here.get("players", {}) for here in read_json(home.path / "pins.json").values())
    return sorted({name for names in pinned for name in names} - {_own_name(home)})


def eyes() -> list[str]:
    """The players and roles whose view a replay can show."""
    return ["all", "host", "guest", "spectator", *players()]


def commands(ctx: typer.Context) -> Values:
    """The commands below the words that the line has already, each with its first sentence."""
    command: Any = ctx.find_root().command  # Any: Typer does not export the type of commands
    for word in ctx.params.get("command") or ():
        command = command.commands[word]
    return [(name, each.get_short_help_str(100)) for name, each in getattr(command, "commands", {}).items()]


def games(ctx: typer.Context, incomplete: str) -> Values:
    """The games kept in this home that suit the command, each with the opponent and its state."""
    return _shortened(_kept(incomplete.lower(), _SUITABLE.get(ctx.info_name or "")), incomplete)


def moves(ctx: typer.Context, incomplete: str) -> list[str]:
    """The legal moves in the game that the line names, as it is kept here."""
    from hkoji.client import Client

    with contextlib.suppress(HkojiError):
        client = Client()
        legal = client.stored(client.find(str(ctx.params["game"]), offline=True)).legal
        return [move for move in legal if move.startswith(incomplete.upper())][:_MOST_MOVES]
    return []


def prompt_games(incomplete: str) -> Values:
    """The games that can be played at the prompt: those on this machine, and those in progress by correspondence."""
    from hkoji.client import Home
    from hkoji.client.kept.files import read_json

    local = [read_json(file) for file in (Home().path / "local").glob("games/*.json")]
    found = [(str(each["game"]), str(each["opponent"])) for each in local]
    return _shortened([*found, *_kept(incomplete.lower(), "playing")], incomplete)


def open_games(incomplete: str) -> Values:
    """The games at the player's service that they can join, each with its host, if the service answers in time."""
    return _asked(incomplete, invited=False)


def invitations(incomplete: str) -> Values:
    """The same, but only the games to which the player is invited by name."""
    return _asked(incomplete, invited=True)


def _asked(incomplete: str, *, invited: bool) -> Values:
    answered: Values = []
    # A thread, because looking up a host's name has no time limit of its own. The process does not wait for it.
    asking = threading.Thread(target=lambda: answered.extend(_open_games(invited=invited)), daemon=True)
    asking.start()
    asking.join(PATIENCE)
    return _shortened(list(answered), incomplete)


def _open_games(*, invited: bool) -> Values:
    from hkoji.client import Home
    from hkoji.client.answers import read_summary
    from hkoji.client.transport import Transport

    with contextlib.suppress(HkojiError, KeyError, TypeError):
        config = Home().config()
        transport = Transport(config["server"])
        transport.patience = PATIENCE
        page = transport.request("GET", "/v1/games?status=open&limit=200").json()
        found = [read_summary(each) for each in page["games"]]
        mine = config["name"]
        return [
            (each["game"], f"{each['host']}, {each['ruleset']['name']}")
            for each in found
            if each["host"] != mine and each["invite"] in ((mine,) if invited else (None, mine))
        ]
    return []


def _kept(prefix: str, wanted: str | None) -> Values:
    """Returns the games of this home in a state, the last changed ones if there are many."""
    from hkoji.cli.games.lists import STATUS
    from hkoji.client import Home

    home = Home()
    mine = _own_name(home)
    found = [home.game_folder(game) / "log.jsonl" for game in home.games() if game.startswith(prefix)]
    latest = sorted(found, key=lambda file: file.stat().st_mtime, reverse=True)[:_MOST_GAMES]
    shown: Values = []
    for file in latest:
        with contextlib.suppress(HkojiError, OSError, ValueError, IndexError):
            who, status = _summary(file, mine)
            if wanted in (None, status):
                words = [word for word in (who, language.translate(STATUS[status])) if word]
                shown.append((file.parent.name, ", ".join(words)))
    return shown


def _summary(file: Path, mine: str | None) -> tuple[str, str]:
    """Returns the players other than the own in a log kept here, and the state of the game."""
    from hkoji.log.line import parse_line

    lines = file.read_text().splitlines()
    entries = [parse_line(line).entry for line in (*lines[:3], lines[-1])]
    names = dict.fromkeys(each.by for each in entries if each.kind in ("open", "join"))
    over, joined = entries[-1].kind in ("end", "unseal"), any(each.kind == "join" for each in entries)
    status = ("finished" if joined else "cancelled") if over else "playing" if joined else "open"
    return ", ".join(name for name in names if name != mine), status


def _own_name(home: Home) -> str | None:
    try:
        return str(home.config()["name"])
    except HkojiError:
        return None


def _shortened(found: Values, incomplete: str) -> Values:
    """Returns games with their ids cut to what commands print, where that is unique and has not been typed already."""
    heads = [game[:_SHORT] for game, _ in found]
    return [
        (game[:_SHORT] if len(incomplete) <= _SHORT and heads.count(game[:_SHORT]) == 1 else game, about)
        for game, about in found
    ]
