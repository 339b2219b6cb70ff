"""Adds the time at which a game ended, and changes the indexes for a player's games and for finished games."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Adds and fills the column, and changes the indexes."""
    op.add_column("game", sa.Column("ended", TEXT))
    op.execute("UPDATE game SET ended = updated WHERE status = 'finished'")
    seats = {"host": "host IS NOT NULL", "guest": "guest IS NOT NULL", "invite": "invite IS NOT NULL AND guest IS NULL"}
    for seat, there in seats.items():
        op.drop_index(f"game_{seat}", "game")
        for name, columns, where in (
            (f"game_{seat}", [seat, "status", "created"], there),
            (f"game_{seat}_ended", [seat, "ended"], f"{there} AND ended IS NOT NULL"),
        ):
            op.create_index(name, "game", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
