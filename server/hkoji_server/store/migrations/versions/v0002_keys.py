"""Keys that were replaced or revoked, and recovery codes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the tables."""
    op.create_table(
        "retired",
        sa.Column("key", TEXT, primary_key=True),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.Column("revoked", sa.Boolean(), nullable=False),
        sa.Column("text", TEXT),
        sa.Column("sig", TEXT),
        sa.Column("new_sig", TEXT),
    )
    op.create_index("retired_name", "retired", ["name", "at"])
    op.create_table(
        "recovery",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("expires", TEXT, nullable=False),
    )
