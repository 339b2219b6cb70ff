"""The output of a command, and the code with which it exits: results go to stdout, remarks and errors to stderr.

With `--json` a result is one line of JSON on stdout, and an error one line on stderr. Colour is used only at a
terminal, never with NO_COLOR or `--plain`. The commands of a process also share the client that is kept here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hkoji import errors
from hkoji.cli import terminal
from hkoji.cli.language import _, translate
from hkoji.errors import HkojiError
from hkoji.messages.text import Text, printable

if TYPE_CHECKING:
    from hkoji.client import Client


class Exit(IntEnum):
    """The exit code of a command. docs/cli.md lists their meanings."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    CANCELLED = 3
    NOT_UNDERSTOOD = 3  # as in docs/spec/audit.sh; an audit neither asks nor waits, so it is never cancelled
    KEY = 4
    MOVE = 5
    CONFLICT = 6
    NETWORK = 7
    AUDIT = 8
    TURN = 9
    BOT = 10
    INTERRUPTED = 130


_EXITS: Final[dict[type[errors.HkojiError], Exit]] = {
    errors.HkojiError: Exit.FAILURE,
    errors.UsageError: Exit.USAGE,
    errors.NotFoundError: Exit.USAGE,
    errors.CancelledError: Exit.CANCELLED,
    errors.InterruptionError: Exit.INTERRUPTED,
    errors.LoginError: Exit.KEY,
    errors.ForbiddenError: Exit.KEY,
    errors.SignatureError: Exit.KEY,
    errors.WeakKeyError: Exit.KEY,
    errors.InvalidError: Exit.MOVE,
    errors.IllegalError: Exit.MOVE,
    errors.CommitmentError: Exit.MOVE,
    errors.ProofError: Exit.MOVE,
    errors.ConflictError: Exit.CONFLICT,
    errors.NetworkError: Exit.NETWORK,
    errors.AuditError: Exit.AUDIT,
    errors.TrustError: Exit.AUDIT,
    errors.LaterVersionError: Exit.NOT_UNDERSTOOD,
    errors.NotYourTurnError: Exit.TURN,
    errors.GameOverError: Exit.TURN,
    errors.TimeOverError: Exit.TURN,
    errors.TalkClosedError: Exit.TURN,
    errors.BotError: Exit.BOT,
}


def exit_code(error: errors.HkojiError) -> Exit:
    """Returns the exit code of an error: that of the nearest class in its ancestry."""
    return next(_EXITS[kind] for kind in type(error).__mro__ if kind in _EXITS)


_CODES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "reverse": "7"}
_DATA: Final = ("actor", "shape", "seq", "head", "step", "signer", "retry_after", "line", "column")


VERSION: Final = 1
"""The version of the JSON of all commands. docs/json.md says what may change without another one."""

Result: TypeAlias = Mapping[str, Any] | list[Any]  # Any: JSON


class TextStyle:
    """How text for people looks: in colour or not; `plain` is linear text without tables and lines, for screen readers.

    `seated` means that the reader is at a prompt and types moves, not commands. `width` is the number of columns; None
    is no limit.
    """

    def __init__(self, *, colour: bool, plain: bool, seated: bool = False, width: int | None = None) -> None:
        self.colour: Final = colour and not plain
        self.plain: Final = plain
        self.seated: Final = seated
        self.width: Final = None if plain else width

    def paint(self, text: str, *styles: str) -> str:
        """Returns `text` in the named styles."""
        if not self.colour or not styles or not text:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


class CommandOutput:
    """The output of one command, or of one line of `hkoji batch`, where the result is kept instead of printed."""

    def __init__(self) -> None:
        self.json = False
        self.plain = False
        self.keep = False
        self.kept: Any = None  # Any: JSON
        self.client: Client | None = None

    @property
    def style(self) -> TextStyle:
        """The style of results for people."""
        return TextStyle(colour=terminal.screen().colours, plain=self.plain, width=terminal.width())

    def result(
        self, value: Result | Callable[[], Result], text: Callable[[], str], *, paged: bool = False, exact: bool = False
    ) -> None:
        """Prints a result: `value` (JSON) for programs, `text` for people; at a terminal in a pager if `paged`.

        A text is folded to the width of a terminal, unless it is `exact`: to be copied from there.
        """
        if self.keep or self.json:
            made = versioned(value() if callable(value) else value)
            if self.keep:
                self.kept = made
            else:
                sys.stdout.write(encode(made) + "\n")
        else:
            shown = text() if exact else terminal.fold(text(), self.style.width)
            shown = shown if shown.endswith("\n") or not shown else shown + "\n"
            if paged and sys.stdout.isatty() and not self.plain:
                terminal.page(shown)
            else:
                sys.stdout.write(shown)

    def line(self, value: Mapping[str, Any]) -> None:  # Any: JSON
        """Prints one of the lines of JSON of which a result consists with `--json`."""
        sys.stdout.write(encode(versioned(value)) + "\n")

    def lines(self, text: str) -> None:
        """Prints a result that has the format of the specification in any case: logs and entries."""
        if self.keep:
            self.kept = [json.loads(line) for line in text.splitlines()]
        else:
            sys.stdout.write(text)

    def say(self, text: str) -> None:
        """Prints a remark."""
        if not self.keep:
            sys.stderr.write(_line(text) + "\n")

    def error(self, error: HkojiError) -> None:
        """Prints an error: what failed, and what to do next."""
        if self.json:
            sys.stderr.write(encode(versioned({"error": error_json(error)})) + "\n")
            return
        sys.stderr.write(f"hkoji: {_line(error.message)}\n")
        shape = getattr(error, "shape", ())
        if shape:
            sys.stderr.write(f"  {_('legal moves look like: {moves}', moves='  '.join(shape))}\n")
        if error.hint:
            sys.stderr.write(f"  {_line(error.hint)}\n")


def _line(message: str) -> str:
    """Returns a message in the language in use; text that is no `Text` may come from elsewhere, and stays one line."""
    return translate(message) if isinstance(message, Text) else printable(message)


def versioned(value: Result) -> Result:
    """Returns JSON with the version in its object, or in each object of a list."""
    if isinstance(value, list):
        return [versioned(each) for each in value]
    return value if "v" in value else {"v": VERSION, **value}


_encode: Final = json.JSONEncoder(sort_keys=True).encode


class EncodedResult(dict[str, Any]):  # Any: JSON
    """A JSON object that does not change, so that the lines of a batch that show it again encode it once."""

    @cached_property
    def text(self) -> str:
        """The object as `encode` formats it."""
        return encode(self)


def encode(value: object) -> str:
    """Formats a value as one line of JSON with sorted keys."""
    return _encode(value)


def error_json(error: HkojiError) -> dict[str, Any]:  # Any: JSON
    """Returns an error as JSON. docs/json.md."""
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
    """Returns the client of this process. There is one, so that the lines of a batch share its connection and cache."""
    if out.client is None:
        from hkoji.client.client import Client

        out.client = Client(say=out.say)
    return out.client
