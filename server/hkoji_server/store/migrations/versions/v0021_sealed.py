"""Sealed games: the dealer of a game, games without a seed, and the draws that players deposit."""

from __future__ import annotations

from typing import Final

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_DEALER: Final = "ALTER TABLE game ADD COLUMN dealer TEXT NOT NULL DEFAULT 'server/v1'"
_DEPOSIT: Final = """
CREATE TABLE deposit (
    game TEXT NOT NULL REFERENCES game, round INTEGER NOT NULL, at INTEGER NOT NULL, seat INTEGER NOT NULL,
    shares BLOB NOT NULL, PRIMARY KEY (game, round, at)
) WITHOUT ROWID
"""
_SQLITE: Final = (
    _DEALER,
    # SQLite cannot make a column nullable. Nothing refers to the old table.
    """
    CREATE TABLE new_secret (
        game TEXT NOT NULL PRIMARY KEY REFERENCES game, seed TEXT, offered_to TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    "INSERT INTO new_secret SELECT game, seed, offered_to FROM secret",
    "DROP TABLE secret",
    "ALTER TABLE new_secret RENAME TO secret",
    _DEPOSIT,
)
_POSTGRES: Final = (
    _DEALER.replace("TEXT", 'TEXT COLLATE "C"'),
    "ALTER TABLE secret ALTER COLUMN seed DROP NOT NULL",
    _DEPOSIT.replace("TEXT", 'TEXT COLLATE "C"').replace("BLOB", "BYTEA").replace("WITHOUT ROWID", ""),
)


def upgrade() -> None:
    """Older games were dealt by the service."""
    connection = op.get_bind()
    for statement in _POSTGRES if connection.dialect.name == "postgresql" else _SQLITE:
        connection.exec_driver_sql(statement)
