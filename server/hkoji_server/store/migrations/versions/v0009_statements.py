"""Statements about games, outages, and the newest time at which a process took entries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the tables."""
    op.create_table(
        "statement",
        sa.Column("game", TEXT, sa.ForeignKey("game.game"), primary_key=True),
        sa.Column("head", TEXT, primary_key=True),
        sa.Column("kind", TEXT, primary_key=True),
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("seconds", sa.Integer()),
        sa.Column("sig", TEXT, nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "outage",
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("from", TEXT, nullable=False, unique=True),
        sa.Column("until", TEXT, nullable=False),
    )
    op.create_table(
        "beat",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("at", TEXT, nullable=False),
    )
