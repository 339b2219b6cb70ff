"""Writes texts with the signs that a terminal has: arrows, lines, accents and typographic signs in a plain form.

A board keeps its columns: a form with more signs than the original takes the place of spaces that follow it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_FORMS: Final = {
    "▲": "^",
    "▼": "v",
    "·": ".",
    "─": "-",
    "←": "<",
    "→": ">",
    "↖": "\\",
    "↗": "/",
    "↘": "\\",
    "↙": "/",
    "⌂": ":",
    "█": "#",
    "▏": "|",
    "½": ".5",
    "…": "...",
    "–": "-",
    "—": "-",
    "×": "x",
    "“": '"',
    "”": '"',
    "«": '"',
    "»": '"',
    "‘": "'",
    "’": "'",
}
_SIGN: Final = re.compile(r"([^\x00-\x7f])( *)")
_GRAVE_AND_ACUTE: Final = ("\N{COMBINING GRAVE ACCENT}", "\N{COMBINING ACUTE ACCENT}")


def transliterate(text: str, encoding: str) -> str:
    """Returns a text that `encoding` can write."""

    def plain(found: re.Match[str]) -> str:
        sign, room = found.groups()
        try:
            sign.encode(encoding)
        except UnicodeEncodeError:
            form = _form(sign, text[found.end(1) : found.end(1) + 1])
        else:
            return found[0]
        # One space is left, so that words stay apart.
        left = max(min(1, len(room)), len(room) - len(form) + 1)
        return form + " " * left

    return _SIGN.sub(plain, text)


def _form(sign: str, following: str) -> str:
    """Returns the plain form of a sign; for one without such a form, the escape that Python has for it."""
    if sign in _FORMS:
        return _FORMS[sign]
    parts = unicodedata.normalize("NFKD", sign)
    if not parts[0].isascii():
        return sign.encode("unicode_escape").decode()
    # As Italians write without accents: `e'`, `piu'`. Within a word the letter alone is read more easily.
    return parts[0] + ("'" if parts[1:] in _GRAVE_AND_ACUTE and not following.isalpha() else "")
