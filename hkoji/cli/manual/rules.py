"""`hkoji rules`: the rules of a game as text, in the words of an edition, and the list of editions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hkoji.cli.language import _, current, translate
from hkoji.cli.output import CommandOutput
from hkoji.errors import UsageError
from hkoji.manual.rules_pages import page
from hkoji.messages.language import LANGUAGES
from hkoji.messages.text import shorten, tell
from hkoji.rules.editions import EDITIONS, Edition, find_edition
from hkoji.rules.registry import DEFAULT


def show(out: CommandOutput, game: str | None, edition: str | None) -> None:
    """A game's rules, or an edition's. Raises `UsageError`."""
    chosen = find_edition(edition) if edition is not None else None
    name = game or (chosen.ruleset if chosen else DEFAULT)
    games = list(dict.fromkeys(each.ruleset for each in EDITIONS))
    if name not in games:
        raise UsageError(
            tell("there are no rules of {name!r} here", name=shorten(name)),
            hint=tell("there are rules of {names}", names=", ".join(games)),
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
        "text": {lang: page(name, lang, chosen) for lang in LANGUAGES},
    }
    out.result(value, lambda: page(name, current(), chosen), paged=True)


def show_list(out: CommandOutput) -> None:
    """All editions."""
    out.result([edition_json(edition) for edition in EDITIONS], lambda: "\n".join(_listed(out)))


def edition_json(edition: Edition) -> dict[str, Any]:  # Any: JSON
    """An edition for programs. docs/json.md."""
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
    rows = [(_("edition"), _("title"), _("to play it"))]
    rows += [(each.name, translate(each.title), each.command) for each in EDITIONS]
    first, second = (max(len(row[n]) for row in rows) for n in (0, 1))
    for number, (name, title, command) in enumerate(rows):
        line = f"{name:{first}}  {title:{second}}  {command}"
        # Wider than a screen: the command goes on a line of its own.
        shown = line if len(line) <= 80 else f"{name:{first}}  {title}\n{'':{first}}    {command}"
        yield shown if number else out.style.paint(shown, "dim")
