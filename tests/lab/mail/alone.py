"""A mail process without the service beside it, on data that has been made before, and a post office in memory."""

from __future__ import annotations

import os
import random
import shutil
import socket
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import sqlalchemy

from tests.support.cluster import Cluster
from tests.support.forked import ForkedProcess
from tests.support.ledger import connected
from tests.support.mail.assembled import ADDRESS, ORIGIN
from tests.support.mail.in_process import MemoryPostOffice
from tests.support.service import UNLIMITED_ENVIRONMENT

_PATIENCE: Final = 60
_SETTINGS: Final = {
    "MAIL": ADDRESS,
    "MAIL_REGISTER": "1",
    "MAIL_PER_DAY": "100000",
    "MAIL_PER_HOUR": "1000000",
    "ORIGIN": ORIGIN,
    "OUTAGE_AFTER": "1000000",  # the data is two hours old
    "LOG_LEVEL": "error",
}
Rows = dict[str, list[dict[str, Any]]]  # Any: column values
"""The rows of all tables, by the names of their columns."""


class Data:
    """The data of a service in an SQLite file, or in a database of a PostgreSQL server."""

    def __init__(self, place: Path | str) -> None:
        self.place = place

    @property
    def words(self) -> list[str]:
        """The options of `hkoji admin mail` for it."""
        return ["--database", self.place] if isinstance(self.place, str) else ["--data", str(self.place.parent)]

    def rows(self) -> Rows:
        """All rows."""
        if isinstance(self.place, str):
            with connected(self.place) as server:
                listed = server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
                return {name: _read(server.execute(f"SELECT * FROM {name}")) for (name,) in listed}
        file = sqlite3.connect(f"file:{self.place}?mode=ro", uri=True, timeout=60)
        try:
            listed = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            return {name: _read(file.execute(f"SELECT * FROM {name}")) for (name,) in listed}
        finally:
            file.close()


def _read(cursor: Any) -> list[dict[str, Any]]:  # Any: either driver's
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


class Copies:
    """Copies of an SQLite file, likewise in a PostgreSQL server if there is one."""

    def __init__(self, original: Path, server: Cluster | None) -> None:
        self._original, self._server = original, server
        self._template = None if server is None else _carry_over(original, server)

    def copy(self, folder: Path) -> Data:
        """A new copy."""
        if self._server is not None and self._template is not None:
            return Data(self._server.url(self._server.create(self._template)))
        (folder / "data").mkdir()
        place = folder / "data" / self._original.name
        shutil.copyfile(self._original, place)
        place.chmod(0o600)
        return Data(place)

    def drop(self, data: Data) -> None:
        """Removes a copy in a server."""
        if self._server is not None and isinstance(data.place, str):
            self._server.drop(str(sqlalchemy.make_url(data.place).database))


def _carry_over(original: Path, server: Cluster) -> str:
    """Makes a database with the rows of an SQLite file. Returns its name."""
    from hkoji_server.store.location import parse_location

    from tests.support.stores import postgres_at

    name = server.create()
    with postgres_at(server.url(name)):
        pass
    engine = sqlalchemy.create_engine(parse_location(server.url(name)))
    tables = sqlalchemy.MetaData()
    tables.reflect(engine)
    rows = Data(original).rows()
    with engine.begin() as connection:
        for table in tables.sorted_tables:
            found = rows.get(table.name, [])
            connection.execute(table.delete())
            if found:
                connection.execute(table.insert(), found)
    engine.dispose()
    return name


class LoneMail:
    """Mail processes on `data`, one behind each of so many `doors`, and the provider of players with these addresses.

    The provider gives each mail to one of the doors.
    """

    def __init__(self, data: Data, folder: Path, addresses: Iterable[str], doors: int = 1) -> None:
        self.data, self._folder = data, folder
        self.doors = [folder / f"lmtp{number}" for number in range(doors)]
        self.office = MemoryPostOffice(lambda: (str(random.choice(self.doors)), 0))
        self.mailboxes = {each: self.office.open(each.partition("@")[0]) for each in addresses}
        self._processes: list[ForkedProcess] = []

    @property
    def log(self) -> str:
        """The logs of all processes."""
        log = self._folder / "log"
        return log.read_text() if log.exists() else ""

    def _run(self, *words: str, door: int = 0, **options: Any) -> ForkedProcess:  # Any: options of `ForkedProcess`
        """Starts `hkoji admin mail WORDS`."""
        settings = {
            **_SETTINGS,
            "MAIL_LMTP": str(self.doors[door]),
            "MAIL_SMTP": f"smtp://127.0.0.1:{self.office.port}",
        }
        environment = {f"HKOJI_SERVER_{name}": each for name, each in settings.items()}
        process = ForkedProcess(
            ["admin", "mail", *words, *self.data.words],
            env={**os.environ, **UNLIMITED_ENVIRONMENT, **environment},
            stdout=self._folder / "log",
            stderr=self._folder / "log",
            **options,
        )
        self._processes.append(process)
        return process

    def start(self, prepare: Callable[[], object] | None, door: int = 0) -> ForkedProcess:
        """Starts a mail process, and waits until it takes mail, or has ended.

        It calls `prepare` first, which must be importable.
        """
        process = self._run("run", door=door, prepare=prepare)
        end = time.monotonic() + _PATIENCE
        while not _listens(self.doors[door]) and process.poll() is None:
            assert time.monotonic() < end, self.log[-3000:]
            time.sleep(0.005)
        return process

    def pipe(self, sender: str, recipient: str, raw: bytes) -> int:
        """Gives a mail to `hkoji admin mail receive`, and returns its exit code."""
        file = self._folder / f"piped{len(self._processes)}"
        file.write_bytes(raw)
        words = ("receive", "--recipient", recipient, "--sender", sender)
        return self._run(*words, stdin=file).wait(_PATIENCE)

    def close(self) -> None:
        """Kills what runs."""
        for process in self._processes:
            process.kill()
            process.wait()
        self.office.close()


def _listens(door: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as sock:
        return sock.connect_ex(str(door)) == 0
