"""Signed statements about an entry of one game: a gift of time, a wish to call the game off, and a signed head.

docs/spec/log.md, "Statements". They stand beside the log, and each names the head that it is about: when the head
moves, a gift or a wish is void, so nobody can use it again. Each has its own namespace, so none can be taken for
another or for an entry. This module does not know whether the entry is there, who may make the statement, and what
follows from it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hkoji.errors import MalformedError
from hkoji.log.canonical import (
    GAME,
    HASH,
    MAX_DEPTH,
    NAME,
    NUMBER,
    OBJECT,
    TIME,
    VERSION,
    JsonValue,
    TextForm,
    decode,
    decode_base64,
    encode,
    message,
)
from hkoji.log.line import SIGNED, format_signed, read_signed, unquote
from hkoji.log.mail_claim import MAIL, MailClaim, read_mail
from hkoji.messages.text import tell

MAX_GAME_STATEMENT_BYTES: Final = 1024
MAX_GIFT_SECONDS: Final = 30 * 86_400
"""The longest time that one gift may give: 30 days."""

_GIFT: Final = TextForm(
    "gift of time", MAX_GAME_STATEMENT_BYTES, {"game": GAME, "head": HASH, "name": NAME, "seconds": NUMBER}
)
_ANNUL: Final = TextForm("calling off", MAX_GAME_STATEMENT_BYTES, {"game": GAME, "head": HASH, "name": NAME})
_GIFT_BY_MAIL: Final = TextForm(
    "gift of time",
    MAX_GAME_STATEMENT_BYTES,
    {"game": GAME, "head": HASH, MAIL: OBJECT, "name": NAME, "seconds": NUMBER},
)
_ANNUL_BY_MAIL: Final = TextForm(
    "calling off", MAX_GAME_STATEMENT_BYTES, {"game": GAME, "head": HASH, MAIL: OBJECT, "name": NAME}
)
_MAIL_KEY: Final = f'"{MAIL}":'
"""No string of a statement can have these characters, so a text that has them has the key."""
_HEAD: Final = TextForm(
    "signed head", MAX_GAME_STATEMENT_BYTES, {"at": TIME, "game": GAME, "head": HASH, "seq": NUMBER}
)
_HEAD_LINE: Final = re.compile(rf'\{{"head":{SIGNED}\}}')


class GiftStatement(NamedTuple):
    """Player `name` gives `seconds` to the opponent for the entry that is due after the entry with that `head`.

    `mail` is what the service says of the player's mail, if it signs with a key that it holds; else None.
    """

    game: str
    head: str
    name: str
    seconds: int
    text: str
    mail: MailClaim | None = None

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.give.v1`."""
        return message(self.text)


class AnnulStatement(NamedTuple):
    """Player `name` wishes to call the game off, as long as the entry with that `head` is the last.

    `mail` is as in a gift.
    """

    game: str
    head: str
    name: str
    text: str
    mail: MailClaim | None = None

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.annul.v1`."""
        return message(self.text)


class HeadStatement(NamedTuple):
    """The service says that entry `seq`, with that `head`, was the last of `game`.

    No later entry has a time of record more than 120 seconds before `at`.
    """

    at: str
    game: str
    head: str
    seq: int
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.head.v1`."""
        return message(self.text)


class SignedHead(NamedTuple):
    """A head with the service's SSHSIG blob; on the wire `{"sig": base64, "text": …}`."""

    statement: HeadStatement
    sig: bytes


def parse_gift(text: str) -> GiftStatement:
    """Reads the exact text. Raises `MalformedError`, also for no time or over 30 days, or `NotUnderstoodError`."""
    by_mail = _MAIL_KEY in text
    game, head, *said, name, digits = (_GIFT_BY_MAIL if by_mail else _GIFT).read(text)
    seconds = _GIFT.number(digits)
    if not 1 <= seconds <= MAX_GIFT_SECONDS:
        raise MalformedError("gift of time", tell("seconds is not a number from 1 to {most}", most=MAX_GIFT_SECONDS))
    return GiftStatement(game, head, name, seconds, text, _read_claim(said))


def make_gift(*, game: str, head: str, name: str, seconds: int, mail: MailClaim | None = None) -> GiftStatement:
    """A gift from its fields; `seconds` is 1 second to 30 days. Raises what `parse_gift` raises."""
    said = _claim_json(mail)
    return parse_gift(encode({"game": game, "head": head, "name": name, "seconds": seconds, "v": VERSION, **said}))


def parse_annul(text: str) -> AnnulStatement:
    """Reads the exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    by_mail = _MAIL_KEY in text
    game, head, *said, name = (_ANNUL_BY_MAIL if by_mail else _ANNUL).read(text)
    return AnnulStatement(game, head, name, text, _read_claim(said))


def make_annul(*, game: str, head: str, name: str, mail: MailClaim | None = None) -> AnnulStatement:
    """A wish from its fields. Raises what `parse_annul` raises."""
    return parse_annul(encode({"game": game, "head": head, "name": name, "v": VERSION, **_claim_json(mail)}))


def _read_claim(said: list[str]) -> MailClaim | None:
    """Reads what the service says of the mail behind a statement. Raises `MalformedError` or `NotUnderstoodError`."""
    return read_mail(decode(said[0], MAIL, MAX_DEPTH - 1)) if said else None


def _claim_json(mail: MailClaim | None) -> dict[str, JsonValue]:
    return {} if mail is None else {MAIL: mail.to_json()}


def parse_head(text: str) -> HeadStatement:
    """Reads the exact text. Raises `MalformedError` or `NotUnderstoodError`."""
    at, game, head, seq = _HEAD.read(text)
    return HeadStatement(at, game, head, _HEAD.number(seq), text)


def make_head(*, at: str, game: str, head: str, seq: int) -> HeadStatement:
    """A head from its fields. Raises what `parse_head` raises."""
    return parse_head(encode({"at": at, "game": game, "head": head, "seq": seq, "v": VERSION}))


def read_signed_head(value: object) -> SignedHead:
    """Reads a decoded `{"sig", "text"}` with a head. Raises `MalformedError` or `NotUnderstoodError`."""
    signed = read_signed(value, "signed head")
    return SignedHead(parse_head(signed.text), signed.sig)


def parse_head_line(text: str) -> SignedHead:
    """Reads the line of a signed head. Raises `MalformedError` or `NotUnderstoodError`."""
    match = _HEAD_LINE.fullmatch(text)
    if match is None:
        raise MalformedError(tell("line"), tell("it is not a signed head in canonical form"))
    sig, wrapped = match.groups()
    return SignedHead(parse_head(unquote(wrapped)), decode_base64(sig, "signature"))


def format_head(signed: SignedHead) -> str:
    """The line of a signed head, without the newline."""
    return f'{{"head":{format_signed(signed.statement.text, signed.sig)}}}'
