"""The store on one SQLite file.

WAL with `synchronous=FULL`: NORMAL would lose acknowledged moves in a power cut. The settings are read back at start,
and the store does not open if they did not take. Reads run on one connection of their own, directly where they are
asked for: a game is a few dozen rows side by side, found by key in tens of microseconds, less than a thread switch.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from sqlalchemy import (
    URL,
    Connection,
    create_engine,
    delete,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from hkoji.errors import StorageError
from hkoji.game.openings import Opening
from hkoji.log.line import Line, StoredLine
from hkoji.messages.text import tell
from hkoji_server.store import game_lists, player_keys, readiness
from hkoji_server.store.contract import (
    Append,
    Decide,
    GamePlace,
    GameSummary,
    History,
    NewGame,
    Notice,
    Player,
    Query,
    RetiredKey,
    Secrets,
)
from hkoji_server.store.migrate import migrate
from hkoji_server.store.sqlite import statements
from hkoji_server.store.sqlite.append import write_of
from hkoji_server.store.sqlite.hints import SqliteHints
from hkoji_server.store.sqlite.statements import CHALLENGE, ENTRY, GAME, SECRET, SERVICE, TOKEN, Row, Values
from hkoji_server.store.sqlite.writer import SqliteWriter, driver

_BUSY_SECONDS: Final = 10
_PAGE_SIZE: Final = 8192
"""Entries have some 850 bytes. In SQLite's usual 4096 few fit, and the longer ones spill into pages of their own."""
_PRAGMAS: Final = {
    "journal_mode": "wal",
    "synchronous": 2,
    "foreign_keys": 1,
    "busy_timeout": _BUSY_SECONDS * 1000,
}


