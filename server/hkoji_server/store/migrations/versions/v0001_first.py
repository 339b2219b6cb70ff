"""The first schema: service, players, logins, games, entries, openings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
    op.create_table(
        "service",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("private_key", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
    )
    op.create_table(
        "player",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("key", sa.Text(), nullable=False, unique=True),
        sa.Column("registered", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("sig", sa.Text(), nullable=False),
    )
    op.create_table(
        "challenge",
        sa.Column("digest", sa.Text(), primary_key=True),
        sa.Column("expires", sa.Text(), nullable=False),
    )
    op.create_index("ix_challenge_expires", "challenge", ["expires"])
    op.create_table(
        "token",
        sa.Column("digest", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("expires", sa.Text(), nullable=False),
    )
    op.create_index("ix_token_expires", "token", ["expires"])
    op.create_table(
        "game",
        sa.Column("game", sa.Text(), primary_key=True),
        sa.Column("ruleset", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("host", sa.Text()),
        sa.Column("guest", sa.Text()),
        sa.Column("invite", sa.Text()),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("actor", sa.Integer()),
        sa.Column("to_move", sa.Text()),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("updated", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("winner", sa.Integer()),
        sqlite_with_rowid=False,
    )
    for column, name in (("to_move", "waiting"), ("host", "host"), ("guest", "guest"), ("invite", "invite")):
        where = sa.text(f"{column} IS NOT NULL")
        op.create_index(f"game_{name}", "game", [column, "created"], sqlite_where=where)
    op.create_index("game_open", "game", ["created"], sqlite_where=sa.text("status = 'open'"))
    op.create_index("game_shown", "game", ["created"], sqlite_where=sa.text("status != 'offered'"))
    op.create_table(
        "secret",
        sa.Column("game", sa.Text(), sa.ForeignKey("game.game"), primary_key=True),
        sa.Column("seed", sa.Text(), nullable=False),
        sa.Column("offered_to", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "entry",
        sa.Column("game", sa.Text(), sa.ForeignKey("game.game"), primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("sig", sa.LargeBinary(), nullable=False),
        sa.Column("receipt", sa.Text(), nullable=False),
        sa.Column("receipt_sig", sa.LargeBinary(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "opening",
        sa.Column("game", sa.Text(), sa.ForeignKey("game.game"), primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("part", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("cards", sa.Text(), nullable=False),
        sa.Column("salt", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
