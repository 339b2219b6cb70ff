"""The language of this process, and messages in it.

`--lang`, `HKOJI_LANG` or the settings name one; otherwise the environment's locale decides. docs/languages.md.
"""

from __future__ import annotations

import os

from hkoji.errors import UsageError
from hkoji.messages.text import ENGLISH, LANGUAGES, Speaker, language_of_locale, plural, shorten, speaker, tell


class _Current:
    """The language of this process and its speaker: one process serves one person."""

    name: str = ENGLISH
    say: Speaker = staticmethod(speaker(None))


def use(wanted: str | None, *, asked: bool = True) -> None:  # noqa: ARG001 # a language suits every command
    """Makes `wanted` the language of this process; None is the locale's. Raises `UsageError` for an unknown one."""
    name = language_of_locale(os.environ) if wanted is None else wanted
    check(name)
    if name != _Current.name:
        from hkoji.manual.catalogues import load_speaker  # English needs no file

        _Current.name, _Current.say = name, staticmethod(load_speaker(name))


def check(name: str) -> None:
    """Raises `UsageError` if there is no such language."""
    if name not in LANGUAGES:
        raise UsageError(
            tell("there is no language {name!r}", name=shorten(name)),
            hint=tell("languages: {names}", names=", ".join(LANGUAGES)),
        )


def current() -> str:
    """Returns the code of the language in use."""
    return _Current.name


def speaking() -> Speaker:
    """Returns the speaker of the language in use."""
    return _Current.say


def translate(message: str) -> str:
    """Returns a message in the language in use; text that is no `Text` stays as it is."""
    return _Current.say(message)


def _(template: str, /, **values: object) -> str:
    """Makes a message and returns it in the language in use."""
    return _Current.say(tell(template, **values))


def _n(one: str, many: str, number: int, /, **values: object) -> str:
    """Makes a message that depends on a number and returns it in the language in use."""
    return _Current.say(plural(one, many, number, **values))
