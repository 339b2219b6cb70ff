"""What a statement about a game says of the mail behind it, if the service has signed it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Adds the column. No statement that is kept has been signed for a player."""
    op.add_column("statement", sa.Column("mail", TEXT))
