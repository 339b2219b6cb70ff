"""Keys that were replaced or revoked, and codes with which a player may have another."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables."""
    op.create_table(
        "retired",
        sa.Column("key", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("revoked", sa.Boolean(), nullable=False),
        sa.Column("text", sa.Text()),
        sa.Column("sig", sa.Text()),
        sa.Column("new_sig", sa.Text()),
    )
    op.create_index("retired_name", "retired", ["name", "at"])
    op.create_table(
        "recovery",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("expires", sa.Text(), nullable=False),
    )
