"""The agreement and the deadline of a game. A database that holds games cannot be brought forward: it is refused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from hkoji.errors import StorageError
from hkoji.messages.text import tell

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Adds the columns and the index. Raises `StorageError` if there is a game.

    The logs of such games are in a form of the log that was never released.
    """
    if op.get_bind().execute(sa.text("SELECT 1 FROM game LIMIT 1")).first():
        raise StorageError(
            tell(
                "this database holds games of a development version of hkoji, which this version cannot read; start"
                " with a new database. Nothing was changed."
            )
        )
    op.add_column("game", sa.Column("agreement", TEXT, nullable=False))
    op.add_column("game", sa.Column("deadline", TEXT))
    op.add_column("game", sa.Column("look_at", TEXT))
    looked = sa.text("look_at IS NOT NULL")
    op.create_index("game_look", "game", ["look_at"], sqlite_where=looked, postgresql_where=looked)
