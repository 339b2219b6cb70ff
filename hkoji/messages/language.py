"""The languages of hkoji, and speakers for them.

A `Speaker` gives a message in one language. All code that makes words for people takes it as an argument, so that one
process can speak to several people. This module reads neither files nor the environment: `hkoji.manual` loads
catalogues. docs/languages.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from hkoji.messages.text import Catalogue, render

Speaker: TypeAlias = Callable[[str], str]
"""Returns a `Text` in the speaker's language, and any other text unchanged. `str` is the speaker of English."""

ENGLISH: Final = "en"
LANGUAGES: Final[dict[str, str]] = {ENGLISH: "English", "it": "italiano"}
"""The languages by code, each with its name in that language. All except English have a catalogue."""

_LOCALES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")


def speaker(catalogue: Catalogue | None) -> Speaker:
    """Returns a speaker of the catalogue's language; None stands for English, which needs no catalogue."""
    return partial(render, catalogue=_English() if catalogue is None else catalogue)


class _English:
    """The catalogue of the language in which the messages are written."""

    def gettext(self, message: str, /) -> str:
        return message

    def ngettext(self, one: str, many: str, number: int, /) -> str:
        return one if number == 1 else many


def language_of_locale(environ: Mapping[str, str]) -> str:
    """Returns the language that an environment asks for, English if it asks for none of `LANGUAGES`.

    `LANGUAGE`, which is a list, comes first; then the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set.
    """
    wanted = environ.get("LANGUAGE", "").split(":")
    wanted.append(next((value for name in _LOCALES if (value := environ.get(name))), ""))
    for each in wanted:
        name = each.partition(".")[0].partition("@")[0].partition("_")[0].lower()
        if name in LANGUAGES:
            return name
        if name in ("c", "posix"):
            break
    return ENGLISH
