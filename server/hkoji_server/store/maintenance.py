"""Maintenance of a database for its operator, while the service runs or not: checks, figures, vacuum.

The database is opened as it is: it is neither made nor migrated. Each game is read in a transaction of its own, so that
it is of one moment and the service can go on meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, Engine, Table, create_engine, delete, event, func, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from hkoji.errors import StorageError
from hkoji.game.clock import Outage, Way
from hkoji.game.commitments import Opening
from hkoji.messages.text import tell
from hkoji_server.store.game_lists import SUMMARY_COLUMNS
from hkoji_server.store.game_statements import KEPT_STATEMENTS
from hkoji_server.store.game_values import GameSummary, Secrets
from hkoji_server.store.games import GAME_DEPOSITS, GAME_OPENINGS, GAME_SECRET, IDENTITY, read_deposits
from hkoji_server.store.location import Location, show_location, verify_exists
from hkoji_server.store.mail_values import NO_GAME
from hkoji_server.store.migrate import verify_schema
from hkoji_server.store.outages import EVERY_OUTAGE, read_outage
from hkoji_server.store.player_tables import CHALLENGE, CODE, PLAYER, RETIRED, TOKEN, Player
from hkoji_server.store.sql_steps import Row
from hkoji_server.store.tables import (
    BEAT,
    CHANNEL,
    DEPOSIT,
    ENTRY,
    GAME,
    OPENING,
    OUTBOX,
    SECRET,
    STATEMENT,
    TALK,
    KeptStatement,
    rows_of,
)

_BUSY_SECONDS: Final = 30
_PAGE: Final = 500
_COUNTED: Final[tuple[Table, ...]] = (PLAYER, RETIRED, TOKEN, CHALLENGE, CODE, CHANNEL, OUTBOX)


@dataclass(frozen=True, slots=True)
class StoredGame:
    """Everything that is stored of a game.

    Each of `rows` has an entry's number, text, signature, receipt and signature of the receipt. `ended` is the column
    that says when the game ended, for lists; None if it goes on. `way` is that of its deadline. `outages` are all that
    the service has recorded.
    """

    summary: GameSummary
    ended: str | None
    way: Way
    rows: tuple[Row, ...]
    secrets: Secrets | None
    statements: tuple[KeptStatement, ...]
    outages: tuple[Outage, ...]


@dataclass(frozen=True, slots=True)
class DatabaseFigures:
    """How much a database contains. Sizes are in bytes; `free` is what a vacuum would free, if that is known."""

    games: dict[str, int]
    entries: int
    rows: dict[str, int]
    size: int
    free: int | None


class Maintenance:
    """The database at `location`. Raises `NotFoundError` if there is none, `StorageError` if it cannot be used."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._engine = _engine(location)
        with self._reading() as connection:
            verify_schema(connection, tell("use the same version of hkoji as the service; nothing was changed"))

    def close(self) -> None:
        self._engine.dispose()

    def identity(self) -> tuple[str, str] | None:
        """Returns the service's OpenSSH private key text and its origin."""
        with self._reading() as connection:
            row = connection.execute(IDENTITY).first()
        return (row[0], row[1]) if row else None

    def games(self, low: str = "", high: str = "g") -> Iterator[str]:
        """Yields the ids from `low` to before `high`, in order, also of games that were never opened."""
        after = low
        first = True
        while True:
            beyond = GAME.c.game >= after if first else GAME.c.game > after
            page = select(GAME.c.game).where(beyond, GAME.c.game < high).order_by(GAME.c.game).limit(_PAGE)
            with self._reading() as connection:
                found = [row[0] for row in connection.execute(page)]
            yield from found
            if len(found) < _PAGE:
                return
            after, first = found[-1], False

    def game(self, game: str) -> StoredGame | None:
        """Returns everything that is stored of a game, of one moment."""
        lines = (ENTRY.c.seq, ENTRY.c.text, ENTRY.c.sig, ENTRY.c.receipt, ENTRY.c.receipt_sig)
        place = {"b_game": game}
        with self._reading() as connection:
            summary = connection.execute(
                select(*SUMMARY_COLUMNS, GAME.c.ended, GAME.c.way).where(GAME.c.game == game)
            ).first()
            rows = connection.execute(select(*lines).where(ENTRY.c.game == game).order_by(ENTRY.c.seq)).all()
            secret = connection.execute(GAME_SECRET, place).first()
            openings = connection.execute(GAME_OPENINGS, place).all()
            deposits = connection.execute(GAME_DEPOSITS, place).all()
            statements = connection.execute(KEPT_STATEMENTS, place).all()
            outages = connection.execute(EVERY_OUTAGE).all()
        if summary is None:
            return None
        kept = None
        if secret is not None:
            opened = tuple(Opening(*row) for row in openings)
            kept = Secrets(secret[0], secret[1], opened, read_deposits(map(tuple, deposits)))
        return StoredGame(
            GameSummary._make(summary[:-2]),
            summary[-2],
            Way(summary[-1]),
            tuple(tuple(row) for row in rows),
            kept,
            rows_of(KeptStatement, statements),
            tuple(read_outage(tuple(row)) for row in outages),
        )

    def players(self) -> Iterator[Player]:
        """Yields the players, in order of their names."""
        after = ""
        while True:
            page = select(*PLAYER.c).where(PLAYER.c.name > after).order_by(PLAYER.c.name).limit(_PAGE)
            with self._reading() as connection:
                found = rows_of(Player, connection.execute(page))
            yield from found
            if len(found) < _PAGE:
                return
            after = found[-1].name

    def damage(self) -> tuple[str, ...]:
        """Returns the faults that the database itself finds. PostgreSQL has no such check."""
        if isinstance(self._location, URL):
            return ()
        with self._reading() as connection:
            found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check(20)")]
            loose = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(20)
        return (*(line for line in found if line != "ok"), *(f"{row[0]}: a row of no {row[2]}" for row in loose))

    def codes_of_nobody(self) -> int:
        """Returns how many codes belong to a player who does not exist, or allow nothing."""
        unknown = CODE.c.name.is_not(None) & CODE.c.name.not_in(select(PLAYER.c.name))
        with self._reading() as connection:
            found = select(func.count()).select_from(CODE).where(unknown | (CODE.c.uses < 1))
            return int(connection.execute(found).scalar_one())

    def strays(self) -> int:
        """Returns how many rows belong to no game."""
        with self._reading() as connection:
            return sum(
                connection.execute(
                    select(func.count())
                    .select_from(table)
                    .where(table.c.game != NO_GAME, table.c.game.not_in(select(GAME.c.game)))
                ).scalar_one()
                for table in (ENTRY, SECRET, OPENING, DEPOSIT, STATEMENT, OUTBOX, TALK)
            )

    def figures(self) -> DatabaseFigures:
        """Returns how much the database contains."""
        with self._reading() as connection:
            statuses = connection.execute(select(GAME.c.status, func.count()).group_by(GAME.c.status)).all()
            entries = connection.execute(select(func.sum(GAME.c.seq + 1))).scalar() or 0
            rows = {
                table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in _COUNTED
            }
            size, free = self._sizes(connection)
        return DatabaseFigures({row[0]: row[1] for row in statuses}, int(entries), rows, size, free)

    def _sizes(self, connection: Connection) -> tuple[int, int | None]:
        if isinstance(self._location, URL):
            return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()), None
        files = (Path(f"{self._location}{suffix}") for suffix in ("", "-wal"))
        page = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
        free = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
        return sum(file.stat().st_size for file in files if file.exists()), page * free

    def with_statements(self) -> tuple[str, ...]:
        """Returns the ids of the games about which statements are kept."""
        with self._reading() as connection:
            return tuple(row[0] for row in connection.execute(select(STATEMENT.c.game).distinct()))

    def clocks(self) -> tuple[str | None, datetime | None]:
        """Returns the newest beat, and the time of the database; a file has none."""
        with self._reading() as connection:
            beat = connection.execute(select(func.max(BEAT.c.at))).scalar()
            if isinstance(self._location, Path):
                return beat, None
            return beat, connection.execute(select(func.clock_timestamp())).scalar_one()

    def beats(self) -> dict[Way, tuple[str, str | None]]:
        """Returns for each way the newest beat, and the version of the program that noted it."""
        with self._reading() as connection:
            rows = connection.execute(select(BEAT.c.way, BEAT.c.at, BEAT.c.version)).all()
        return {Way(way): (at, version) for way, at, version in rows}

    def newest(self) -> str | None:
        """Returns the time of the last receipt."""
        with self._reading() as connection:
            found = connection.execute(select(func.max(GAME.c.updated))).scalar()
        return None if found is None else str(found)

    def settings(self) -> dict[str, str]:
        """Returns the settings of the database that the safety of moves depends on."""
        if isinstance(self._location, URL):
            names = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
            with self._reading() as connection:
                return {name: str(connection.execute(text(f"SHOW {name}")).scalar_one()) for name in names}
        with self._reading() as connection:
            return {"journal_mode": str(connection.exec_driver_sql("PRAGMA journal_mode").scalar_one())}

    def vacuum(self, now: str) -> None:
        """Deletes expired logins, and gives unused space back. Moves wait meanwhile. Raises `StorageError`."""
        try:
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                for table in (TOKEN, CHALLENGE, CODE):
                    connection.execute(delete(table).where(table.c.expires <= now))
                connection.execute(text("VACUUM"))
                if isinstance(self._location, Path):
                    connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        except SQLAlchemyError as error:
            raise StorageError(
                tell("the database could not be vacuumed; no game was changed"),
                hint=tell("is there space for a second copy? Stop the service, so that nothing writes, and try again"),
            ) from error

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Gives a connection in a transaction that sees one moment."""
        try:
            with self._engine.connect() as connection:
                if isinstance(self._location, Path):
                    connection.exec_driver_sql("BEGIN")
                yield connection
                connection.rollback()
        except DBAPIError as error:
            raise StorageError(
                tell("cannot read {place}: {reason}", place=show_location(self._location), reason=_reason(error)),
                hint=tell("is it an hkoji database? Nothing was changed"),
            ) from error


def _reason(error: DBAPIError) -> str:
    """Returns the driver's message about a read, which contains no values."""
    return str(error.orig).strip().partition("\n")[0]


def _engine(location: Location) -> Engine:
    if isinstance(location, URL):
        from hkoji_server.store.postgres.connections import arguments

        bare = location.set(query={}, host=None, port=None, username=None, password=None, database=None)
        return create_engine(
            bare,
            connect_args=arguments(location),
            isolation_level="REPEATABLE READ",
            hide_parameters=True,
            poolclass=NullPool,
        )
    verify_exists(location)
    engine = create_engine(
        # mode=rw: a file that does not exist is not made.
        f"sqlite:///file:{str(location.absolute()).replace('%', '%25').replace('?', '%3f').replace('#', '%23')}"
        "?mode=rw&uri=true",
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={"check_same_thread": False, "timeout": _BUSY_SECONDS},
    )

    def disable_implicit_transactions(connection: object, _: object) -> None:
        connection.isolation_level = None  # type: ignore[attr-defined] # the driver's own connection

    event.listen(engine, "connect", disable_implicit_transactions)
    return engine
