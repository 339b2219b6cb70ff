"""An operator can find out whether mail comes in, and which version of the program takes it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Makes the table, and adds the column, which each beat fills."""
    op.create_table(
        "probe",
        sa.Column("digest", TEXT, primary_key=True),
        sa.Column("since", TEXT, nullable=False),
        sa.Column("recipient", TEXT),
        sa.Column("raw", sa.LargeBinary()),
        sqlite_with_rowid=False,
    )
    op.add_column("beat", sa.Column("version", TEXT))
