"""The language of this process: which one it is, and messages in it.

`--lang`, `HKOJI_LANG` or the settings name one exactly; failing that the environment's locale is followed as far as
it goes, and else everything is English. English needs no catalogue and loads nothing. docs/languages.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from hkoji.errors import UsageError, shorten
from hkoji.messages.text import Catalogue, plural, render, tell

Speaker: TypeAlias = Callable[[str], str]

ENGLISH: Final = "en"
LANGUAGES: Final[dict[str, str]] = {ENGLISH: "English", "it": "italiano"}
"""The languages there are, each in its own words. A language is this line and a catalogue."""

LOCALE: Final = Path(__file__).parents[1] / "locale"
DOMAIN: Final = "hkoji"
_LOCALES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")

_name = ENGLISH
_catalogue: Catalogue | None = None


def use(wanted: str | None, *, asked: bool = True) -> None:  # noqa: ARG001 # a language suits every command
    """Makes `wanted` the language of this process; None is the locale's. Raises `UsageError` if there is none such."""
    global _name, _catalogue  # one process talks to one person
    name = of_locale() if wanted is None else wanted
    check(name)
    if name != _name:
        _name, _catalogue = name, None if name == ENGLISH else load(name)


def check(name: str) -> None:
    """Raises `UsageError` if there is no such language."""
    if name not in LANGUAGES:
        raise UsageError(
            tell("there is no language {name!r}", name=shorten(name)),
            hint=tell("languages: {names}", names=", ".join(LANGUAGES)),
        )


def load(name: str) -> Catalogue:
    """The catalogue of a language other than English."""
    import gettext

    return gettext.translation(DOMAIN, LOCALE, [name])


def current() -> str:
    """The language in use."""
    return _name


def of_locale(environ: Mapping[str, str] = os.environ) -> str:
    """The language that `LANGUAGE` (a list), then `LC_ALL`, `LC_MESSAGES` or `LANG` asks for; else English."""
    wanted = environ.get("LANGUAGE", "").split(":")
    wanted.append(next((value for name in _LOCALES if (value := environ.get(name))), ""))
    for each in wanted:
        name = each.partition(".")[0].partition("@")[0].partition("_")[0].lower()
        if name in LANGUAGES:
            return name
        if name in ("c", "posix"):
            break
    return ENGLISH


def translate(message: str) -> str:
    """A message in the language of this process; what is no `Text` stays as it is."""
    return message if _catalogue is None else render(message, _catalogue)


def speaker(name: str) -> Speaker:
    """What `translate` is, for another language than the one in use."""
    catalogue = None if name == ENGLISH else load(name)
    return lambda message: message if catalogue is None else render(message, catalogue)


def _(template: str, /, **values: object) -> str:
    """A message in the language of this process, made and shown at once."""
    return translate(tell(template, **values))


def _n(one: str, many: str, number: int, /, **values: object) -> str:
    """The same for a message that depends on a number."""
    return translate(plural(one, many, number, **values))


def _by(mine: bool, you: str, they: str, /, **values: object) -> str:
    """Of two messages the one for the person who reads it, or the one for somebody else."""
    return _(you if mine else they, **values)
