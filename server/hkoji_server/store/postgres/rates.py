"""Rate limits on PostgreSQL, in an unlogged table, which is not synced and is empty after a crash.

The table is made at the first request. Each statement is a transaction of its own: a transaction that counts several
names would lock them in an arbitrary order, and two of those could deadlock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import time
from typing import Any, Final

import psycopg
from sqlalchemy import URL

from hkoji_server.store import rates
from hkoji_server.store.postgres.connections import arguments
from hkoji_server.store.rates import Execute, Rates

_MOST_JOBS: Final = 64


def _named(statement: str) -> bytes:
    text = re.sub(r":(\w+)", r"%(\1)s::bigint", statement)
    return text.replace("%(name)s::bigint", "%(name)s").encode()


_STATEMENTS: Final = {statement: _named(statement) for statement in (rates.TELL, rates.ADMIT, rates.DUE, rates.FORGET)}


class PostgresRates(Rates):
    """`Rates` in the database at `url`. `clock` returns seconds."""

    failures = (psycopg.Error,)

    def __init__(self, url: URL, clock: Callable[[], float] = time) -> None:
        self._arguments = arguments(url)
        super().__init__(clock, most=_MOST_JOBS)

    def _begin(self) -> Execute:
        self._connection = self._connection or self._open()
        return partial(_row, self._connection)

    def _commit(self) -> None:
        """Does nothing: each statement is a transaction."""

    def _open(self) -> psycopg.Connection:
        connection = psycopg.connect(**self._arguments, autocommit=True)  # type: ignore[arg-type] # texts by name
        # If another process makes the table at the same time, PostgreSQL fails in one of several ways. The statements
        # that follow show whether the table exists.
        with suppress(psycopg.Error):
            connection.execute(rates.TABLE.format(unlogged="UNLOGGED ").encode())
        return connection


def _row(connection: psycopg.Connection, statement: str, values: Mapping[str, str | int]) -> Sequence[Any] | None:
    cursor = connection.execute(_STATEMENTS[statement], values)
    return None if cursor.description is None else cursor.fetchone()
