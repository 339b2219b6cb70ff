"""Leaves invitations out of the index of the games that wait for a player's entry: another index has them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Changes the index."""
    where = sa.text("to_move IS NOT NULL AND status = 'playing'")
    op.drop_index("game_waiting", "game")
    op.create_index("game_waiting", "game", ["to_move", "created"], sqlite_where=where, postgresql_where=where)
