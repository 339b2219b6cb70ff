"""The header of a mail: who wrote it, to which of our letters it is an answer, and whether a program wrote it.

On top of it stands the envelope, which the mail server that delivered the mail has written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import Final, NamedTuple

from hkoji.game.agreement import is_zone
from hkoji.mail.addresses import Found, OwnAddress, is_mailbox
from hkoji.mail.decoding import clean, decode_words
from hkoji.mail.fields import (
    LONGEST_HEADER,
    MailField,
    SplitMail,
    as_read,
    fields_there,
    first_value,
    split_header,
    split_mail,
    unfold,
)
from hkoji.mail.message import READER_VERSION, without_trace
from hkoji.messages.text import Text, tell

_ATEXT: Final = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~.-"
# A quoted string or a comment that is not closed goes on to the end: so no character is looked at twice.
_TOKENS = re.compile(
    rf'(?P<address>[{_ATEXT}]++@[A-Za-z0-9.-]++)|(?P<atom>[{_ATEXT}]++)|(?P<quoted>"(?:[^"\\]|\\.)*+"?)'
    r"|(?P<angle><[^<>]*+>)|(?P<space>[ \t]++)|(?P<other>.)",
    re.DOTALL,
)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_ID = re.compile(r"<[!-;=?-~]{1,996}>")

_AUTOMATIC = re.compile(
    rb"(auto-submitted|precedence|list-id|x-autoreply|x-autorespond|x-hkoji|content-type)[ \t]*:(.*)",
    re.IGNORECASE | re.DOTALL,
)
_DATE = re.compile(rb"date[ \t]*:.*[0-9][ \t]+([+-][0-9]{2})([0-9]{2})(?![0-9])", re.IGNORECASE | re.DOTALL)
_REPORT: Final = "multipart/report"
_PRECEDENCES: Final = frozenset({"bulk", "junk", "list", "auto_reply"})

_NO_SENDER: Final = tell("it has no field From")
_TWO_SENDERS: Final = tell("it has two fields From")
_NOT_ASCII: Final = tell("its From is not written in plain ASCII")
_GROUP: Final = tell("its From is a group of addresses")
_SEVERAL: Final = tell("its From has several addresses")
_NO_ADDRESS: Final = tell("its From is not one address, with nothing before it but a name")
_IN_NO_NAME: Final = frozenset(":;<>\\()")
"""Signs that a name does not have outside of quotes and comments: of a group, of a second address, or not closed."""
_OTHER_ADDRESS = re.compile(r"[^,]@[^,]*\.[^,.]")
"""Another address, as far as one could be in a name without its spaces."""


class Automatic(StrEnum):
    """Why a mail counts as sent by a program: the header field that says so. Such mails are never answered."""

    AUTO_SUBMITTED = "auto-submitted"
    PRECEDENCE = "precedence"
    LIST_ID = "list-id"
    X_AUTOREPLY = "x-autoreply"
    X_AUTORESPOND = "x-autorespond"
    X_HKOJI = "x-hkoji"
    REPORT = "content-type"
    """`multipart/report`: a receipt, or another report about a letter (RFC 6522). Nobody writes one by hand."""


@dataclass(frozen=True, slots=True)
class MailHeader:
    """The fields of a mail that count. Ids have their angle brackets.

    `sender` is the one address of From, in lower case; exactly one of it and `sender_fault` is None. `message_id` is
    the first id in the field, None if it has none. Addresses are in lower case, those of `to` and `cc` in order.
    `subject` is decoded and on one line; it is empty if there are two. `automatic` says that a program wrote the mail,
    whatever else is wrong with it.
    """

    sender: str | None
    sender_fault: Text | None
    message_id: str | None
    in_reply_to: str | None
    last_reference: str | None
    to: tuple[str, ...]
    cc: tuple[str, ...]
    subject: str
    delivered_to: str | None
    x_original_to: str | None
    automatic: Automatic | None


def read_header(raw: bytes) -> MailHeader:
    """Returns the fields of a mail that count. Raises `UnreadableMailError` as `split_mail` does."""
    return header_of(split_mail(raw))


def header_of(mail: SplitMail) -> MailHeader:
    """Returns the fields of a mail that count.

    `automatic_reason` knows also of mails that are unreadable whether a program wrote them.
    """
    return _header_of(mail.fields, mail.raw)


def header_there(raw: bytes) -> MailHeader:
    """Returns what the header of a mail says whatever is wrong with it: enough to say so to whom it concerns.

    Nothing in it says who has sent the mail.
    """
    fields = fields_there(split_header(as_read(raw[:LONGEST_HEADER]))[0])
    return replace(_header_of(fields, raw), sender=None, sender_fault=_NO_SENDER)


def known_by(mail: SplitMail, reader: int = READER_VERSION) -> str:
    """Returns by what a mail is known when it comes again: its Message-ID if that is one id, else a hash of 64 digits.

    Of a Message-ID that is none the whole field counts, of a mail without one all of it but for the trace fields.
    Version 1 of the `reader` took the first id in the field, or else all of the mail.
    """
    fields = [each for each in mail.fields if each.name == "message-id"]
    if reader == 1:
        first = next(iter(_ID.findall(first_value(fields, "message-id") or "")), None)
        return first or sha256(mail.raw).hexdigest()
    if len(fields) == 1 and _ID.fullmatch(fields[0].text):
        return fields[0].text
    text = b"".join(each.value + b"\n" for each in fields) or without_trace(mail.raw)
    return sha256(text).hexdigest()


def _header_of(fields: tuple[MailField, ...], raw: bytes) -> MailHeader:
    sender = _read_sender([field.value for field in fields if field.name == "from"])
    ids = _ID.findall(first_value(fields, "message-id") or "")
    answered = _ID.findall(first_value(fields, "in-reply-to") or "")
    references = _ID.findall(first_value(fields, "references") or "")
    return MailHeader(
        sender=None if isinstance(sender, Text) else sender,
        sender_fault=sender if isinstance(sender, Text) else None,
        message_id=ids[0] if ids else None,
        in_reply_to=answered[0] if answered else None,
        last_reference=references[-1] if references else None,
        to=tuple(_addresses_in(fields, "to")),
        cc=tuple(_addresses_in(fields, "cc")),
        subject=_read_subject([field.text for field in fields if field.name == "subject"]),
        delivered_to=next(_addresses_in(_first(fields, "delivered-to"), "delivered-to"), None),
        x_original_to=next(_addresses_in(_first(fields, "x-original-to"), "x-original-to"), None),
        automatic=automatic_reason(raw),
    )


def automatic_reason(raw: bytes) -> Automatic | None:
    """Returns why a mail counts as sent by a program; None if nothing says so."""
    return next(automatic_reasons(raw), None)


def automatic_reasons(raw: bytes) -> Iterator[Automatic]:
    """Yields everything by which a mail counts as sent by a program.

    It reads whatever is there, also of mails that break limits and rules: an answer to them could begin a loop.
    """
    header, _ = split_header(as_read(raw[:LONGEST_HEADER]))
    for line in unfold(header):
        field = _AUTOMATIC.match(line)
        if field is None:
            continue
        name = Automatic(field[1].decode("ascii").lower())
        value = re.split(r"[;(]", field[2].decode("latin-1"), maxsplit=1)[0].strip().lower()
        if name is Automatic.AUTO_SUBMITTED and value == "no":
            continue
        if name is Automatic.PRECEDENCE and value not in _PRECEDENCES:
            continue
        if name is Automatic.REPORT and value != _REPORT:
            continue
        yield name


def find_token(header: MailHeader, envelope_recipient: str | None, address: OwnAddress) -> Found | None:
    """Returns the token of the letter that a mail answers, from the first place that has one; None if none has.

    `envelope_recipient` is the recipient of the delivery where it is known. Subjects and bodies are forwarded and
    quoted, so no token in them counts.
    """
    for recipient in (envelope_recipient, header.delivered_to, header.x_original_to):
        if recipient is not None and (found := address.find_in_address(recipient)) is not None:
            return found
    for message_id in (header.in_reply_to, header.last_reference):
        if message_id is not None and (found := address.find_in_id(message_id)) is not None:
            return found
    named = (address.find_in_address(each) for each in (*header.to, *header.cc))
    return next((found for found in named if found is not None), None)


def zone_of(raw: bytes) -> str:
    """Returns the time zone in which a mail is dated (`+01:00`); empty if its first field Date names none.

    `-0000` names none (RFC 5322, 3.3). Nothing that a mail orders depends on it.
    """
    header, _ = split_header(as_read(raw[:LONGEST_HEADER]))
    field = next((found for line in unfold(header) if (found := _DATE.match(line))), None)
    if field is None:
        return ""
    zone = f"{field[1].decode('ascii')}:{field[2].decode('ascii')}"
    return zone if is_zone(zone) else ""


def _read_sender(values: list[bytes]) -> str | Text:
    if len(values) != 1:
        return _TWO_SENDERS if values else _NO_SENDER
    # Each byte beyond ASCII is a character that stands in no address, whatever charset it is of.
    tokens = list(_tokens(values[0].decode("latin-1")))
    *name, (kind, text) = tokens or [("other", "")]
    if kind == "address" and not name:
        mailbox = text
    elif kind == "angle":
        mailbox = text[1:-1].strip(" \t")
    else:
        mailbox = ""
    if is_mailbox(mailbox) and not _could_name_another(name, mailbox):
        return mailbox.lower()
    if not values[0].isascii():
        return _NOT_ASCII
    others = [text for kind, text in tokens if kind == "other"]
    if ":" in others:
        return _GROUP
    return _SEVERAL if "," in others or ";" in others else _NO_ADDRESS


def _could_name_another(name: list[tuple[str, str]], mailbox: str) -> bool:
    """Tells whether the tokens before an address could be understood as another sender's, by whatever program."""
    outside = []
    own = mailbox.lower()
    for (kind, text), following in zip(name, [*name, ("other", "")][1:], strict=True):
        if kind == "angle" or (kind == "other" and text in _IN_NO_NAME):
            return True
        if kind == "quoted":
            outside.append('"')
            if not _QUOTED.fullmatch(text):
                return True
        elif kind != "address" or text.lower() != (f"'{own}" if following == ("atom", "'") else own):
            outside.append(text)  # some programs write the address once more, and some of them in apostrophes
    return _OTHER_ADDRESS.search("".join(outside)) is not None


