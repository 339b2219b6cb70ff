"""The texts of pages: scripts say those that are there, with the same values in both languages."""

from __future__ import annotations

import re
from string import Formatter

import pytest
from hkoji_server.web.rendering import Reader, rendered
from hkoji_server.web.static_files import FOLDER, words_in

from hkoji.messages.text import LANGUAGES

SERVICE_WORKER = FOLDER / "sw.js"
ENGLISH = {part: words_in("en", part) for part in ("page", "worker")}


def names(text: str | list[str]) -> set[str]:
    forms = [text] if isinstance(text, str) else text
    return {name for each in forms for _, name, _, _ in Formatter().parse(each) if name is not None}


def test_scripts_say_only_words_that_are_there() -> None:
    for path in {*FOLDER.rglob("*.js")} - {SERVICE_WORKER}:
        said = set(re.findall(r"\bsay\('([a-z0-9.-]+)'", path.read_text(encoding="utf-8")))
        assert said <= ENGLISH["page"].keys(), path
    texts = set(re.findall(r"texts\.([a-z]+)|text\('([a-z]+)'\)", SERVICE_WORKER.read_text(encoding="utf-8")))
    assert {first or second for first, second in texts} - {"en"} <= ENGLISH["worker"].keys()


@pytest.mark.parametrize("part", ENGLISH)
@pytest.mark.parametrize("language", LANGUAGES)
def test_words_of_scripts_keep_their_values_and_their_numbers(part: str, language: str) -> None:
    words = words_in(language, part)
    assert words.keys() == ENGLISH[part].keys()
    for key, text in words.items():
        assert names(text) == names(ENGLISH[part][key]), key
        assert isinstance(text, list) == isinstance(ENGLISH[part][key], list), key


def test_italian_has_each_text() -> None:
    """A text that is equal in both languages is a name or a word of the program."""
    for part, words in ENGLISH.items():
        same = {text for key, text in words_in("it", part).items() if text == words[key] and isinstance(text, str)}
        assert all(len(text.split()) < 3 for text in same), same


def test_templates_choose_the_form_for_a_number() -> None:
    def new_game(language: str, n: int) -> str:
        return rendered(
            "new_game.html", Reader(language), offered_games=(), offered_clocks=(), new_offers=n, closed=False
        )

    assert "ask for 1 game." in new_game("en", 1)
    assert "ask for 5 games." in new_game("en", 5)
    assert "ask for" not in new_game("it", 5)
