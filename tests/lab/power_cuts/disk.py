"""Power cuts: the possible contents of a disk when the power goes, made from a record of SQLite's writes.

The model: everything written before a completed sync of the file is there. Of later writes, each may be there or not,
completely or in parts of 512 or 4096 bytes, in any order, with other bytes in the place that was being written; and the
file may or may not have its new length. A new or a deleted name is certain once the folder has been synced. The
shared-memory file (`-shm`) is gone.
"""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.sqlite_files import Call

CHOICES: Final = (
    "nothing",
    "everything",
    "first part",
    "some",
    "one lacking",
    "only one",
    "sectors",
    "pages",
    "garbage",
)
"""The fate of writes that have not been synced."""

_SECTOR: Final = 512
_PAGE: Final = 4096


@dataclass
class Recorder:
    """An observer that records all operations that change files, in order. `position` is the length of the record."""

    log: list[Call] = field(default_factory=list)
    _folders: dict[int, bool] = field(default_factory=dict)

    @property
    def position(self) -> int:
        return len(self.log)

    def before(self, call: Call) -> int:
        return 0

    def after(self, call: Call) -> None:
        thread = threading.get_ident()
        if call.what == "folder":
            self._folders[thread] = True  # part of a sync or a deletion, which it completes
        elif call.what in ("open", "write", "truncate", "sync", "delete"):
            self.log.append(call)
            if self._folders.pop(thread, False):
                self.log.append(Call("folder", ""))


class Content:
    """The certain contents of a file, and the writes that may be lost."""

    def __init__(self, data: bytes = b"") -> None:
        self.sure = bytearray(data)
        self.pending: list[Call] = []

    def sync(self) -> None:
        """Makes the pending writes certain."""
        for call in self.pending:
            _apply(self.sure, call)
        self.pending.clear()

    def image(self, rng: random.Random, choice: str) -> bytes:
        """The possible contents after a power cut now."""
        data = bytearray(self.sure)
        calls = list(self.pending)
        if not calls:
            return bytes(data)
        if choice == "nothing":
            return bytes(data)
        if choice == "first part":
            calls = calls[: rng.randrange(len(calls) + 1)]
        elif choice == "some":
            share = rng.choice((0.1, 0.5, 0.9))
            calls = [call for call in calls if rng.random() < share]
            rng.shuffle(calls)
        elif choice == "one lacking":
            del calls[rng.randrange(len(calls))]
        elif choice == "only one":
            calls = [rng.choice(calls)]
        elif choice in ("sectors", "pages", "garbage"):
            calls = _torn(calls, rng, _PAGE if choice == "pages" else _SECTOR, garbage=choice == "garbage")
            if rng.random() < 0.5:
                rng.shuffle(calls)
        for call in calls:
            _apply(data, call)
        longest = max([len(self.sure), *(call.offset + len(call.data) for call in self.pending)])
        if len(data) < longest and rng.random() < 0.5:
            data.extend(bytes(longest - len(data)))
        return bytes(data)


def _torn(calls: list[Call], rng: random.Random, size: int, *, garbage: bool) -> list[Call]:
    """Parts of the writes, cut at the disk's sectors or the system's pages; nothing outside of them changes."""
    share = rng.choice((0.1, 0.5, 0.9, 0.98))
    parts = []
    for call in calls:
        if call.what == "truncate":
            parts.extend([call] * (rng.random() < share))
            continue
        start, end = call.offset, call.offset + len(call.data)
        while start < end:
            stop = min(end, (start // size + 1) * size)
            if rng.random() < share:
                parts.append(Call("write", call.name, start, call.data[start - call.offset : stop - call.offset]))
            elif garbage and rng.random() < 0.5:
                parts.append(Call("write", call.name, start, rng.randbytes(stop - start)))
            start = stop
    return parts


def _apply(data: bytearray, call: Call) -> None:
    if call.what == "truncate":
        del data[call.offset :]
        data.extend(bytes(call.offset - len(data)))
        return
    if len(data) < call.offset:
        data.extend(bytes(call.offset - len(data)))
    data[call.offset : call.offset + len(call.data)] = call.data


class Disk:
    """The folder's files while a record is replayed. `start` is what was on disk before it, all of it certain."""

    def __init__(self, start: dict[str, bytes]) -> None:
        self.names = {name: Content(data) for name, data in start.items()}
        self._sure = dict(self.names)
        self._renamed: list[tuple[str, Content | None]] = []

    def apply(self, call: Call) -> None:
        """Replays the next operation of the record."""
        if call.what == "open":
            if call.name not in self.names:
                self.names[call.name] = Content()
                self._renamed.append((call.name, self.names[call.name]))
        elif call.what in ("write", "truncate"):
            self.names[call.name].pending.append(call)
        elif call.what == "sync":
            self.names[call.name].sync()
        elif call.what == "delete":
            del self.names[call.name]
            self._renamed.append((call.name, None))
        elif call.what == "folder":
            self._sure = dict(self.names)
            self._renamed.clear()

    @property
    def uncertain(self) -> bool:
        """Whether a power cut now may have more than one result."""
        return bool(self._renamed) or any(content.pending for content in self.names.values())

    def image(self, rng: random.Random, choice: str) -> dict[str, bytes]:
        """Files that may be found after a power cut now."""
        names = dict(self._sure)
        for name, content in self._renamed[: rng.randrange(len(self._renamed) + 1)]:
            if content is None:
                names.pop(name, None)
            else:
                names[name] = content
        return {name: content.image(rng, choice) for name, content in names.items()}


def write_folder(folder: Path, files: dict[str, bytes]) -> None:
    """Exactly these files."""
    folder.mkdir(exist_ok=True)
    for each in folder.iterdir():
        if each.name not in files:
            each.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)
