"""The parser of the simplest forms takes its table from the Typer commands, and both parse alike."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
import typer

from hkoji.cli.app import whole
from hkoji.cli.audit import AuditOptions
from hkoji.cli.main import FORMS, PlainCommand, PlainForm, read_plain, run_plain
from hkoji.cli.output import out

ROOT: Any = typer.main.get_command(whole())  # Any: Typer does not export the type
FLAGS = ("--json", "--plain")
WORDS = ("2714", "3BCC", "-C", "-c", "-bd", "gift", "-♣", "b c", "", "1e")


def _declared(name: str) -> PlainForm:
    """The form of a command with only the flags that all these commands share, by its Typer parameters."""
    command = ROOT.commands[name]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    assert all(each.required for each in arguments)
    most = None if any(each.nargs == -1 for each in arguments) else len(arguments)
    flags = tuple(name for each in command.params for name in each.opts if name in FLAGS)
    assert all(each.is_flag for each in command.params if set(each.opts) & set(FLAGS))
    dashes = bool(command.context_settings.get("ignore_unknown_options"))
    return PlainForm(len(arguments), most, flags, dashes)


@pytest.mark.parametrize("name", FORMS)
def test_the_table_is_what_the_typer_commands_declare(name: str) -> None:
    assert FORMS[name] == _declared(name)


def _lines() -> Iterator[tuple[str, ...]]:
    """Command lines of each form, with every subset and place of the flags, and some that are no plain form."""
    for name in FORMS:
        for words in ((), ("2714",), ("-C",), *((first, second) for first in WORDS for second in WORDS)):
            for flags in ((), ("--json",), ("--plain",), FLAGS):
                for number, places in enumerate(permutations((*words, *flags))):
                    if number < 24:
                        yield (name, *places)


def _by_typer(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> PlainCommand | None:
    """Typer's result for a command line; None if it shows help or an error."""
    found: list[PlainCommand] = []

    def note(name: str) -> Any:
        def called(*rest: object, **_options: object) -> None:
            flat = [word for each in rest for word in ([each] if isinstance(each, str) else list(each))]  # type: ignore[call-overload]
            found.append(PlainCommand(name, tuple(flat), out.json, out.plain))

        return called

    def audited(sources: list[str], options: AuditOptions) -> int:
        assert options == AuditOptions()
        found.append(PlainCommand("audit", tuple(sources), out.json, out.plain))
        return 0

    with monkeypatch.context() as patch:
        patch.setattr("hkoji.cli.audit.command.run", audited)
        patch.setattr("hkoji.cli.games.show.show", note("show"))
        patch.setattr("hkoji.cli.games.move.move", note("move"))
        patch.setattr("hkoji.cli.games.lists.waiting", note("next"))
        patch.setattr("hkoji.cli.games.lists.games", note("games"))
        patch.setattr("hkoji.cli.games.export.log", note("log"))
        out.json = out.plain = False
        try:
            ROOT.main(args=list(words), prog_name="hkoji", standalone_mode=False)
        except typer.exceptions.TyperException:
            return None
        call = found.pop() if found else None
        # The same functions are called without Typer.
        plain = read_plain(words)
        if plain is not None:
            run_plain(plain)
            assert found == [plain]
        return call


def test_both_parse_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = 0
    for words in _lines():
        parsed = read_plain(words)
        if parsed is not None:
            assert parsed == _by_typer(words, monkeypatch), words
            plain += 1
    assert plain > 1000
