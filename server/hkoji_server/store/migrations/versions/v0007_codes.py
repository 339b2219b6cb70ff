"""The operator's codes in one table, for recoveries and registrations; an index for offers that nobody opens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Moves the recovery codes into the new table, and adds the index."""
    op.create_table(
        "code",
        sa.Column("digest", TEXT, primary_key=True),
        sa.Column("name", TEXT, unique=True),
        sa.Column("expires", TEXT, nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
    )
    op.create_index("ix_code_expires", "code", ["expires"])
    op.execute("INSERT INTO code (digest, name, expires, uses) SELECT digest, name, expires, 1 FROM recovery")
    op.drop_table("recovery")
    offered = sa.text("status = 'offered'")
    op.create_index("game_offered", "game", ["created"], sqlite_where=offered, postgresql_where=offered)
