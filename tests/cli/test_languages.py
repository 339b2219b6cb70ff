"""Languages: how hkoji chooses one; catalogues are complete; the output for programs stays English."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from hkoji.cli import language, settings
from hkoji.cli.app import root_command, whole
from hkoji.cli.help import find
from hkoji.cli.output import Exit
from hkoji.client.answers import problem
from hkoji.client.transport import HttpAnswer
from hkoji.messages.text import LANGUAGES, language_of_locale
from scripts.build import catalogues
from tests.support.memory_service import registered
from tests.support.shell import Shell, run

Form = str | tuple[str, ...]


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Other tests of this process are in English again."""
    yield
    language.use("en")


# --- which language ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "it_IT.UTF-8"}, "it"),
        ({"LANG": "it"}, "it"),
        ({"LANG": "it@euro"}, "it"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "it_IT", "LC_ALL": "en_GB"}, "en"),
        ({"LANG": "it_IT", "LC_MESSAGES": "C"}, "en"),
        ({"LANG": "en_GB", "LC_MESSAGES": "it_CH"}, "it"),
        ({"LANG": "en_GB", "LANGUAGE": "de:it:en"}, "it"),
        ({"LANG": "it_IT", "LANGUAGE": "en"}, "en"),
        ({"LANG": "it_IT", "LC_ALL": ""}, "it"),
        ({"LANG": "item"}, "en"),
    ],
)
def test_the_locale_is_followed_as_far_as_there_is_such_a_language(environment: dict[str, str], expected: str) -> None:
    assert language_of_locale(environment) == expected


def test_the_option_comes_before_the_environment_and_that_before_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    monkeypatch.setenv("HKOJI_CONFIG", str(file))
    monkeypatch.setenv("LANG", "it_IT.UTF-8")
    assert chosen() == "it"
    file.write_text('lang = "en"\n')
    assert chosen() == "en"
    monkeypatch.setenv("HKOJI_LANG", "it")
    assert chosen() == "it"
    assert chosen(lang="en") == "en"


def chosen(**options: str) -> str:
    settings.apply(options)
    return language.current()


@pytest.mark.parametrize("words", [["--lang", "fr"], ["--lang=fr"], ["--lang="], ["--lang", "IT"], ["--lang"]])
def test_a_language_that_is_not_there_is_a_usage_error(words: list[str]) -> None:
    done = run("games", *words)
    assert (done.code, done.out) == (Exit.USAGE, "")
    assert "--lang needs a value" in done.err or "languages: en, it" in done.err


def test_the_option_may_stand_anywhere_before_the_dashes() -> None:
    take = settings.split_options
    assert take(["show", "--lang", "it", "27"]) == (["show", "27"], {"lang": "it"})
    assert take(["--lang=it", "show", "27", "--lang=en"]) == (["show", "27"], {"lang": "en"})
    assert take(["move", "27", "--", "--lang", "it"]) == (["move", "27", "--", "--lang", "it"], {})
    assert take(["--language", "it"]) == (["--language", "it"], {})


