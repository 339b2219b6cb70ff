"""A PostgreSQL database whose clock shows what a test says.

The store asks `clock_timestamp()`. In the connections that are made after `DatabaseClock`, a function of the test's own
is found before PostgreSQL's. It can also stop, as a process does that is interrupted after it has looked at the clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from tests.support.ledger import connected

_LOCK = 7_001
_MADE = f"""
DROP SCHEMA IF EXISTS fake CASCADE; -- a restored copy has it
CREATE SCHEMA fake;
CREATE TABLE fake.shown (at timestamptz NOT NULL);
CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE plpgsql AS $$
DECLARE seen timestamptz;
BEGIN
    SELECT at INTO seen FROM fake.shown;
    PERFORM pg_advisory_xact_lock_shared({_LOCK});
    RETURN seen;
END $$;
"""


class DatabaseClock:
    """The clock of the database at `url`, which shows `now` until `show` is called."""

    def __init__(self, url: str, now: datetime) -> None:
        self._url = url
        with connected(url) as server:
            server.execute(_MADE)
            server.execute("INSERT INTO fake.shown VALUES (%s)", (now,))
            ((name,),) = server.execute("SELECT current_database()").fetchall()
            server.execute(f"ALTER DATABASE {name} SET search_path = fake, pg_catalog, public")

    def show(self, now: datetime) -> None:
        """Sets the clock."""
        with connected(self._url) as server:
            server.execute("UPDATE fake.shown SET at = %s", (now,))

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Everybody who looks at the clock during this block goes on at its end."""
        with connected(self._url) as server:
            server.execute(f"SELECT pg_advisory_lock({_LOCK})")
            try:
                yield
            finally:
                server.execute(f"SELECT pg_advisory_unlock({_LOCK})")
