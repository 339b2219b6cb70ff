"""Where words go: stdout is the result, stderr the talk.

With `--json` a result is one line of JSON on stdout and an error one line on stderr. Colour only on a terminal, and
never with NO_COLOR or `--plain`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from hkoji.cli.exits import exit_code
from hkoji.errors import HkojiError

_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "reverse": "7"}


class Style:
    """Paints text if `colour`; `plain` asks for linear text without tables and drawn lines, for screen readers."""

    def __init__(self, *, colour: bool, plain: bool) -> None:
        self.colour: Final = colour and not plain
        self.plain: Final = plain

    def paint(self, text: str, *styles: str) -> str:
        """`text` in the named styles."""
        if not self.colour or not styles or not text:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


class Output:
    """The output of one command, or in `hkoji batch` of one line: then results are kept instead of printed."""

    def __init__(self) -> None:
        self.json = False
        self.plain = False
        self.keep = False
        self.kept: Any = None  # Any: JSON

    @property
    def style(self) -> Style:
        """How results for people look."""
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return Style(colour=colour, plain=self.plain)

    def result(self, value: Mapping[str, Any] | list[Any], text: Callable[[], str]) -> None:  # Any: JSON
        """A command's result: `value` for programs, `text` for people."""
        if self.keep:
            self.kept = value
        elif self.json:
            sys.stdout.write(json.dumps(value, sort_keys=True) + "\n")
        else:
            shown = text()
            sys.stdout.write(shown if shown.endswith("\n") or not shown else shown + "\n")

    def lines(self, text: str) -> None:
        """A result that is text as it stands: logs and entries."""
        if self.keep:
            self.kept = [json.loads(line) for line in text.splitlines()]
        else:
            sys.stdout.write(text)

    def say(self, text: str) -> None:
        """A remark."""
        if not self.keep:
            sys.stderr.write(text + "\n")

    def error(self, error: HkojiError) -> None:
        """An error: what failed, and what to do next."""
        if self.json:
            sys.stderr.write(json.dumps({"error": error_json(error)}, sort_keys=True) + "\n")
            return
        sys.stderr.write(f"hkoji: {error}\n")
        shape = getattr(error, "shape", ())
        if shape:
            sys.stderr.write(f"  legal now: {'  '.join(shape)}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")


def error_json(error: HkojiError) -> dict[str, Any]:  # Any: JSON
    """An error as JSON."""
    value: dict[str, Any] = {"code": error.code, "message": str(error), "exit_code": int(exit_code(error))}
    if error.hint:
        value["hint"] = error.hint
    for name in ("actor", "shape", "seq", "step", "signer"):
        if getattr(error, name, None) is not None:
            value[name] = getattr(error, name)
    return value
