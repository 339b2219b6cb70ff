"""The tables of play by mail, for both backends, and their rows: see `tables`."""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlalchemy import BigInteger, Index, LargeBinary, Text
from sqlalchemy.orm import configure_mappers
from sqlmodel import Field

from hkoji_server.store.mail_values import MailState, MailVia
from hkoji_server.store.tables import CLUSTERED, ClusteredTable, NamedTable, partial_index, table_of

_NEW: Final = "state = 'new'"


class MailboxTable(NamedTable, table=True):
    """A mailbox: what a channel of kind `mail` has beside its row of the channels."""

    channel: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(index=True, sa_type=Text)
    """Not unique: after an invitation that nobody has accepted, somebody else may be invited under the same name."""
    address: str = Field(unique=True, sa_type=Text)
    """In lower case. As it was written, it is the target of the channel."""
    held_key: str = Field(index=True, sa_type=Text)
    lang: str = Field(sa_type=Text)
    state: str = Field(sa_type=Text)
    since: str = Field(sa_type=Text)
    orders: bool
    cards: bool
    dkim_seen: int
    counter: int
    paused: str | None = Field(default=None, sa_type=Text)
    heard: str | None = Field(default=None, sa_type=Text)
    confirm: str | None = Field(default=None, sa_type=Text)
    invited: str | None = Field(default=None, sa_type=Text)
    """When the owner was invited last, as long as that invitation has not been answered."""
    invited_by: str | None = Field(default=None, sa_type=Text)
    """The player who did that; None for the operator."""
    zone: str = Field(default="", sa_type=Text, sa_column_kwargs={"server_default": ""})


class KeptHeldKey(NamedTable, table=True):
    """A key that the service holds for the player `name`: its public text, and its OpenSSH private key text.

    None is ever removed: logs have them.
    """

    __tablename__ = "held_key"

    key: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(sa_type=Text)
    private: str = Field(sa_type=Text)


class KeptCertificate(NamedTable, table=True):
    """The certificate of a held key: its JSON object as canonical text, as the log has it under `gateway`.

    `mailbox` is the address, in lower case, that its hash commits to with `salt`, 64 hex digits. Both can be erased.
    """

    __tablename__ = "certificate"

    text: str = Field(primary_key=True, sa_type=Text)
    key: str = Field(index=True, sa_type=Text)
    mailbox: str = Field(index=True, sa_type=Text)
    salt: str = Field(sa_type=Text)


class MailInvitationTable(NamedTable, table=True):
    """An attempt to invite a mailbox, for as long as it counts."""

    __table_args__ = (
        Index("mail_invitation_address", "address", "at"),
        Index("mail_invitation_at", "at"),
        CLUSTERED,
    )

    player: str = Field(primary_key=True, sa_type=Text)
    """The player who has tried; empty for the operator."""
    at: str = Field(primary_key=True, sa_type=Text)
    address: str = Field(primary_key=True, sa_type=Text)
    """In lower case."""
    answered: str | None = Field(default=None, sa_type=Text)
    """When the owner has answered it, or when it was refused: then nobody has to."""


class ReplyTable(NamedTable, table=True):
    """A token, by its digest."""

    digest: str = Field(primary_key=True, sa_type=Text)
    channel: str = Field(index=True, sa_type=Text)
    name: str = Field(sa_type=Text)
    game: str = Field(sa_type=Text)
    seq: str = Field(sa_type=Text)
    purpose: str = Field(sa_type=Text)
    about: str = Field(sa_type=Text)
    made: str = Field(sa_type=Text)
    expires: str | None = Field(default=None, index=True, sa_type=Text)
    spent: str | None = Field(default=None, index=True, sa_type=Text)
    answers: str = Field(sa_type=Text)


