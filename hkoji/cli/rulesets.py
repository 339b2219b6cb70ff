"""The options of `hkoji new` and of whatever else starts a game: those of all rulesets, each left out by default.

A game's options are what its ruleset says; here they only get their names on the command line.
"""

from __future__ import annotations

from typing import Annotated

import typer

from hkoji.errors import IllegalError, InvalidError, UsageError, shorten
from hkoji.rules.protocol import Json, Ruleset
from hkoji.rules.registry import RULESETS, parse_ruleset

Name = Annotated[str, typer.Option("--ruleset", help=f"The game: {' or '.join(sorted(RULESETS, reverse=True))}.")]
OptionalName = Annotated[
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


def make_ruleset(name: str, **given: Json) -> Ruleset:
    """The ruleset `name` with the options that are `given` (not None), by their names in the log; else its defaults.

    Raises `UsageError`.
    """
    if name not in RULESETS:
        raise UsageError(
            f"there is no ruleset {shorten(name)!r}", hint=f"rulesets: {', '.join(sorted(RULESETS, reverse=True))}"
        )
    options = RULESETS[name]().to_json()
    for option, value in given.items():
        if value is None:
            continue
        if option not in options:
            known = ", ".join(_flag(each) for each in options if each not in ("name", "version"))
            raise UsageError(f"{name} has no option {_flag(option)}", hint=f"its options are {known}")
        options[option] = value
    try:
        return parse_ruleset(options)
    except InvalidError as error:
        reason = error.__cause__ if isinstance(error.__cause__, IllegalError) else error
        raise UsageError(str(reason), hint=reason.hint or "see `hkoji new --help`") from error


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"
