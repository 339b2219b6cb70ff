"""Indexes for lists by status and for a player's logins."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Changes the indexes."""
    shown = sa.text("status != 'offered'")
    op.create_index("game_status", "game", ["status", "created"], sqlite_where=shown, postgresql_where=shown)
    op.drop_index("game_open", "game")
    op.create_index("ix_token_name", "token", ["name"])
