"""What commands read: files, standard input, and a yes or no at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from hkoji.cli.language import _
from hkoji.cli.output import CommandOutput
from hkoji.cli.prompt.dialogue import HELP
from hkoji.cli.terminal import read_secret
from hkoji.errors import CancelledError, MalformedError, OtherOriginError, StorageError, UsageError
from hkoji.messages.text import tell

_T = TypeVar("_T")


def is_file(source: str) -> bool:
    """Returns whether FILE|GAME names an existing file, or is `-`."""
    return source == "-" or Path(source).is_file()


def read_input(out: CommandOutput, file: str, limit: int | None = None) -> bytes:
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


def read_words(out: CommandOutput, words: Sequence[str], most: int, what: str, *, hint: str) -> str:
    """Returns typed words as one text; for `-` alone the text on standard input, in which each line ends in LF.

    The line end at its end is no part of it. Of a text of more than `most` bytes it returns more than that, but perhaps
    not all. Raises `MalformedError` with the name `what` for what is not UTF-8.
    """
    if list(words) != ["-"]:
        return " ".join(words)
    longest = 2 * (most + 1)  # that many bytes may be `most` and a last line end, if all of them are CR and LF
    data = read_input(out, "-", longest)
    try:
        text = data.decode(errors="ignore" if len(data) > longest else "strict")  # the last character may be cut
    except UnicodeDecodeError:
        raise MalformedError(what, tell("it is not UTF-8"), hint=hint) from None
    return text.replace("\r\n", "\n").removesuffix("\n")


def read_code(out: CommandOutput) -> str:
    """Returns a code from standard input; at a terminal it is asked for and not shown."""
    if sys.stdin.isatty() and not out.keep:
        return read_secret(_("Code: ")).strip()
    return read_input(out, "-", 1024).decode("ascii", "replace").strip()


def check_standard_input(sources: list[str], *, taken: bool) -> None:
    """Raises `UsageError` if `-` occurs twice, or once while standard input is `taken` by something else."""
    if sources.count("-") > 1 or ("-" in sources and taken):
        raise UsageError(
            tell("standard input can be read only once"), hint=tell("give - only once, and not in a batch")
        )


def can_ask(out: CommandOutput) -> bool:
    """Returns whether somebody at a terminal can be asked. In a batch nobody can."""
    return not out.keep and sys.stdin.isatty() and sys.stderr.isatty()


def confirm(
    out: CommandOutput, question: str, refused: str, *, yes: bool, unasked: UsageError | None = None, about: str = ""
) -> None:
    """Asks before a step that cannot be taken back, unless `yes`. Raises `CancelledError` with `refused` for a no.

    For `?` it says what the question is `about`, and asks again. Without a terminal, and in a batch, nobody can be
    asked: then it raises `UsageError`, or `unasked`.
    """
    if yes:
        return
    if not can_ask(out):
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


def with_origin(out: CommandOutput, origin: str | None, call: Callable[[str | None], _T]) -> _T:
    """Calls with the origin that the user has given for a service. At a terminal asks for it, if the service needs one.

    The user types the origin: a mere yes is given too easily. Raises `OtherOriginError` without a terminal, in a batch,
    and for any other answer.
    """
    try:
        return call(origin)
    except OtherOriginError as error:
        if origin is not None or not can_ask(out):
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
