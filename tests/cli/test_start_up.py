"""Commands load only what they need, and convert plain values as Typer does."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.exceptions import TyperException

from hkoji import __version__
from hkoji.cli import app
from hkoji.rules.registry import RULESETS
from hkoji.show.games import SHOWN_GAMES
from tests.mail.test_receiving import TO, a_mail, office_at
from tests.support.home_shell import arrive
from tests.support.loops import run
from tests.support.new_database import copy_new_database
from tests.support.service import serving
from tests.support.stores import sqlite_at

ROOT = Path(__file__).parents[2]

LOG = ROOT / "tests" / "data" / "vectors" / "games" / "running.jsonl"
SLOW = {"pydantic", "rich", "cryptography"}
"""Modules that take long to load."""

MIGRATING = {"alembic", "mako"}
OTHER_DATABASES = {"psycopg", "asyncpg", "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.mysql"}

_LOADED = """
import sys
from hkoji.__main__ import main
sys.argv = ["hkoji", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
print("", *sorted(sys.modules), sep="\\n")
"""


def _loaded(*words: str, home: Path, given: str = "", **environment: str) -> set[str]:
    """The modules that a command loads, which gets that input."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *words],
        capture_output=True,
        text=True,
        check=True,
        input=given,
        env={"HKOJI_HOME": str(home), "PYTHONPATH": ":".join(sys.path), **environment},
    )
    return set(done.stdout.splitlines())


def _names(code: str) -> list[str]:
    """The modules that some code loads."""
    words = (sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)")
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def test_the_version_loads_neither_typer_nor_a_command(tmp_path: Path) -> None:
    loaded = _loaded("--version", home=tmp_path)
    assert not {each for each in loaded if each.startswith(("typer", "hkoji.cli"))}
    assert f"hkoji {__version__}" in loaded


def test_the_version_is_the_same_in_every_way_to_ask_for_it() -> None:
    for words in (("--version",), ("--lang", "en", "--version")):
        done = subprocess.run([sys.executable, "-m", "hkoji", *words], capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == (f"hkoji {__version__}\n", "")
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"hkoji": "hkoji.__main__:main"}


@pytest.mark.parametrize(
    "words",
    [
        ("config",),
        ("replay", str(LOG), "--at", "3"),
        ("rules", "--list"),
        ("bot", "list"),
        ("stats", str(LOG), "--json"),
        ("replay", "--help"),
        ("--help",),
        ("play", "--list", "--ruleset", "hanamikoji"),
    ],
)
def test_a_command_loads_nothing_slow(words: tuple[str, ...], tmp_path: Path) -> None:
    assert SLOW & _loaded(*words, home=tmp_path) == set()


HTTP = ("http.client", "email", "ssl")
RULES = ("hkoji.rules", "hkoji.game", "hkoji.log")
MAIL = ("hkoji.mail", "hkoji.client.held_keys", "hkoji.client.player_settings")
NOT_FOR = {
    ("--help",): (*HTTP, *RULES, "hkoji.client", "hkoji.bots"),
    ("new", "--help"): (*HTTP, *RULES, "hkoji.client", "hkoji.bots"),
    ("replay", str(LOG), "--at", "3"): (*HTTP, *MAIL, "hkoji.client", "hkoji.bots", "hkoji.audit"),
    ("rules", "--list"): (*HTTP, "hkoji.client", "hkoji.bots", "hkoji.game"),
    ("bot", "list"): (*MAIL, "hkoji.audit.log_audit"),
}
"""Modules that commands do not load, with those below them."""


@pytest.mark.parametrize("words", NOT_FOR, ids=" ".join)
def test_a_command_loads_no_more_than_it_uses(words: tuple[str, ...], tmp_path: Path) -> None:
    assert _of(NOT_FOR[words], _loaded(*words, home=tmp_path)) == set()


def test_a_look_at_a_game_loads_nothing_about_mail_or_keys(tmp_path: Path) -> None:
    """In which nobody plays by mail: by far the most common command."""
    with serving(tmp_path / "data", forked=True) as service:
        alice, bob = (arrive(service, tmp_path / name, name) for name in ("alice", "bob"))
        game = alice.run("new").stdout.split()[0]
        bob.run("join", game)
        alice.run("show", game)
        names = _loaded("show", game, home=tmp_path / "alice")
    kept = _loaded("show", game, "--offline", home=tmp_path / "alice")
    assert "hkoji.client.game" in names & kept
    assert _of(HTTP, kept) == set()
    assert _of((*MAIL, "typer", "hkoji.client.key_changes", "hkoji.bots"), names) | (SLOW & names) == set()


