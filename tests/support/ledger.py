"""The acknowledgements of a service to its clients, compared with the database afterwards.

The database is read from disk with independent SQL. It is judged by a naive reading of docs/spec/log.md that shares
nothing with the store, the referee or the log package.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

Row = tuple[Any, ...]  # Any: column values
Dump = dict[str, dict[Row, Row]]
"""Rows by table and key."""

_QUERIES: Final = {
    "entry": (2, "SELECT game, seq, text, sig, receipt, receipt_sig FROM entry ORDER BY game, seq"),
    "opening": (3, "SELECT game, seq, part, cards, salt FROM opening ORDER BY game, seq, part"),
    "game": (1, "SELECT game, seq, head, status, host, guest, to_move FROM game"),
    "secret": (1, "SELECT game, offered_to, seed FROM secret"),
    "statement": (4, "SELECT game, head, kind, name, seconds, sig FROM statement"),
    "player": (1, "SELECT name, text, sig FROM player"),
    "token": (1, "SELECT digest, name FROM token"),
    "challenge": (1, "SELECT digest, expires FROM challenge"),
    "service": (1, "SELECT id, private_key FROM service"),
}


class Fact(NamedTuple):
    """A row that must exist, and what it must begin with; if `there` is False, a row that must not exist.

    `since` is the number of writes recorded when it was acknowledged.
    """

    table: str
    key: Row
    row: Row
    since: int = 0
    there: bool = True


def dumped(where: Path | str) -> Dump:
    """The contents of all tables of a SQLite file or a PostgreSQL database."""
    connection: Any = sqlite3.connect(where) if isinstance(where, Path) else connected(where)  # Any: either driver's
    try:
        connection.execute("BEGIN" if isinstance(where, Path) else "BEGIN ISOLATION LEVEL REPEATABLE READ")
        return {
            table: {row[:width]: row[width:] for row in connection.execute(query)}
            for table, (width, query) in _QUERIES.items()
        }
    finally:
        connection.close()


def connected(url: str) -> Any:  # Any: a connection, of a driver that only these tests need
    """A connection to a PostgreSQL database, independent of the store's."""
    import psycopg

    return psycopg.connect(url.replace("+psycopg", ""), autocommit=True)


