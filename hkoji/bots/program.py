"""A bot that is a program: it reads a decision on its standard input and writes a move on its standard output.

There is one process for each decision, or one process that is kept and asked line by line. Its standard error
goes on to that of this process, without characters that steer a terminal. Anything but a legal move in time is a
`BotError`; hkoji never guesses a move for the program.

An interface says how a decision is put to a program, usually as one line of JSON. In every interface the answer is one
line: a move in any notation that people may type.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import select
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Final, NamedTuple

from hkoji.bots.protocol import Seen
from hkoji.errors import BotError, InvalidError, UsageError
from hkoji.messages.text import printable, shorten, tell
from hkoji.rules.protocol import find_refusal
from hkoji.rules.transcript import information_json


class Interface(NamedTuple):
    """A way to put a decision to a program."""

    question: Callable[[Seen], str]
    """Returns the text that the program reads: complete lines. Raises `UsageError` if it does not know the game."""
    runner: Callable[[str], tuple[str, ...]] = lambda _program: ()
    """Returns the words before the name of a program that cannot run by itself."""


def _json_line(seen: Seen) -> str:
    """Returns the fields of `hkoji show --json` that come from the rules, as one line. docs/json.md."""
    value = information_json(seen.view, seen.seat, seen.events, seen.view.legal_actions())
    return json.dumps(value, sort_keys=True) + "\n"


JSON_LINE: Final = Interface(_json_line)


TIMEOUT: Final = 60.0
"""The default time for a decision, in seconds."""

SEED_VARIABLE: Final = "HKOJI_BOT_SEED"
"""The environment variable with the seed, for programs that can repeat their play."""

_MOST_BYTES: Final = 64 * 1024
"""The longest output of a program for one decision."""
_FAREWELL: Final = 2.0
"""The time that a program has to end once its input or output is closed or it has been killed, in seconds."""
_LAST_WORDS: Final = 1.0
"""The time to wait for what it wrote to standard error before it ended, in seconds."""


class ProgramBot:
    """The program `words`, asked through `interface` within `timeout` seconds a decision.

    With `keep`, one process answers all decisions. Raises `UsageError` if there is no such program.
    """

    def __init__(
        self,
        words: Sequence[str],
        seed: int = 0,
        *,
        timeout: float = TIMEOUT,
        keep: bool = False,
        interface: Interface = JSON_LINE,
    ) -> None:
        given = tuple(words)
        if not given:
            raise UsageError(tell("a bot's program is missing"), hint=tell("give a command, as in cmd:./mybot"))
        self._words: Final = (*interface.runner(given[0]), *given)
        self._name: Final = shorten(" ".join(given))
        if shutil.which(self._words[0]) is None:
            raise UsageError(
                tell("there is no program {name} that can be run", name=repr(shorten(self._words[0]))),
                hint=tell("give a path, as in ./mybot, and make the file executable; or cmd:python3 mybot.py"),
            )
        self._seed: Final = seed
        self._timeout: Final = timeout
        self._keep: Final = keep
        self._interface: Final = interface
        self._process: subprocess.Popen[bytes] | None = None
        self._relay: threading.Thread | None = None

    def decide(self, seen: Seen) -> str:
        """Returns the program's move. Raises `BotError`, after ending the program."""
        question = self._interface.question(seen)
        try:
            answer = self._ask(question.encode())
            return self._read(seen, answer)
        except BaseException:
            self._kill()
            raise

    def close(self) -> None:
        """Ends the program. A kept program sees the end of its input and has `_FAREWELL` seconds to exit by itself."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(OSError):
            _pipe(process.stdin).close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_FAREWELL)
        self._kill()

    # --- asking ---------------------------------------------------------------------------------------------------

    def _ask(self, question: bytes) -> str:
        process = self._process or self._start()
        end = time.monotonic() + self._timeout
        if self._keep:
            # Output before the question cannot be an answer to it: a late line would be taken for the next move.
            if select.select([_pipe(process.stdout)], [], [], 0)[0]:
                raise self._failed(self._unasked(process))
            return self._one_line(self._exchange(process, question, end))
        said = self._exchange(process, question, end)
        try:
            code = process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise self._late() from error
        if code:
            raise self._failed(_ending(code))
        self._forget()
        return self._one_line(said)

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, SEED_VARIABLE: str(self._seed)}
        try:
            # A session of its own makes it a process group: `_kill` ends the program and all that it has started.
            self._process = subprocess.Popen(  # noqa: S603 # to run what the user names is the purpose
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(
                tell("{name} cannot be run: {reason}", name=self._name, reason=error.strerror or str(error)),
                hint=tell("a script needs a first line like #!/usr/bin/env python3, or run it as cmd:python3 mybot.py"),
            ) from error
        self._relay = threading.Thread(target=_pass_on, args=(_pipe(self._process.stderr),), daemon=True)
        self._relay.start()
        # A program that answers without reading its input must not block the write.
        os.set_blocking(_pipe(self._process.stdin).fileno(), False)
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], question: bytes, end: float) -> bytes:
        """Writes the question and reads the answer: one line of a kept program, else all of its output.

        Both happen at once: a program may write before it has read everything, and full pipes would then deadlock.
        """
        inlet, outlet = _pipe(process.stdin), _pipe(process.stdout)
        left, said = memoryview(question), b""
        with selectors.DefaultSelector() as selector:
            selector.register(inlet, selectors.EVENT_WRITE)
            selector.register(outlet, selectors.EVENT_READ)
            while True:
                ready = selector.select(max(0.0, end - time.monotonic()))
                if not ready:
                    raise self._late()
                for key, _ in ready:
                    if key.fileobj is inlet:
                        left = self._write(inlet, left)
                        if not left:
                            selector.unregister(inlet)
                            if not self._keep:
                                inlet.close()
                        continue
                    data = os.read(outlet.fileno(), _MOST_BYTES)
                    said += data
                    if len(said) > _MOST_BYTES:
                        raise self._failed(tell("it said more than {n} bytes", n=_MOST_BYTES))
                    if self._keep and not data:
                        raise self._failed(_silence(process, end - time.monotonic()))
                    if not data or (self._keep and b"\n" in said):
                        return said

    @staticmethod
    def _write(inlet: IO[bytes], left: memoryview) -> memoryview:
        """Writes what the pipe takes and returns the rest; nothing is left if the program has closed its input."""
        try:
            return left[os.write(inlet.fileno(), left) :]
        except BlockingIOError:
            return left
        except BrokenPipeError:
            return left[:0]

    # --- answers --------------------------------------------------------------------------------------------------

    def _unasked(self, process: subprocess.Popen[bytes]) -> str:
        """Describes what a kept program has done since its last answer."""
        said = os.read(_pipe(process.stdout).fileno(), _MOST_BYTES).decode("utf-8", "replace").strip()
        if said:
            return tell("it wrote a line before it was asked: {text}", text=repr(shorten(said)))
        return _silence(process, self._timeout)

    def _one_line(self, said: bytes) -> str:
        lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
        if not lines:
            raise self._failed(tell("it wrote nothing"))
        if len(lines) > 1:
            raise self._failed(tell("it said more than one line, beginning with {text}", text=repr(shorten(lines[0]))))
        return lines[0]

    def _read(self, seen: Seen, answer: str) -> str:
        """Returns the legal decision that an answer denotes."""
        view = seen.view
        try:
            action = view.parse_action(answer)
        except InvalidError as error:
            raise self._failed(error.message) from error
        if action not in view.legal_actions():
            refusal = find_refusal(view, action)
            raise self._failed(refusal.message, shape=view.shape())
        return action

    def _late(self) -> BotError:
        return self._failed(tell("it has not answered within {n} s", n=f"{self._timeout:g}"))

    def _failed(self, reason: str, *, shape: tuple[str, ...] = ()) -> BotError:
        return BotError(self._name, reason, shape=shape)

    # --- the end --------------------------------------------------------------------------------------------------

    def _kill(self) -> None:
        """Ends the program and all processes that it has started, at once."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # without the right to end it, it may live on
            process.wait(_FAREWELL)
        self._forget()

    def _forget(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    _pipe(pipe).close()
        if self._relay is not None:
            self._relay.join(_LAST_WORDS)
            self._relay = None


def _pass_on(pipe: IO[bytes]) -> None:
    """Copies what a program says to standard error, until it has ended with all processes that it has started."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with pipe:
        while data := os.read(pipe.fileno(), _MOST_BYTES):
            sys.stderr.write(printable(decoder.decode(data), "\n\t"))
            sys.stderr.flush()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _ending(code: int) -> str:
    if code < 0:
        return tell("it was ended by signal {n}", n=-code)
    return tell("it ended with exit code {n}", n=code)


def _silence(process: subprocess.Popen[bytes], left: float) -> str:
    """Describes why the output of a kept program has ended; `left` are the seconds that its decision still has."""
    try:
        return _ending(process.wait(max(0.0, min(left, _FAREWELL))))
    except subprocess.TimeoutExpired:  # it lives on, and nothing that it does can be an answer any more
        return tell("it has closed its output")
