"""Outages, and the newest time at which a process took entries, have a way: HTTP or mail. So has a game's deadline."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from hkoji.errors import StorageError
from hkoji.messages.text import tell

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes both tables anew with their rows, and adds the column. Raises `StorageError` if a log has outages.

    Such a log is in a form that was never released. There are few outages, so their rows pass through memory.
    """
    connection = op.get_bind()
    credited = sa.text("SELECT 1 FROM entry WHERE text LIKE '%\"outages\":[{%' LIMIT 1")
    if connection.execute(credited).first():
        raise StorageError(
            tell(
                "this database holds games of a development version of hkoji, which this version cannot read; start"
                " with a new database. Nothing was changed."
            )
        )
    outages = connection.execute(sa.text('SELECT number, "from", until FROM outage')).all()
    beats = connection.execute(sa.text("SELECT at FROM beat")).all()
    op.drop_table("outage")
    op.drop_table("beat")
    outage = op.create_table(
        "outage",
        sa.Column("way", TEXT, primary_key=True),
        sa.Column("from", TEXT, primary_key=True),
        sa.Column("until", TEXT, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, unique=True),
        sqlite_with_rowid=False,
    )
    beat = op.create_table(
        "beat",
        sa.Column("way", TEXT, primary_key=True),
        sa.Column("at", TEXT, nullable=False),
        sqlite_with_rowid=False,
    )
    for number, begin, until in outages:
        op.execute(sa.insert(outage).values({"way": "http", "from": begin, "until": until, "number": number}))
    for (at,) in beats:
        op.execute(sa.insert(beat).values(way="http", at=at))
    op.add_column("game", sa.Column("way", TEXT, nullable=False, server_default="http"))
    looked = sa.text("look_at IS NOT NULL")
    op.drop_index("game_look", "game")
    op.create_index("game_look", "game", ["way", "look_at"], sqlite_where=looked, postgresql_where=looked)
