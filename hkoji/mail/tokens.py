"""The tokens of play by mail, and the commitments to mails and to mailboxes. docs/spec/mails.md; "Held keys" in log.md.

Every hash is over ASCII lines that each end in a newline. Binary values stand in them, and are returned, as lower-case
hex. A token is a commitment too: with its nonce it shows for which turn of which player it was made.

A token of a turn names the last entry that is not a change of keys and not a `credit`: these leave the turn as it is.
The service makes tokens by these rules, and an audit follows them back. A token also says what its letter asked for. A
command that is understood, but came to another token, does nothing. An audit that is given the mails judges by the same
table.
"""

from __future__ import annotations

import hmac
from base64 import b32encode
from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Final, NamedTuple

from hkoji.log.line import Entry
from hkoji.mail.addresses import TOKEN_LETTERS
from hkoji.mail.commands import OrderKind

NO_DNS: Final = b""
"""The DNS answers of a mail whose DKIM signatures were not looked at."""


class Purpose(StrEnum):
    """The purpose of a token."""

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


LEAVES_TURN: Final = frozenset({"rekey", "revoke", "delegate", "credit"})
"""The kinds of entry that a token of a turn does not name."""


class TokenPlace(NamedTuple):
    """The entry that tokens of a turn name: the last one that is not in `LEAVES_TURN`."""

    seq: int
    head: str


def place_of(entries: Sequence[Entry]) -> TokenPlace | None:
    """Returns the place that the end of a log gives to tokens; None if `entries` have only such as leave the turn."""
    for entry in reversed(entries):
        if entry.kind not in LEAVES_TURN:
            return TokenPlace(entry.seq, entry.head)
    return None


def token_behind(
    kind: OrderKind,
    purpose: Purpose,
    name: str,
    about: str,
    *,
    game: str,
    place: TokenPlace,
    before: str | None = None,
) -> TokenFields | None:
    """Returns what the token was for to which the player `name` ordered something in `game`.

    `place` is the one at the end of the log as it was then. `before` is the game of which `game` is a rematch, whose
    log says what a turn or a question there was about; None for a token that names its end.
    """
    alone = TokenFields(purpose, name, about=about)
    match purpose:
        case Purpose.COMMAND | Purpose.YES | Purpose.STOP:
            return alone
        case Purpose.GAME:
            return alone._replace(game=game if before is None else before)
        case Purpose.AGAIN if kind is OrderKind.NEW:
            return alone
        case Purpose.AGAIN if kind is OrderKind.RESIGN:
            return alone._replace(game=game)
    return None if before is not None else alone._replace(game=game, seq=place.seq, head=place.head)


ANY: Final = frozenset(Purpose)

_IN_GAME: Final = frozenset({Purpose.TURN, Purpose.GAME, Purpose.AGAIN})

PURPOSES: Final[dict[OrderKind, frozenset[Purpose]]] = {
    OrderKind.MOVE: frozenset({Purpose.TURN, Purpose.AGAIN}),
    OrderKind.ACCEPT: frozenset({Purpose.INVITE, Purpose.AGAIN}),
    OrderKind.DECLINE: frozenset({Purpose.INVITE, Purpose.AGAIN}),
    OrderKind.YES: frozenset({Purpose.YES}),
    OrderKind.RESIGN: _IN_GAME,
    OrderKind.CALL_OFF: _IN_GAME,
    OrderKind.CANCEL: _IN_GAME,
    OrderKind.GIVE: _IN_GAME,
    OrderKind.REMATCH: _IN_GAME,
    OrderKind.NEW: frozenset({Purpose.COMMAND, Purpose.AGAIN}),
    OrderKind.REGISTER: frozenset(),
    OrderKind.EVIDENCE: frozenset({Purpose.GAME}),
    **dict.fromkeys(
        (
            OrderKind.OWN_KEY,
            OrderKind.NOT_ME,
            OrderKind.SHOW,
            OrderKind.MOVES,
            OrderKind.LOG,
            OrderKind.RULES,
            OrderKind.GAMES,
            OrderKind.HELP,
            OrderKind.STOP,
            OrderKind.START,
            OrderKind.LANG,
            OrderKind.CARDS,
            OrderKind.QUIET,
            OrderKind.NEW_ADDRESS,
        ),
        ANY,
    ),
}
"""The purposes of the tokens to which each command may be sent. `register` has no token."""

AFTER_END: Final = frozenset({OrderKind.EVIDENCE, OrderKind.REMATCH})
"""The commands to a game that can be given when it is over."""

ASKED_FIRST: Final = frozenset({OrderKind.RESIGN, OrderKind.CALL_OFF})
"""The commands that count only in answer to a letter that has asked for them again."""


def is_for_any(kind: OrderKind) -> bool:
    """Whether a command may be sent to every token, also to one whose turn is over."""
    return PURPOSES[kind] == ANY


def may_order(kind: OrderKind, token: TokenFields) -> bool:
    """Whether a mail to this token may give the command; for `ASKED_FIRST` also whether it counts or is asked first."""
    if is_resign_again(token):
        # Nothing of the game stands in this token, so that it outlives the turn: it is good for nothing else.
        return kind is OrderKind.RESIGN or is_for_any(kind)
    return token.purpose in PURPOSES[kind]


def is_resign_again(token: TokenFields) -> bool:
    """Whether a token was sent to ask for `resign` again, which may come until the game ends."""
    return token.purpose is Purpose.AGAIN and bool(token.game) and token.seq is None


def counts(kind: OrderKind, token: TokenFields) -> bool:
    """Whether a command that `may_order` allows is done, and not asked for again.

    A player who was asked for a move again has not been asked whether to resign.
    """
    if kind is OrderKind.RESIGN:
        return is_resign_again(token)
    return kind not in ASKED_FIRST or token.purpose is Purpose.AGAIN
