"""`hkoji rules`: the rules of a game as text, in the words of an edition, and the list of editions.

The pages are files beside this module, one for each game and language: paragraphs, headings (`# `), list items (`- `)
and lines that are kept as they are (two spaces). They are wrapped here, because an edition's words differ in length.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any, Final

from hkoji.cli import language
from hkoji.cli.language import _, translate
from hkoji.cli.output import CommandOutput
from hkoji.errors import UsageError, shorten
from hkoji.messages.text import tell
from hkoji.rules.editions import EDITIONS, Edition, find_edition
from hkoji.rules.hanamikoji.ruleset import NAME as HANAMIKOJI

PAGES: Final = Path(__file__).with_name("pages")
WIDTH: Final = 78
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
"""The words of a page where no edition in its language gives others."""


def show(out: CommandOutput, game: str | None, edition: str | None) -> None:
    """A game's rules, or an edition's. Raises `UsageError`."""
    chosen = find_edition(edition) if edition is not None else None
    name = game or (chosen.ruleset if chosen else HANAMIKOJI)
    games = list(dict.fromkeys(each.ruleset for each in EDITIONS))
    if name not in games:
        raise UsageError(
            tell("there are no rules of {name!r} here", name=shorten(name)),
            hint=tell("rules there are: {names}", names=", ".join(games)),
        )
    if chosen is not None and chosen.ruleset != name:
        raise UsageError(
            tell("{edition} is an edition of {game}", edition=chosen.name, game=chosen.ruleset),
            hint=tell("see all with `hkoji rules --list`"),
        )
    editions = [each for each in EDITIONS if each.ruleset == name and chosen in (None, each)]
    value = {
        "ruleset": name,
        "editions": [edition_json(each) for each in editions],
        "text": {lang: page(name, lang, chosen) for lang in language.LANGUAGES},
    }
    out.result(value, lambda: page(name, language.current(), chosen), paged=True)


def show_list(out: CommandOutput) -> None:
    """All editions."""
    out.result([edition_json(edition) for edition in EDITIONS], lambda: "\n".join(_listed(out)))


def edition_json(edition: Edition) -> dict[str, Any]:  # Any: JSON
    """An edition for programs. docs/cli.md, "rules"."""
    return {
        "edition": edition.name,
        "ruleset": edition.ruleset,
        "language": edition.language,
        "options": dict(edition.options),
        "words": dict(edition.words),
        "deck": edition.deck,
        "command": edition.command,
    }


def _listed(out: CommandOutput) -> Iterator[str]:
    if out.plain:
        for each in EDITIONS:
            yield _(
                "{edition}: {title}; begin with: {command}",
                edition=each.name,
                title=translate(each.title),
                command=each.command,
            )
        return
    rows = [(_("edition"), _("title"), _("a game of it"))]
    rows += [(each.name, translate(each.title), each.command) for each in EDITIONS]
    first, second = (max(len(row[n]) for row in rows) for n in (0, 1))
    for number, (name, title, command) in enumerate(rows):
        line = f"{name:{first}}  {title:{second}}  {command}"
        # Wider than a screen: the command goes on a line of its own.
        shown = line if len(line) <= 80 else f"{name:{first}}  {title}\n{'':{first}}    {command}"
        yield shown if number else out.style.paint(shown, "dim")


def page(game: str, lang: str, edition: Edition | None = None) -> str:
    """The rules of a game in a language, wrapped; in the words of an edition if it is in that language."""
    text = (PAGES / f"{game}.{lang}.txt").read_text(encoding="utf-8")
    words = {**_WORDS[lang], **(edition.words if edition and edition.language == lang else {})}
    parts = [*_wrapped(Template(text).substitute(words)), *_of_editions(game, lang, edition)]
    return "\n".join(parts)


def _wrapped(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("# "):
            yield line[2:].upper()
        elif line.startswith("  ") or not line:
            yield line
        else:
            yield from textwrap.wrap(
                line,
                WIDTH,
                subsequent_indent="  " * line.startswith("- "),
                break_on_hyphens=False,
                break_long_words=False,
            )


def _of_editions(game: str, lang: str, edition: Edition | None) -> Iterator[str]:
    """The last section: the edition that was asked for, or all of the game."""
    say = language.speaker(lang)
    yield ""
    yield (say(tell("This edition")) if edition else say(tell("Editions"))).upper()
    for each in EDITIONS:
        if each.ruleset != game or edition not in (None, each):
            continue
        yield ""
        yield from textwrap.wrap(f"{each.name}: {say(each.title)}. {say(each.about)}", WIDTH, break_on_hyphens=False)
        yield from _words(each, say)
        yield f"  {each.command}"
    if edition is None:
        yield ""
        yield from textwrap.wrap(
            say(tell("`hkoji new --edition NAME` opens a game with the options of an edition.")), WIDTH
        )


def _words(edition: Edition, say: language.Speaker) -> Iterator[str]:
    names = ", ".join(edition.words.values())
    yield from textwrap.wrap(
        say(tell("Its words: {words}.", words=names)), WIDTH, initial_indent="  ", subsequent_indent="  "
    )
