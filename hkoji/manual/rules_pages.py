"""The rules of the games as pages to read, in `hkoji/manual/pages`.

There is a file for each game and language: paragraphs, headings (`# `), list items (`- `) and lines that are kept as
they are (two spaces). The lines are wrapped after the words of an edition have been filled in.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Final

from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import Speaker, tell
from hkoji.rules.editions import EDITIONS, Edition

PAGES: Final = Path(__file__).with_name("pages")
WIDTH: Final = 78
_OF_COMMANDS = re.compile(r" \([^()]*`[^()]*\)")
"""A remark in parentheses that names an option of a command."""
_WORDS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "secret": "secret",
        "trade_off": "trade-off",
        "gift": "gift",
        "competition": "competition",
        "reveal": "reveal",
        "intrigue": "intrigue",
        "marker": "marker",
    },
    "it": {
        "secret": "segreto",
        "trade_off": "scarto",
        "gift": "regalo",
        "competition": "sfida",
        "reveal": "rivelazione",
        "intrigue": "intrigo",
        "marker": "segnalino",
    },
}
"""The words that are filled into a page, unless an edition in its language has its own."""


def parts(game: str, lang: str) -> list[tuple[str, list[str]]]:
    """Returns the rules of a game in a language, for somebody who has no command line: lines of one kind after another.

    Kinds are `# ` for headings, `- ` for a list, two spaces for lines that stay as they are, and empty for paragraphs.
    """
    lines = _OF_COMMANDS.sub("", _filled(game, lang, None)).splitlines()
    runs = groupby(lines, lambda line: line[:2] if line[:2] in ("# ", "- ", "  ") else "" if line else None)
    return [(kind, [line.removeprefix(kind) for line in run]) for kind, run in runs if kind is not None]


def page(game: str, lang: str, edition: Edition | None = None, *, width: int = WIDTH, commands: bool = True) -> str:
    """Returns the rules of a game in a language, wrapped at `width` columns.

    They are in the words of an edition if it is in that language. Lines that are kept as they are have at most 72.
    Without `commands` the page is for somebody who has no command line: options and editions are left out.
    """
    text = _filled(game, lang, edition)
    if not commands:
        return "\n".join(_wrapped(_OF_COMMANDS.sub("", text), width))
    return "\n".join([*_wrapped(text, width), *_of_editions(game, lang, edition, width)])


def _filled(game: str, lang: str, edition: Edition | None) -> str:
    """Returns the text of a page as it is in its file, with the words of an edition filled in."""
    text = (PAGES / f"{game}.{lang}.txt").read_text(encoding="utf-8")
    words = {**_WORDS[lang], **(edition.words if edition and edition.language == lang else {})}
    return Template(text).substitute(words)


def _wrapped(text: str, width: int) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("# "):
            yield line[2:].upper()
        elif line.startswith("  ") or not line:
            yield line
        else:
            yield from textwrap.wrap(
                line,
                width,
                subsequent_indent="  " * line.startswith("- "),
                break_on_hyphens=False,
                break_long_words=False,
            )


def _of_editions(game: str, lang: str, edition: Edition | None, width: int) -> Iterator[str]:
    """Yields the lines of the last section: the given edition, or all editions of the game."""
    say = load_speaker(lang)
    yield ""
    yield (say(tell("This edition")) if edition else say(tell("Editions"))).upper()
    for each in EDITIONS:
        if each.ruleset != game or edition not in (None, each):
            continue
        yield ""
        yield from textwrap.wrap(f"{each.name}: {say(each.title)}. {say(each.about)}", width, break_on_hyphens=False)
        yield from _words(each, say, width)
        yield f"  {each.command}"
    if edition is None:
        yield ""
        yield from textwrap.wrap(
            say(tell("`hkoji new --edition NAME` opens a game with the options of an edition.")), width
        )


def _words(edition: Edition, say: Speaker, width: int) -> Iterator[str]:
    names = ", ".join(edition.words.values())
    yield from textwrap.wrap(
        say(tell("Its words: {words}.", words=names)), width, initial_indent="  ", subsequent_indent="  "
    )
