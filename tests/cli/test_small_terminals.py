"""Terminals that are narrow, change their width, or have no UTF-8: boards can be read at all of them."""

from __future__ import annotations

import ast
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

import hkoji
from hkoji.cli import settings
from hkoji.cli.boards import draw
from hkoji.cli.output import TextStyle
from hkoji.cli.terminal import fold
from hkoji.cli.transliteration import transliterate
from hkoji.messages.text import LANGUAGES
from hkoji.rules.registry import RULESETS
from hkoji.show.games import find_deck
from tests.support.boards import position, stages
from tests.support.forked import ForkedCall, ForkedTerminal
from tests.support.service import HKOJI
from tests.support.shell import run

WIDE = 78
GAMES = ("hanamikoji", "geishas-road")
PROMPTS = ("Your move: ", "La tua mossa: ")
every_game = pytest.mark.parametrize("game", GAMES)
every_language = pytest.mark.parametrize("lang", LANGUAGES)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("COLUMNS", "LINES", "LC_ALL", "LC_CTYPE", "PYTHONIOENCODING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HKOJI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LANG", "C.UTF-8")
    return tmp_path


def fits(text: str, width: int) -> None:
    """Fails if a line could have been shorter."""
    for line in text.splitlines():
        assert len(line) <= width or len(line.split()) == 1, (width, line)


# --- the width --------------------------------------------------------------------------------------------------------


@every_language
@every_game
def test_every_board_fits_every_width(game: str, lang: str) -> None:
    settings.apply({"lang": lang})
    try:
        for number, table in enumerate(stages(RULESETS[game](), 5)):
            seen = position(table, number % 3 if number % 3 < 2 else None)
            for seated in (False, True):
                plain = draw(seen, TextStyle(colour=False, plain=True, seated=seated))
                board = draw(seen, TextStyle(colour=False, plain=False, seated=seated))
                for width in (*range(20 + number % 7, 101, 7), WIDE - 1, WIDE):
                    shown = draw(seen, TextStyle(colour=False, plain=False, seated=seated, width=width))
                    fits(shown, width)
                    if width >= WIDE:
                        assert shown == board
                    else:
                        assert shown.split() == plain.split()
    finally:
        settings.apply({})


def test_lines_are_folded_between_words_and_keep_their_indentation() -> None:
    assert fold("  one two three\nfour", 9) == "  one two\n  three\nfour"
    assert fold("\x1b[1mone two\x1b[0m", 7) == "\x1b[1mone two\x1b[0m"
    assert fold("a-long-word-that-is-longer", 9) == "a-long-word-that-is-longer"
    assert fold("one two", None) == "one two"


_ENCODING = {"LC_ALL", "PYTHONIOENCODING"}


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, *words: str, columns: int, **environment: str) -> None:
        self.screen, slave = pty.openpty()
        self.resize(columns)
        given = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", **environment}
        self._process: ForkedCall | subprocess.Popen[bytes]
        if environment.keys() & _ENCODING:  # Python reads these when it starts
            command = [str(HKOJI), *words]
            self._process = subprocess.Popen(
                command, env=given, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
            )
        else:
            self._process = ForkedTerminal(words, slave, env=given)
        os.close(slave)

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def type(self, line: str) -> None:
        os.write(self.screen, f"{line}\r".encode())

    def until(self, *ends: str) -> str:
        """The output up to one of these texts; without one, up to the end."""
        said = b""
        while not ends or not said.endswith(tuple(end.encode() for end in ends)):
            assert select.select([self.screen], [], [], 120)[0], said
            try:
                more = os.read(self.screen, 65536)
            except OSError:  # the program has ended
                more = b""
            if not more:
                assert not ends, said
                break
            said += more
        return said.decode().replace("\r\n", "\n").replace("\r", "")

    def begin(self) -> str:
        """Leaves the introduction of a game. Returns what is printed up to the first prompt."""
        self.until("to begin: ", "cominciare: ")
        self.type("")
        return self.until(*PROMPTS)

    def answer(self, line: str) -> str:
        """The text printed for a line. Readline shows its prompt again after a change of width."""
        self.type(line)
        said = ""
        while f"{line}\n" not in said:
            said += self.until(*PROMPTS)
        return said.rpartition(f"{line}\n")[2].rpartition("\n")[0]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self.screen)


@contextlib.contextmanager
def terminal(*words: str, columns: int = 80, **environment: str) -> Iterator[Terminal]:
    made = Terminal(*words, columns=columns, **environment)
    try:
        yield made
    finally:
        made.close()


@every_language
@every_game
def test_the_prompt_follows_a_terminal_that_is_resized(game: str, lang: str) -> None:
    with terminal("play", "--ruleset", game, "--bot", "random", "--lang", lang, columns=100) as at:
        at.begin()
        wide = at.answer("board")
        for width in (*range(22, 101, 10), 79, 78, 77, 22):
            at.resize(width)
            for word in ("board", "?", "undo"):
                said = at.answer(word)
                fits(said, width)
                if word == "board" and width >= WIDE:
                    assert said == wide
                elif word == "board":
                    assert "─" not in said
        at.type("q")


