"""`hkoji --help`, the man pages, and `hkoji help`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import typer

from hkoji.cli.app import groups, root_command, whole
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import ENGLISH, LANGUAGES
from scripts.build import man_pages
from tests.support import programs
from tests.support.shell import run

ROOT = Path(__file__).parents[2]
CHECKERS = {
    "mandoc": ("mandoc", "-T", "lint", "-W", "warning"),
    "groff": ("groff", "-man", "-ww", "-z"),
}
VIEWERS = {
    "mandoc": ("mandoc", "-T", "utf8", "-O", "width=400"),
    "man": ("man", "--no-hyphenation", "--no-justification", "--pager=cat"),
}


def _names(command: Any, words: tuple[str, ...] = ("hkoji",)) -> set[tuple[str, ...]]:  # Any: Typer exports no type
    below = getattr(command, "commands", {})
    return {words}.union(*(_names(each, (*words, name)) for name, each in below.items()))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return man_pages.write(tmp_path_factory.mktemp("man"))


def test_every_command_has_a_page(pages: dict[str, Path]) -> None:
    names = _names(root_command(whole()))
    assert {"-".join(words) + ".1" for words in names} == pages.keys()
    for words in names:
        text = pages["-".join(words) + ".1"].read_text()
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"):
            assert f".SH {section}\n" in text
        for name in re.findall(r"^\.BR (\S+) \(1\)", text, re.MULTILINE):
            assert name.replace("\\-", "-") + ".1" in pages


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_roff_is_correct(pages: dict[str, Path], checker: str) -> None:
    programs.needs(checker)
    environment = {**os.environ, "PATH": programs.path()}
    command = [*CHECKERS[checker], *map(str, pages.values())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("viewer", VIEWERS)
def test_it_shows_what_the_help_says(pages: dict[str, Path], viewer: str) -> None:
    programs.needs(viewer)
    environment = {"MANWIDTH": "400", "LANG": "C.UTF-8", "PATH": programs.path(), "TERM": "dumb"}
    command = [*VIEWERS[viewer], str(pages["hkoji-move.1"])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    shown = re.sub(r".\x08", "", done.stdout)
    assert "hkoji-move - Make a move" in shown
    assert "A move: 3BCC, -C, 1e, gift b c c …" in shown
    assert "hkoji move 2714 gift b c c" in shown
    assert "--json" in shown


def test_text_is_printed_as_it_is() -> None:
    assert man_pages.escape(".x") == "\\&.x"
    assert man_pages.escape("a\\b--c'd…") == "a\\eb\\-\\-c\\(aqd\\[u2026]"


def test_the_wheel_installs_the_pages_and_what_browsers_load(pages: dict[str, Path], tmp_path: Path) -> None:
    """The container's image is built of no more than its file copies, so neither is this wheel."""
    source = tmp_path / "source"
    text = (ROOT / "examples" / "hosting" / "Containerfile").read_text()
    ignored = shutil.ignore_patterns("__pycache__")
    for *copied, place in map(str.split, re.findall(r"^COPY (.+)$", text, re.MULTILINE)):
        for name in copied:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / place, ignore=ignored)
            else:
                to = source / place / Path(name).name if place.endswith("/") else source / place
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, to)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*pip, "--disable-pip-version-check", "--wheel-dir", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        web = ROOT / "server" / "hkoji_server" / "web"
        loaded = [
            path
            for folder in ("static", "templates", "examples")
            for path in (web / folder).rglob("*")
            if path.is_file()
        ]
        assert {path.relative_to(ROOT / "server").as_posix() for path in loaded} <= set(packed.namelist())
        found = {name.rpartition("/")[2] for name in packed.namelist() if ".data/data/share/man/man1/" in name}
        assert found == pages.keys()
        (page,) = (name for name in packed.namelist() if name.endswith("/hkoji-show.1"))
        assert packed.read(page).decode() == pages["hkoji-show.1"].read_text()


# --- hkoji help -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("show",), ("bot",), ("bot", "run"), ("admin", "check"), ("help",)])
def test_help_is_what_the_option_prints(words: tuple[str, ...]) -> None:
    for language in ("en", "it"):
        helped, asked = run("help", *words, "--lang", language), run(*words, "--help", "--lang", language)
        assert helped == asked
        assert helped.code == 0
        assert helped.out


def test_help_for_a_command_that_is_not_there_is_a_usage_error() -> None:
    for words in (("shwo",), ("bot", "nothing")):
        done = run("help", *words)
        assert done.code == 2
        assert f"No such command '{words[-1]}'" in done.err
        assert done.err == run(*words, "--help").err


# --- hkoji --help -----------------------------------------------------------------------------------------------------


_COMMAND = re.compile(r"  ([a-z]+) +\S.*")


def _sections(language: str) -> dict[str, list[str]]:
    """The commands of each section of the help."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in run("--help", "--lang", language).out.splitlines():
        if not line or (line.endswith(":") and not line.startswith(" ")):
            title = line[:-1]
        elif title and (named := _COMMAND.fullmatch(line)):
            found.setdefault(title, []).append(named[1])
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_command_is_in_exactly_one_group(language: str) -> None:
    say = str if language == ENGLISH else load_speaker(language)
    sections = _sections(language)
    titles = [say(title) for title, _ in groups()]
    assert [title for title in sections if title in titles] == titles
    listed = [name for title in titles for name in sections[title]]
    root = typer.main.get_command(whole())
    assert sorted(listed) == sorted(root.commands)  # type: ignore[attr-defined] # the root is a group
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("group", [(), ("bot",), ("admin",)])
def test_no_line_is_cut_short(language: str, group: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in run(*group, "--help", "--lang", language).out.replace("]...", "")


def test_descriptions_stand_in_one_column() -> None:
    titles = {str(title) for title, _ in groups()}
    columns = set()
    inside = False
    for line in run("--help").out.splitlines():
        if not line or (line.endswith(":") and not line.startswith(" ")):
            inside = line[:-1] in titles
        elif inside and (named := re.fullmatch(r"(  [a-z]+ +)\S.*", line)):
            columns.add(len(named[1]))
    assert len(columns) == 1