class SqliteStore:
    """`Store` on the file at `path`, which is made if missing. Raises `StorageError` if it cannot be used."""

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        try:
            _make_folder(path.parent)
            # The file holds private keys and cards: nobody else on the machine may read it. SQLite gives the files
            # that it makes beside it the same permissions.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise StorageError(
                tell("cannot use {path}: {reason}", path=path, reason=error.strerror),
                hint=tell("give another folder with --data"),
            ) from error
        # Parameters stay out of error messages: they are seeds, salts and keys.
        self._engine = create_engine(
            URL.create("sqlite", database=str(path)),
            poolclass=NullPool,
            hide_parameters=True,
            connect_args={"check_same_thread": False, "timeout": _BUSY_SECONDS},
        )
        event.listen(self._engine, "connect", _configure)
        try:
            with self._engine.connect() as connection:
                _check_settings(connection)
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                migrate(connection)
                connection.commit()
            self._open_reader()
        except DBAPIError as error:
            raise StorageError(
                tell("cannot use {path}: {reason}", path=path, reason=str(error.orig)),
                hint=tell("is it an hkoji database?"),
            ) from error
        self._lock = threading.Lock()
        self._writer = SqliteWriter(self._engine.connect, "BEGIN IMMEDIATE")
        self._hints = SqliteHints(self._writer, self._version)

    def close(self) -> None:
        """Finishes what was begun, moves the write-ahead log into the file, and closes it."""
        self._hints.close()
        self._writer.close()
        # The rest is tidying up: what is in the write-ahead log is safe there, and is read from there at a start.
        with self._lock, suppress(DBAPIError):
            self._read.close()
        with suppress(DBAPIError), self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        self._engine.dispose()

    async def verify_ready(self) -> None:
        """Reads and writes a little. Raises `StorageError` if that fails, or the schema is not this program's."""
        await self._writer.run(readiness.verify_ready)
        readiness.verify_room(self._folder)

    # --- service and players --------------------------------------------------------------------------------------

    async def identity(self) -> tuple[str, str] | None:
        """The service's OpenSSH private key text and its origin; None in a new store."""
        rows = self._rows(statements.IDENTITY, {})
        return (rows[0][0], rows[0][1]) if rows else None

    async def add_identity(self, key: str, origin: str) -> tuple[str, str]:
        """Keeps key and origin unless there are some. Returns those that are kept now."""

        def work(connection: Connection) -> tuple[str, str]:
            kept = connection.execute(select(SERVICE.c.private_key, SERVICE.c.origin)).first()
            if kept:
                return kept[0], kept[1]
            connection.execute(insert(SERVICE).values(id=1, private_key=key, origin=origin))
            return key, origin

        return await self._writer.run(work)

    async def set_origin(self, origin: str) -> None:
        """Changes the origin."""
        await self._writer.run(lambda connection: connection.execute(update(SERVICE).values(origin=origin)).rowcount)

    async def player(self, name: str) -> Player | None:
        """A registered player."""
        rows = self._rows(statements.PLAYER_OF, {"b_name": name})
        return Player(*rows[0]) if rows else None

    async def add_player(self, player: Player) -> Player | None:
        """Registers. Returns the player that holds the name or the key already, or None if it is done."""
        return await self._writer.run(lambda connection: player_keys.register(connection, player))

    async def retired(self, key: str) -> RetiredKey | None:
        """What became of a key that was a player's and is no more."""
        rows = self._rows(statements.RETIRED_KEY, {"b_key": key})
        return player_keys.read_retired(rows[0]) if rows else None

    async def retired_of(self, name: str) -> tuple[RetiredKey, ...]:
        """The keys that a player had before, in order of time; a revoked one may still be the last they had."""
        return tuple(map(player_keys.read_retired, self._rows(statements.RETIRED_OF, {"b_name": name})))

    async def replace_key(self, player: Player, retired: RetiredKey) -> None:
        """Gives a registered player another key, and ends all their logins; all or nothing."""
        await self._writer.run(lambda connection: player_keys.replace(connection, player, retired))

    async def revoke_key(self, retired: RetiredKey) -> None:
        """Makes a player's key, the last one or an earlier, count nowhere, and ends all their logins."""
        await self._writer.run(lambda connection: player_keys.revoke(connection, retired))

    async def allow_recovery(self, name: str, digest: str, expires: str) -> None:
        """Keeps the digest of a code, in place of an earlier one."""
        await self._writer.run(lambda connection: player_keys.allow(connection, name, digest, expires))

    async def recover(self, player: Player, digest: str, now: str) -> None:
        """Gives a player whose key is revoked another one, and uses the code up; all or nothing."""
        await self._writer.run(lambda connection: player_keys.recover(connection, player, digest, now))

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

    async def add_token(self, digest: str, name: str, expires: str, now: str, key: str = "") -> None:
        """Keeps a login token by its digest, if the `key` still counts, and forgets those that have expired."""

        def work(connection: Connection) -> None:
            player_keys.verify_logs_in(connection, name, key)
            connection.execute(delete(TOKEN).where(TOKEN.c.expires <= now))
            connection.execute(insert(TOKEN).values(digest=digest, name=name, expires=expires))

        await self._writer.run(work)

    async def drop_token(self, digest: str) -> None:
        """Forgets a token."""
        await self._writer.run(
            lambda connection: connection.execute(delete(TOKEN).where(TOKEN.c.digest == digest)).rowcount
        )

    async def token(self, digest: str, now: str) -> str | None:
        """Whose token it is, if it is still good."""
        rows = self._rows(statements.NAME_OF_TOKEN, {"b_digest": digest, "b_now": now})
        return rows[0][0] if rows else None

    # --- games ----------------------------------------------------------------------------------------------------

    async def add_game(self, new: NewGame) -> None:
        """Keeps a new game."""

        def work(connection: Connection) -> None:
            connection.execute(insert(GAME), statements.summary_values(new.summary))
            game = new.summary.game
            connection.execute(insert(SECRET), {"game": game, "seed": new.seed, "offered_to": new.offered_to})
            connection.execute(insert(ENTRY), [statements.entry_values(new.line)])

        await self._writer.run(work)

    async def append(self, append: Append | Decide) -> None:
        """Appends, or raises `RevokedError`, or `ConflictError` with the current head and changes nothing."""
        hint = await self._writer.run_prepared(lambda: write_of(append if isinstance(append, Append) else append()))
        self._hints.tell(hint)

    async def head(self, game: str) -> tuple[int, str] | None:
        """The last entry's number and head."""
        rows = self._rows(statements.HEAD_OF, {"b_game": game})
        return (rows[0][0], rows[0][1]) if rows else None

    async def summary(self, game: str) -> GameSummary | None:
        """A game's summary."""
        rows = self._rows(statements.GAME_OF, {"b_game": game})
        return GameSummary._make(rows[0]) if rows else None

    async def lines(self, game: str, after: int = -1) -> tuple[Line, ...]:
        """A game's lines with receipts, from the one after number `after` on."""
        return tuple(each.read() for each in await self.written(game, after))

    async def written(self, game: str, after: int = -1) -> tuple[StoredLine, ...]:
        """The same lines as they were written, for those who only pass them on."""
        return tuple(map(StoredLine._make, self._rows(statements.LINES_OF, {"b_game": game, "b_after": after})))

    async def history(self, game: str, after: int = -1) -> History | None:
        """A game's lines after number `after` and its secrets, of one moment."""
        wanted: Values = {"b_game": game, "b_after": after}
        lines, secret, openings = self._snapshot(
            (statements.LINES_OF, wanted), (statements.SECRET_OF, wanted), (statements.OPENINGS_OF, wanted)
        )
        if not secret:
            return None
        ((seed, offered_to),) = secret
        kept = Secrets(seed, offered_to, tuple(Opening(*row) for row in openings))
        return History(tuple(statements.read_line(row) for row in lines), kept)

    async def games(self, query: Query) -> tuple[GameSummary, ...]:
        """Games that match, newest first. Games that have not been opened are in no list."""
        return tuple(
            map(GameSummary._make, self._rows(_listed(game_lists.form_of(query)), game_lists.values_of(query)))
        )

    # --- waiting --------------------------------------------------------------------------------------------------

    async def heads(self, games: Collection[str]) -> Mapping[str, int]:
        """The numbers of the last entries of those `games` that there are."""
        return dict(self._rows(statements.HEADS_OF, {"b_games": json.dumps(list(games))}))

    async def places(self, player: str, since: str, limit: int) -> Mapping[str, GamePlace]:
        """Where a player's listed games stand that are not over, or have ended at `since` or later."""
        rows = self._rows(_going_on(limit), {"b_player": player, "b_since": since})
        return {game: GamePlace(seq, updated, status == "finished") for game, seq, updated, status, _ in rows}

    def listen(self, notice: Notice) -> Callable[[], None]:
        """Gives hints to `notice` until the function that is returned is called."""
        return self._hints.listen(notice)

    def _version(self) -> int:
        """Changes when anybody has written, this process included."""
        ((version,),) = self._rows("PRAGMA data_version", {})
        return int(version)

    # --- reading --------------------------------------------------------------------------------------------------

    def _open_reader(self) -> None:
        self._read = self._engine.connect()
        self._read.exec_driver_sql("PRAGMA query_only = 1")
        self._driver = driver(self._read)
        self._spoiled = False

    def _reader(self) -> sqlite3.Connection:
        """The reading connection's driver. To be called with the lock held.

        After a failure it is another connection: the old one may be left in a transaction, and would go on to show
        what was there when it began.
        """
        if self._spoiled:
            self._read.invalidate()
            self._read.close()
            self._open_reader()
        return self._driver

    def _rows(self, statement: str, values: Values) -> list[Row]:
        """Rows of a compiled statement."""
        with self._lock:
            try:
                rows: list[Row] = self._reader().execute(statement, values).fetchall()
            except (DBAPIError, sqlite3.Error) as error:
                raise self._unreadable(error) from error
        return rows

    def _snapshot(self, *asked: tuple[str, Values]) -> list[list[Row]]:
        """Rows of several compiled statements, of one moment."""
        with self._lock:
            try:
                reader = self._reader()
                reader.execute("BEGIN")
                rows = [reader.execute(statement, values).fetchall() for statement, values in asked]
                reader.execute("ROLLBACK")
            except (DBAPIError, sqlite3.Error) as error:
                raise self._unreadable(error) from error
        return rows

    def _unreadable(self, error: DBAPIError | sqlite3.Error) -> StorageError:
        self._spoiled = True
        cause = error.orig if isinstance(error, DBAPIError) else error
        return StorageError(
            tell("the database could not be read: {cause}", cause=str(cause)), hint=tell("try again later")
        )


