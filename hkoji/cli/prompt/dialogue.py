"""Talking with somebody at a prompt, a line at a time: at a terminal with editing, else from whatever is piped in.

Everything said goes to standard output, with what was typed echoed where no terminal does it, so that a session reads
the same from a file. The end of the input is the wish to leave.
"""

from __future__ import annotations

import contextlib
import select
import sys
from typing import Final

from hkoji.cli.language import _
from hkoji.cli.output import CommandOutput, TextStyle

_LONGEST: Final = 400


class Dialogue:
    """The prompt of one command."""

    def __init__(self, out: CommandOutput) -> None:
        self.terminal: Final = sys.stdin.isatty() and sys.stdout.isatty()
        style = out.style
        self.style: Final = TextStyle(colour=style.colour, plain=style.plain, seated=True)
        self._remark = ""

    def say(self, text: str = "") -> None:
        """Says something, in place of a passing remark."""
        sys.stdout.write(f"{self._wiped()}{text}\n")
        sys.stdout.flush()

    def remark(self, text: str) -> None:
        """Shows at a terminal what is going on, until there is something to say."""
        if self.terminal and not self.style.plain:
            sys.stdout.write(f"{self._wiped()}{text}")
            sys.stdout.flush()
            self._remark = text

    def _wiped(self) -> str:
        """What takes a remark off the screen, if there is one."""
        width, self._remark = len(self._remark), ""
        return f"\r{' ' * width}\r" if width else ""

    def ask(self, prompt: str) -> str | None:
        """The next line, without what surrounds it; None when there is none to come."""
        try:
            line = self._edited(prompt) if self.terminal else self._piped(prompt)
        except EOFError:
            self.say()
            return None
        return line.strip()[:_LONGEST]

    def agrees(self, question: str) -> bool:
        """Whether the answer to a question is yes; the end of the input is a no."""
        answer = self.ask(f"{question} {_('[y/N]')} ") or ""
        return answer.lower() in ("y", "yes", *_("y yes").split())

    def interrupts(self, seconds: float) -> bool:
        """Whether somebody at a terminal asks to leave within so many seconds: by a line like `q`, or its end."""
        if not self.terminal or not select.select([sys.stdin], [], [], seconds)[0]:
            return False
        line = sys.stdin.readline()
        return not line or line.strip().lower() in LEAVE

    def _edited(self, prompt: str) -> str:
        # input() edits lines once this is loaded; in a Python without it the terminal's own editing has to do.
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401
        return input(f"{self._wiped()}{prompt}")

    def _piped(self, prompt: str) -> str:
        sys.stdout.write(prompt)
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        self.say(line.rstrip("\n"))
        return line


LEAVE: Final = ("q", "quit", "exit", "bye")
"""What is typed to leave."""