# --- the settings file ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "named"),
    [
        ('langage = "it"\n', "langage"),
        ("lang = 3\n", "lang"),
        ("lang\n", "TOML"),
        ('lang = "fr"\n', "fr"),
        ("lang = " + "[" * 5000, "nested too deep"),
        ("a." * 9000 + "b = 1\n", "longer than a settings file"),
    ],
)
def test_a_wrong_settings_file_names_the_file_and_the_key(
    held: str, named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(held)
    monkeypatch.setenv("HKOJI_CONFIG", str(file))
    done = run("games", "--json")
    assert done.code == Exit.USAGE
    assert named in done.error["message"]
    assert str(file) in done.error["message"] + done.error.get("hint", "")


# --- what is said -----------------------------------------------------------------------------------------------------


def test_errors_are_said_in_the_language_and_json_in_english() -> None:
    said = {lang: run("audit", "zz=", "--key", "a=x", "--lang", lang) for lang in LANGUAGES}
    assert said["en"].code == said["it"].code
    assert said["en"].err != said["it"].err
    answers = {lang: run("audit", "zz=", "--key", "a=x", "--json", "--lang", lang) for lang in LANGUAGES}
    assert answers["en"].err == answers["it"].err
    assert json.loads(answers["it"].err)["error"]["code"]


# --- the catalogues ---------------------------------------------------------------------------------------------------


NEVER_ONE = {
    "All {n} entries hold; the game is finished.",
    "DNS has {n} DMARC records, of which none counts",
    "DNS has {n} SPF records, of which none counts",
    "The audit: all {n} entries hold. More: {command}",
    "it said more than {n} bytes",
    "there are more than {n} words, or one of over {m} characters",
    "you trust the keys of {n} players, and a service takes {limit}",
    "{n} cards in all.",
    "{prefix} begins the digests of {n} codes",
    "it has {count} bytes, not 1 to {most}",
}
"""Messages of constant numbers, and of counts that are never one where they are said."""


def test_a_message_that_counts_has_a_form_for_one() -> None:
    """A count has one of these names; `limit` and `most` name constants."""
    counts = "n|count|rows|codes|entries|mails|claimed|checked|copies|wanted|deals"
    found = {
        message.id
        for message in catalogues.extract()
        if isinstance(message.id, str) and re.search(rf"{{({counts})}} ([A-Za-z]+ )?[a-z]+s\b", message.id)
    }
    assert found == NEVER_ONE


def test_the_catalogues_are_whole_and_up_to_date() -> None:
    # In a separate process: here the help may name a game made up for the tests.
    command = [sys.executable, "-m", "scripts.build.catalogues", "--check"]
    done = subprocess.run(command, cwd=catalogues.ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("message", "string", "fault"),
    [
        ("{a} of {b}", "{b}: {a}", None),
        ("{a} of {b}", "{a}", "names"),
        ("{a} of {b}", "{a} {b} {c}", "names"),
        ("{a!r}", "{a}", None),
        ("{a}", "{0}", "ill-formed"),
        ("{a}", "{a", "ill-formed"),
        ("{a}", "", "untranslated"),
        ("one\ntwo", "uno due", "lines"),
        (("{n} card", "{n} cards"), ("una carta", "{n} carte"), None),
        (("{n} card", "{n} cards"), ("una carta", ""), "untranslated"),
        (("{n} card", "{n} cards"), ("{n} carte",), "needs 2"),
        (("{n} {x}", "{n} {x}"), ("{n}", "{n} {x}"), "names"),
    ],
)
def test_a_bad_translation_is_found(message: Form, string: Form, fault: str | None) -> None:
    catalog = Catalog(locale="it")
    catalog.add(message, string)
    found = list(catalogues.faults(catalog))
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]


def test_a_fuzzy_translation_is_found() -> None:
    catalog = Catalog(locale="it")
    catalog.add("card", "carta", flags=["fuzzy"])
    assert [each.split(":")[0] for each in catalogues.faults(catalog)] == ["fuzzy"]


def test_a_message_that_is_no_literal_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogues, "ROOT", tmp_path)
    source = tmp_path / "source.py"
    source.write_text("tell(name)\n")
    with pytest.raises(ValueError, match=r"source\.py:1"):
        list(catalogues.in_module(source))
    source.write_text("""print(f"{_('inside')}", plural('one', 'many', 3), tell('a ' 'b', x=1), other('no'))\n""")
    assert list(catalogues.in_module(source)) == ["inside", ("one", "many"), "a b"]


# --- help -------------------------------------------------------------------------------------------------------------


def test_help_is_in_the_language_and_comes_back_to_english() -> None:
    english = run("show", "--help").out
    italian = run("show", "--help", "--lang", "it").out
    assert "Show a game as you see it" in english
    assert "Mostra una partita come la vedi tu" in italian
    assert "Opzioni:" in italian
    assert "Esempio: hkoji show 2714" in italian
    assert run("show", "--help").out == english
    assert "Comandi:" in run("admin", "--help", "--lang", "it").out
    assert "Le tue partite:" in run("--help", "--lang", "it").out


