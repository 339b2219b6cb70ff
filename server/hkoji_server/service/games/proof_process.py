"""The process that checks proofs for a service: checks come in by its standard input, verdicts go out by its output.

Each is a pickle behind its length in four bytes. `hkoji_server.service.games.proof_worker` is the other end; nobody
else writes to these pipes. The process ends when its input does, so it does not outlive the service.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, TypeAlias

from hkoji.errors import HkojiError

if TYPE_CHECKING:
    from hkoji.game.proving import ProofCheck
    from hkoji.sealed.group import Combine

LENGTH: Final = struct.Struct("!I")
_NICE: Final = 10
"""The service itself goes first where there are fewer processors than work."""


class Refusal(NamedTuple):
    """An error of the project, which cannot be pickled itself: its class, and all its attributes."""

    kind: type[HkojiError]
    attributes: dict[str, Any]  # Any: by name

    def error(self) -> HkojiError:
        """Returns the error."""
        made = self.kind.__new__(self.kind, self.attributes["message"])
        vars(made).update(self.attributes)
        return made


class Failure(NamedTuple):
    """Another exception: its class and its line."""

    cause: str


Verdict: TypeAlias = Refusal | Failure | None
"""None if all proofs hold."""


def frame(value: object) -> bytes:
    """Returns what is sent for a value."""
    pickled = pickle.dumps(value)
    return LENGTH.pack(len(pickled)) + pickled


def judge(checks: Sequence[ProofCheck], combine: Combine) -> Verdict:
    """Makes the checks in their order."""
    try:
        for check in checks:
            check(combine)
    except HkojiError as error:
        return Refusal(type(error), vars(error))
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = "" if trace is None else f" in {trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}"
        return Failure(type(error).__name__ + place)
    return None


def _serve(checks: BinaryIO, verdicts: BinaryIO) -> None:
    from hkoji.sealed.sodium import quickest  # a service without sealed games loads none of it

    combine = quickest()
    while len(head := checks.read(LENGTH.size)) == LENGTH.size:
        pickled = checks.read(*LENGTH.unpack(head))
        verdicts.write(frame(judge(pickle.loads(pickled), combine)))  # noqa: S301 # from the service itself
        verdicts.flush()


def main() -> None:
    """Checks proofs until the input ends."""
    with suppress(OSError, AttributeError):  # not every system has it
        os.nice(_NICE)
    verdicts = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no verdict
    with suppress(BrokenPipeError):
        _serve(sys.stdin.buffer, verdicts)
