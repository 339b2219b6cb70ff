"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hkoji.cli import completion
from hkoji.cli.output import out
from hkoji.show.games import SHOWN_GAMES

MOVES = {"ignore_unknown_options": True}  # a move may begin with a dash: -C, -BD


def as_json(wanted: bool) -> bool:
    """Lets a command print JSON, or not: what `--json` does as soon as it is read."""
    out.json = wanted
    return wanted


def _as_sentences(wanted: bool) -> bool:
    out.plain = wanted
    return wanted


Json = Annotated[bool, typer.Option("--json", help="Print the result as one line of JSON.", callback=as_json)]
Plain = Annotated[bool, typer.Option("--plain", help="Print sentences, for screen readers.", callback=_as_sentences)]
Offline = Annotated[bool, typer.Option("--offline", help="Print your saved copy, and do not ask the service.")]
Yes = Annotated[
    bool, typer.Option("--yes", help="Do not ask for confirmation. Needed where there is no terminal to ask at.")
]

Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]

# --- games ------------------------------------------------------------------------------------------------------------

_GAME = typer.Argument(metavar="GAME", help="The game's id or its first characters.", autocompletion=completion.games)
Game = Annotated[str, _GAME]
OptionalGame = Annotated[str | None, _GAME]
Notation = Annotated[
    list[str],
    typer.Argument(metavar="NOTATION", help="A move: 3BCC, -C, 1e, gift b c c …", autocompletion=completion.moves),
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE|GAME", help="A log file, - for standard input, or a game.", autocompletion=completion.games
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", min=1, max=256, help="Number of processes.")]

# --- the options of all rulesets, by their names on the command line ------------------------------------------------

# The names of boards are those of rulesets. The table of rulesets would load the rules of all games.
GAME_HELP = f"The game: {' or '.join(sorted(SHOWN_GAMES, reverse=True))}."

RulesetName = Annotated[str | None, typer.Option("--ruleset", help=GAME_HELP, autocompletion=completion.rulesets)]
First = Annotated[
    str | None,
    typer.Option(
        "--first",
        help="The player who starts: host (the default), guest or random.",
        autocompletion=completion.one_of("host", "guest", "random"),
    ),
]
MaxRounds = Annotated[
    int | None, typer.Option("--max-rounds", min=0, help="hanamikoji: the most rounds; 0 for no limit.")
]
TieBreak = Annotated[
    str | None,
    typer.Option(
        "--tiebreak",
        help="hanamikoji, at the limit: geisha (English rules) or charm (Italian).",
        autocompletion=completion.one_of("geisha", "charm"),
    ),
]
Markers = Annotated[
    str | None,
    typer.Option(
        "--markers",
        help="geishas-road: the first markers, choose (the default) or random.",
        autocompletion=completion.one_of("choose", "random"),
    ),
]
EditionName = Annotated[
    str | None,
    typer.Option(
        "--edition",
        help="The options of a published edition; see hkoji rules --list.",
        autocompletion=completion.editions,
    ),
]
MoreOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Any option of the game, by its name in the log."),
]

# --- time -------------------------------------------------------------------------------------------------------------

Rest = Annotated[
    str | None, typer.Option("--rest", metavar="DAYS", help="Weekdays that do not count, 1 (Monday) to 7: 67.")
]
Zone = Annotated[
    str | None, typer.Option("--zone", metavar="ZONE", help="The time zone of these days: +01:00, -05:30.")
]

# --- notices ----------------------------------------------------------------------------------------------------------

Channel = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's id or its first characters.")]

EVENTS = ("turn", "remind1", "remind2", "over", "invited", "joined", "declined", "given", "annul", "talk", "failing")
"""The events of which a service can tell a player."""

# --- keys and services ------------------------------------------------------------------------------------------------

KeyFile = Annotated[
    Path | None,
    typer.Option("--key", help="An Ed25519 SSH key (a .pub file for one in ssh-agent); default: a new one."),
]
Server = Annotated[str, typer.Option("--server", help="The service's address.")]
Origin = Annotated[str | None, typer.Option("--origin", help="The service's origin, if it is not that address.")]
Data = Annotated[Path | None, typer.Option("--data", help="The folder of the database.")]
Database = Annotated[
    str | None, typer.Option("--database", help="A PostgreSQL database, if not set by HKOJI_DATABASE.")
]

OpenSealed = Annotated[
    bool,
    typer.Option("--sealed", help="Open a sealed game (beta): nobody but you sees your cards, not even the operator."),
]
JoinSealed = Annotated[
    bool,
    typer.Option("--sealed", help="Join a sealed game (beta): nobody but you sees your cards, not even the operator."),
]
DepositDraws = Annotated[
    bool | None,
    typer.Option(
        "--deposit-draws/--keep-draws",
        help="With --sealed: leave your opponent's next draw with the service beforehand, or keep it until it is due.",
    ),
]
NewKey = Annotated[bool, typer.Option("--new-key", help="With --sealed: make a new sealed key, if yours is lost.")]
