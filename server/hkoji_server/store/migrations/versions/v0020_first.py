"""The first schema. Every later revision changes it; none changes this file.

Databases of the schemas 0001 to 0019 were made by development versions, and are refused.
"""

from __future__ import annotations

from typing import Final

from alembic import op

revision = "0020"
down_revision = None
branch_labels = None
depends_on = None

_SCHEMA: Final = """
CREATE TABLE service (
    id INTEGER NOT NULL PRIMARY KEY, private_key TEXT NOT NULL, origin TEXT NOT NULL, mail_secret TEXT
);

CREATE TABLE player (
    name TEXT NOT NULL PRIMARY KEY, key TEXT NOT NULL UNIQUE, registered TEXT NOT NULL, text TEXT NOT NULL,
    sig TEXT NOT NULL
);

CREATE TABLE retired (
    key TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL, revoked BOOLEAN NOT NULL, text TEXT,
    sig TEXT, new_sig TEXT
);
CREATE INDEX retired_name ON retired (name, at);

CREATE TABLE code (
    digest TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE, expires TEXT NOT NULL, uses INTEGER NOT NULL
);
CREATE INDEX ix_code_expires ON code (expires);

CREATE TABLE challenge (
    digest TEXT NOT NULL PRIMARY KEY, expires TEXT NOT NULL
);
CREATE INDEX ix_challenge_expires ON challenge (expires);

CREATE TABLE token (
    digest TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, expires TEXT NOT NULL
);
CREATE INDEX ix_token_expires ON token (expires);
CREATE INDEX ix_token_name ON token (name);

CREATE TABLE game (
    game TEXT NOT NULL PRIMARY KEY, ruleset TEXT NOT NULL, status TEXT NOT NULL, host TEXT, guest TEXT, invite TEXT,
    seq INTEGER NOT NULL, head TEXT NOT NULL, round INTEGER NOT NULL, actor INTEGER, to_move TEXT,
    created TEXT NOT NULL, updated TEXT NOT NULL, reason TEXT, winner INTEGER, ended TEXT, agreement TEXT NOT NULL,
    deadline TEXT, look_at TEXT, link TEXT, way TEXT NOT NULL DEFAULT 'http',
    by_mail TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;
CREATE INDEX game_ended ON game (ended, game) WHERE ended IS NOT NULL;
CREATE INDEX game_guest ON game (guest, status, created) WHERE guest IS NOT NULL;
CREATE INDEX game_guest_ended ON game (guest, ended) WHERE guest IS NOT NULL AND ended IS NOT NULL;
CREATE INDEX game_host ON game (host, status, created) WHERE host IS NOT NULL;
CREATE INDEX game_host_ended ON game (host, ended) WHERE host IS NOT NULL AND ended IS NOT NULL;
CREATE INDEX game_invite ON game (invite, status, created) WHERE invite IS NOT NULL AND guest IS NULL;
CREATE INDEX game_invite_ended ON game (invite, ended) WHERE invite IS NOT NULL AND guest IS NULL AND ended IS NOT NULL;
CREATE INDEX game_look ON game (way, look_at) WHERE look_at IS NOT NULL;
CREATE INDEX game_offered ON game (created) WHERE status = 'offered';
CREATE INDEX game_pair ON game (host, guest) WHERE status = 'finished';
CREATE INDEX game_shown ON game (created) WHERE status != 'offered' AND link IS NULL;
CREATE INDEX game_status ON game (status, created) WHERE status != 'offered' AND link IS NULL;
CREATE INDEX game_waiting ON game (to_move, created) WHERE to_move IS NOT NULL AND status = 'playing';

CREATE TABLE secret (
    game TEXT NOT NULL PRIMARY KEY REFERENCES game, seed TEXT NOT NULL, offered_to TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE offer (
    player TEXT NOT NULL, at TEXT NOT NULL, game TEXT NOT NULL, PRIMARY KEY (player, at, game)
) WITHOUT ROWID;

CREATE TABLE entry (
    game TEXT NOT NULL REFERENCES game, seq INTEGER NOT NULL, text TEXT NOT NULL, sig BLOB NOT NULL,
    receipt TEXT NOT NULL, receipt_sig BLOB NOT NULL, PRIMARY KEY (game, seq)
) WITHOUT ROWID;

CREATE TABLE opening (
    game TEXT NOT NULL REFERENCES game, seq INTEGER NOT NULL, part INTEGER NOT NULL, cards TEXT NOT NULL,
    salt TEXT NOT NULL, PRIMARY KEY (game, seq, part)
) WITHOUT ROWID;

CREATE TABLE statement (
    game TEXT NOT NULL REFERENCES game, head TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, seconds INTEGER,
    sig TEXT NOT NULL, at TEXT NOT NULL, mail TEXT, PRIMARY KEY (game, head, kind, name)
) WITHOUT ROWID;

CREATE TABLE outage (
    way TEXT NOT NULL, "from" TEXT NOT NULL, until TEXT NOT NULL, number INTEGER NOT NULL UNIQUE,
    PRIMARY KEY (way, "from")
) WITHOUT ROWID;

CREATE TABLE beat (
    way TEXT NOT NULL PRIMARY KEY, at TEXT NOT NULL, version TEXT
) WITHOUT ROWID;

CREATE TABLE channel (
    id TEXT NOT NULL PRIMARY KEY, player TEXT NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL,
    events TEXT NOT NULL, settings TEXT NOT NULL, created TEXT NOT NULL, confirmed TEXT, code TEXT,
    failures INTEGER NOT NULL, off TEXT
);
CREATE INDEX ix_channel_player ON channel (player);

CREATE TABLE outbox (
    game TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, channel TEXT NOT NULL, kind TEXT NOT NULL,
    due TEXT NOT NULL, not_before TEXT NOT NULL, tries INTEGER NOT NULL, PRIMARY KEY (game, seq, event, channel)
) WITHOUT ROWID;
CREATE INDEX outbox_channel ON outbox (channel);
CREATE INDEX outbox_due ON outbox (kind, not_before);

CREATE TABLE talk (
    game TEXT NOT NULL REFERENCES game, number INTEGER NOT NULL, name TEXT NOT NULL, text TEXT, sig TEXT,
    at TEXT NOT NULL, PRIMARY KEY (game, number)
) WITHOUT ROWID;
CREATE INDEX talk_first ON talk (at, game) WHERE number = 1;

CREATE TABLE setting (
    player TEXT NOT NULL PRIMARY KEY REFERENCES player, json TEXT NOT NULL
);

CREATE TABLE block (
    player TEXT NOT NULL REFERENCES player, other TEXT NOT NULL REFERENCES player, PRIMARY KEY (player, other)
) WITHOUT ROWID;

CREATE TABLE mailbox (
    channel TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, address TEXT NOT NULL UNIQUE, held_key TEXT NOT NULL,
    lang TEXT NOT NULL, state TEXT NOT NULL, since TEXT NOT NULL, orders BOOLEAN NOT NULL, cards BOOLEAN NOT NULL,
    dkim_seen INTEGER NOT NULL, counter INTEGER NOT NULL, paused TEXT, heard TEXT, confirm TEXT, invited TEXT,
    invited_by TEXT, zone TEXT NOT NULL DEFAULT ''
);
CREATE INDEX ix_mailbox_held_key ON mailbox (held_key);
CREATE INDEX ix_mailbox_name ON mailbox (name);

CREATE TABLE held_key (
    key TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, private TEXT NOT NULL
);

CREATE TABLE certificate (
    text TEXT NOT NULL PRIMARY KEY, key TEXT NOT NULL, mailbox TEXT NOT NULL, salt TEXT NOT NULL
);
CREATE INDEX ix_certificate_key ON certificate (key);
CREATE INDEX ix_certificate_mailbox ON certificate (mailbox);

CREATE TABLE mail_invitation (
    player TEXT NOT NULL, at TEXT NOT NULL, address TEXT NOT NULL, answered TEXT, PRIMARY KEY (player, at, address)
) WITHOUT ROWID;
CREATE INDEX mail_invitation_address ON mail_invitation (address, at);
CREATE INDEX mail_invitation_at ON mail_invitation (at);

CREATE TABLE reply (
    digest TEXT NOT NULL PRIMARY KEY, channel TEXT NOT NULL, name TEXT NOT NULL, game TEXT NOT NULL,
    seq TEXT NOT NULL, purpose TEXT NOT NULL, about TEXT NOT NULL, made TEXT NOT NULL, expires TEXT, spent TEXT,
    answers TEXT NOT NULL
);
CREATE INDEX ix_reply_channel ON reply (channel);
CREATE INDEX ix_reply_expires ON reply (expires);
CREATE INDEX ix_reply_spent ON reply (spent);

CREATE TABLE incoming (
    number INTEGER NOT NULL PRIMARY KEY, digest TEXT NOT NULL UNIQUE, via TEXT NOT NULL, raw BLOB NOT NULL,
    received TEXT NOT NULL, name TEXT NOT NULL, channel TEXT NOT NULL, game TEXT NOT NULL, message_id TEXT NOT NULL,
    reply TEXT, signed TEXT, state TEXT NOT NULL, tries INTEGER NOT NULL, tried TEXT, result TEXT NOT NULL
);
CREATE INDEX incoming_failed ON incoming (number) WHERE state = 'failed';
CREATE UNIQUE INDEX incoming_message ON incoming (name, message_id) WHERE message_id != '';
CREATE INDEX incoming_new ON incoming (name, number) WHERE state = 'new';
CREATE INDEX incoming_oldest ON incoming (received) WHERE state = 'new';
CREATE UNIQUE INDEX incoming_signed ON incoming (name, signed) WHERE signed IS NOT NULL;
CREATE INDEX ix_incoming_channel ON incoming (channel);
CREATE INDEX ix_incoming_received ON incoming (received);

CREATE TABLE letter_count (
    hour TEXT NOT NULL, channel TEXT NOT NULL, letters INTEGER NOT NULL, PRIMARY KEY (hour, channel)
) WITHOUT ROWID;

CREATE TABLE bounce (
    digest TEXT NOT NULL PRIMARY KEY, channel TEXT NOT NULL, at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX ix_bounce_at ON bounce (at);
CREATE INDEX ix_bounce_channel ON bounce (channel);

CREATE TABLE probe (
    digest TEXT NOT NULL PRIMARY KEY, since TEXT NOT NULL, recipient TEXT, raw BLOB
) WITHOUT ROWID;

CREATE TABLE imap_place (
    mailbox TEXT NOT NULL PRIMARY KEY, validity BIGINT NOT NULL, last BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE draft (
    game TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL, submission TEXT NOT NULL, entropy TEXT,
    PRIMARY KEY (game, source)
) WITHOUT ROWID;
CREATE INDEX draft_entropy ON draft (game) WHERE entropy IS NOT NULL;

CREATE TABLE evidence (
    "commit" TEXT NOT NULL PRIMARY KEY, game TEXT NOT NULL, head TEXT NOT NULL, name TEXT NOT NULL,
    raw BLOB NOT NULL, dns BLOB NOT NULL, salt TEXT NOT NULL, nonce TEXT NOT NULL, purpose TEXT NOT NULL,
    about TEXT NOT NULL, grade TEXT NOT NULL, reader INTEGER NOT NULL
);
CREATE INDEX evidence_name ON evidence (name, game)
"""
_POSTGRES: Final = {
    "TEXT": 'TEXT COLLATE "C"',  # texts sort by their bytes, as in the log, whatever the language of the database
    "BLOB": "BYTEA",
    " WITHOUT ROWID": "",
}
"""Types and clauses of the schema as PostgreSQL has them."""


def upgrade() -> None:
    """Makes the tables and their indexes."""
    connection = op.get_bind()
    schema = _SCHEMA
    if connection.dialect.name == "postgresql":
        for ours, theirs in _POSTGRES.items():
            schema = schema.replace(ours, theirs)
    for statement in schema.split(";\n"):
        connection.exec_driver_sql(statement)
