"""The way to the terminal: everything that this program prints passes `Screen.write`, whoever prints it.

A `Screen` takes the place of standard output and of standard error while a command runs. It shows control characters
as escapes, so that a text from elsewhere cannot steer the terminal. The only control sequences that pass are this
program's own colours. It writes signs that the terminal's encoding lacks in an approximate form. Output that cannot be
written ends the command with one error; remarks that cannot be written are dropped.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final, TextIO, cast

from hkoji.cli.language import _
from hkoji.errors import OutputError
from hkoji.messages.text import printable

_KEPT: Final = "\n\t"
_COLOUR: Final = re.compile(r"(\x1b\[(?:0|(?:[1237]|3[1236])(?:;(?:[1237]|3[1236]))*)m)")
"""Matches what `output.TextStyle.paint` writes, and nothing else."""
_UTF8: Final = "utf-8"


class ReaderGoneError(Exception):
    """The reader of standard output has closed the pipe, as `head` does."""


def _charset(stream: TextIO | None, *, terminal: bool) -> str:
    """Returns the encoding of what `stream` can show.

    Python writes UTF-8 in the C locale, because a machine without settings often has a terminal with UTF-8. A user who
    sets `LC_ALL=C` for a terminal asks for ASCII.
    """
    encoding = getattr(stream, "encoding", None) or _UTF8
    if terminal and os.environ.get("LC_ALL") in ("C", "POSIX") and "PYTHONIOENCODING" not in os.environ:
        encoding = "ascii"
    return _UTF8 if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding


class Screen(io.TextIOBase):
    """Standard output, or with `remarks` standard error, over `stream`; None stands for one that was closed."""

    def __init__(self, stream: TextIO | None, *, remarks: bool = False) -> None:
        self._stream: Final = stream
        self._remarks: Final = remarks
        self._terminal: Final = stream is not None and stream.isatty()
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self.colours: Final = self._terminal and not plain
        """Whether colours are shown."""
        self._charset: Final = _charset(stream, terminal=self._terminal)
        self._failure: OSError | None = None

    @property
    def encoding(self) -> str:  # type: ignore[override] # the type of the library is a class attribute
        """The encoding of what can be shown."""
        return self._charset

    @property
    def errors(self) -> str | None:  # type: ignore[override] # likewise
        """How the stream writes what its encoding lacks."""
        return getattr(self._stream, "errors", None)

    def isatty(self) -> bool:
        """Returns whether it is a terminal."""
        return self._terminal

    def fileno(self) -> int:
        """Returns the stream's number. Raises `OSError` if it has none."""
        if self._stream is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._stream.fileno()

    def writable(self) -> bool:
        """Returns True."""
        return True

    def shown(self, text: str) -> str:
        """Returns a text as it is shown."""
        if not text.isascii() or "\x1b" in text or not text.replace("\n", "").isprintable():
            parts = _COLOUR.split(text) if self.colours else [text]
            parts[::2] = [printable(part, _KEPT) for part in parts[::2]]
            text = "".join(parts)
        if self._charset != _UTF8 and not text.isascii():
            from hkoji.cli.transliteration import transliterate

            text = transliterate(text, self._charset)
        return text

    def can_show(self, text: str) -> bool:
        """Returns whether the encoding has all signs of a text."""
        try:
            text.encode(self._charset)
        except UnicodeEncodeError:
            return False
        return True

    def write(self, text: str) -> int:
        """Writes a text. Raises `OutputError` or `ReaderGoneError`, but only for standard output."""
        if not isinstance(text, str):  # Typer tries out what a stream takes, with an empty text, too
            raise TypeError("a screen shows text")
        if text:
            with self._guarded():
                self._open().write(self.shown(text))
        return len(text)

    def write_bytes(self, data: bytes) -> None:
        """Writes bytes, which are not for a terminal. Raises like `write`."""
        with self._guarded():
            stream = self._open()
            stream.flush()
            stream.buffer.write(data)

    def wipe(self, width: int) -> None:
        """Removes so many characters at the beginning of the current line."""
        with self._guarded():
            self._open().write(f"\r{' ' * width}\r")

    def flush(self) -> None:
        """Writes what is still in the buffer. Raises like `write`."""
        if self._stream is not None:
            with self._guarded():
                self._stream.flush()

    def _open(self) -> TextIO:
        if self._stream is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._stream

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        if self._remarks:
            with contextlib.suppress(OSError):
                yield
            return
        if self._failure is None:
            try:
                yield
                return
            except OSError as error:
                self._failure = error
                self.discard()
        if isinstance(self._failure, BrokenPipeError):
            raise ReaderGoneError from self._failure
        raise OutputError(self._failure.strerror or str(self._failure)) from self._failure

    def discard(self) -> None:
        """Sends what is in the buffer, and all that follows, to nowhere: at exit Python flushes once more."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)


@contextlib.contextmanager
def screens() -> Iterator[None]:
    """Puts screens in the place of standard output and standard error, for the time of the block."""
    before = sys.stdout, sys.stderr
    if sys.stdin is None:  # it was closed: then it is at its end
        sys.stdin = open(os.devnull, encoding=_UTF8)  # noqa: SIM115 # it stays open as long as the process
    sys.stdout, sys.stderr = cast(TextIO, Screen(before[0])), cast(TextIO, Screen(before[1], remarks=True))
    try:
        yield
    finally:
        said, (sys.stdout, sys.stderr) = sys.stderr, before
        try:
            if before[1] is not None:
                before[1].flush()
        except OSError:
            cast(Screen, said).discard()


def beneath(stream: TextIO) -> Any:  # Any: the stream that Python has opened
    """Returns the stream under a screen, for a library that draws on the terminal and shows no text from elsewhere."""
    return stream._stream if isinstance(stream, Screen) else stream


_NO_TERMINAL: Final = Screen(None)


def screen() -> Screen:
    """Returns the screen of standard output; where something else takes the output, one that can show everything."""
    return sys.stdout if isinstance(sys.stdout, Screen) else _NO_TERMINAL


def fold(text: str, columns: int | None) -> str:
    """Returns a text whose lines are folded between words to fit, a line's indentation repeated; None is no limit.

    A word that is longer stays whole.
    """
    if columns is None:
        return text
    return "\n".join(line if _length(line) <= columns else _folded(line, columns) for line in text.split("\n"))


def _length(line: str) -> int:
    return len(_COLOUR.sub("", line)) if "\x1b" in line else len(line)


def _folded(line: str, columns: int) -> str:
    from textwrap import TextWrapper

    room = min(len(line) - len(line.lstrip(" ")), columns // 2)
    wrapper = TextWrapper(
        columns,
        initial_indent=" " * room,
        subsequent_indent=" " * room,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapper.fill(line.strip(" "))


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the rows of a table as lines; each column is as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def width() -> int | None:
    """Returns how many columns standard output has now; None if it is no terminal. `COLUMNS` takes precedence."""
    if not sys.stdout.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given[:6]) > 0:
        return int(given[:6])
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):
        return None


def page(text: str) -> None:
    """Shows a text in a pager. `less` says how to leave it, unless the user has settings for it."""
    import pydoc

    os.environ.setdefault("LESS", f"-Ps{screen().shown(_('space goes on, q goes back'))}$")
    pydoc.pager(screen().shown(text))


def read_line(prompt: str) -> str:
    """Asks for a line, with editing. Raises `EOFError`."""
    # input() offers line editing once readline is loaded; some builds of Python have none.
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401
    return input(screen().shown(printable(prompt)))


def read_secret(prompt: str) -> str:
    """Asks for a line that is not shown. Raises `EOFError`."""
    from getpass import getpass

    return getpass(screen().shown(printable(prompt)))
