"""Notices, messages between players, what players have set, an index of finished games, and games opened by link."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the tables, the index and the column, and leaves games that have a link out of the public indexes."""
    op.create_table(
        "channel",
        sa.Column("id", TEXT, primary_key=True),
        sa.Column("player", TEXT, sa.ForeignKey("player.name"), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("events", TEXT, nullable=False),
        sa.Column("settings", TEXT, nullable=False),
        sa.Column("created", TEXT, nullable=False),
        sa.Column("confirmed", TEXT),
        sa.Column("code", TEXT),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("off", TEXT),
    )
    op.create_index("ix_channel_player", "channel", ["player"])
    op.create_table(
        "outbox",
        sa.Column("game", TEXT, sa.ForeignKey("game.game"), primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True),
        sa.Column("event", TEXT, primary_key=True),
        sa.Column("channel", TEXT, primary_key=True),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("due", TEXT, nullable=False),
        sa.Column("not_before", TEXT, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("outbox_due", "outbox", ["kind", "not_before"])
    op.create_index("outbox_channel", "outbox", ["channel"])
    op.create_table(
        "talk",
        sa.Column("game", TEXT, sa.ForeignKey("game.game"), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("text", TEXT),
        sa.Column("sig", TEXT),
        sa.Column("at", TEXT, nullable=False),
        sqlite_with_rowid=False,
    )
    first = sa.text("number = 1")
    op.create_index("talk_first", "talk", ["at", "game"], sqlite_where=first, postgresql_where=first)
    op.create_table(
        "setting",
        sa.Column("player", TEXT, sa.ForeignKey("player.name"), primary_key=True),
        sa.Column("json", TEXT, nullable=False),
    )
    op.create_table(
        "block",
        sa.Column("player", TEXT, sa.ForeignKey("player.name"), primary_key=True),
        sa.Column("other", TEXT, sa.ForeignKey("player.name"), primary_key=True),
        sqlite_with_rowid=False,
    )
    where = sa.text("ended IS NOT NULL")
    op.create_index("game_ended", "game", ["ended", "game"], sqlite_where=where, postgresql_where=where)
    op.add_column("game", sa.Column("link", TEXT))
    where = sa.text("status != 'offered' AND link IS NULL")
    for name, columns in (("game_shown", ["created"]), ("game_status", ["status", "created"])):
        op.drop_index(name, "game")
        op.create_index(name, "game", columns, sqlite_where=where, postgresql_where=where)