def test_every_command_has_its_help_in_the_catalogue() -> None:
    found = list(find(root_command(whole())))
    language.use("it")
    untranslated = [
        words.message
        for words in found
        if language.translate(words.message) == words.message
        and "The game:" not in words.message
        and words.message not in ("BOT", "FILE", "http|mail")  # as in Italian
    ]
    language.use("en")
    assert untranslated == []


# --- whole games ------------------------------------------------------------------------------------------------------

ENGLISH = re.compile(r"\b(your?|the|took|played|holds|cards?|wins?|waits?|lately|gift|secret|trade-off|turn|of)\b")


@pytest.mark.parametrize("ruleset", ["hanamikoji", "geishas-road"])
def test_a_whole_game_in_italian(alice: Shell, bob: Shell, ruleset: str) -> None:
    game = str(alice("new", "--ruleset", ruleset, "--json").json["game"])
    assert bob("join", game, "--lang", "it").out.startswith("Giochi nella partita ")
    chance = random.Random(7)
    while True:
        seen = [player("show", game, "--json") for player in (alice, bob)]
        for player, english in zip((alice, bob), seen, strict=True):
            assert player("show", game, "--json", "--lang", "it") == english
            for form in ((), ("--plain",)):
                board = player("show", game, "--lang", "it", *form).out
                assert ENGLISH.findall(re.sub(r"hkoji \w+|Geisha's Road", "", board)) == []
                assert form or max(len(line) for line in board.splitlines()) <= 80
                if form:
                    assert len(board.splitlines()) == len(player("show", game, *form).out.splitlines())
        if seen[0].json["status"] == "finished":
            break
        mover = seen[0].json["actor"]
        done = (alice, bob)[mover]("move", game, chance.choice(seen[mover].json["legal"]), "--lang", "it")
        assert (done.code, done.err) == (0, "")
    assert "La partita è finita" in board
    assert alice("log", game, "--lang", "it") == alice("log", game)
    assert alice("export", game, "--lang", "it") == alice("export", game)
    audited = alice("audit", game, "--lang", "it").out
    assert "la partita è finita" in audited
    assert ENGLISH.findall(audited) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["segreto", "h"], "'H' non è una carta"),
        (["regalo", "a"], "regalo (3) vuole 3 carte, non 1"),
        (["1X"], "azione"),
        (["-a"], "nessuna proposta aspetta una risposta"),
        (["xyz"], "le mosse cominciano con un numero da 1 a 4"),
    ],
)
def test_mistakes_are_explained_in_italian(alice: Shell, bob: Shell, words: list[str], said: str) -> None:
    game = str(alice("new", "--json").json["game"])
    bob("join", game)
    alice("show", game)
    done = alice("move", game, *words, "--lang", "it")
    assert done.code == Exit.MOVE
    assert said in done.err or words == ["1X"]
    assert ENGLISH.findall(re.sub(r"hkoji \w+", "", done.err)) == []


def test_the_service_s_own_words_are_translated_where_they_are_known(alice: Shell) -> None:
    answer = HttpAnswer(401, json.dumps({"code": "login-required", "detail": "log in first"}).encode())
    language.use("it")
    error = problem(answer)
    said = language.translate(error.message)
    language.use("en")
    assert (str(error), said) == ("log in first", "prima fai l'accesso")


def test_the_service_s_words_with_values_are_translated_too(alice: Shell, bob: Shell, tmp_path: Path) -> None:
    """The service sends template and values as data, so that the client can translate the message."""
    registered(alice.seat.service, "carol", tmp_path / "carol")
    game = str(alice("new", "--invite", "carol", "--json").json["game"])
    assert "the game is open only to carol" in bob("join", game).err
    assert "la partita è aperta solo a carol" in bob("join", game, "--lang", "it").err
