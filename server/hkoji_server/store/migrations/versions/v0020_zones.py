"""Times in letters are shown in the reader's time zone too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Adds the column; no zone is known yet."""
    op.add_column("mailbox", sa.Column("zone", TEXT, nullable=False, server_default=""))
