"""The texts of the pages: `TEXTS` for templates, `WORDS` for scripts, which get them as `words.LANG.json`.

A text with values names each of them twice, in the message and as a value: so a table can be read, and a test can
compare the names in both languages. Templates may use `WORDS` too. A section of a table is named after its page.
"""

from __future__ import annotations

from typing import Final

from hkoji.messages.text import Speaker, Text, tell

TEXTS: Final[dict[str, Text]] = {
    # --- every page
    "base.home": tell("Home"),
    "base.about": tell("Hanamikoji and Geisha’s Road by correspondence"),
    # --- error
    "error.home": tell("To the front page"),
    "error.title": tell("This did not work"),
    # --- game
    "game.at": tell("entry {seq}", seq="{seq}"),
    "game.back": tell("Back"),
    "game.first": tell("To the beginning"),
    "game.forward": tell("Forward"),
    "game.last": tell("To the last entry"),
    "game.moves": tell("Moves"),
    "game.steps": tell("Steps"),
    "game.words": tell("The board in words"),
}
"""What templates say, by key."""

WORDS: Final[dict[str, Text]] = {
    # --- every page
    "new_entry": tell("{name} has moved", name="{name}"),
    "show": tell("Show"),
}
"""What scripts say, by key."""


def worded(key: str, say: Speaker, values: dict[str, object]) -> str:
    """Returns the text of a key in the speaker's language; `n` among the values decides between one and many.

    Raises `KeyError` for a key that is in no table, or a value that is missing.
    """
    text = TEXTS.get(key) or WORDS[key]
    number = values.get("n", 1)
    return say(Text(text.template, values, text.many, number if isinstance(number, int) else 1))


def words_in(say: Speaker) -> dict[str, str | list[str]]:
    """Returns the texts of scripts in the speaker's language, with names in braces for values.

    A text that depends on a number is a list of two: the one for 1, and the one for all others.
    """
    return {key: _forms(text, say) for key, text in sorted(WORDS.items())}


def _forms(text: Text, say: Speaker) -> str | list[str]:
    if not text.many:
        return say(text)
    values = {**(text.values or {}), "n": "{n}"}
    return [say(Text(text.template, values, text.many, number)) for number in (1, 2)]
