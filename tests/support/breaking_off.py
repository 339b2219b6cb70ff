"""Every way in which a command of a client can break off: at a request, or at a write to the player's home."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest.mock import patch

from hkoji.client import identity
from hkoji.client.kept import evidence, files
from hkoji.client.kept import game as vault
from hkoji.client.kept import sealed as sealed_keys
from hkoji.errors import NetworkError
from tests.support.interrupted_players import Hall
from tests.support.memory_service import MemoryService

_WRITE, _APPEND = files.write_file, files.append_lines


class KilledError(Exception):
    """The process ends here: no code of the client runs any more."""


def _broken() -> NetworkError:
    return NetworkError("http://service", "it broke")


WAYS: Final[Sequence[tuple[str, Callable[[], Exception]]]] = (
    ("before", KilledError), ("before", _broken), ("after", KilledError), ("after", _broken), ("write", KilledError),
)  # fmt: skip
"""Where a command breaks off, and by which error: before or after a request is answered, or before a write."""


def quiet(*_: object) -> None:
    """A hook that does nothing."""


@contextmanager
def before_writes(step: Callable[[Path], object], *, torn: bool = True) -> Iterator[None]:
    """Calls `step` before each write to a home. If it ends the process, half of what is added to a file may be there.

    With `torn` it is there.
    """

    def write(path: Path, data: bytes, **options: bool) -> None:
        step(path)
        _WRITE(path, data, **options)

    def append(path: Path, lines: bytes, **options: bool) -> None:
        try:
            step(path)
        except KilledError:
            if torn:
                with path.open("ab") as file:
                    file.write(lines[: len(lines) // 2])
            raise
        _APPEND(path, lines, **options)

    with (
        patch.object(files, "write_file", write),
        patch.object(identity, "write_file", write),
        patch.object(sealed_keys, "write_file", write),
        patch.object(vault, "append_lines", append),
        patch.object(evidence, "append_lines", append),
    ):
        yield


@dataclass
class _Steps:
    """Counts steps down, and breaks off at the last one."""

    left: int
    error: Callable[[], Exception]

    def take(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise self.error()


def breaks(service: MemoryService | Hall, prepare: Callable[[], object], act: Callable[[], object]) -> Iterator[None]:
    """Every way in which `act` can break off, each after a new `prepare`."""
    for when, error in WAYS:
        at = 0
        while True:
            at += 1
            prepare()
            steps = _Steps(at, error)
            if when != "write":
                setattr(service, when, steps.take)
            try:
                with before_writes(steps.take if when == "write" else quiet):
                    act()
            except (KilledError, NetworkError):
                assert steps.left <= 0
            service.before = service.after = quiet
            if steps.left > 0:
                break
            yield
