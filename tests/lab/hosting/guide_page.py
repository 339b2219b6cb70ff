"""Reads the hosting guide: its commands, its tables, and what it says that commands print."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path
from typing import Final

GUIDE: Final = Path(__file__).parents[3] / "docs" / "hosting.md"
_BEGIN: Final = ("sudo ", "echo ", "curl ", "hkoji admin ", "hkoji doctor ", "opendkim-testkey ")
"""How blocks of commands begin; others are files, or what a command prints."""


def section(heading: str) -> str:
    """The text below a heading, until the next of the same level. Raises `LookupError` if there is none."""
    found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^\1 |\Z)", GUIDE.read_text(), re.M | re.S)
    if not found:
        raise LookupError(f"the guide has no section {heading}")
    return found[2]


def blocks(text: str) -> list[str]:
    """The indented blocks of a text, without their indentation."""
    found = re.findall(r"(?:^|\n)\n((?:(?: {4,}.*)\n|\n(?= {4}))+)", f"\n{text}")
    return [textwrap.dedent(each).strip("\n") for each in found]


def commands(text: str) -> list[str]:
    """The commands in a text, in order; one a line."""
    found = [line for block in blocks(text) if block.startswith(_BEGIN) for line in block.splitlines()]
    return [line for line in found if line.startswith(_BEGIN)]


def inline(text: str) -> list[str]:
    """The operator's commands within the sentences of a text, in order."""
    return re.findall(r"`(sudo [^`]+)`", text)


def printed(text: str) -> list[str]:
    """The lines that a text says its commands print: those of a block that begin with no command, without a comment."""
    found = [line for block in blocks(text) if block.startswith(_BEGIN) for line in block.splitlines()]
    return [line for line in found if not line.startswith(_BEGIN)]


def rows(text: str) -> list[list[str]]:
    """The rows of the first table in a text, without its head. Code is without its marks."""
    lines = [line.strip() for line in text.splitlines() if line.lstrip().startswith("|")][2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def packages(command: str) -> list[str]:
    """The packages that an `apt-get install` names."""
    words = shlex.split(command)
    return [word for word in words[words.index("install") + 1 :] if not word.startswith("-")]
