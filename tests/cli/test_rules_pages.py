"""Rules pages, editions, and the list of a deck's cards."""

from __future__ import annotations

import json
import os
import re

import pytest

from hkoji.cli.games.rulesets import make_ruleset
from hkoji.cli.output import Exit
from hkoji.errors import UsageError
from hkoji.manual.rules_pages import PAGES as FOLDER
from hkoji.manual.rules_pages import page as rules_page
from hkoji.messages.text import LANGUAGES
from hkoji.rules.editions import EDITIONS, find_edition
from hkoji.rules.geishas_road import road
from hkoji.rules.hanamikoji.actions import CHARM, KINDS
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Json
from hkoji.rules.registry import RULESETS, parse_ruleset
from tests.support.shell import Shell, run

GAMES = ("hanamikoji", "geishas-road")
PAGES = [(game, lang) for game in GAMES for lang in LANGUAGES]


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "lang"), PAGES)
@pytest.mark.parametrize("edition", [None, *EDITIONS], ids=lambda each: each.name if each else "none")
def test_a_page_fits_a_screen_and_is_whole(game: str, lang: str, edition: object) -> None:
    chosen = edition if getattr(edition, "ruleset", game) == game else None
    page = rules_page(game, lang, chosen)  # type: ignore[arg-type] # an edition or None
    assert max(len(line) for line in page.splitlines()) <= 80
    assert "$" not in page
    assert "\n\n\n" not in page
    assert page == run("rules", game, *(["--edition", chosen.name] if chosen else []), "--lang", lang).out.rstrip("\n")  # type: ignore[attr-defined]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_tables_are_those_of_the_engine(lang: str) -> None:
    rows = [line.split()[1:] for line in rules_page("hanamikoji", lang).splitlines() if line.startswith("  ")][:3]
    assert rows == [list(KINDS), [str(charm) for charm in CHARM], [str(charm) for charm in CHARM]]
    text = rules_page("geishas-road", lang)
    for deck in (road.LIGHT, road.DARK):
        assert " ".join(str(points) for points in deck) in text.replace("\n  ", " ")


def test_the_pages_of_all_languages_have_the_same_shape() -> None:
    for game in GAMES:
        shapes = set()
        for lang in LANGUAGES:
            lines = (FOLDER / f"{game}.{lang}.txt").read_text().splitlines()
            shapes.add(tuple(line[:2] if line[:2] in ("# ", "- ", "  ") else bool(line) for line in lines))
        assert len(shapes) == 1, game


def test_an_edition_has_its_own_words_in_its_own_language() -> None:
    assert "2, Scarto:" in rules_page("hanamikoji", "it", find_edition("2018-it"))
    assert "2, trade-off:" in rules_page("hanamikoji", "en", find_edition("2018-it"))
    assert "2, Discard:" in rules_page("hanamikoji", "en", find_edition("2018-en"))
    assert "2, scarto:" in rules_page("hanamikoji", "it", find_edition("original"))
    assert "4, Compete:" in rules_page("hanamikoji", "en", find_edition("everdeck"))


def test_every_game_has_an_edition() -> None:
    assert {edition.ruleset for edition in EDITIONS} == set(GAMES)


def test_every_edition_is_on_its_game_s_page_and_in_the_list() -> None:
    listed = run("rules", "--list").out
    for edition in EDITIONS:
        assert edition.command in rules_page(edition.ruleset, "en")
        assert edition.command in listed
        assert edition.name in listed
    assert max(len(line) for line in listed.splitlines()) <= 80


def test_pages_as_json_are_the_same_in_every_language() -> None:
    for words in (["rules", "--list"], ["rules"], ["rules", "--edition", "2021"], ["deck"]):
        answers = {run(*words, "--json", "--lang", lang).out for lang in LANGUAGES}
        assert len(answers) == 1
        assert json.loads(answers.pop())


@pytest.mark.parametrize(
    "words", [["chess"], ["--edition", "1999"], ["geishas-road", "--edition", "2018-it"], ["hanamikoji", "more"]]
)
def test_rules_that_are_not_there_are_a_usage_error(words: list[str]) -> None:
    done = run("rules", *words)
    assert (done.code, done.out) == (Exit.USAGE, "")


