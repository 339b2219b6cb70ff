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
_KEPT: Final = """
INSERT INTO held_entropy SELECT game, name, entropy FROM draft JOIN entry USING (game)
WHERE entropy IS NOT NULL AND instr(entry.text, '"entropy_commit":"') > 0
    AND instr(submission, substr(entry.text, instr(entry.text, '"entropy_commit":"') + 18, 64)) > 0
"""
"""A draft whose own commitment is in no entry was refused, or its mail is processed again, with other entropy."""
_SQLITE: Final = (_TABLE, _KEPT, "DROP TABLE draft")
_POSTGRES: Final = (
    _TABLE.replace("TEXT", 'TEXT COLLATE "C"').replace("WITHOUT ROWID", ""),
    _KEPT.replace("instr", "strpos"),
    "DROP TABLE draft",
)


def upgrade() -> None:
    """A mail that was being processed is processed again."""
    connection = op.get_bind()
    for statement in _POSTGRES if connection.dialect.name == "postgresql" else _SQLITE:
        connection.exec_driver_sql(statement)