def _read_subject(values: list[str]) -> str:
    return clean(decode_words(values[0])) if len(values) == 1 else ""  # a second one can be put on top by others


def _first(fields: Iterable[MailField], name: str) -> list[MailField]:
    return [field for field in fields if field.name == name][:1]


def _addresses_in(fields: Iterable[MailField], name: str) -> Iterator[str]:
    """Yields the addresses in all fields of that name; what is none is passed over."""
    for field in fields:
        if field.name != name:
            continue
        address = ""
        for kind, text in (*_tokens(field.text), ("other", ",")):
            if kind == "angle":
                address = text[1:-1].strip(" \t")
            elif kind == "address":
                address = address or text
            elif kind == "other" and text in ",;:":
                if is_mailbox(address):
                    yield address.lower()
                address = ""


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yields kind and text of what a list of addresses consists of, without spaces and comments.

    A comment that is not closed is yielded at the end as one bracket.
    """
    depth = 0
    place = 0
    while place < len(text):
        if depth or text[place] == "(":
            # In a comment only brackets and pairs with a backslash matter (RFC 5322, 3.2.2).
            depth += {"(": 1, ")": -1}.get(text[place], 0)
            place += 2 if text[place] == "\\" else 1
            continue
        token = _TOKENS.match(text, place)
        assert token is not None
        assert token.lastgroup is not None
        place = token.end()
        if token.lastgroup != "space":
            yield token.lastgroup, token[0]
    if depth:
        yield "other", "("


_WRITTEN = re.compile(rb"(return-path|delivered-to|x-original-to)[ \t]*:(.*)", re.IGNORECASE | re.DOTALL)


class Envelope(NamedTuple):
    """The recipient of a delivery, and whether its sender is null; None if nothing says so."""

    recipient: str
    null_sender: bool | None


def envelope_of(raw: bytes, own: OwnAddress) -> Envelope:
    """Returns the envelope of a mail to `own`: the topmost `Delivered-To`, else `X-Original-To`, that has a token.

    Without one the recipient is the bare address. Of all fields of one name only the topmost is the mail server's; a
    sender can have written the others. It reads whatever is there, also of mails that break limits and rules.
    """
    top: dict[str, str] = {}
    for line in unfold(split_header(as_read(raw[:LONGEST_HEADER]))[0]):
        if field := _WRITTEN.match(line):
            value = field[2].decode("ascii", "replace").strip()
            top.setdefault(field[1].decode("ascii").lower(), value)
    places = (top.get(name, "").removeprefix("<").removesuffix(">") for name in ("delivered-to", "x-original-to"))
    recipient = next((each for each in places if own.find_in_address(each) is not None), own.mailbox)
    sender = top.get("return-path")
    return Envelope(recipient, None if sender is None else sender in ("", "<>"))
