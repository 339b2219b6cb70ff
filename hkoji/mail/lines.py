"""One line as people and their mail programs write it, brought to the form in which orders are read."""

from __future__ import annotations

import unicodedata
from typing import Final

_MOST_KEPT: Final = 4096
_MINUS: Final = "\N{MINUS SIGN}"
_LONGEST: Final = 300
"""No order is that long. Unicode's normalisation takes quadratic time for long runs of combining marks."""


def clean(line: str) -> str:
    """Returns `line` in NFKC, without control and format characters, with `-` for every dash, and stripped.

    A line longer than any order has dots instead of its middle: it is still none, and still ends as it did.
    """
    line = _shorten(line)
    if not (line.isascii() and line.isprintable()):
        # One character can become eighteen.
        line = _shorten(unicodedata.normalize("NFKC", line)).translate(_TABLE)
    return line.strip()


def trim(line: str) -> str:
    """Returns a clean line without `*` and `_` around it, which stand for bold and italics, and full stops at its end.

    To trim it again changes nothing.
    """
    return line.strip(" *_").rstrip(" *_.")


def trim_in_version_1(line: str) -> str:
    """Returns a clean line as version 1 of the reader trimmed it, with one full stop less at its end.

    To trim it again leaves out one more, and version 1 did so where it read the order.
    """
    return line.strip(" *_").removesuffix(".").strip(" *_")


def is_quoted(line: str) -> bool:
    """Tells whether a clean line belongs to a quotation."""
    return line.startswith((">", "|"))


def _shorten(line: str) -> str:
    half = _LONGEST // 2
    return line if len(line) <= _LONGEST else f"{line[:half]}...{line[-half:]}"


class _Plain(dict[int, str]):
    """What characters become, by code. Only some are kept: a mail can have every character there is."""

    def __missing__(self, code: int) -> str:
        """Returns what a character becomes that was not met before."""
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Pd" or character == _MINUS:
            character = "-"
        elif category in ("Zs", "Zl", "Zp") or character == "\t":
            character = " "
        elif category in ("Cc", "Cf"):
            character = ""
        if len(self) < _MOST_KEPT:
            self[code] = character
        return character


_TABLE: Final = _Plain()
