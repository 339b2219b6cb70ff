"""The options of `hkoji new` and of whatever else starts a game: those of all rulesets, each left out by default.

A game's options are what its ruleset says; here they only get their names on the command line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import typer

from hkoji.errors import IllegalError, InvalidError, UsageError
from hkoji.messages.text import shorten, tell
from hkoji.rules.protocol import Json, Ruleset
from hkoji.rules.registry import RULESETS, parse_ruleset

_FIXED: Final = ("name", "version")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}")

Name = Annotated[
    str | None,
    typer.Option("--ruleset", help=f"The game: {' or '.join(sorted(RULESETS, reverse=True))}.", show_default=False),
]
First = Annotated[
    str | None, typer.Option("--first", help="Who starts: host (if not given), guest or random.", show_default=False)
]
MaxRounds = Annotated[
    int | None,
    typer.Option("--max-rounds", min=0, help="hanamikoji: a limit of rounds; 0 for none.", show_default=False),
]
TieBreak = Annotated[
    str | None,
    typer.Option(
        "--tiebreak",
        help="hanamikoji, at the limit: geisha (English rules) or charm (Italian).",
        show_default=False,
    ),
]
Markers = Annotated[
    str | None,
    typer.Option(
        "--markers", help="geishas-road: the first markers, choose (if not given) or random.", show_default=False
    ),
]
Edition = Annotated[
    str | None,
    typer.Option("--edition", help="The options of a published edition; hkoji rules --list.", show_default=False),
]
More = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Any option of the game, by its name in the log."),
]


def make_ruleset(
    name: str | None, given: Mapping[str, Json], more: Sequence[str] | None = None, edition: str | None = None
) -> Ruleset:
    """The ruleset `name` with the options that are `given` (not None), by their names in the log; else its defaults.

    `more` are further options as `NAME=VALUE`; `edition` is the name of one, whose options come before the defaults.
    Without a name it is the edition's, or Hanamikoji. Raises `UsageError`.
    """
    published: Mapping[str, Json] = {}
    if edition is not None:
        from hkoji.rules.editions import find_edition

        found = find_edition(edition)
        if name not in (None, found.ruleset):
            raise UsageError(
                tell("{edition} is an edition of {game}", edition=found.name, game=found.ruleset),
                hint=tell("leave --ruleset or --edition out"),
            )
        name, published = found.ruleset, found.options
    name = name or "hanamikoji"
    if name not in RULESETS:
        raise UsageError(
            tell("there is no ruleset {name!r}", name=shorten(name)),
            hint=tell("rulesets: {names}", names=", ".join(sorted(RULESETS, reverse=True))),
        )
    options = RULESETS[name]().to_json()
    named = [_split(each) for each in more or ()]
    for option, value in (*published.items(), *given.items(), *named):
        if value is None:
            continue
        if option not in options or option in _FIXED:
            known = ", ".join(sorted(each for each in options if each not in _FIXED))
            raise UsageError(
                tell("{game} has no option {option!r}", game=name, option=shorten(option)),
                hint=tell("its options are {names}", names=known),
            )
        number = isinstance(value, str) and _NUMBER.fullmatch(value) and isinstance(options[option], int)
        options[option] = int(str(value)) if number else value
    try:
        return parse_ruleset(options)
    except InvalidError as error:
        reason = error.__cause__ if isinstance(error.__cause__, IllegalError) else error
        raise UsageError(reason.message, hint=reason.hint or tell("see `hkoji new --help`")) from error


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(
            tell("{text!r} is no option", text=shorten(text)),
            hint=tell("an option is given as in --option max_rounds=3"),
        )
    return name, value
