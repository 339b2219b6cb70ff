"""The floor of a durable move: its rows written by plain sqlite3, one transaction a move, and nothing else.

The tables, indices and settings are those of the store's own file, and the bytes those of real moves. It writes what
the store writes: it updates the game's row if the head is the expected one, and adds the entries and openings.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from hkoji_server.store.game_values import Append

ADVANCE = (
    "UPDATE game SET seq = ?, head = ?, round = ?, actor = ?, to_move = ?, updated = ?"
    " WHERE game = ? AND seq = ? AND head = ?"
)
ADD_ENTRY = "INSERT INTO entry (game, seq, text, sig, receipt, receipt_sig) VALUES (?, ?, ?, ?, ?, ?)"
ADD_OPENING = "INSERT INTO opening (game, seq, part, cards, salt) VALUES (?, ?, ?, ?, ?)"


class Rows(NamedTuple):
    """A move's rows, as the driver takes them."""

    place: tuple[object, ...]
    entries: list[tuple[object, ...]]
    openings: list[tuple[object, ...]]


def rows_of(append: Append) -> Rows:
    """The rows that the raw loop writes for a move."""
    after, game = append.summary, append.game
    place = (after.seq, after.head, after.round, after.actor, after.to_move, after.updated)
    entries: list[tuple[object, ...]] = []
    for line in append.lines:
        assert line.receipt is not None
        receipt = line.receipt
        entries.append((game, line.entry.seq, line.entry.text, line.sig, receipt.receipt.text, receipt.sig))
    openings: list[tuple[object, ...]] = [
        (game, each.seq, each.part, each.cards, each.salt) for each in append.openings
    ]
    return Rows((*place, game, append.seq, append.head), entries, openings)


class Floor(Protocol):
    """A writer of moves that does nothing else."""

    def write(self, moves: Iterable[Rows]) -> int:
        """Writes moves, each in its own durable transaction. Returns how many."""

    def database_seconds(self) -> float:
        """The processor time that a database server beside the process has used so far."""


class RawMoves:
    """Plain sqlite3 on a file that the store has made."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = wal", "synchronous = full", "foreign_keys = 1"):
            self._connection.execute(f"PRAGMA {pragma}")

    def write(self, moves: Iterable[Rows]) -> int:
        """Writes moves, each in its own durable transaction. Returns how many."""
        execute, number = self._connection.execute, 0
        for place, entries, openings in moves:
            execute("BEGIN IMMEDIATE")
            assert execute(ADVANCE, place).rowcount == 1
            for entry in entries:
                execute(ADD_ENTRY, entry)
            for opening in openings:
                execute(ADD_OPENING, opening)
            execute("COMMIT")
            number += 1
        return number

    def database_seconds(self) -> float:
        """Zero: there is no database server."""
        return 0.0

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()
