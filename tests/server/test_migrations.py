"""The schema of both databases: golden databases are read, brought forward, or refused.

The golden databases in tests/data/databases hold a running game and a row in every table of the first schema. The way
up from the newest one is shown by a revision that only these tests have.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hkoji_server.store import migrate
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Query
from hkoji_server.store.tables import GameTable
from sqlalchemy import create_engine, inspect, text

from hkoji.errors import StorageError
from hkoji.game.clock import Outage, Way
from tests.support.cluster import Cluster
from tests.support.loops import run
from tests.support.rows import a_code, an_entropy
from tests.support.stores import DATABASES, postgres_at, sqlite_at

NEWEST = "0022"
AT = "2026-11-20T12:00:00Z"
LATER = "0023"
_LATER = """
import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("game", sa.Column("mood", sa.Text(), nullable=False, server_default=""))
    op.execute("UPDATE game SET mood = 'calm' WHERE status = 'playing'")
    op.create_index("game_mood", "game", ["mood"])
"""


class Database(NamedTuple):
    """A database by its URL for SQLAlchemy, and a way to open it as a store."""

    url: str
    opened: Callable[[], AbstractContextManager[Store]]

    def set_schema(self, number: str) -> None:
        """Lets the database say that it has another schema."""
        engine = create_engine(self.url)
        with engine.begin() as connection:
            connection.execute(text(f"UPDATE alembic_version SET version_num = '{number}'"))
        engine.dispose()

    def rows(self) -> dict[str, list[str]]:
        """All rows, in order, by table, as texts."""
        engine = create_engine(self.url)
        with engine.connect() as connection:
            tables = inspect(connection).get_table_names()
            found = {each: connection.execute(text(f'SELECT * FROM "{each}"')).mappings().all() for each in tables}
        engine.dispose()
        return {name: sorted(str(sorted(row.items())) for row in rows) for name, rows in found.items()}


def sqlite_golden(folder: Path) -> Database:
    path = folder / "data" / "hkoji.sqlite3"
    path.parent.mkdir()
    with sqlite3.connect(path) as made:
        made.executescript((DATABASES / "v0020.sql").read_text())
    made.close()
    return Database(f"sqlite:///{path}", lambda: sqlite_at(path))


@contextmanager
def postgres_golden(cluster: Cluster) -> Iterator[Database]:
    name = cluster.create()
    script = (DATABASES / "postgresql-v0020.sql").read_text()
    cluster.run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", name, given=script)
    yield Database(cluster.url(name), lambda: postgres_at(cluster.url(name)))
    cluster.drop(name)


@pytest.fixture(params=["sqlite", "postgres"])
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        yield sqlite_golden(tmp_path)
        return
    with postgres_golden(request.getfixturevalue("cluster")) as database:
        yield database


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A later program, with one revision more."""
    scripts = tmp_path / "migrations"
    shutil.copytree(migrate._SCRIPTS, scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (scripts / "versions" / f"v{LATER}_for_tests.py").write_text(_LATER)
    with monkeypatch.context() as patched:
        patched.setattr(migrate, "_SCRIPTS", scripts)
        migrate.newest_schema.cache_clear()
        yield
    migrate.newest_schema.cache_clear()


def test_a_golden_database_is_read_with_all_that_is_in_it(golden: Database) -> None:
    before = golden.rows()
    assert all(before.values())
    with golden.opened() as store:
        (game,) = run(store.games(Query()))
        assert (game.status, game.seq, len(run(store.lines(game.game)))) == ("playing", 8, 9)
        assert [each.revoked for name in ("alice", "carol") for each in run(store.retired_of(name))] == [False, True]
        assert run(store.invitations(AT)) == (a_code("c0" * 32, "2026-12-20T12:00:00Z", 3),)
        assert run(store.outages()) == (Outage("2026-11-18T00:00:00Z", "2026-11-18T01:00:00Z", Way.HTTP),)
        assert run(store.token("e0" * 32, AT)) == "bob"
        assert run(store.blocks("bob")) == ("carol",)
        assert [each.works for each in run(store.channels("bob"))] == [True]
        assert [each.text for each in run(store.messages(game.game, 0, 9))] == ["good luck", None]
        mailbox = run(store.mailbox_of("dave", AT))
        assert mailbox is not None
        assert (mailbox.address, mailbox.orders, mailbox.zone) == ("Dave@example.org", True, "+01:00")
        assert [each.raw for each in run(store.evidence(game.game, "dave"))] == [b"From: d\r\n\r\n\xff"]
        assert game.dealer == "server/v1"
    assert golden.rows() == brought_forward(before)


def brought_forward(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    """The rows of a golden database as the newest schema has them."""
    games = [row.replace("('ended'", "('dealer', 'server/v1'), ('ended'") for row in rows["game"]]
    kept = {name: found for name, found in rows.items() if name != "draft"}
    version = [f"[('version_num', '{NEWEST}')]"]
    return {**kept, "game": games, "deposit": [], "held_entropy": [], "alembic_version": version}


def test_of_drafts_the_entropy_stays_to_which_an_entry_commits(golden: Database) -> None:
    """The others were made by mails that are processed again, or were refused."""
    engine = create_engine(golden.url)
    with engine.begin() as connection:
        joined = connection.execute(text("SELECT game, text FROM entry WHERE seq = 2")).one()
        commit = json.loads(joined.text)["body"]["entropy_commit"]
        drafts = [
            ("a0", "bob", "00" * 32, "a1" * 32),
            ("a1", "bob", commit, "a2" * 32),
            ("a2", "bob", "11" * 32, "a3" * 32),
            ("a3", "carol", "22" * 32, "a4" * 32),
            ("a4", "bob", commit, None),
        ]
        for source, name, said, entropy in drafts:
            row = {"game": joined.game, "source": source, "name": name, "entropy": entropy}
            row["submission"] = json.dumps({"entry": {"entry": json.dumps({"body": {"entropy_commit": said}})}})
            columns = ", ".join(row)
            connection.execute(text(f"INSERT INTO draft ({columns}) VALUES (:{columns.replace(', ', ', :')})"), row)
    engine.dispose()
    with golden.opened() as store:
        assert run(store.held_entropy(("", ""), 9)) == (an_entropy(joined.game, "bob", "a2" * 32),)
    assert "draft" not in golden.rows()


@pytest.mark.usefixtures("later")
def test_a_later_program_brings_a_golden_database_forward_and_keeps_all_rows(golden: Database) -> None:
    before = brought_forward(golden.rows())
    for _ in range(2):
        with golden.opened() as store:
            assert len(run(store.games(Query()))) == 1
    after = golden.rows()
    assert after.pop("alembic_version") == [f"[('version_num', '{LATER}')]"]
    assert [row.count("('mood', 'calm')") for row in after["game"]] == [1]
    after["game"] = [row.replace("('mood', 'calm'), ", "") for row in after["game"]]
    del before["alembic_version"]
    assert after == before


def test_the_database_of_a_later_program_is_refused_and_not_changed(
    golden: Database, request: pytest.FixtureRequest
) -> None:
    golden.set_schema(LATER)
    before = golden.rows()
    newer = f"schema {LATER}, which is newer than this program"
    with pytest.raises(StorageError, match=newer) as raised, golden.opened():
        pass
    assert "nothing was changed" in raised.value.hint
    assert golden.rows() == before
    request.getfixturevalue("later")
    with golden.opened():  # that program takes it as it is
        assert golden.rows() == before


@pytest.mark.parametrize("number", ["0001", "0019"])
def test_the_database_of_a_development_version_is_refused_and_not_changed(golden: Database, number: str) -> None:
    golden.set_schema(number)
    before = golden.rows()
    for _ in range(2):
        with pytest.raises(StorageError, match="made by a development version of hkoji") as raised, golden.opened():
            pass
        assert "nothing was changed" in raised.value.hint
        assert golden.rows() == before


def test_serve_says_that_a_development_version_made_the_database(tmp_path: Path) -> None:
    golden = sqlite_golden(tmp_path)
    golden.set_schema("0019")
    before = golden.rows()
    command = [sys.executable, "-m", "hkoji", "serve", "--data", str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "made by a development version of hkoji" in " ".join(done.stderr.split())
    assert golden.rows() == before


def test_a_golden_database_gets_the_tables_of_the_program(golden: Database) -> None:
    with golden.opened():
        pass
    engine = create_engine(golden.url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), GameTable.metadata) == []
    engine.dispose()