@every_game
def test_commands_honour_the_width_and_columns(game: str, home: Path) -> None:
    assert run("play", "--ruleset", game, stdin="resign\ny\nn\n").code == 0
    (log,) = (home / "home" / "local" / "finished").iterdir()
    log.rename(home / "game.jsonl")
    source = str(home / "game.jsonl")
    for width, columns in ((20, ""), (40, ""), (77, ""), (100, "31"), (30, "100"), (100, "x"), (100, "")):
        with terminal("replay", source, "--notation", columns=width, COLUMNS=columns) as at:
            said = at.until()
        honoured = int(columns) if columns.isdigit() else width
        fits(said, honoured)
        assert ("─" * WIDE in said) is (honoured >= WIDE)
    with terminal("replay", source, columns=30) as at:
        for width in (30, 100, 24):
            said = at.until(" > ")
            fits(said.removeprefix("?\n").removeprefix("n\n").rpartition("\n")[0], width)
            at.resize({30: 100, 100: 24, 24: 24}[width])
            at.type("n")
    # A stream that is no terminal has no width.
    assert "─" * WIDE in run("replay", source).out


# --- without UTF-8 ----------------------------------------------------------------------------------------------------

_PLAIN_ENCODINGS = ({"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"})


@pytest.mark.parametrize("environment", _PLAIN_ENCODINGS, ids=["LC_ALL", "PYTHONIOENCODING"])
@every_game
def test_a_board_can_be_read_without_utf8(game: str, environment: dict[str, str], home: Path) -> None:
    words = ("play", "--ruleset", game, "--bot", "random", "--lang", "it")
    with terminal(*words) as at:
        at.begin()
        at.type("board")
        known = at.until(*PROMPTS)
        at.type("q")
        at.until()
    with terminal(*words, columns=80, **environment) as at:
        at.until(*PROMPTS)
        at.type("board")
        said = at.until(*PROMPTS)
        at.type("q")
    assert said.isascii()
    assert "?" not in said.replace("? ", "")
    assert "\\u" not in said
    # Every column is where it is with UTF-8, and the marks of the favour can be told apart.
    for plain, line in zip(said.splitlines(), known.splitlines(), strict=True):
        assert len(plain) == len(line) or "à" in line or "ù" in line or "½" in line or "è" in line
        for sign, form in (("▲", "^"), ("▼", "v"), ("·", "."), ("⌂", ":")):
            for place in [n for n, each in enumerate(line) if each == sign]:
                assert plain[place] == form


def test_a_longer_form_takes_the_place_of_spaces() -> None:
    assert transliterate("5½    4", "ascii") == "5.5   4"
    assert transliterate("  ½     2  ", "ascii") == "  .5    2  "
    assert transliterate("è più città. Perché? È così; caffè però", "ascii") == (
        "e' piu' citta'. Perche'? E' cosi'; caffe' pero'"
    )
    assert transliterate("naïve Ångström señor", "ascii") == "naive Angstrom senor"
    assert transliterate("▲ è · ½", "latin-1") == "^ è · ½"
    assert transliterate("日", "ascii") == "\\u65e5"


def test_every_sign_of_the_program_has_a_plain_form() -> None:
    package = Path(hkoji.__file__).parent
    signs: set[str] = set()
    for path in package.rglob("*.py"):
        # Signs that only drawings and mails have are written to no terminal.
        if path.name not in ("everdeck.py", "transliteration.py") and not {"svg", "mail"} & set(path.parts):
            tree = ast.parse(path.read_text())
            texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
            signs.update("".join(text for text in texts if isinstance(text, str)))
    for path in (*package.rglob("*.po"), *(package / "manual" / "pages").iterdir()):
        signs.update(path.read_text())
    strange = {sign for sign in signs if not sign.isascii()}
    assert {"▲", "à", "…"} <= strange
    assert {sign for sign in strange if "\\" in transliterate(sign, "ascii") and sign not in "↖↘"} == set()


def test_suits_are_spelled_out_where_the_terminal_lacks_them(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal("play", "--deck", "everdeck", "--bot", "random", LC_ALL="C") as at:
        said = at.begin()
        assert said.isascii()
        assert "\\u" not in said
        assert "Geisha clubs, charm 2" in " ".join(said.split())
        at.type("moves")
        said = at.until(*PROMPTS)
        (move,) = re.findall(r"  (1 [a-z]+)", said)[:1]
        at.type(move)
        said = at.until(*PROMPTS)
        assert f"Face down for you: secret {move[2:]}." in " ".join(said.split())
        assert said.isascii()
        at.type("q")
    monkeypatch.setattr("hkoji.cli.terminal.Screen.can_show", lambda _screen, text: text.isascii())
    settings.apply({"deck": "everdeck"})
    try:
        deck = settings.deck_for("hanamikoji")
        assert deck.write("3BCC") == "3 spades hearts hearts"
        assert deck.write("-C") == "- hearts"
        assert deck.write("2XX") == "2 X X"
        assert settings.deck_for("hanamikoji", symbols=True) == settings.chosen_deck()
        known = find_deck("everdeck")
        assert (deck.name, deck.cards(), deck.parts("3BCC")) == (known.name, known.cards(), known.parts("3BCC"))
        assert (deck.fits("hanamikoji"), deck.fits("geishas-road"), deck.word("A")) == (True, False, known.word("A"))
    finally:
        settings.apply({})
