"""The entropy of held seats, which was kept in drafts; an order that a mail gives needs no draft."""

from __future__ import annotations

from typing import Final

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_TABLE: Final = """
CREATE TABLE held_entropy (
    game TEXT NOT NULL, name TEXT NOT NULL, entropy TEXT NOT NULL, PRIMARY KEY (game, name)
) WITHOUT ROWID
"""
_SQLITE: Final = (
    _TABLE,
    "INSERT OR IGNORE INTO held_entropy SELECT game, name, entropy FROM draft WHERE entropy IS NOT NULL",
    "DROP TABLE draft",
)
_POSTGRES: Final = (
    _TABLE.replace("TEXT", 'TEXT COLLATE "C"').replace("WITHOUT ROWID", ""),
    "INSERT INTO held_entropy SELECT game, name, entropy FROM draft WHERE entropy IS NOT NULL ON CONFLICT DO NOTHING",
    "DROP TABLE draft",
)


def upgrade() -> None:
    """A mail that was being processed is processed again."""
    connection = op.get_bind()
    for statement in _POSTGRES if connection.dialect.name == "postgresql" else _SQLITE:
        connection.exec_driver_sql(statement)
