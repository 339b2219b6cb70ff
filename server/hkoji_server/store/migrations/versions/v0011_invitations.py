"""The offers that players have asked for lately, and an index of the pairs of players who have finished a game."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the table and the index."""
    op.create_table(
        "offer",
        sa.Column("player", TEXT, primary_key=True),
        sa.Column("at", TEXT, primary_key=True),
        sa.Column("game", TEXT, primary_key=True),
        sqlite_with_rowid=False,
    )
    where = sa.text("status = 'finished'")
    op.create_index("game_pair", "game", ["host", "guest"], sqlite_where=where, postgresql_where=where)
