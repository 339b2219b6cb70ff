"""Gives games that were taken back before anyone joined a status of their own."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Changes the status of the games that have been cancelled."""
    op.execute("UPDATE game SET status = 'cancelled' WHERE status = 'finished' AND reason = 'cancel'")
