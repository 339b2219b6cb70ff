"""The service remembers up to which mail it has read a mailbox by IMAP."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the table."""
    op.create_table(
        "imap_place",
        sa.Column("mailbox", TEXT, primary_key=True),
        sa.Column("validity", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
    )
