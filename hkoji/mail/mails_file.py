"""A mails file: the mails of a player that entries and statements commit to, with all that opens the commitments.

docs/spec/mails.md, "Mails files". A line with a mailbox says whose mails follow it. Files can be put one after the
other. A reader of such a file believes none of it: a part that no commitment in a log binds proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from hkoji.errors import MalformedError
from hkoji.game.commitments import SALT_BYTES
from hkoji.log.canonical import JsonValue, decode, decode_base64, encode, encode_base64, fields, is_hex, is_name
from hkoji.mail.addresses import is_mailbox
from hkoji.mail.tokens import Purpose, TokenFields, address_hash, mail_commitment
from hkoji.messages.text import tell

MAILS_TYPE: Final = "application/x-ndjson"
_LINE: Final = tell("line of a mails file")
_MAILBOX: Final = ("address_salt", "mailbox", "name")
_MAIL: Final = ("about", "dns", "game", "head", "nonce", "purpose", "raw", "reader", "salt")
_DEPTH: Final = 1
_GAME: Final = 32
_HASH: Final = 64


class ProvingMail(NamedTuple):
    """One mail with all that opens the commitment to it; the fields are those of `mail_commitment`.

    `raw` and `dns` are bytes. Binary values are hex.
    """

    about: str
    dns: bytes
    game: str
    head: str
    nonce: str
    purpose: Purpose
    raw: bytes
    reader: int
    salt: str

    @property
    def commit(self) -> str:
        """The commitment that it opens."""
        token = TokenFields(self.purpose, "", self.game, None, self.head, self.about)
        salt = bytes.fromhex(self.salt)
        return mail_commitment(token, self.nonce, reader=self.reader, raw=self.raw, dns=self.dns, salt=salt)


class ProvedMailbox(NamedTuple):
    """The mailbox of the player `name`, the salt of its hash (64 hex digits), and mails that came from there."""

    address_salt: str
    mailbox: str
    name: str
    mails: tuple[ProvingMail, ...] = ()

    def address(self, origin: str) -> str:
        """The hash of the mailbox as it stands in certificates of the service of `origin`."""
        return address_hash(origin, self.mailbox, bytes.fromhex(self.address_salt))


def parse_mails(data: bytes) -> tuple[ProvedMailbox, ...]:
    """Reads a mails file. Raises `MalformedError`, which names the line, for anything else."""
    found: list[ProvedMailbox] = []
    text = data.decode("latin-1")
    if not text.endswith("\n"):
        raise MalformedError(tell("mails file"), tell("it does not end with a newline"))
    mails: list[ProvingMail] = []
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            value = decode(line, _LINE, _DEPTH)
            if isinstance(value, dict) and "mailbox" in value:
                found = _with(found, mails)
                found.append(_read_mailbox(fields(value, _LINE, *_MAILBOX)))
                mails = []
                continue
            mails.append(_read_mail(fields(value, _LINE, *_MAIL)))
            if not found:
                raise MalformedError(_LINE, tell("the first one is not a mailbox"))
        except MalformedError as error:
            reason = tell("line {number}: {reason}", number=number, reason=error.message)
            raise MalformedError(tell("mails file"), reason) from None
    return tuple(_with(found, mails))


def format_mails(mailboxes: Iterable[ProvedMailbox]) -> bytes:
    """Returns the text of a mails file, as `parse_mails` reads it."""
    return "".join(f"{encode(line)}\n" for each in mailboxes for line in _lines(each)).encode("ascii")


def _with(found: list[ProvedMailbox], mails: list[ProvingMail]) -> list[ProvedMailbox]:
    return [*found[:-1], found[-1]._replace(mails=tuple(mails))] if found else []


def _lines(mailbox: ProvedMailbox) -> Iterator[dict[str, JsonValue]]:
    yield {"address_salt": mailbox.address_salt, "mailbox": mailbox.mailbox, "name": mailbox.name}
    for each in mailbox.mails:
        raw, dns = encode_base64(each.raw), encode_base64(each.dns)
        yield {**each._asdict(), "dns": dns, "purpose": each.purpose.value, "raw": raw}


def _read_mailbox(value: dict[str, JsonValue]) -> ProvedMailbox:
    salt, mailbox, name = (value[key] for key in _MAILBOX)
    if not isinstance(mailbox, str) or not is_mailbox(mailbox) or mailbox != mailbox.lower():
        raise MalformedError(_LINE, tell("mailbox is not an address in lower case"))
    if not isinstance(name, str) or not is_name(name):
        raise MalformedError(_LINE, tell("name is not a player's name"))
    return ProvedMailbox(_hex(salt, "address_salt", 2 * SALT_BYTES), mailbox, name)


def _read_mail(value: dict[str, JsonValue]) -> ProvingMail:
    about, dns, game, head, nonce, purpose, raw, reader, salt = (value[key] for key in _MAIL)
    if not isinstance(about, str):
        raise MalformedError(_LINE, tell("about is not text"))
    if not isinstance(purpose, str) or purpose not in (each.value for each in Purpose):
        raise MalformedError(_LINE, tell("purpose is none of a token"))
    if type(reader) is not int:
        raise MalformedError(_LINE, tell("reader is not a number"))
    if not isinstance(dns, str) or not isinstance(raw, str):
        raise MalformedError(_LINE, tell("raw or dns is not text"))
    return ProvingMail(
        about,
        decode_base64(dns, "dns"),
        _hex(game, "game", _GAME),
        _hex(head, "head", _HASH),
        _hex(nonce, "nonce", _HASH),
        Purpose(purpose),
        decode_base64(raw, "raw"),
        reader,
        _hex(salt, "salt", 2 * SALT_BYTES),
    )


def _hex(value: JsonValue, name: str, digits: int) -> str:
    if not isinstance(value, str) or not is_hex(value, digits):
        raise MalformedError(_LINE, tell("{name} is not {digits} lower case hex digits", name=name, digits=digits))
    return value