class IncomingMail(NamedTable, table=True):
    """A mail that has come. `raw` is empty once it is `done`. `tried` is when a try was counted first.

    `result` is what became of it, as the text of a JSON object that belongs to the service; empty while it is `new`.
    No row is ever removed, so no number and no Message-ID is used twice.
    """

    __tablename__ = "incoming"
    __table_args__ = (
        partial_index("incoming_new", _NEW, "name", "number"),
        partial_index("incoming_oldest", _NEW, "received"),
        partial_index("incoming_failed", "state = 'failed'", "number"),
        partial_index("incoming_message", "message_id != ''", "name", "message_id", unique=True),
        partial_index("incoming_signed", "signed IS NOT NULL", "name", "signed", unique=True),
    )

    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    digest: str = Field(unique=True, sa_type=Text)
    via: MailVia = Field(sa_type=Text)
    raw: bytes = Field(sa_type=LargeBinary)
    received: str = Field(index=True, sa_type=Text)
    name: str = Field(sa_type=Text)
    channel: str = Field(index=True, sa_type=Text)
    game: str = Field(sa_type=Text)
    message_id: str = Field(sa_type=Text)
    """Of one that was not processed, because an earlier one has its Message-ID, with an exclamation mark before it."""
    reply: str | None = Field(default=None, sa_type=Text)
    signed: str | None = Field(default=None, sa_type=Text)
    """Of one that was obeyed, and that a provider has signed: by what it is known if it is sent again."""
    state: MailState = Field(sa_type=Text)
    tries: int
    tried: str | None = Field(default=None, sa_type=Text)
    result: str = Field(sa_type=Text)


class LetterCountTable(ClusteredTable, table=True):
    """How many letters that count have been sent to a mailbox in an hour."""

    hour: str = Field(primary_key=True, sa_type=Text)
    """The beginning of a time, up to the hour."""
    channel: str = Field(primary_key=True, sa_type=Text)
    letters: int


class BounceTable(ClusteredTable, table=True):
    """A letter that did not arrive, for as long as it counts."""

    digest: str = Field(primary_key=True, sa_type=Text)
    channel: str = Field(index=True, sa_type=Text)
    at: str = Field(index=True, sa_type=Text)


class ProbeTable(ClusteredTable, table=True):
    """A mail of the service to itself that is waited for, and what has come."""

    digest: str = Field(primary_key=True, sa_type=Text)
    since: str = Field(sa_type=Text)
    recipient: str | None = Field(default=None, sa_type=Text)
    raw: bytes | None = Field(default=None, sa_type=LargeBinary)


class ImapPlaceTable(ClusteredTable, table=True):
    """Up to which mail a mailbox has been read by IMAP. Both numbers have up to 32 bits."""

    mailbox: str = Field(primary_key=True, sa_type=Text)
    validity: int = Field(sa_type=BigInteger)
    last: int = Field(sa_type=BigInteger)


class HeldEntropy(NamedTable, table=True):
    """The entropy of a held seat's `seed`, in hex: kept with the entry that commits to it, until the seed is on record.

    `name` is the player's.
    """

    __tablename__ = "held_entropy"
    __table_args__ = (CLUSTERED,)

    game: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(primary_key=True, sa_type=Text)
    entropy: str = Field(sa_type=Text)


class MailEvidence(NamedTable, table=True):
    """A mail that an entry or a statement commits to, with all that opens the commitment: see docs/spec/log.md."""

    __tablename__ = "evidence"
    __table_args__ = (Index("evidence_name", "name", "game"),)

    commit: str = Field(primary_key=True, sa_type=Text)
    game: str = Field(sa_type=Text)
    head: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)
    raw: bytes = Field(sa_type=LargeBinary)
    dns: bytes = Field(sa_type=LargeBinary)
    salt: str = Field(sa_type=Text)
    nonce: str = Field(sa_type=Text)
    purpose: str = Field(sa_type=Text)
    about: str = Field(sa_type=Text)
    grade: str = Field(sa_type=Text)
    reader: int


class MailboxMove(NamedTuple):
    """The mailbox with the channel `channel` gets the address of that with the channel `asked`, at the time `at`.

    `certificate` is the one for the new address.
    """

    channel: str
    asked: str
    certificate: KeptCertificate
    at: str


MAILBOX: Final = table_of(MailboxTable)
HELD_KEY: Final = table_of(KeptHeldKey)
CERTIFICATE: Final = table_of(KeptCertificate)
MAIL_INVITATION: Final = table_of(MailInvitationTable)
REPLY: Final = table_of(ReplyTable)
INCOMING: Final = table_of(IncomingMail)
LETTER_COUNT: Final = table_of(LetterCountTable)
BOUNCE: Final = table_of(BounceTable)
PROBE: Final = table_of(ProbeTable)
IMAP_PLACE: Final = table_of(ImapPlaceTable)
HELD_ENTROPY: Final = table_of(HeldEntropy)
EVIDENCE: Final = table_of(MailEvidence)

configure_mappers()  # as in `tables`
