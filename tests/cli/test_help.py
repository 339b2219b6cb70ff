"""`hkoji --help`: every command is in one group, with a first sentence that fits its line in every language."""

from __future__ import annotations

import re

import pytest
import typer

from hkoji.cli.app import groups, whole
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import ENGLISH, LANGUAGES
from tests.support.shell import run

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
