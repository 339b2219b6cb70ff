"""The store on one SQLite file.

WAL with `synchronous=FULL`: NORMAL would lose acknowledged moves in a power cut. The settings are read back at start,
and the store does not open if they did not take. Reads run on one connection of their own, directly where they are
asked for: a game is a few dozen rows side by side, found by key in tens of microseconds, less than a thread switch.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    bindparam,
    create_engine,
    delete,
    event,
    insert,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from hkoji.errors import ConflictError, HkojiError, StorageError
from hkoji.game.hidden import Opening
from hkoji.log.entry import parse_entry
from hkoji.log.line import Line, SignedReceipt
from hkoji.log.receipt import parse_receipt
from hkoji_server.store.contract import Append, NewGame, Player, Query, Secrets, Summary
from hkoji_server.store.migrate import migrate
from hkoji_server.store.tables import (
    ChallengeRecord,
    EntryRecord,
    GameRecord,
    OpeningRecord,
    PlayerRecord,
    SecretRecord,
    ServiceRecord,
    TokenRecord,
)
from hkoji_server.store.writer import Writer

_TABLES: Final = GameRecord.metadata.tables
SERVICE = _TABLES[str(ServiceRecord.__tablename__)]
PLAYER = _TABLES[str(PlayerRecord.__tablename__)]
CHALLENGE = _TABLES[str(ChallengeRecord.__tablename__)]
TOKEN = _TABLES[str(TokenRecord.__tablename__)]
GAME = _TABLES[str(GameRecord.__tablename__)]
SECRET = _TABLES[str(SecretRecord.__tablename__)]
ENTRY = _TABLES[str(EntryRecord.__tablename__)]
OPENING = _TABLES[str(OpeningRecord.__tablename__)]

_Row = tuple[Any, ...]  # Any: a row has the columns that were asked for
_Values = dict[str, Any]  # Any: column values

_PRAGMAS: Final = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10_000}
_SUMMARY: Final = tuple(Summary.__dataclass_fields__)

# Compare-and-swap: the row changes only if the game still stands where the writer believed it to stand.
_ADVANCE: Final = (
    update(GAME)
    .where(GAME.c.game == bindparam("b_game"), GAME.c.seq == bindparam("b_seq"), GAME.c.head == bindparam("b_head"))
    .values({name: bindparam(f"s_{name}") for name in _SUMMARY if name not in ("game", "created")})
)


class SqliteStore:
    """`Store` on the file at `path`, which is made if missing. Raises `StorageError` if it cannot be used."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The file holds private keys and cards: nobody else on the machine may read it.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise StorageError(
                f"cannot use {path}: {error.strerror}", hint="give another folder with --data"
            ) from error
        self._engine = create_engine(
            f"sqlite:///{path}", poolclass=NullPool, connect_args={"check_same_thread": False, "timeout": 10}
        )
        event.listen(self._engine, "connect", _configure)
        try:
            with self._engine.connect() as connection:
                _check_settings(connection)
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                migrate(connection)
                connection.commit()
            self._read = self._engine.connect()
            self._read.exec_driver_sql("PRAGMA query_only = 1")
        except DBAPIError as error:
            raise StorageError(f"cannot use {path}: {error.orig}", hint="is it an hkoji database?") from error
        self._lock = threading.Lock()
        self._writer = Writer(self._engine.connect, "BEGIN IMMEDIATE")

    def close(self) -> None:
        """Finishes what was begun, moves the write-ahead log into the file, and closes it."""
        self._writer.close()
        with self._lock:
            self._read.close()
        with self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        self._engine.dispose()

    # --- service and players --------------------------------------------------------------------------------------

    def identity(self) -> tuple[str, str] | None:
        """The service's OpenSSH private key text and its origin; None in a new store."""
        row = self._one(select(SERVICE.c.private_key, SERVICE.c.origin))
        return (row[0], row[1]) if row else None

    async def set_identity(self, key: str, origin: str) -> None:
        """Keeps key and origin, if there are none yet; else only the origin changes."""

        def work(connection: Connection) -> None:
            if not connection.execute(update(SERVICE).values(origin=origin)).rowcount:
                connection.execute(insert(SERVICE).values(id=1, private_key=key, origin=origin))

        await self._writer.run(work)

    def player(self, name: str) -> Player | None:
        """A registered player."""
        row = self._one(select(*PLAYER.c).where(PLAYER.c.name == name))
        return Player(*row) if row else None

    async def add_player(self, player: Player) -> Player | None:
        """Registers. Returns the player that holds the name or the key already, or None if it is done."""

        def work(connection: Connection) -> Player | None:
            found = select(*PLAYER.c).where(or_(PLAYER.c.name == player.name, PLAYER.c.key == player.key))
            row = connection.execute(found.order_by(PLAYER.c.name != player.name)).first()
            if row:
                return Player(*row)
            values = {name: getattr(player, name) for name in Player.__dataclass_fields__}
            connection.execute(insert(PLAYER).values(values))
            return None

        return await self._writer.run(work)

    # --- logins ---------------------------------------------------------------------------------------------------

    async def add_challenge(self, digest: str, expires: str) -> None:
        """Keeps a login challenge by its digest."""
        await self._writer.run(
            lambda connection: connection.execute(insert(CHALLENGE).values(digest=digest, expires=expires)).rowcount
        )

    async def take_challenge(self, digest: str, now: str) -> bool:
        """Uses a challenge up, and forgets those that have expired. False if there is none that is still good."""

        def work(connection: Connection) -> bool:
            good = delete(CHALLENGE).where(CHALLENGE.c.digest == digest, CHALLENGE.c.expires > now)
            taken = connection.execute(good).rowcount == 1
            connection.execute(delete(CHALLENGE).where(CHALLENGE.c.expires <= now))
            return taken

        return await self._writer.run(work)

    async def add_token(self, digest: str, name: str, expires: str) -> None:
        """Keeps a login token by its digest."""
        await self._writer.run(
            lambda connection: (
                connection.execute(insert(TOKEN).values(digest=digest, name=name, expires=expires)).rowcount
            )
        )

    async def drop_token(self, digest: str) -> None:
        """Forgets a token."""
        await self._writer.run(
            lambda connection: connection.execute(delete(TOKEN).where(TOKEN.c.digest == digest)).rowcount
        )

    def token(self, digest: str, now: str) -> str | None:
        """Whose token it is, if it is still good."""
        row = self._one(select(TOKEN.c.name).where(TOKEN.c.digest == digest, TOKEN.c.expires > now))
        return row[0] if row else None

    # --- games ----------------------------------------------------------------------------------------------------

    async def add_game(self, new: NewGame) -> None:
        """Keeps a new game."""

        def work(connection: Connection) -> None:
            connection.execute(insert(GAME), _summary_values(new.summary))
            game = new.summary.game
            connection.execute(insert(SECRET), {"game": game, "seed": new.seed, "offered_to": new.offered_to})
            connection.execute(insert(ENTRY), [_entry_values(new.line)])

        await self._writer.run(work)

    async def append(self, append: Append) -> None:
        """Appends, or raises `ConflictError` with the current head and changes nothing."""
        values = {f"s_{name}": value for name, value in _summary_values(append.summary).items()}
        values.update(b_game=append.game, b_seq=append.seq, b_head=append.head)
        del values["s_game"], values["s_created"]
        entries = [_entry_values(line) for line in append.lines]
        openings = [
            {"game": append.game, "seq": o.seq, "part": o.part, "cards": o.cards, "salt": o.salt}
            for o in append.openings
        ]

        def work(connection: Connection) -> None:
            if connection.execute(_ADVANCE, values).rowcount != 1:
                row = connection.execute(_HEAD, {"b_game": append.game}).first()
                seq, head = (row[0], row[1]) if row else (-1, "")
                raise ConflictError(append.game, seq=seq, head=head)
            connection.execute(insert(ENTRY), entries)
            if openings:
                connection.execute(insert(OPENING), openings)

        await self._writer.run(work)

    def head(self, game: str) -> tuple[int, str] | None:
        """The last entry's number and head."""
        row = self._one(_HEAD, {"b_game": game})
        return (row[0], row[1]) if row else None

    def summary(self, game: str) -> Summary | None:
        """A game's summary."""
        row = self._one(select(*(GAME.c[name] for name in _SUMMARY)).where(GAME.c.game == game))
        return Summary(*row) if row else None

    def lines(self, game: str, after: int = -1) -> tuple[Line, ...]:
        """A game's lines with receipts, from the one after number `after` on."""
        rows = self._all(_LINES, {"b_game": game, "b_after": after})
        return tuple(_line(row) for row in rows)

    def secrets(self, game: str) -> Secrets | None:
        """A game's secrets."""
        row = self._one(select(SECRET.c.seed, SECRET.c.offered_to).where(SECRET.c.game == game))
        if row is None:
            return None
        columns = (OPENING.c.seq, OPENING.c.part, OPENING.c.cards, OPENING.c.salt)
        kept = self._all(select(*columns).where(OPENING.c.game == game).order_by(OPENING.c.seq, OPENING.c.part))
        return Secrets(row[0], row[1], tuple(Opening(*each) for each in kept))

    def games(self, query: Query) -> tuple[Summary, ...]:
        """Games that match, most recently changed first."""
        wanted: list[ColumnElement[bool]] = [GAME.c.status != "offered"]
        if query.status:
            wanted.append(GAME.c.status == query.status)
        if query.waiting:
            wanted.append(GAME.c.to_move == query.player)
        elif query.player:
            mine = (GAME.c.host == query.player, GAME.c.guest == query.player, GAME.c.invite == query.player)
            wanted.append(or_(*mine))
        if query.prefix:
            wanted.append(GAME.c.game.between(query.prefix, query.prefix + "g"))
        if query.after:
            updated, _, game = query.after.partition("~")
            wanted.append(tuple_(GAME.c.updated, GAME.c.game) < tuple_(updated, game))
        columns = (GAME.c[name] for name in _SUMMARY)
        newest = (GAME.c.updated.desc(), GAME.c.game.desc())
        rows = self._all(select(*columns).where(*wanted).order_by(*newest).limit(query.limit))
        return tuple(Summary(*row) for row in rows)

    # --- reading --------------------------------------------------------------------------------------------------

    def _one(self, statement: Executable, values: _Values | None = None) -> _Row | None:
        rows = self._all(statement, values)
        return rows[0] if rows else None

    def _all(self, statement: Executable, values: _Values | None = None) -> Sequence[_Row]:
        with self._lock:
            rows = self._read.execute(statement, values).all()
            self._read.rollback()
        return rows


