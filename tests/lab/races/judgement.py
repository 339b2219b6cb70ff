"""Compares the final logs of raced games, read with independent SQL, with the answers that the clients got.

Every line was acknowledged, to the byte, and every acknowledged line is there. Each player's entry was accepted once.
Every head named by a refusal was a head at some time. Each log consists of complete transactions by the naive ledger,
and the audit accepts it.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg

from hkoji.audit.keyring import ExpectedKeys
from hkoji.audit.log_audit import audit
from tests.lab.races.clients import Told, digest
from tests.support.ledger import Dump, half_done

Ask = Callable[[str, Sequence[object]], list[tuple[Any, ...]]]
"""Rows of a query with `?` for its parameters."""

_TABLES = {
    "entry": (2, "game, seq, text, sig, receipt, receipt_sig"),
    "opening": (3, "game, seq, part, cards, salt"),
    "game": (1, "game, seq, head, status, host, guest, to_move"),
    "secret": (1, "game, offered_to, seed"),
    "statement": (4, "game, head, kind, name, seconds, sig"),
}


def asking(where: Path | str) -> Ask:
    """Reads an SQLite file, or the PostgreSQL database at a URL."""
    if isinstance(where, Path):
        connection = sqlite3.connect(f"file:{where}?mode=ro", uri=True)
        return lambda query, values: connection.execute(query, values).fetchall()
    server = psycopg.connect(where.replace("+psycopg", "", 1), autocommit=True)

    def ask(query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return server.execute(query.replace("?", "%s").encode(), values).fetchall()

    weakref.finalize(ask, server.close)
    return ask


def strays(ask: Ask, told: Mapping[str, Told]) -> Iterator[str]:
    """Rows in the database that belong to no known game."""
    for table in _TABLES:
        ((games,),) = ask(f"SELECT count(DISTINCT game) FROM {table}", ())
        if games > len(told) or (table not in ("opening", "statement") and games != len(told)):
            yield f"there are {games} games in {table}, and {len(told)} were played"


def judged(ask: Ask, told: Mapping[str, Told], pins: ExpectedKeys) -> Iterator[str]:
    """The faults found."""
    for game, known in told.items():
        dump = _dump(ask, game)
        rows = [dump["entry"][key] for key in sorted(dump["entry"])]
        standing = {seq: digest(*row) for seq, row in enumerate(rows)}
        if standing != known.lines:
            places = sorted(seq for seq in {*standing, *known.lines} if standing.get(seq) != known.lines.get(seq))
            yield f"{game}: entries {places} are not those that were acknowledged"
        sent = {row[0] for seq, row in enumerate(rows) if known.lines.get(seq) == standing[seq]}
        yield from half_done(dump, sent.__contains__)
        yield from _heads(game, [row[0] for row in rows], known)
        result = audit("".join(map(_line, rows)), pins)
        if not result.ok or result.holds != len(rows):
            yield f"{game}: {result.findings}"


def _heads(game: str, texts: list[str], known: Told) -> Iterator[str]:
    """Checks the named heads.

    Only the last entry of a transaction is ever a head: the service's entries come in the transaction of the entry that
    causes them.
    """
    by_server = [json.loads(text)["by"] == "server" for text in texts]
    standing = {
        (seq, sha256(f"{text}\n".encode()).hexdigest())
        for seq, text in enumerate(texts)
        if seq + 1 == len(texts) or not by_server[seq + 1]
    }
    if false := known.heads - standing:
        yield f"{game}: refusals named heads that have never been: {sorted(false)}"
    if (players := by_server.count(False)) != known.accepted:
        yield f"{game}: {players} entries of players, of which {known.accepted} were accepted"


def _dump(ask: Ask, game: str) -> Dump:
    found: Dump = {"service": {}}
    for table, (width, columns) in _TABLES.items():
        order = ", ".join(map(str, range(1, width + 1)))
        rows = ask(f"SELECT {columns} FROM {table} WHERE game = ? ORDER BY {order}", (game,))
        found[table] = {row[:width]: tuple(map(_plain, row[width:])) for row in rows}
    return found


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview | bytearray) else value


def _line(row: tuple[Any, ...]) -> str:
    text, sig, receipt, receipt_sig = row
    signed = {"sig": base64.b64encode(receipt_sig).decode(), "text": receipt}
    line = {"entry": text, "receipt": signed, "sig": base64.b64encode(sig).decode()}
    return json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n"


def merged(parts: Iterable[Mapping[str, Told]]) -> dict[str, Told]:
    """The games of several clients, none of which share one."""
    found: dict[str, Told] = {}
    for part in parts:
        assert not found.keys() & part.keys()
        found.update(part)
    return found
