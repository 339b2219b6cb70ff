"""The databases of `large` on PostgreSQL: the same rows, by COPY.

The smaller one is filled as a service would fill it, while its indexes grow. The larger one is made of copies of it in
one transaction without indexes, which are built at the end and are therefore packed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from hkoji_server.store.location import parse_location
from hkoji_server.store.postgres.store import open_postgres

from scripts.bench import large
from tests.support.cluster import Cluster
from tests.support.ledger import connected

SETTINGS: Final = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "maintenance_work_mem": "512MB",
    # Rows written into a table in the transaction that has emptied it need no write-ahead log.
    "wal_level": "minimal",
    "max_wal_senders": "0",
}
TABLES: Final = ("player", "game", "secret", "entry", "opening")
_COLUMNS: Final = {
    "game": "game, ruleset, status, host, guest, invite, seq, head, round, actor, to_move, created, updated, reason,"
    " winner, ended, agreement, deadline, look_at, link, way, by_mail, dealer",
    "secret": "game, seed, offered_to",
    "entry": "game, seq, text, sig, receipt, receipt_sig",
    "opening": "game, seq, part, cards, salt",
    "player": "name, key, registered, text, sig",
}
_GAMES: Final = ("game", "secret", "entry", "opening")

Server = psycopg.Connection[Any]


def make_postgres(cluster: Cluster) -> str:
    """Makes a database with the store's schema. Returns its name."""
    name = cluster.create()

    async def migrate() -> None:
        await (await open_postgres(parse_location(cluster.url(name)))).close()

    asyncio.run(migrate())
    return name


def fill_postgres(url: str, plan: large.Plan, made: list[large.Stock]) -> int:
    """Fills the database at `url`, which has the schema. Returns the number of entries."""
    with connected(url) as server:

        def put(batch: large.Batch) -> None:
            with server.transaction(), server.cursor() as cursor:
                for table in TABLES:
                    with cursor.copy(f"COPY {table} ({_COLUMNS[table]}) FROM STDIN".encode()) as copy:
                        for row in batch.get(table, ()):
                            copy.write_row(row)

        put({"player": list(large.players(plan.players))})
        count = large.write(plan, made, put)
        _settle(server)
    return count


def enlarge_postgres(url: str, times: int) -> None:
    """Makes the database at `url` so many times as large, with copies of each game except the stock.

    Ids, players and times differ, lengths are the same. Heads do not fit the texts, because no measurement looks at
    them.
    """
    with connected(url) as server:
        with server.transaction():
            for table in TABLES:
                server.execute(f"CREATE TEMPORARY TABLE small_{table} AS TABLE {table}".encode())
            server.execute("CREATE TEMPORARY TABLE stock AS SELECT game FROM game WHERE host = %s", large.NAMES[:1])
            ((width,),) = server.execute("SELECT count(*) FROM player").fetchall()
            with _without_indexes(server):
                server.execute(f"TRUNCATE {', '.join(TABLES)}".encode())
                for table in TABLES:
                    server.execute(f"INSERT INTO {table} SELECT * FROM small_{table}".encode())
                for number in range(1, times):
                    _copy(server, number, number * width)
            for table in TABLES:
                server.execute(f"DROP TABLE small_{table}".encode())
        _settle(server)


def _copy(server: Server, number: int, shift: int) -> None:
    """Copies everything but the stock once."""
    other = "'player' || lpad(({shift} + substr({0}, 7)::integer)::text, 5, '0')"

    def name(column: str) -> str:
        new = other.format(column, shift=shift)
        return f"CASE WHEN {column} = '{large.BUSY}' OR {column} IS NULL THEN {column} ELSE {new} END"

    def later(column: str) -> str:
        moved = f"{column}::timestamp + interval '{number} years'"
        return f"""to_char({moved}, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""

    values = {
        "game": f"id, ruleset, status, {name('host')}, {name('guest')}, NULL, seq, head, round, actor,"
        f" {name('to_move')}, {later('created')}, {later('updated')}, reason, winner, {later('ended')},"
        " agreement, deadline, look_at, link, way, by_mail, dealer",
        "secret": "id, seed, offered_to",
        "entry": "id, seq, replace(text, game, id), sig, replace(receipt, game, id), receipt_sig",
        "opening": "id, seq, part, cards, salt",
    }
    key = f"substr(key, 1, 60) || lpad(({shift} + row_number() OVER ())::text, 8, '0')"
    server.execute(
        f"INSERT INTO player ({_COLUMNS['player']}) SELECT {other.format('name', shift=shift)}, {key}, registered,"
        " text, sig FROM small_player WHERE name ~ '^player[0-9]'".encode()
    )
    for table in _GAMES:
        server.execute(
            f"INSERT INTO {table} ({_COLUMNS[table]}) SELECT {values[table]}"
            f" FROM (SELECT *, md5(game || '{number}') AS id FROM small_{table}"
            " WHERE game NOT IN (SELECT game FROM stock) OFFSET 0) AS copied".encode()
        )


@contextmanager
def _without_indexes(server: Server) -> Iterator[None]:
    """Drops indexes and constraints for the duration of the block, and then restores them."""
    # The others refer to games and players.
    names = [*TABLES, "deposit", "statement", "channel", "outbox", "talk", "setting", "block", "offer"]
    constraints = server.execute(
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), contype FROM pg_constraint"
        " WHERE conrelid::regclass::text = ANY(%s) AND contype IN ('p', 'u', 'f')",
        (names,),
    ).fetchall()
    # Foreign keys last: they are dropped first, and restored when the keys that they refer to are there.
    constraints.sort(key=lambda each: each[3] == "f")
    for table, name, _, _ in reversed(constraints):
        server.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}".encode())
    indexes = server.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = ANY(%s)", (names,)
    ).fetchall()
    for name, _ in indexes:
        server.execute(f"DROP INDEX {name}".encode())
    yield
    for table, name, definition, _ in constraints:
        server.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}".encode())
    for _, definition in indexes:
        server.execute(definition.encode())


def _settle(server: Server) -> None:
    """Does what PostgreSQL's autovacuum would do in time."""
    server.execute("VACUUM (ANALYZE)")
    server.execute("CHECKPOINT")
