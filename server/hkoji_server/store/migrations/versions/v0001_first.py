"""The first schema: service, players, logins, games, entries, openings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the tables."""
    op.create_table(
        "service",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("private_key", TEXT, nullable=False),
        sa.Column("origin", TEXT, nullable=False),
    )
    op.create_table(
        "player",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("key", TEXT, nullable=False, unique=True),
        sa.Column("registered", TEXT, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("sig", TEXT, nullable=False),
    )
    op.create_table(
        "challenge",
        sa.Column("digest", TEXT, primary_key=True),
        sa.Column("expires", TEXT, nullable=False),
    )
    op.create_index("ix_challenge_expires", "challenge", ["expires"])
    op.create_table(
        "token",
        sa.Column("digest", TEXT, primary_key=True),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("expires", TEXT, nullable=False),
    )
    op.create_index("ix_token_expires", "token", ["expires"])
    op.create_table(
        "game",
        sa.Column("game", TEXT, primary_key=True),
        sa.Column("ruleset", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("host", TEXT),
        sa.Column("guest", TEXT),
        sa.Column("invite", TEXT),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("head", TEXT, nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("actor", sa.Integer()),
        sa.Column("to_move", TEXT),
        sa.Column("created", TEXT, nullable=False),
        sa.Column("updated", TEXT, nullable=False),
        sa.Column("reason", TEXT),
        sa.Column("winner", sa.Integer()),
        sqlite_with_rowid=False,
    )
    for column, name in (("to_move", "waiting"), ("host", "host"), ("guest", "guest"), ("invite", "invite")):
        where = sa.text(f"{column} IS NOT NULL")
        op.create_index(f"game_{name}", "game", [column, "created"], sqlite_where=where, postgresql_where=where)
    for name, which in (("open", "status = 'open'"), ("shown", "status != 'offered'")):
        where = sa.text(which)
        op.create_index(f"game_{name}", "game", ["created"], sqlite_where=where, postgresql_where=where)
    op.create_table(
        "secret",
        sa.Column("game", TEXT, sa.ForeignKey("game.game"), primary_key=True),
        sa.Column("seed", TEXT, nullable=False),
        sa.Column("offered_to", TEXT, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "entry",
        sa.Column("game", TEXT, sa.ForeignKey("game.game"), primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("sig", sa.LargeBinary(), nullable=False),
        sa.Column("receipt", TEXT, nullable=False),
        sa.Column("receipt_sig", sa.LargeBinary(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "opening",
        sa.Column("game", TEXT, sa.ForeignKey("game.game"), primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("part", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("cards", TEXT, nullable=False),
        sa.Column("salt", TEXT, nullable=False),
        sqlite_with_rowid=False,
    )
