"""One line as people and their mail programs write it, brought to the form in which orders are read."""

from __future__ import annotations

import unicodedata
from typing import Final

_MINUS: Final = "\N{MINUS SIGN}"
_LONGEST: Final = 300
"""No order is that long. Unicode's normalisation takes quadratic time for long runs of combining marks."""


def clean(line: str) -> str:
    """Returns `line` in NFKC, without control and format characters, with `-` for every dash, and stripped.

    A line longer than any order has dots instead of its middle: it is still none, and still ends as it did.
    """
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]}...{line[-_LONGEST // 2 :]}"
    if not (line.isascii() and line.isprintable()):
        line = "".join(map(_plain, unicodedata.normalize("NFKC", line)))
    return line.strip()


def trim(line: str) -> str:
    """Returns a clean line without `*` and `_` around it, which stand for bold and italics, and a final full stop."""
    return line.strip(" *_").removesuffix(".").strip(" *_")


def is_quoted(line: str) -> bool:
    """Tells whether a clean line belongs to a quotation."""
    return line.startswith(">")


def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Pd" or character == _MINUS:
        return "-"
    if category in ("Zs", "Zl", "Zp") or character == "\t":
        return " "
    return "" if category in ("Cc", "Cf") else character
