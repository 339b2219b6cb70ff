"""A mail that a provider has signed is known by what was signed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_NOTED = sa.text("signed IS NOT NULL")


def upgrade() -> None:
    """Adds the column, and its index."""
    op.add_column("incoming", sa.Column("signed", TEXT))
    op.create_index(
        "incoming_signed",
        "incoming",
        ["name", "signed"],
        unique=True,
        sqlite_where=_NOTED,
        postgresql_where=_NOTED,
    )
