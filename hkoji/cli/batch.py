"""`hkoji batch`: commands from standard input, one a line, each answered with one line of JSON.

One process, one client, one connection for all lines. A line that fails is answered with its error and the next one
is read. docs/cli.md, "batch".
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import typer

from hkoji.cli.exits import Exit, exit_code
from hkoji.cli.output import Output, error_json
from hkoji.client.session import Client
from hkoji.errors import HkojiError, UsageError, shorten

_NOT_HERE = frozenset({"batch", "serve"})


def run(app: typer.Typer, out: Output, kept: list[Any]) -> int:  # Any: the client, see main
    """Answers every line. Returns 0, or the exit code of the first command that failed."""
    command = typer.main.get_command(app)
    client = Client(say=out.say)
    kept.append(client)
    out.keep = True
    worst = int(Exit.OK)
    try:
        for line in _commands():
            answer = _answer(command, out, line)
            worst = worst or int(answer.get("error", {}).get("exit_code", 0))
            sys.stdout.write(json.dumps(answer, sort_keys=True) + "\n")
            sys.stdout.flush()
    finally:
        out.keep = False
        kept.clear()
        client.close()
    return worst


def _commands() -> Iterator[str]:
    for line in sys.stdin:
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield stripped


def _answer(command: Any, out: Output, line: str) -> dict[str, Any]:  # Any: Typer's command type is its own affair
    out.kept = None
    shown = shorten(line, 200)
    try:
        words = shlex.split(line)
        if words[0] == "hkoji":
            words = words[1:]
        if not words or words[0] in _NOT_HERE:
            raise UsageError(f"{shown!r} is not a command for a batch")
        command.main(args=words, prog_name="hkoji", standalone_mode=False)
    except HkojiError as error:
        return {"ok": False, "command": shown, "error": error_json(error)}
    except ValueError as error:
        return {"ok": False, "command": shown, "error": error_json(UsageError(f"the line cannot be read: {error}"))}
    except Exception as error:
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        usage = error_json(UsageError(message()))
        return {"ok": False, "command": shown, "error": {**usage, "exit_code": int(exit_code(UsageError("")))}}
    return {"ok": True, "command": shown, "result": out.kept}
