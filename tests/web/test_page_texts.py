"""The texts of pages: those that are used are there, those there are used, with the same values in both languages."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import Final, get_args

import pytest
from hkoji_server.settings import Registration
from hkoji_server.web import rendering, static_files
from hkoji_server.web.page_texts import TEXTS, worded, words_in
from hkoji_server.web.script_texts import WORDS

from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES, Text

IN_TEMPLATES: Final = re.compile(r"\bt\('([^']+)'( ~ \w+)?")
SOURCES: Final = (*rendering.TEMPLATES.glob("*"), *Path(rendering.__file__).parent.glob("*.py"))
MADE: Final = {f"front.registration.{each}" for each in get_args(Registration)}
"""Keys that are put together."""


def used_in_templates() -> set[str]:
    found = set(MADE)
    for path in rendering.TEMPLATES.glob("*"):
        for key, joined in IN_TEMPLATES.findall(path.read_text(encoding="utf-8")):
            found |= {each for each in TEXTS if each.startswith(key)} if joined else {key}
    return found


def test_templates_use_all_texts_that_are_there() -> None:
    used = used_in_templates()
    assert used - TEXTS.keys() - WORDS.keys() == set()
    quoted = "".join(path.read_text(encoding="utf-8") for path in SOURCES if path.name != "page_texts.py")
    assert [key for key in TEXTS if key not in used and f'"{key}"' not in quoted] == []


def test_no_key_is_in_both_tables() -> None:
    assert TEXTS.keys() & WORDS.keys() == set()


def test_scripts_say_only_words_that_are_there() -> None:
    for path in {*static_files.FOLDER.rglob("*.js")} - {static_files.FOLDER / "sw.js"}:  # it has words of its own
        said = set(re.findall(r"\bsay\('([a-z0-9.-]+)'", path.read_text(encoding="utf-8")))
        assert said <= WORDS.keys(), path


def names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_languages_have_the_values_that_a_text_names(language: str) -> None:
    say = load_speaker(language)
    for key, text in {**TEXTS, **WORDS}.items():
        wanted = names(text.template) | names(text.many)
        given = set(text.values or {}) - ({"n"} if text.many else set())
        assert wanted - {"n"} == given - {"n"}, key
        assert names(worded(key, say, dict.fromkeys(wanted, "x") | ({"n": 2} if text.many else {}))) == set()


def test_words_for_scripts_keep_their_places() -> None:
    for language in LANGUAGES:
        words = words_in(load_speaker(language))
        assert words.keys() == WORDS.keys()
        for key, shown in words.items():
            for each in [shown] if isinstance(shown, str) else shown:
                assert names(each) <= names(WORDS[key].template) | names(WORDS[key].many), key
            assert isinstance(shown, list) == bool(WORDS[key].many)


def test_italian_has_each_text() -> None:
    """A text that is equal in both languages is a name or a word of the program."""
    say = load_speaker("it")
    same = {key for key, text in {**TEXTS, **WORDS}.items() if say(text) == str(text) and isinstance(text, Text)}
    short = {key for key in WORDS if len(str(WORDS[key]).split()) < 3}
    assert same <= {"check.FILE", "game.round"} | short
