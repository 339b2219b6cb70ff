"""The input of commands: files, standard input, codes, a yes or no, and a dialogue at a prompt, line by line.

A `Dialogue` has editing at a terminal, and else reads from a pipe. Everything in it is written to standard output.
Input that no terminal echoes is echoed here, so that a session from a file looks the same. The end of the input means
that the player leaves.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from hkoji.cli import terminal
from hkoji.cli.language import _, current
from hkoji.cli.output import TextStyle, out
from hkoji.cli.terminal import read_secret
from hkoji.errors import CancelledError, MalformedError, OtherOriginError, StorageError, UsageError
from hkoji.messages.text import tell

_LONGEST: Final = 400


class Dialogue:
    """The prompt of one command."""

    def __init__(self) -> None:
        self.terminal: Final = sys.stdin.isatty() and sys.stdout.isatty()
        self.ruleset: str | None = None
        """The name of the game whose rules the player may ask for."""
        self._out: Final = out
        self._remark = ""

    @property
    def style(self) -> TextStyle:
        """How text looks now: a terminal may have changed its width."""
        style = self._out.style
        return TextStyle(colour=style.colour, plain=style.plain, seated=True, width=style.width)

    def say(self, text: str = "", *, exact: bool = False) -> None:
        """Prints text, in place of a passing remark.

        A text is folded to the width of a terminal, unless it is `exact`: to be copied from there.
        """
        self._wipe()
        sys.stdout.write(f"{text if exact else terminal.fold(text, self.style.width)}\n")
        sys.stdout.flush()

    def remark(self, text: str) -> None:
        """Shows a passing remark at a terminal, until other text is printed."""
        if self.terminal and not self.style.plain:
            self._wipe()
            sys.stdout.write(text)
            sys.stdout.flush()
            self._remark = text

    def _wipe(self) -> None:
        """Removes a remark from the screen, if there is one."""
        width, self._remark = len(terminal.screen().shown(self._remark)), ""
        if width:
            terminal.screen().wipe(width)

    def ask(self, prompt: str) -> str | None:
        """Asks for a line and returns it, stripped; None at the end of the input."""
        try:
            line = self._edited(prompt) if self.terminal else self._piped(prompt)
        except EOFError:
            self.say()
            return None
        return line.strip()[:_LONGEST]

    def question(self, prompt: str, help_: str) -> str | None:
        """Asks like `ask`, but answers `?` with a text and `rules` with the rules, and asks again."""
        while (line := self.ask(prompt)) is not None:
            if line.lower() in HELP:
                self.say(help_)
            elif line.lower() in RULES:
                self.show_rules()
            else:
                break
        return line

    def agrees(self, question: str, help_: str) -> bool:
        """Asks a question and returns whether the answer is yes; the end of the input is a no."""
        answer = self.question(f"{question} {_('[y/N]')} ", help_) or ""
        return answer.lower() in ("y", "yes", *_("y yes").split())

    def show_rules(self) -> None:
        """Shows the rules of the game, at a terminal in a pager."""
        from hkoji.manual.rules_pages import page

        assert self.ruleset is not None
        text = page(self.ruleset, current())
        if self.terminal and not self.style.plain:
            self._wipe()
            terminal.page(text)
        else:
            self.say(text)

    def interrupts(self, seconds: float) -> bool:
        """Waits for so many seconds; returns whether the player at a terminal asked to leave, as by `q`."""
        if not self.terminal or not select.select([sys.stdin], [], [], seconds)[0]:
            return False
        line = sys.stdin.readline()
        return not line or line.strip().lower() in LEAVE

    def _edited(self, prompt: str) -> str:
        self._wipe()
        return terminal.read_line(prompt)

    def _piped(self, prompt: str) -> str:
        sys.stdout.write(prompt)
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        self.say(line.rstrip("\n"))
        return line


LEAVE: Final = ("q", "quit", "exit", "bye", "esci")
"""The words for leaving. Words are read in every language."""
HELP: Final = ("?", "h", "help", "aiuto")
"""The words that ask what can be typed."""
RULES: Final = ("rules", "regole")
"""The words that ask for the rules."""


_T = TypeVar("_T")


def is_file(source: str) -> bool:
    """Returns whether FILE|GAME names an existing file, or is `-`."""
    return source == "-" or Path(source).is_file()


def read_input(file: str, limit: int | None = None) -> bytes:
    """Returns the bytes of a file, or of standard input for `-` (in a batch: `UsageError`). Raises `StorageError`."""
    if file == "-" and out.keep:
        raise UsageError(tell("in a batch standard input holds the commands"), hint=tell("give a file"))
    try:
        if file == "-":
            return sys.stdin.buffer.read() if limit is None else sys.stdin.buffer.read(limit + 1)
        return Path(file).read_bytes()
    except OSError as error:
        reason = tell("cannot read {file}: {reason}", file=file, reason=error.strerror)
        raise StorageError(reason, hint=tell("give a file, or - for standard input")) from error


def read_words(words: Sequence[str], most: int, what: str, *, hint: str) -> str:
    """Returns typed words as one text; for `-` alone the text on standard input, in which each line ends in LF.

    The line end at its end is no part of it. Of a text of more than `most` bytes it returns more than that, but perhaps
    not all. Raises `MalformedError` with the name `what` for what is not UTF-8.
    """
    if list(words) != ["-"]:
        return " ".join(words)
    longest = 2 * (most + 1)  # that many bytes may be `most` and a last line end, if all of them are CR and LF
    data = read_input("-", longest)
    try:
        text = data.decode(errors="ignore" if len(data) > longest else "strict")  # the last character may be cut
    except UnicodeDecodeError:
        raise MalformedError(what, tell("it is not UTF-8"), hint=hint) from None
    return text.replace("\r\n", "\n").removesuffix("\n")


def read_code() -> str:
    """Returns a code from standard input; at a terminal it is asked for and not shown."""
    if sys.stdin.isatty() and not out.keep:
        return read_secret(_("Code: ")).strip()
    return read_input("-", 1024).decode("ascii", "replace").strip()


def check_standard_input(sources: list[str], *, taken: bool) -> None:
    """Raises `UsageError` if `-` occurs twice, or once while standard input is `taken` by something else."""
    if sources.count("-") > 1 or ("-" in sources and taken):
        raise UsageError(
            tell("standard input can be read only once"), hint=tell("give - only once, and not in a batch")
        )


def can_ask() -> bool:
    """Returns whether somebody at a terminal can be asked. In a batch nobody can."""
    return not out.keep and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, refused: str, *, yes: bool, unasked: UsageError | None = None, about: str = "") -> None:
    """Asks before a step that cannot be taken back, unless `yes`. Raises `CancelledError` with `refused` for a no.

    For `?` it says what the question is `about`, and asks again. Without a terminal, and in a batch, nobody can be
    asked: then it raises `UsageError`, or `unasked`.
    """
    if yes:
        return
    if not can_ask():
        raise unasked or unconfirmed()
    while True:
        sys.stderr.write(f"{question} {_('[y/N]')} ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower()
        if answer in _("y yes").split():
            return
        if answer not in HELP:
            raise CancelledError(refused, hint=tell("nothing was sent"))
        out.say(about or _("y means yes. Any other answer means no, and nothing is sent."))


def unconfirmed() -> UsageError:
    """Returns the error for a step that cannot be taken back, where nobody can be asked."""
    return UsageError(
        tell("this cannot be taken back, and there is no terminal to ask for confirmation"),
        hint=tell("nothing was sent; to confirm it, give the command with --yes"),
    )


def with_origin(origin: str | None, call: Callable[[str | None], _T]) -> _T:
    """Calls with the origin that the user has given for a service. At a terminal asks for it, if the service needs one.

    The user types the origin: a mere yes is given too easily. Raises `OtherOriginError` without a terminal, in a batch,
    and for any other answer.
    """
    try:
        return call(origin)
    except OtherOriginError as error:
        if origin is not None or not can_ask():
            raise
        sys.stderr.write(
            _(
                "The service at {url} says its address is {origin}.\nSomebody who passes your requests on would say "
                "the same, and could log in as you. Ask the operator whether {url} is that service.\n"
                "If it is, type {origin}: ",
                url=error.url,
                origin=error.origin,
            )
        )
        sys.stderr.flush()
        if sys.stdin.readline().strip() != error.origin:
            raise
        return call(error.origin)
