"""Makes a ruleset from the options of `hkoji new`, `play` and `arena`.

The ruleset itself says which options a game has; the names on the command line are in `hkoji.cli.commands.arguments`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from hkoji.errors import IllegalError, InvalidError, UsageError
from hkoji.messages.text import shorten, tell
from hkoji.rules.protocol import Json, Ruleset
from hkoji.rules.registry import DEFAULT, RULESETS, parse_ruleset

_FIXED: Final = ("name", "version")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}")


def make_ruleset(
    name: str | None, given: Mapping[str, Json], more: Sequence[str] | None = None, edition: str | None = None
) -> Ruleset:
    """Returns the ruleset `name` (default: that of the edition, or Hanamikoji) with the given options.

    Options are named as in the log. `given` (None is left out) and `more`, as `NAME=VALUE`, override those of
    `edition`, which override the defaults. Raises `UsageError`.
    """
    published: Mapping[str, Json] = {}
    named = [_split(each) for each in more or ()]
    if edition is not None:
        from hkoji.rules.editions import find_edition

        found = find_edition(edition)
        if name not in (None, found.ruleset):
            raise UsageError(
                tell("{edition} is an edition of {game}", edition=found.name, game=found.ruleset),
                hint=tell("omit --ruleset or --edition"),
            )
        name, published = found.ruleset, found.options_beside({**given, **dict(named)})
    name = name or DEFAULT
    if name not in RULESETS:
        raise UsageError(
            tell("there is no ruleset {name!r}", name=shorten(name)),
            hint=tell("rulesets: {names}", names=", ".join(sorted(RULESETS, reverse=True))),
        )
    options = RULESETS[name]().to_json()
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
            tell("{text!r} is not an option", text=shorten(text)),
            hint=tell("write it as in --option max_rounds=3"),
        )
    return name, value
