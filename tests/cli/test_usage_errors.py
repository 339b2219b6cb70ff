"""Typer's words about a command line, in Italian: its errors, one by one, and the words of its help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import typer

from hkoji.cli.app import whole
from hkoji.cli.help import ERRORS, as_message
from hkoji.cli.output import Exit
from hkoji.messages.text import Text
from tests.support.shell import Done, run

ENGLISH = re.compile(
    r"\b(Usage|Options|Commands|Arguments|Error|Missing|Try|Show this|required|Input|Invalid|such|Did you|requires"
    r"|unexpected|valid|does not)\b"
)


@cache
def root() -> Any:  # Any: Typer does not export the type of commands
    """The whole program, which takes Typer long to build."""
    return typer.main.get_command(whole())


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group, by its words."""

    def below(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        yield words, command
        for name, each in getattr(command, "commands", {}).items():
            yield from below((*words, name), each)

    return below((), root())


def mistakes() -> Iterator[tuple[str, ...]]:
    """Command lines that Typer refuses: every kind of mistake in every command."""
    for words, command in commands():
        if hasattr(command, "commands"):
            yield from ((*words, "nonsense"), (*words, f"{next(iter(command.commands))}x"), (*words, "--nonsense"))
            continue
        options = [each for each in command.params if each.param_type_name == "option"]
        arguments = ["x" for each in command.params if each.param_type_name == "argument" and each.required]
        if "ignore_unknown_options" not in command.context_settings:
            yield from ((*words, *arguments, "--nonsense"), (*words, *arguments, "-z"))
        yield from ((*words, *arguments[1:]) for _ in arguments[:1])
        if not any(each.nargs == -1 for each in command.params):
            yield (*words, *arguments, "x", "y", "z")
        for option in options:
            name = option.opts[0]
            if option.is_flag:
                yield (*words, *arguments, f"{name}=x")
            else:
                yield (*words, *arguments, name)
                # Texts and paths take any value.
                typed = option.type_descriptor.annotation in (int, float)
                for value in ("x", "-1", "9" * 5000, "999999999") if typed else ():
                    yield (*words, *arguments, f"{name}={value}")
        yield from ((*words, *arguments, f"{option.opts[0]}x") for option in options[:1])


def refused(words: tuple[str, ...], lang: str) -> Done | None:
    """The message about a mistake; None if Typer finds none, and the command would run."""
    try:
        made = root().make_context("hkoji", list(words), obj=None)
        while (below := made.command.get_command(made, made._protected_args[0])) is not None:
            made = below.make_context(made._protected_args[0], made.args, parent=made)
            if not hasattr(below, "commands"):
                return None
    except (typer.Exit, IndexError):
        return None
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
    return run(*words, "--lang", lang)


def test_every_error_is_said_in_italian() -> None:
    met: set[str] = set()
    for words in dict.fromkeys(mistakes()):
        english = refused(words, "en")
        if english is None:
            continue
        italian = run(*words, "--lang", "it")
        assert (italian.code, italian.out) == (english.code, english.out) == (Exit.USAGE, "")
        said = re.split(r"(?:^|\n)Error: ", english.err.rstrip("\n"))[-1]
        known = as_message(said)
        if f"Error: {said}" in english.err:  # else it is the help of a group
            assert isinstance(known, Text), (words, said)
            assert str(known) == said
            met.add(known.template)
            if known.values and "reason" in known.values:
                assert isinstance(known.values["reason"], Text), (words, said)
                met.add(known.values["reason"].template)
            assert re.search(r"(?:^|\n\n)Errore: ", italian.err)
            assert ("Prova '" in italian.err) is ("Try '" in english.err)
        shown = re.sub(r"'[^']*'|\([^)]*\)", "", italian.err)
        assert not ENGLISH.search(shown), italian.err
    # Nothing is kept that cannot come up.
    assert {form.template for form in ERRORS} - met == set()


@pytest.mark.parametrize("words", [words for words, _ in commands()], ids=" ".join)
def test_help_is_in_italian(words: tuple[str, ...]) -> None:
    italian, english = run(*words, "--help", "--lang", "it"), run(*words, "--help", "--lang", "en")
    assert italian.code == english.code == 0
    assert italian.out.startswith("Uso: hkoji")
    assert english.out.startswith("Usage: hkoji")
    assert not re.search(
        r"\[OPTIONS\]|\[ARGS\]|Show this|Options:|Commands:|Arguments:|\[required|default:", italian.out
    )
    assert "Mostra questo aiuto" in " ".join(italian.out.split())
    # The words for arguments, in the usage, the lists and the descriptions.
    assert not re.search(r"\b(GAME|NOTATION|NAME|KEY|VALUE|COMMAND|FILES|Install|completion for)\b", italian.out)


@pytest.mark.parametrize("words", [words for words, _ in commands()], ids=" ".join)
def test_usage_writes_each_argument_in_one_way(words: tuple[str, ...]) -> None:
    usage = run(*words, "--help").out.split("\n\n")[0]
    assert "[[" not in usage
    assert not re.search(r"[\[{][a-z]", usage), usage


def test_for_programs_errors_are_english() -> None:
    for words in (("show", "--nonsense"), ("nonsense",), ("wait", "1", "--timeout", "x")):
        done = run(*words, "--json", "--lang", "it")
        assert done.error["code"] == "usage"
        assert isinstance(as_message(done.error["message"]), Text)
    done = run("batch", "--lang", "it", stdin="show --nonsense\nnonsense\nwait 1 --timeout x\n")
    assert "No such option: --nonsense" in done.out
    assert "No such command 'nonsense'." in done.out
    assert "it has to be a number" in done.out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("serve", "--port", "http"), "it has to be a whole number"),
        (("serve", "--port", "70000"), "it has to be 65535 or less"),
        (("serve", "--port", "9" * 5000), "the number has too many digits"),
        (("arena", "--games", "0"), "it has to be 2 or more"),
        (("wait", "1", "--timeout", "soon"), "it has to be a number"),
    ],
)
def test_a_wrong_number_is_told_in_plain_words(words: tuple[str, ...], reason: str) -> None:
    assert run(*words, "--lang", "en").err.endswith(f"Error: Invalid value for '{words[-2]}': {reason}\n")