def _of(modules: Iterable[str], names: set[str]) -> set[str]:
    """Those of the names that are one of the modules or below it."""
    return {name for name in names if any(f"{name}.".startswith(f"{each}.") for each in modules)}


def test_the_help_names_every_game() -> None:
    """It takes the names from the table of boards, which loads no rules."""
    assert set(SHOWN_GAMES) == set(RULESETS)


def test_a_service_with_a_file_loads_nothing_to_migrate_it_and_no_other_database(tmp_path: Path) -> None:
    """The files of new databases are copied: to make one, its tables are migrated."""
    copy_new_database(tmp_path / "data" / "hkoji.sqlite3")
    names = _loaded("admin", "check", "--data", str(tmp_path / "data"), home=tmp_path)
    assert {"sqlalchemy", "sqlalchemy.dialects.sqlite"} <= names
    assert (MIGRATING | OTHER_DATABASES) & names == set()
    names = set(_names("import hkoji_server.app, hkoji_server.mail_app"))
    assert {"sqlalchemy", "hkoji_server.store.tables"} <= names
    assert (MIGRATING | OTHER_DATABASES) & names == set()


def test_a_mail_is_kept_without_what_only_the_service_needs(tmp_path: Path) -> None:
    """A mail server starts a process for each mail."""
    path = tmp_path / "data" / "hkoji.sqlite3"
    with office_at(path) as office:
        run(office.time.beat())
    words = ("admin", "mail", "receive", "--recipient", TO, "--data", str(path.parent))
    names = _loaded(*words, home=tmp_path, given=a_mail().decode(), HKOJI_SERVER_MAIL="play@hkoji.example")
    assert "hkoji_server.store.sqlite.one_mail" in names
    assert {
        "sqlalchemy",
        "sqlmodel",
        "structlog",
        "rich",
        "cryptography",
        "typer._adapters",
        *MIGRATING,
    } & names == set()
    with sqlite_at(path) as store:
        assert run(store.incoming(1)) is not None


def test_the_program_for_a_line_has_only_its_command() -> None:
    whole = app.root_command(app.whole()).commands
    for name in whole:
        assert list(app.root_command(app.program_for(name)).commands) == [name]
    for word in ("", "--help", "--lang", "nothing"):
        assert app.program_for(word) is app.whole()


# --- values -----------------------------------------------------------------------------------------------------------

_NUMBERS = ("0", "1", "-1", "007", "+4", "4_2", " 3", "3 ", "3.0", "64", "65", "257", "65536", "1e3", "٣", "9" * 30)
_PATHS = (".", "..", "missing/file", str(ROOT), str(LOG), f"{LOG}/", f"{ROOT}//tests/../x ", "~", "-")
_TEXTS = ("", "x", *_NUMBERS, *_PATHS)


def _parameters(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # Any: Typer does not export the type
    """Every parameter of every command, except those that act when they are given."""
    yield from ((f"{path} {each.name}", each) for each in command.params if each.callback is None)
    for name, each in getattr(command, "commands", {}).items():
        yield from _parameters(each, f"{path} {name}")


def _made(parameter: Any, value: Any, root: Any) -> Any:  # Any: as above, and any value
    """The value that a parameter makes of a text, or the text of its error."""
    try:
        made = parameter.process_value(typer.Context(root, info_name="hkoji"), value)
    except TyperException as error:
        return error.format_message()
    return made, type(made)


def test_values_are_converted_as_typer_converts_them() -> None:
    ours, theirs = app.root_command(app.whole()), typer.main.get_command(app.whole())
    compared = 0
    for (path, quick), (_, slow) in zip(_parameters(ours), _parameters(theirs), strict=True):
        several = quick.nargs != 1 or getattr(quick, "multiple", False)
        given: list[Any] = [(text, "b") for text in _TEXTS] if several else list(_TEXTS)  # Any: values
        if quick.type_descriptor.annotation is bool:
            given = [True, False]
        for value in (None, quick.default, *given):
            assert _made(quick, value, ours) == _made(slow, value, theirs), (path, value)
            compared += 1
    assert compared > 1000
