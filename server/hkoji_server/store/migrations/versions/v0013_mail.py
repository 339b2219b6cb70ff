"""Play by mail: mailboxes, held keys and certificates, tokens, mails that have come, drafts, evidence.

A channel may belong to a name that nobody has registered yet, and a letter to no game.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# Texts sort by their bytes, as in the log, whatever the language of the database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

CHANNEL = ("id", "player", "kind", "target", "events", "settings", "created", "confirmed", "code", "failures", "off")
OUTBOX = ("game", "seq", "event", "channel", "kind", "due", "not_before", "tries")


def upgrade() -> None:
    """Makes the tables, and takes the references to players and games from channels and notices."""
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("channel_player_fkey", "channel", type_="foreignkey")
        op.drop_constraint("outbox_game_fkey", "outbox", type_="foreignkey")
    else:
        _rebuild()
    op.add_column("service", sa.Column("mail_secret", TEXT))
    _players()
    _mails()


def _rebuild() -> None:
    """Makes both tables anew: SQLite cannot take a reference from a table."""
    for name, columns in (("channel", CHANNEL), ("outbox", OUTBOX)):
        op.rename_table(name, f"old_{name}")
        for index in {"channel": ("ix_channel_player",), "outbox": ("outbox_due", "outbox_channel")}[name]:
            op.drop_index(index, f"old_{name}")
        _make_channel() if name == "channel" else _make_outbox()
        listed = ", ".join(columns)
        op.execute(f"INSERT INTO {name} ({listed}) SELECT {listed} FROM old_{name}")  # noqa: S608 # names of ours
        op.drop_table(f"old_{name}")
    op.create_index("ix_channel_player", "channel", ["player"])
    op.create_index("outbox_due", "outbox", ["kind", "not_before"])
    op.create_index("outbox_channel", "outbox", ["channel"])


def _make_channel() -> None:
    op.create_table(
        "channel",
        sa.Column("id", TEXT, primary_key=True),
        sa.Column("player", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("events", TEXT, nullable=False),
        sa.Column("settings", TEXT, nullable=False),
        sa.Column("created", TEXT, nullable=False),
        sa.Column("confirmed", TEXT),
        sa.Column("code", TEXT),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("off", TEXT),
    )


def _make_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("game", TEXT, primary_key=True),
        sa.Column("seq", sa.Integer(), primary_key=True),
        sa.Column("event", TEXT, primary_key=True),
        sa.Column("channel", TEXT, primary_key=True),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("due", TEXT, nullable=False),
        sa.Column("not_before", TEXT, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sqlite_with_rowid=False,
    )


def _players() -> None:
    op.create_table(
        "mailbox",
        sa.Column("channel", TEXT, primary_key=True),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("address", TEXT, nullable=False),
        sa.Column("held_key", TEXT, nullable=False),
        sa.Column("lang", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("since", TEXT, nullable=False),
        sa.Column("orders", sa.Boolean(), nullable=False),
        sa.Column("cards", sa.Boolean(), nullable=False),
        sa.Column("dkim_seen", sa.Integer(), nullable=False),
        sa.Column("counter", sa.Integer(), nullable=False),
        sa.Column("paused", TEXT),
        sa.Column("heard", TEXT),
        sa.Column("invited", TEXT),
        sa.Column("invited_by", TEXT),
        sa.UniqueConstraint("address"),
    )
    op.create_index("ix_mailbox_name", "mailbox", ["name"])
    op.create_index("ix_mailbox_held_key", "mailbox", ["held_key"])
    op.create_table(
        "held_key",
        sa.Column("key", TEXT, primary_key=True),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("private", TEXT, nullable=False),
    )
    op.create_table(
        "certificate",
        sa.Column("text", TEXT, primary_key=True),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("mailbox", TEXT, nullable=False),
        sa.Column("salt", TEXT, nullable=False),
    )
    op.create_index("ix_certificate_key", "certificate", ["key"])
    op.create_index("ix_certificate_mailbox", "certificate", ["mailbox"])
    op.create_table(
        "mail_invitation",
        sa.Column("player", TEXT, primary_key=True),
        sa.Column("at", TEXT, primary_key=True),
        sa.Column("address", TEXT, primary_key=True),
        sa.Column("answered", TEXT),
        sqlite_with_rowid=False,
    )
    op.create_index("mail_invitation_address", "mail_invitation", ["address", "at"])
    op.create_index("mail_invitation_at", "mail_invitation", ["at"])


def _mails() -> None:
    op.create_table(
        "reply",
        sa.Column("digest", TEXT, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in ("channel", "name", "game", "seq", "purpose", "about")),
        sa.Column("made", TEXT, nullable=False),
        sa.Column("expires", TEXT),
        sa.Column("spent", TEXT),
        sa.Column("answers", TEXT, nullable=False),
    )
    for column in ("channel", "expires", "spent"):
        op.create_index(f"ix_reply_{column}", "reply", [column])
    op.create_table(
        "incoming",
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("via", TEXT, nullable=False),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in ("received", "name", "channel", "game", "message_id")),
        sa.Column("reply", TEXT),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("tried", TEXT),
        sa.Column("result", TEXT, nullable=False),
        sa.UniqueConstraint("digest"),
    )
    for column in ("channel", "received"):
        op.create_index(f"ix_incoming_{column}", "incoming", [column])
    for index, columns, condition in (
        ("incoming_new", ["name", "number"], "state = 'new'"),
        ("incoming_oldest", ["received"], "state = 'new'"),
        ("incoming_failed", ["number"], "state = 'failed'"),
        ("incoming_message", ["name", "message_id"], "message_id != ''"),
    ):
        where = sa.text(condition)
        unique = index == "incoming_message"
        op.create_index(index, "incoming", columns, unique=unique, sqlite_where=where, postgresql_where=where)
    op.create_table(
        "letter_count",
        sa.Column("hour", TEXT, primary_key=True),
        sa.Column("channel", TEXT, primary_key=True),
        sa.Column("letters", sa.Integer(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "bounce",
        sa.Column("digest", TEXT, primary_key=True),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sqlite_with_rowid=False,
    )
    for column in ("at", "channel"):
        op.create_index(f"ix_bounce_{column}", "bounce", [column])
    op.create_table(
        "draft",
        sa.Column("game", TEXT, primary_key=True),
        sa.Column("source", TEXT, primary_key=True),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("submission", TEXT, nullable=False),
        sa.Column("entropy", TEXT),
        sqlite_with_rowid=False,
    )
    where = sa.text("entropy IS NOT NULL")
    op.create_index("draft_entropy", "draft", ["game"], sqlite_where=where, postgresql_where=where)
    op.create_table(
        "evidence",
        sa.Column("commit", TEXT, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in ("game", "head", "name")),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.Column("dns", sa.LargeBinary(), nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in ("salt", "nonce", "purpose", "about", "grade")),
        sa.Column("reader", sa.Integer(), nullable=False),
    )
    op.create_index("evidence_name", "evidence", ["name", "game"])