def test_at_a_terminal_the_rules_go_through_the_pager(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("pydoc.pager", shown.append)
    monkeypatch.delenv("LESS", raising=False)
    done = run("rules", "geishas-road", terminal=True)
    assert done.out == ""
    assert "q goes back" in os.environ["LESS"]
    monkeypatch.delenv("LESS")
    assert shown == [rules_page("geishas-road", "en") + "\n"]
    assert run("rules", "geishas-road", "--plain", terminal=True).out == shown[0]


# --- editions ---------------------------------------------------------------------------------------------------------


def test_editions_are_rulesets_with_their_options() -> None:
    for edition in EDITIONS:
        expected = parse_ruleset({**RULESETS[edition.ruleset]().to_json(), **edition.options})
        assert make_ruleset(None, {}, edition=edition.name) == expected
        assert make_ruleset(edition.ruleset, {"first": None}, edition=edition.name) == expected
    assert len({edition.name for edition in EDITIONS}) == len(EDITIONS)


def test_options_come_before_those_of_an_edition() -> None:
    made = make_ruleset(None, {"max_rounds": 5, "first": "guest"}, edition="2018-it").to_json()
    assert (made["max_rounds"], made["tiebreak"], made["first"]) == (5, "charm", "guest")


def test_an_edition_without_its_limit_of_rounds_has_no_tie_break() -> None:
    given: list[tuple[dict[str, Json], list[str]]] = [({"max_rounds": 0}, []), ({}, ["max_rounds=0"])]
    for options, more in given:
        for edition in EDITIONS:
            if edition.ruleset == "hanamikoji":
                assert make_ruleset(None, options, more, edition.name) == Hanamikoji()
        with pytest.raises(UsageError, match="a tie-break needs a limit"):
            make_ruleset(None, {**options, "tiebreak": "charm"}, more, "2018-it")


def test_an_edition_belongs_to_one_game() -> None:
    with pytest.raises(UsageError, match="2021 is an edition of geishas-road"):
        make_ruleset("hanamikoji", {}, edition="2021")


def test_new_takes_an_edition(alice: Shell) -> None:
    unlimited = alice("new", "--edition", "2018-it", "--max-rounds", "0", "--json").json
    assert unlimited["options"] == Hanamikoji().to_json()
    made = alice("new", "--edition", "2018-it", "--json").json
    assert made["options"] == {
        "first": "host", "max_rounds": 3, "name": "hanamikoji", "tiebreak": "charm", "version": 1
    }  # fmt: skip
    assert alice("new", "--edition", "2021", "--json").json["ruleset"] == "geishas-road"
    assert alice("new", "--edition", "2022").code == Exit.USAGE


def test_the_command_of_an_edition_makes_its_ruleset(alice: Shell) -> None:
    for edition in EDITIONS:
        made = alice(*edition.command.split()[1:], "--json").json
        assert made["options"] == make_ruleset(None, {}, edition=edition.name).to_json()


# --- hkoji deck -------------------------------------------------------------------------------------------------------


def test_the_cards_to_pick_as_a_table_sentences_and_json() -> None:
    table = run("deck").out
    assert re.search(r"^E +coins +3 +0 1 2$", table, re.MULTILINE)
    assert re.search(r"^2 trade-off +X +X$", table, re.MULTILINE)
    assert "36 cards in all." in table
    plain = run("deck", "--plain", "--lang", "it").out
    assert "Oggetti di G: 0, 1, 2, 3, 4 di lune.\n" in plain
    assert len(plain.splitlines()) == 22
    value = run("deck", "--json").json
    assert value["cards"] == sum(len(card["ranks"]) for card in value["pick"]) == 36
    assert run("deck", "--deck", "everdeck").out == table
    assert run("deck", "--deck", "standard").code == Exit.USAGE


@pytest.mark.parametrize("lang", ["en", "it"])
@pytest.mark.parametrize("game", ["hanamikoji", "geishas-road"])
def test_a_page_without_commands_has_the_rules_and_no_command(game: str, lang: str) -> None:
    page = rules_page(game, lang, commands=False)
    assert not re.search(r"`|--|hkoji ", page)
    whole = rules_page(game, lang)
    headings = [line for line in whole.splitlines() if line.isupper()]
    assert [line for line in page.splitlines() if line.isupper()] == headings[:-1]
    assert len(page) > 0.6 * len(whole)
