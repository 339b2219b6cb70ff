"""Where words go: stdout is the result, stderr the talk.

With `--json` a result is one line of JSON on stdout and an error one line on stderr. Colour only on a terminal, and
never with NO_COLOR or `--plain`. Here too is the one client that the commands of this process share.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from hkoji.cli.exits import exit_code
from hkoji.cli.language import _, translate
from hkoji.errors import HkojiError

if TYPE_CHECKING:
    from hkoji.client import Client

_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "reverse": "7"}
_DATA: Final = ("actor", "shape", "seq", "head", "step", "signer", "retry_after")


class TextStyle:
    """Paints text if `colour`; `plain` asks for linear text without tables and drawn lines, for screen readers.

    `seated` says that the reader sits at a prompt and types moves, not commands.
    """

    def __init__(self, *, colour: bool, plain: bool, seated: bool = False) -> None:
        self.colour: Final = colour and not plain
        self.plain: Final = plain
        self.seated: Final = seated

    def paint(self, text: str, *styles: str) -> str:
        """`text` in the named styles."""
        if not self.colour or not styles or not text:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


class CommandOutput:
    """The output of one command, or in `hkoji batch` of one line: then results are kept instead of printed."""

    def __init__(self) -> None:
        self.json = False
        self.plain = False
        self.keep = False
        self.kept: Any = None  # Any: JSON
        self.client: Client | None = None

    @property
    def style(self) -> TextStyle:
        """How results for people look."""
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return TextStyle(colour=colour, plain=self.plain)

    def result(self, value: Mapping[str, Any] | list[Any], text: Callable[[], str], *, paged: bool = False) -> None:
        """A command's result: `value` (JSON) for programs, `text` for people; at a terminal in a pager if `paged`."""
        if self.keep:
            self.kept = value
        elif self.json:
            sys.stdout.write(encode(value) + "\n")
        else:
            shown = text()
            shown = shown if shown.endswith("\n") or not shown else shown + "\n"
            if paged and sys.stdout.isatty() and not self.plain:
                import pydoc

                pydoc.pager(shown)
            else:
                sys.stdout.write(shown)

    def lines(self, text: str) -> None:
        """A result that is text as it stands: logs and entries."""
        if self.keep:
            self.kept = [json.loads(line) for line in text.splitlines()]
        else:
            sys.stdout.write(text)

    def say(self, text: str) -> None:
        """A remark."""
        if not self.keep:
            sys.stderr.write(translate(text) + "\n")

    def error(self, error: HkojiError) -> None:
        """An error: what failed, and what to do next."""
        if self.json:
            sys.stderr.write(encode({"error": error_json(error)}) + "\n")
            return
        sys.stderr.write(f"hkoji: {translate(error.message)}\n")
        shape = getattr(error, "shape", ())
        if shape:
            sys.stderr.write(f"  {_('legal moves look like: {moves}', moves='  '.join(shape))}\n")
        if error.hint:
            sys.stderr.write(f"  {translate(error.hint)}\n")


_encode: Final = json.JSONEncoder(sort_keys=True).encode


class EncodedResult(dict[str, Any]):  # Any: JSON
    """A result that stays as it is: the lines of a batch that show the same write it as text once."""

    @cached_property
    def text(self) -> str:
        """What `encode` makes of it."""
        return encode(self)


def encode(value: object) -> str:
    """JSON in one line, keys sorted."""
    return _encode(value)


def error_json(error: HkojiError) -> dict[str, Any]:  # Any: JSON
    """An error as JSON. docs/cli.md, "Errors"."""
    value: dict[str, Any] = {"code": error.code, "message": str(error), "exit_code": int(exit_code(error))}
    if error.hint:
        value["hint"] = error.hint
    for name in _DATA:
        data = getattr(error, name, None)
        if data is not None and data != ():
            value[name] = data
    return value


out: Final = CommandOutput()
"""The output of this process."""


def client() -> Client:
    """The client of this process: one, so that the lines of a batch share its connection and what it has read."""
    if out.client is None:
        from hkoji.client import Client

        out.client = Client(say=out.say)
    return out.client
