"""Stores of both databases, opened for a block, and the golden databases of earlier versions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from alembic import command
from hkoji_server.store.contract import Store
from hkoji_server.store.location import parse_location
from hkoji_server.store.migrate import _scripts
from hkoji_server.store.notice_contract import Channel, LeasedNotice
from hkoji_server.store.postgres.store import PostgresStore, open_postgres
from hkoji_server.store.sqlite.store import SqliteStore
from sqlalchemy import Connection, text

from hkoji.game.clock import Outage, Way
from tests.support import compiled_statements
from tests.support.loops import run

compiled_statements.share()

DATABASES: Final = Path(__file__).parents[1] / "data" / "databases"
REFUSED: Final = (
    "this database holds games of a development version of hkoji, which this version cannot read; start with a new"
    " database. Nothing was changed."
)
"""The message about a database with games of a development version."""


@contextmanager
def sqlite_at(path: Path) -> Iterator[SqliteStore]:
    """A store on a file."""
    store = SqliteStore(path)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def postgres_at(url: str) -> Iterator[PostgresStore]:
    """A store in a database of a PostgreSQL server."""
    store = run(open_postgres(parse_location(url)))
    try:
        yield store
    finally:
        run(store.close())


def upgrade_to(connection: Connection, revision: str) -> None:
    """Gives a database the schema of a migration."""
    command.upgrade(_scripts(connection)[0], revision)


_GAME: Final = "ab" * 16
_AT: Final = "2026-11-20T12:00:00Z"


def with_channel_and_notice(connection: Connection) -> None:
    """Adds a player, a game, a channel and a notice to a database of the schema 0012."""
    connection.execute(text(f"INSERT INTO player VALUES ('bob', 'key', '{_AT}', 'text', 'sig')"))
    columns = "game, ruleset, status, seq, head, round, created, updated, agreement"
    connection.execute(
        text(f"INSERT INTO game ({columns}) VALUES ('{_GAME}', '', 'open', 1, '', 0, '{_AT}', '{_AT}', '')")
    )
    values = f"'c', 'bob', 'webhook', 'https://b.example', ' turn over ', '{{}}', '{_AT}', '{_AT}', NULL, 3, NULL"
    connection.execute(text(f"INSERT INTO channel VALUES ({values})"))
    connection.execute(text(f"INSERT INTO outbox VALUES ('{_GAME}', 1, 'turn', 'c', 'webhook', '{_AT}', '{_AT}', 2)"))


def with_outages(connection: Connection) -> None:
    """Adds two outages, a beat and a game with a deadline to a database of the schema 0011."""
    for number, begin, until in ((1, "2026-11-19T00:00:00Z", "2026-11-19T01:00:00Z"), (2, "2026-11-18T00:00:00Z", _AT)):
        connection.execute(
            text("INSERT INTO outage VALUES (:number, :begin, :until)"),
            {"number": number, "begin": begin, "until": until},
        )
    connection.execute(text(f"INSERT INTO beat VALUES (1, '{_AT}')"))
    columns = "game, ruleset, status, seq, head, round, created, updated, agreement, deadline, look_at"
    values = f"'{_GAME}', '', 'playing', 1, '', 0, '{_AT}', '{_AT}', '', '{_AT}', '{_AT}'"
    connection.execute(text(f"INSERT INTO game ({columns}) VALUES ({values})"))


def assert_outages(store: Store) -> None:
    """Outages, beat and deadline are as they were added, of the way that there was: HTTP."""
    assert run(store.outages()) == (
        Outage("2026-11-19T00:00:00Z", "2026-11-19T01:00:00Z", Way.HTTP),
        Outage("2026-11-18T00:00:00Z", _AT, Way.HTTP),
    )
    assert [run(store.last_beat(way)) for way in Way] == [_AT, None]
    assert [run(store.overdue(way, "2027-01-01T00:00:00Z", 5)) for way in Way] == [(_GAME,), ()]
    later = Outage("2026-11-21T00:00:00Z", "2026-11-21T01:00:00Z", Way.MAIL)
    run(store.add_outage(later, "2026-11-22T00:00:00Z"))  # the numbers go on
    assert len(run(store.outages())) == 3


def assert_channel_and_notice(store: Store) -> None:
    """The channel and the notice are as they were added. It leases the notice."""
    made = Channel("c", "bob", "webhook", "https://b.example", ("turn", "over"), "{}", _AT, _AT, None, 3, None)
    assert run(store.channels("bob")) == (made,)
    until = "2027-01-01T00:00:00Z"
    found = run(store.lease_notices(("webhook",), "2026-12-01T00:00:00Z", until, 5))
    assert found == (LeasedNotice(_GAME, 1, "turn", "c", _AT, until, 3),)
