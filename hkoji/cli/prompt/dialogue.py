"""A dialogue at a prompt, line by line: with editing at a terminal, else from a pipe.

Everything is written to standard output. Input that no terminal echoes is echoed here, so that a session from a file
looks the same. The end of the input means that the player leaves.
"""

from __future__ import annotations

import select
import sys
from typing import Final

from hkoji.cli import terminal
from hkoji.cli.language import _, current
from hkoji.cli.output import CommandOutput, TextStyle

_LONGEST: Final = 400


class Dialogue:
    """The prompt of one command."""

    def __init__(self, out: CommandOutput) -> None:
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
        width, self._remark = len(terminal.shown(self._remark)), ""
        terminal.wipe(width)

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