def everything(where: Path | str) -> list[str]:
    """All rows of all tables, as texts."""
    if isinstance(where, str):
        with connected(where) as server:
            names = [name for (name,) in server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
            return sorted(f"{name} {row}" for name in names for row in server.execute(f"SELECT * FROM {name}"))
    file = sqlite3.connect(where)
    try:
        return list(file.iterdump())
    finally:
        file.close()


class ContradictionError(Exception):
    """The service has contradicted itself."""


@dataclass
class Ledger:
    """All facts that were acknowledged, each as it first was, and the texts of all entries that were sent."""

    known: dict[tuple[str, Row, bool], Fact] = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def facts(self) -> list[Fact]:
        """All facts so far."""
        with self.lock:
            return list(self.known.values())

    def add(self, facts: Iterable[Fact]) -> None:
        """Keeps what was acknowledged or shown. Raises `ContradictionError` if an earlier answer differs."""
        with self.lock:
            for fact in facts:
                before = self.known.setdefault((fact.table, fact.key, fact.there), fact)
                if before.row != fact.row:
                    raise ContradictionError(f"{fact.table} {fact.key} is not what it was")

    def sending(self, text: str) -> None:
        """Notes that an entry is about to be sent."""
        with self.lock:
            self.sent.add(text)


def lines_told(lines: Iterable[dict[str, Any]], since: int = 0) -> Iterator[Fact]:  # Any: JSON
    """The facts in lines with receipts."""
    for line in lines:
        entry = json.loads(line["entry"])
        receipt = line["receipt"]
        row = (line["entry"], base64.b64decode(line["sig"]), receipt["text"], base64.b64decode(receipt["sig"]))
        yield Fact("entry", (entry["game"], entry["seq"]), row, since)


def openings_told(game: str, openings: Iterable[dict[str, Any]], since: int = 0) -> Iterator[Fact]:  # Any: JSON
    """The facts in openings that came with an entry that has been acknowledged."""
    for each in openings:
        yield Fact("opening", (game, each["seq"], each["part"]), (each["cards"], each["salt"]), since)


def lost(dump: Dump, facts: Iterable[Fact]) -> Iterator[str]:
    """The acknowledged facts that are missing or changed. A gift may be in the log instead."""
    for fact in facts:
        found = dump[fact.table].get(fact.key)
        if found is None and fact.table == "statement" and gone_into_log(dump, fact.key, fact.row):
            continue
        if not fact.there:
            if found is not None:
                yield f"{fact.table} {fact.key} was used up and is there again"
        elif found is None:
            yield f"{fact.table} {fact.key} was acknowledged and is lost"
        elif found[: len(fact.row)] != fact.row:
            yield f"{fact.table} {fact.key} was acknowledged and has changed"


def half_done(dump: Dump, sent: Callable[[str], bool] = lambda _: True) -> Iterator[str]:
    """Every state that no sequence of complete transactions can leave behind.

    `sent` says whether players have sent an entry.
    """
    games: dict[str, list[str]] = {}
    for (game, seq), row in dump["entry"].items():
        texts = games.setdefault(game, [])
        if seq != len(texts):
            yield f"entry {seq} of {game} follows entry {len(texts) - 1}"
        texts.append(row[0])
        if (head := _head(row[0])) != _receipt(row[2])["head"]:
            yield f"entry {seq} of {game} has another's receipt: {head}"
    for table in ("game", "secret"):
        if set(games) != {key[0] for key in dump[table]}:
            yield f"games with entries and rows of {table} are not the same"
    committed: set[Row] = set()
    for game, texts in games.items():
        yield from _chain(game, texts, sent)
        yield from _summary(game, texts, dump["game"].get((game,)))
        for seq, text in enumerate(texts):
            for part, commitment in enumerate(_commitments(text)):
                committed.add((game, seq, part))
                opening = dump["opening"].get((game, seq, part))
                if opening is None or _commitment(game, seq, part, *opening) != commitment:
                    yield f"the opening of entry {seq}, part {part}, of {game} is missing or another"
        yield from _gifts(game, texts, dump["statement"])
    if strays := set(dump["opening"]) - committed:
        yield f"openings without entries: {sorted(strays)}"
    if len(dump["service"]) > 1:
        yield "two identities"


def _chain(game: str, texts: list[str], sent: Callable[[str], bool]) -> Iterator[str]:
    before, at = "0" * 64, ""
    for seq, text in enumerate(texts):
        entry = _entry(text)
        if (entry["game"], entry["seq"], entry["prev"]) != (game, seq, before):
            yield f"entry {seq} of {game} does not follow the one before"
        if entry["by"] != "server" and not sent(text):
            yield f"entry {seq} of {game} was sent by nobody"
        if entry["by"] == "server" and entry["at"] < at:
            yield f"time runs backwards at entry {seq} of {game}"
        before, at = _head(text), entry["at"] if entry["by"] == "server" else at
    kinds = [_entry(text)["kind"] for text in texts]
    if kinds[-1] in ("resign", "cancel"):
        yield f"{game} stops at a {kinds[-1]}, and what the server owes is missing"


def _gifts(game: str, texts: list[str], statements: dict[Row, Row]) -> Iterator[str]:
    """A gift that is kept is for the entry that is due, or stands behind the entry that it was for.

    At the end of a game all statements go.
    """
    over = any(_entry(text)["kind"] == "end" for text in texts)
    for (of, head, kind, name), row in statements.items():
        if of != game:
            continue
        if over:
            yield f"a statement of {name} about {game} is kept, and the game is over"
        elif kind == "give" and head != _head(texts[-1]) and not _was_credited(texts, head, row[0]):
            yield f"the {row[0]} s that {name} has given at {head} of {game} are not in the log with the next entry"


def gone_into_log(dump: Dump, key: Row, row: Row) -> bool:
    """Whether a gift that is not kept any more is in the log. All of a game's gifts go at its end."""
    texts = [entry[0] for place, entry in sorted(dump["entry"].items()) if place[0] == key[0]]
    return _was_credited(texts, key[1], row[0])


def _was_credited(texts: list[str], head: str, seconds: int) -> bool:
    """Whether a gift at a head was credited, or the next entry was one that needs none."""
    entries = [*map(_entry, texts), {"kind": None}]
    number = next((number for number, text in enumerate(texts) if _entry(text)["prev"] == head), None)
    if number is None:
        return False
    if entries[number]["kind"] not in ("seed", "move"):
        return True
    then = entries[number + 1]
    gift = then["body"]["gift"] if then["kind"] == "credit" else None
    return gift is not None and (gift["head"], gift["seconds"]) == (head, seconds)


_STATUSES = {"cancel": "cancelled", "end": "finished", "join": "playing", "open": "open"}
"""The status of a game, by the first of these kinds that its log has."""


def _summary(game: str, texts: list[str], row: Row | None) -> Iterator[str]:
    if row is None:
        return
    seq, head, status, host, guest, _ = row
    by_kind = {entry["kind"]: entry for text in texts if (entry := _entry(text))["kind"] in _STATUSES}
    expected = (
        len(texts) - 1,
        _head(texts[-1]),
        by_kind["open"]["by"] if "open" in by_kind else None,
        by_kind["join"]["by"] if "join" in by_kind else None,
    )
    if (seq, head, host, guest) != expected:
        yield f"the list says {(seq, head, host, guest)} of {game}, and its log {expected}"
    wanted = next((status for kind, status in _STATUSES.items() if kind in by_kind), "offered")
    if status != wanted:
        yield f"the list says that {game} is {status}, and its log that it is {wanted}"


@lru_cache(maxsize=20_000)
def _entry(text: str) -> dict[str, Any]:  # Any: JSON
    return dict(json.loads(text))


@lru_cache(maxsize=20_000)
def _receipt(text: str) -> dict[str, Any]:  # Any: JSON
    return dict(json.loads(text))


@lru_cache(maxsize=20_000)
def _head(text: str) -> str:
    return sha256(text.encode() + b"\n").hexdigest()


def _commitments(text: str) -> tuple[str, ...]:
    entry = _entry(text)
    return tuple(entry["body"].get("commit", ())) if entry["kind"] == "move" else ()


@lru_cache(maxsize=20_000)
def _commitment(game: str, seq: int, part: int, cards: str, salt: str) -> str:
    return sha256(f"hkoji.hidden.v1\n{game}\n{seq}\n{part}\n{cards}\n{salt}\n".encode()).hexdigest()
