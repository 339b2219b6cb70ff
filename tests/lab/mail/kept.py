"""The service's rows about mails, read from its database with plain SQL."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tests.support.mail.post_office import Letter


class KeptRow(NamedTuple):
    """A row of `incoming`."""

    name: str
    message_id: str
    state: str
    result: str


def kept_rows(data: Path) -> list[KeptRow]:
    """All mails that were kept, in order."""
    with closing(sqlite3.connect(f"file:{data / 'hkoji.sqlite3'}?mode=ro", uri=True, timeout=60)) as database:
        rows = database.execute("SELECT name, message_id, state, result FROM incoming ORDER BY number").fetchall()
    return [KeptRow(*row) for row in rows]


def count_kept(data: Path, state: str | None = None) -> int:
    """How many mails were kept, or are in that state now."""
    with closing(sqlite3.connect(f"file:{data / 'hkoji.sqlite3'}?mode=ro", uri=True, timeout=60)) as database:
        question = "SELECT count(*) FROM incoming WHERE ?1 IS NULL OR state = ?1"
        return int(database.execute(question, (state,)).fetchone()[0])


def evidence(data: Path) -> list[bytes]:
    """The mails behind entries."""
    with closing(sqlite3.connect(f"file:{data / 'hkoji.sqlite3'}?mode=ro", uri=True, timeout=60)) as database:
        return [row[0] for row in database.execute("SELECT raw FROM evidence")]


def unsent(data: Path, game: str) -> list[tuple[str, int, str]]:
    """The letters about a game that wait to be sent, but for reminders: the event, its number, and not before when."""
    with closing(sqlite3.connect(f"file:{data / 'hkoji.sqlite3'}?mode=ro", uri=True, timeout=60)) as database:
        question = "SELECT event, seq, not_before FROM outbox WHERE game = ? AND event NOT LIKE 'remind%'"
        return database.execute(question, (game,)).fetchall()


def lost_or_doubled(data: Path, sent: Iterable[str]) -> list[str]:
    """Complaints about mails that are not kept exactly once, or not done, and mails behind two entries."""
    rows = kept_rows(data)
    counts = Counter(row.message_id for row in rows)
    wrong = [f"{each} was kept {counts[each]} times" for each in sent if counts[each] != 1]
    wrong += [f"{row.message_id} of {row.name} is {row.state}: {row.result}" for row in rows if row.state != "done"]
    behind = Counter(Letter(raw).id for raw in evidence(data))
    return wrong + [f"{each} is behind {count} entries" for each, count in behind.items() if count > 1]