_HEAD: Final = select(GAME.c.seq, GAME.c.head).where(GAME.c.game == bindparam("b_game"))
_LINES: Final = (
    select(ENTRY.c.text, ENTRY.c.sig, ENTRY.c.receipt, ENTRY.c.receipt_sig)
    .where(ENTRY.c.game == bindparam("b_game"), ENTRY.c.seq > bindparam("b_after"))
    .order_by(ENTRY.c.seq)
)


def _configure(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions are begun by hand: the driver's own guesses break savepoints
    for name, value in _PRAGMAS.items():
        connection.execute(f"PRAGMA {name} = {value}")


def _check_settings(connection: Connection) -> None:
    for name, value in _PRAGMAS.items():
        found = connection.exec_driver_sql(f"PRAGMA {name}").scalar()
        if found != value:
            raise StorageError(
                f"SQLite's {name} is {found} and cannot be set to {value}: acknowledged moves would not be safe",
                hint="use a folder on a local disk",
            )


def _summary_values(summary: Summary) -> _Values:
    return {name: getattr(summary, name) for name in _SUMMARY}


def _entry_values(line: Line) -> _Values:
    if line.receipt is None:
        raise HkojiError("a line is stored with its receipt")
    return {
        "game": line.entry.game,
        "seq": line.entry.seq,
        "text": line.entry.text,
        "sig": line.sig,
        "receipt": line.receipt.receipt.text,
        "receipt_sig": line.receipt.sig,
    }


def _line(row: _Row) -> Line:
    text, sig, receipt, receipt_sig = row
    return Line(parse_entry(text), sig, SignedReceipt(parse_receipt(receipt), receipt_sig))