@lru_cache(maxsize=256)
def _listed(form: game_lists.ListStatement) -> str:
    return statements.compiled(game_lists.listed(form))


@lru_cache(maxsize=8)
def _going_on(limit: int) -> str:
    return statements.compiled(game_lists.going_on(limit))


def _make_folder(folder: Path) -> None:
    """Makes a folder that a power cut cannot take away again: a new name is certain when its folder has been synced.

    SQLite sees to names inside of the folder, and to nothing above it.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":
        return  # folders cannot be synced there
    for each in missing:
        handle = os.open(each.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _configure(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions are begun by hand: the driver's own guesses break savepoints
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")  # of a new file; an old one keeps its own
        for name, value in _PRAGMAS.items():
            connection.execute(f"PRAGMA {name} = {value}")
    except sqlite3.Error:
        connection.close()  # the pool forgets it as it is, with whatever it holds locked
        raise


def _check_settings(connection: Connection) -> None:
    for name, value in _PRAGMAS.items():
        found = connection.exec_driver_sql(f"PRAGMA {name}").scalar()
        if found != value:
            raise StorageError(
                tell(
                    "SQLite's {name} is {found} and cannot be set to {value}: acknowledged moves would not be safe",
                    name=name,
                    found=str(found),
                    value=value,
                ),
                hint=tell("use a folder on a local disk"),
            )
