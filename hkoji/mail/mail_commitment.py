"""Hashes of play by mail: tokens, commitments to mails and to mailboxes. docs/spec/mails.md.

Every hash is over ASCII lines that each end in a newline. Binary values stand in them, and are returned, as lower-case
hex. A token is a commitment too: with its nonce it shows for which turn of which player it was made.
"""

from __future__ import annotations

import hmac
from base64 import b32encode
from enum import StrEnum
from hashlib import sha256
from typing import Final, NamedTuple

from hkoji.mail.addresses import TOKEN_LETTERS

NO_DNS: Final = b""
"""The DNS answers of a mail whose DKIM signatures were not looked at."""


class Purpose(StrEnum):
    """What a token is for."""

    INVITE = "invite"
    TURN = "turn"
    AGAIN = "again"
    GAME = "game"
    COMMAND = "command"
    YES = "yes"
    STOP = "stop"


class TokenFields(NamedTuple):
    """All that a token says. `seq` is None where no entry is meant; other fields that are not used are empty.

    `game` and `head` are hex, `name` is the player's. `about` is the digest of the mail that was asked back (`again`),
    the id of what is confirmed (`yes`), or a counter (`command`).
    """

    purpose: Purpose
    name: str
    game: str = ""
    seq: int | None = None
    head: str = ""
    about: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The fields in the order in which they are hashed."""
        seq = "" if self.seq is None else str(self.seq)
        return "hkoji.token.v1", self.game, seq, self.head, self.name, self.purpose.value, self.about


def make_nonce(secret: bytes, fields: TokenFields) -> str:
    """Returns the nonce of a token, from the service's secret for mail."""
    return hmac.digest(secret, _text(*fields.lines), "sha256").hex()


def make_token(fields: TokenFields, nonce: str) -> str:
    """Returns the token of `fields` with that nonce, in lower case."""
    return b32encode(sha256(_text(*fields.lines, nonce)).digest()).decode("ascii")[:TOKEN_LETTERS].lower()


def token_digest(token: str) -> str:
    """Returns what is kept of a token: the SHA-256 of its text in lower case."""
    return sha256(token.lower().encode("ascii")).hexdigest()


def address_hash(origin: str, mailbox: str, salt: bytes) -> str:
    """Returns the hash of a mailbox, in lower case, as it stands in a certificate. `salt` is 32 random bytes."""
    return _sha256("hkoji.address.v1", origin, mailbox.lower(), salt.hex())


def mail_commitment(fields: TokenFields, nonce: str, *, reader: int, raw: bytes, dns: bytes, salt: bytes) -> str:
    """Returns the commitment to one mail, `mail.commit` of an entry.

    `fields` and `nonce` are those of the token that it answers; `fields.head` is the entry's `prev`, or the head that
    the statement names. `reader` is the version of the rules of reading. `raw` is the mail as it came, and is hashed
    with CRLF line ends. `dns` are the TXT answers that were used. `salt` is 32 random bytes.
    """
    return _sha256(
        "hkoji.mail.v1",
        fields.game,
        fields.head,
        fields.purpose.value,
        fields.about,
        nonce,
        str(reader),
        sha256(with_crlf(raw)).hexdigest(),
        sha256(dns).hexdigest(),
        salt.hex(),
    )


def with_crlf(raw: bytes) -> bytes:
    """Returns a mail with CRLF at the end of each line: pipes and stores change line ends, SMTP does not."""
    return raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _text(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _sha256(*lines: str) -> str:
    return sha256(_text(*lines)).hexdigest()
