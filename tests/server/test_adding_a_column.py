"""The four places of a new column of `game`, which CONTRIBUTING names, are all: a copy of the service gets one."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from tests.support.stores import DATABASES

ROOT = Path(__file__).parents[2]
SERVICE = ROOT / "server" / "hkoji_server"

PLACES = {
    "store/tables.py": (
        "    dealer: str = Field(sa_type=Text)\n",
        '    dealer: str = Field(sa_type=Text)\n    stage: str = Field(default="", sa_type=Text)\n',
    ),
    "store/game_values.py": (
        "    dealer: str = SERVER_V1\n",
        '    dealer: str = SERVER_V1\n    stage: str = ""\n',
    ),
    "service/games/loaded_games.py": (
        "        link=setup.link.text if",
        "        stage=course.stage.name,\n        link=setup.link.text if",
    ),
}
"""A line of each file, and the lines that take its place."""

REVISION = """
import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("game", sa.Column("stage", sa.Text(), nullable=False, server_default=""))
"""

PROGRAM = """
import sys
from dataclasses import replace
from pathlib import Path

import hkoji_server
from hkoji_server.service.games.loaded_games import append_of, hold, summarise
from hkoji_server.store.game_values import NewGame, Query

from hkoji import referee
from tests.support.loops import run
from tests.support.stores import sqlite_at
from tests.support.table import Table
from tests.support.times import now

assert Path(hkoji_server.__file__).is_relative_to(sys.argv[1])
with sqlite_at(Path(sys.argv[2])) as store:
    (old,) = run(store.games(Query()))
    print(repr(old.stage))
    table = Table(seed=3)
    new = summarise(table.refereed, created=now())
    run(store.add_game(NewGame(new, table.lines[0], "5e" * 32, "alice", now(), 1)))
    for step in (table.begin, table.play):
        before, lines = hold(table.refereed, None), len(table.lines)
        step()
        append, _ = append_of(before, referee.Accepted(tuple(table.lines[lines:]), table.refereed), ())
        run(store.append(replace(append, at=now(), outages=1)))
        print(run(store.summary(table.game)).stage)
"""


def test_a_column_of_games_needs_four_places(tmp_path: Path) -> None:
    """It is written with the entries that change it, and read in lists; the games of an earlier schema stay."""
    copy = tmp_path / "server"
    shutil.copytree(SERVICE, copy / "hkoji_server", ignore=shutil.ignore_patterns("__pycache__"))
    for name, (line, instead) in PLACES.items():
        path = copy / "hkoji_server" / name
        text = path.read_text()
        assert text.count(line) == 1, name
        path.write_text(text.replace(line, instead))
    (copy / "hkoji_server" / "store" / "migrations" / "versions" / "v0023_stage.py").write_text(REVISION)
    database = tmp_path / "hkoji.sqlite3"
    with sqlite3.connect(database) as made:
        made.executescript((DATABASES / "v0020.sql").read_text())
    made.close()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(copy), str(database)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{copy}:{ROOT}"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["''", "PLAY", "OVER"]
