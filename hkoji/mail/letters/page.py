"""Text of a letter: wrapped lines, typed lines, and the order of its parts. Nothing here knows what a letter says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Final, NamedTuple, TypeAlias

from hkoji.mail.letters.letter import Attachment

WIDTH: Final = 72
"""The columns of a line. An address that is longer stands alone on a line: it cannot be broken."""
TIE: Final = "\u237d"
"""Stands for a space at which a line is not broken. It is printable, so a message keeps it, and no name has it."""
RULE: Final = "-" * 68
_INDENT: Final = "  "
_SEEN: Final = 40
_LINK = re.compile(r"www\.|@|:(?=//)|\.(?=[^\W\d_])", re.IGNORECASE)
"""What makes a word a link: also a name with a point in it is one to many a program."""
_SAFE: Final = frozenset("""+-/,.?!'"()=^>* """)

_BEFORE_STOP: Final = re.compile(rf"{TIE}(?=[.,;:)])")

Block: TypeAlias = tuple[str, ...]
"""Lines without an empty one; an empty line follows a block."""


class LetterDraft(NamedTuple):
    """The parts of a letter.

    `first` are the sentences of its first paragraph, each on a line of its own. They show no card, but for a line that
    the reader has written and why it cannot be done. `answer` says how to answer, at the end of that paragraph.
    `blocks` follow under a rule.
    """

    first: tuple[str, ...]
    blocks: tuple[Block, ...] = ()
    answer: str = ""
    attachments: tuple[Attachment, ...] = ()

    @property
    def text(self) -> str:
        """The letter as text."""
        first = sentences(*self.first, self.answer)
        blocks = [each for each in self.blocks if each]
        return "\n".join([*first, *([RULE] if blocks else []), *_parted(blocks)]) + "\n"


def _parted(blocks: Sequence[Block]) -> Iterable[str]:
    for number, block in enumerate(blocks):
        yield from [""] * bool(number)
        yield from block


def sentences(*texts: str) -> Block:
    """Texts of which each begins a line; empty ones are left out."""
    return tuple(line for text in texts if text for line in fold(text))


def paragraph(*texts: str) -> Block:
    """Texts that run on; empty ones are left out."""
    return tuple(fold(" ".join(filter(None, texts))))


def rows(texts: Iterable[str]) -> Block:
    """Rows of a table, indented; a row that is too long goes on under its beginning."""
    return tuple(line for text in texts for line in fold(text, _INDENT, _INDENT + "   "))


def items(texts: Iterable[str]) -> Block:
    """Items of a list."""
    return tuple(line for text in texts if text for line in fold(text, "- ", _INDENT))


def typed(line: str) -> Block:
    """A line that the reader can send as it stands: alone and indented."""
    return (f"{_INDENT}{line}",)


def words(*commands: str) -> str:
    """Commands side by side, in a line that is not broken within one."""
    return f"{TIE} ".join(each.replace(" ", TIE) for each in commands)


def command(line: str) -> str:
    """A command within a sentence: set off by spaces, and not broken."""
    return f"{TIE}{tied(line)}{TIE}"


def tied(text: str) -> str:
    """A text at whose spaces no line is broken."""
    return text.replace(" ", TIE)


def fold(text: str, indent: str = "", hanging: str = "") -> list[str]:
    """The lines of a text, broken at spaces only.

    A text that fits on a line is not given to `wrapped`, which takes twelve times as long for it.
    """
    joined = _BEFORE_STOP.sub("", text).replace(f" {TIE}", TIE * 2)
    if len(indent) + len(joined) > WIDTH or not joined.isprintable():
        return wrapped(joined, indent, hanging)
    said = joined.rstrip(" ")
    return [f"{indent}{said}".replace(TIE, " ").rstrip()] if said else []


def wrapped(text: str, indent: str, hanging: str) -> list[str]:
    """The lines of any text in which the spaces that are not to be broken are ties."""
    lines = wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(TIE, " ").rstrip() for line in lines]


def unlinked(text: str) -> str:
    """A text that may have words of a mail, with nothing in it that a mail program shows as a link or an address."""
    return _LINK.sub("?", text)


def harmless(line: str) -> str:
    """A line of a mail as a letter can show it: a few words that are no link, no address and no column trick."""
    kept = "".join(
        each if (each.isascii() and each.isalnum()) or each in _SAFE or _is_latin(each) else "?" for each in line
    )
    kept = " ".join(unlinked(kept).split())
    return kept if len(kept) <= _SEEN else f"{kept[: _SEEN - 3].rstrip()}..."


def _is_latin(character: str) -> bool:
    return "\u00c0" <= character <= "\u017e" and character.isalpha()
