"""`hkoji batch`: commands from standard input, one per line, each answered with one line of JSON.

All lines share one process, one client and one connection. A line that fails is answered with its error, and the next
line is read. docs/json.md.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any, Final, TypeAlias

from hkoji.cli import settings
from hkoji.cli.output import VERSION, EncodedResult, Exit, encode, error_json, out
from hkoji.errors import HkojiError, UsageError
from hkoji.log.sshsig import use_fastest
from hkoji.messages.text import shorten, tell

RunCommand: TypeAlias = Callable[[Sequence[str]], int | None]
"""Runs a command line."""

_NOT_HERE = frozenset({"batch", "serve"})
_PLAIN: Final = re.compile(r"[!#-&(-\[\]-~]+(?: [!#-&(-\[\]-~]+)*")
"""Matches ASCII words between single spaces, without quotes and backslashes."""


def run(command: RunCommand) -> int:
    """Answers every line by running it. Returns 0, or the exit code of the first line that failed."""
    first = int(Exit.OK)
    out.keep = True
    try:
        for number, line in enumerate(_commands()):
            if number == 1:  # a batch of one line starts as quickly as a command
                use_fastest()
            answer = _answer(command, line)
            if not answer["ok"]:
                first = first or int(answer["error"]["exit_code"])
            sys.stdout.write(f"{_format(answer)}\n")
            sys.stdout.flush()
    finally:
        out.keep = False
        if out.client is not None:
            out.client.close()
    return first


def _commands() -> Iterator[str]:
    for line in sys.stdin:
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield stripped


def _answer(command: RunCommand, line: str) -> dict[str, Any]:  # Any: JSON
    out.kept = None
    shown = shorten(line, 200)
    try:
        _run(command, _split(line))
    except HkojiError as error:
        failed = {"v": VERSION, "ok": False, "command": shown, "error": error_json(error)}
        return failed if out.kept is None else {**failed, "result": out.kept}
    return {"v": VERSION, "ok": True, "command": shown, "result": out.kept}


def _format(answer: dict[str, Any]) -> str:  # Any: JSON
    """Returns the same as `encode`, without encoding a result a second time that was encoded for an earlier line."""
    result = answer.get("result")
    if not isinstance(result, EncodedResult):
        return encode(answer)
    return f'{{"command": {encode(answer["command"])}, "ok": true, "result": {result.text}, "v": {VERSION}}}'


def _split(line: str) -> list[str]:
    try:
        # shlex takes ten times as long, and only quotes, escapes and odd spaces need it.
        words = line.split(" ") if _PLAIN.fullmatch(line) else shlex.split(line)
    except ValueError as error:
        raise UsageError(
            tell("the line cannot be read: {reason}", reason=error), hint=tell("quote as in a shell")
        ) from error
    return words[1:] if words[:1] == ["hkoji"] else words


def _run(command: RunCommand, words: list[str]) -> None:
    words, chosen = settings.split_options(words)
    settings.apply(chosen, once=True)
    if not words or words[0] in _NOT_HERE:
        raise UsageError(tell("this command does not work in a batch"), hint=tell("any other command works"))
    # Help and --version print text, which becomes the result.
    with redirect_stdout(io.StringIO()) as printed:
        command(words)
    if out.kept is None and printed.getvalue():
        out.kept = {"v": VERSION, "text": printed.getvalue()}
