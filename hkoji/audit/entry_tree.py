"""The entries of one game in a file of evidence, as the tree that their hashes make of them.

docs/spec/evidence.md, "Judgement". Signatures, and whether an entry may stand where it does, are not checked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from hkoji.errors import HkojiError
from hkoji.game.entry_kinds import EntryBody, parse_body
from hkoji.log.entry import GENESIS, Entry
from hkoji.log.line import Line


class EntryTree:
    """The entries of one game in a file, as a tree. `lines` are in the order of the file."""

    def __init__(self, game: str, lines: Iterable[Line]) -> None:
        self._lines: Final[dict[str, list[Line]]] = {}
        self._parents: Final[set[str]] = set()
        self._bodies: Final[dict[str, EntryBody | None]] = {}
        for line in lines:
            if line.entry.game == game:
                self._lines.setdefault(line.entry.head, []).append(line)
                self._parents.add(line.entry.prev)

    def __iter__(self) -> Iterator[Entry]:
        return (lines[0].entry for lines in self._lines.values())

    def find(self, head: str) -> Entry | None:
        """The entry with that head."""
        lines = self._lines.get(head)
        return lines[0].entry if lines else None

    def body(self, entry: Entry) -> EntryBody | None:
        """The parsed body of an entry; None if it is not understood."""
        if entry.head not in self._bodies:
            try:
                self._bodies[entry.head] = parse_body(entry.kind, entry.body)
            except HkojiError:
                self._bodies[entry.head] = None
        return self._bodies[entry.head]

    def lines(self, head: str) -> list[Line]:
        """All lines that hold an entry, each with a signature and perhaps a receipt."""
        return self._lines[head]

    def ends(self) -> Iterator[str]:
        """The heads of the entries that no other entry follows."""
        return (head for head in self._lines if head not in self._parents)

    def path(self, head: str) -> tuple[str, ...] | None:
        """The heads from an offer to `head`; None if an entry between them is missing."""
        path: list[str] = []
        while (entry := self.find(head)) is not None and len(path) <= len(self._lines):
            path.append(head)
            if entry.prev == GENESIS:
                return tuple(reversed(path)) if entry.seq == 0 else None
            head = entry.prev
        return None
