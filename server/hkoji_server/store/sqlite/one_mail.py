"""The store of a process that takes one mail: the methods that a mail mostly needs, on the driver alone.

SQLAlchemy and the classes of the tables take most of the time in which such a process starts. Here what happens every
day is done without them, in a fraction of the time; the benchmark `command` measures it. For everything else it raises
`SeldomError`, before it has changed more than the beat, and the caller takes the mail by the whole store. The laws of
the contract are worded in `incoming` and `outages`; a test takes the same mails both ways.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from hkoji import __version__
from hkoji.game.clock import Outage, Way
from hkoji_server.store.mail_values import MOST_WAITING, KeptMail, Mailbox, NewMail, ProbeMail, ReplyToken
from hkoji_server.store.migrate import SCHEMA, newest_schema
from hkoji_server.store.sqlite.durable import BUSY_SECONDS, make_durable, verify_durable
from hkoji_server.store.time_contract import Beat, Clock, latest

_REPLY: Final = ", ".join(field.name for field in fields(ReplyToken))
_BEAT: Final = """
    INSERT INTO beat (way, at, version) VALUES (?, ?, ?)
    ON CONFLICT (way) DO UPDATE SET at = excluded.at, version = excluded.version WHERE at < excluded.at
"""
_NAMED: Final = "SELECT 1 FROM incoming WHERE name = ? AND message_id = ? AND message_id != ''"
_WAITING: Final = "SELECT count(*) FROM incoming WHERE name = ? AND state = 'new' AND reply IS NOT NULL"
_STRANGE: Final = "SELECT 1 FROM incoming WHERE channel = ? AND state = 'new' AND reply IS NULL"
_COPIED: Final = ("digest", "via", "raw", "received", "name", "channel", "game", "message_id", "reply")
_INSERT: Final = f"""
    INSERT INTO incoming ({", ".join(_COPIED)}, number, state, tries, result)
    SELECT {", ".join("?" for _ in _COPIED)}, coalesce(max(number), 0) + 1, 'new', 0, '' FROM incoming
    RETURNING number
"""  # noqa: S608 # no value is in the text


class SeldomError(Exception):
    """The whole store has to do this. No mail has been kept."""


@contextmanager
def open_for_one_mail(path: Path, clock: Clock) -> Iterator[OneMailStore]:
    """Opens the file of a service for one mail. Raises `SeldomError` if the whole store has to open it.

    In the block whatever the database refuses becomes a `SeldomError` too: the whole store says why. If a commit has
    succeeded nevertheless, it finds that the mail is there already.
    """
    try:
        # `rw`: a file that is missing is not made.
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS)
        with closing(connection):
            make_durable(connection)
            verify_durable(connection)
            if connection.execute(SCHEMA).fetchone() != (newest_schema(),):
                raise SeldomError
            yield OneMailStore(connection, clock)
    except sqlite3.Error as error:
        raise SeldomError from error


class OneMailStore:
    """`ArrivalStore` on an open connection. `clock` judges the age of decisions."""

    def __init__(self, connection: sqlite3.Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    # --- time -----------------------------------------------------------------------------------------------------

    async def clock(self) -> str | None:
        """Returns None: a file has no clock."""
        return None

    async def last_beat(self, way: Way) -> str | None:
        """Returns the newest time that was noted for a way."""
        found: str | None = self._one("SELECT at FROM beat WHERE way = ?", way)
        return found

    async def beat(self, way: Way, at: str) -> Beat:
        """Notes a time, unless a later one is noted."""
        self._connection.execute(_BEAT, (way, at, __version__))
        return Beat(self._one("SELECT at FROM beat WHERE way = ?", way), None)

    async def outages(self) -> tuple[Outage, ...]:
        """Returns all outages."""
        rows = self._connection.execute('SELECT "from", until, way FROM outage ORDER BY until, way')
        return tuple(Outage(begin, until, Way(way)) for begin, until, way in rows)

    async def close_gap(self, way: Way, beat: str | None, now: str) -> Outage | None:  # noqa: ARG002
        """Raises `SeldomError`."""
        raise SeldomError

    async def drained(self) -> None:
        """Raises `SeldomError`."""
        raise SeldomError

    # --- mails ----------------------------------------------------------------------------------------------------

    async def reply(self, digest: str) -> ReplyToken | None:
        """Returns what is known of a token."""
        row = self._connection.execute(f"SELECT {_REPLY} FROM reply WHERE digest = ?", (digest,)).fetchone()  # noqa: S608
        return None if row is None else ReplyToken(*row)

    async def mailbox_at(self, address: str) -> Mailbox | None:
        """Returns None if nobody plays from an address."""
        if self._one("SELECT 1 FROM mailbox WHERE address = ?", address.lower()) is not None:
            raise SeldomError
        return None

    async def note_bounce(self, channel: str, digest: str, at: str, *, since: str, enough: int) -> bool:  # noqa: ARG002
        """Raises `SeldomError`."""
        raise SeldomError

    async def take_probe(self, digest: str, mail: ProbeMail) -> bool:  # noqa: ARG002
        """Returns False if nobody waits for a mail."""
        if self._one("SELECT 1 FROM probe WHERE digest = ?", digest) is not None:
            raise SeldomError
        return False

    async def add_incoming(self, new: NewMail) -> KeptMail:
        """Keeps a mail that is the first with its Message-ID. This process does not process it, so it has no try."""
        # IMMEDIATE, as the whole store: what is read here does not change before the commit.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            kept = self._add(new)
            self._connection.execute("COMMIT")  # with synchronous=FULL it returns when the mail is on disk
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return kept

    def _add(self, new: NewMail) -> KeptMail:
        if self._one("SELECT 1 FROM mailbox WHERE channel = ?", new.channel) is None:
            raise SeldomError
        number = self._one("SELECT number FROM incoming WHERE digest = ?", new.digest)
        if number is not None:
            return KeptMail("repeated", number)
        if self._one(_NAMED, new.name, new.message_id) is not None:
            raise SeldomError
        if new.reply is None and self._one(_STRANGE, new.channel):
            return KeptMail("stranger", None)
        if new.reply is not None and self._one(_WAITING, new.name) >= MOST_WAITING:
            return KeptMail("full", None)
        if (self._one("SELECT max(number) FROM outage") or 0) > new.outages or self._clock() > latest(new.received):
            raise SeldomError
        return KeptMail("added", self._one(_INSERT, *(getattr(new, name) for name in _COPIED)))

    def _one(self, statement: str, *values: object) -> Any:  # Any: a column
        """Returns the first column of the first row; None if there is none."""
        row = self._connection.execute(statement, values).fetchone()
        return None if row is None else row[0]
