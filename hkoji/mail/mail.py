"""A mail, read once where it comes in: every later question is asked of this value, and not of its bytes.

On top of its header stands the envelope, which the mail server that delivered the mail has written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Final, NamedTuple, TypeVar

from hkoji.errors import UnreadableMailError
from hkoji.game.agreement import is_zone
from hkoji.mail.addresses import Found, OwnAddress, addresses_in, read_sender
from hkoji.mail.commands import STOP_WORDS, MailOrder, OrderFault, OrderKind
from hkoji.mail.fields import (
    LONGEST_HEADER,
    MailField,
    as_read,
    decode_words,
    fields_there,
    read_fields,
    split_header,
)
from hkoji.mail.message import READER_VERSION, Bounce, MailPart, read_bounce, read_parts, without_trace
from hkoji.mail.order_lines import text_order
from hkoji.mail.orders import clean, read_orders
from hkoji.messages.text import Text

_ID = re.compile(r"<[!-;=?-~]{1,996}>")
_ZONE = re.compile(rb".*[0-9][ \t]+([+-][0-9]{2})([0-9]{2})(?![0-9])", re.DOTALL)
_REPORT: Final = "multipart/report"
_PRECEDENCES: Final = frozenset({"bulk", "junk", "list", "auto_reply"})
_Read = TypeVar("_Read")


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
    `subject` is decoded and on one line; it is empty if there are two.
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


class Envelope(NamedTuple):
    """The recipient of a delivery, and whether its sender is null; None if nothing says so."""

    recipient: str
    null_sender: bool | None


@dataclass(frozen=True)
class Mail:
    """A mail as it was read, whatever is wrong with it.

    `raw` has its bytes as they came, and `body` has newlines at the ends of its lines. If it cannot be read, `fault`
    says why. Then it orders nothing and its body is empty. Its `fields` are those that stand between lines that are
    none, and its `header` says what is in them, but names no sender. `automatic` has everything by which it counts as
    sent by a program, also if it cannot be read: an answer to it could begin a loop.
    """

    raw: bytes
    fields: tuple[MailField, ...]
    body: bytes
    header: MailHeader
    automatic: tuple[Automatic, ...]
    fault: Text | None

    @property
    def zone(self) -> str:
        """The time zone in which it is dated (`+01:00`); empty if its first field Date names none.

        `-0000` names none (RFC 5322, 3.3). Nothing that a mail orders depends on it.
        """
        dates = (_ZONE.match(field.value) for field in self.fields if field.name == "date")
        found = next((date for date in dates if date is not None), None)
        zone = "" if found is None else f"{found[1].decode('ascii')}:{found[2].decode('ascii')}"
        return zone if is_zone(zone) else ""

    def envelope(self, own: OwnAddress) -> Envelope:
        """Returns its envelope: the topmost `Delivered-To`, else `X-Original-To`, that has a token.

        Without one the recipient is the bare address. Of all fields of one name only the topmost is the mail server's;
        a sender can have written the others.
        """
        top = {field.name: field.value.decode("ascii", "replace").strip() for field in reversed(self.fields)}
        places = (top.get(name, "").removeprefix("<").removesuffix(">") for name in ("delivered-to", "x-original-to"))
        recipient = next((each for each in places if own.find_in_address(each) is not None), own.mailbox)
        sender = top.get("return-path")
        return Envelope(recipient, None if sender is None else sender in ("", "<>"))

    def find_token(self, envelope_recipient: str | None, own: OwnAddress) -> Found | None:
        """Returns the token of the letter that it answers, from the first place that has one; None if none has.

        `envelope_recipient` is the recipient of the delivery where it is known. Subjects and bodies are forwarded and
        quoted, so no token in them counts.
        """
        header = self.header
        for recipient in (envelope_recipient, header.delivered_to, header.x_original_to):
            if recipient is not None and (found := own.find_in_address(recipient)) is not None:
                return found
        for message_id in (header.in_reply_to, header.last_reference):
            if message_id is not None and (found := own.find_in_id(message_id)) is not None:
                return found
        named = (own.find_in_address(each) for each in (*header.to, *header.cc))
        return next((found for found in named if found is not None), None)

    def known_by(self, reader: int = READER_VERSION) -> str:
        """Returns by what it is known when it comes again: its Message-ID if that is one id, else a hash of 64 digits.

        Of a Message-ID that is none the whole field counts, of a mail without one all of it but for the trace fields.
        Version 1 of the `reader` took the first id in the field, or else all of the mail. Of a mail that cannot be read
        all of it counts.
        """
        fields = [each for each in self.fields if each.name == "message-id"]
        if self.fault is not None:
            return sha256(self.raw).hexdigest()
        if reader == 1:
            return self.header.message_id or sha256(self.raw).hexdigest()
        if len(fields) == 1 and _ID.fullmatch(fields[0].text):
            return fields[0].text
        text = b"".join(each.value + b"\n" for each in fields) or without_trace(self.raw)
        return sha256(text).hexdigest()

    def parts(self) -> MailPart:
        """Returns it with all its parts. Raises `UnreadableMailError`."""
        return _unless_fault(self._parts)

    @cached_property
    def bounce(self) -> Bounce | None:
        """The report about a letter that it is; None for every other mail, and for one that cannot be read."""
        try:
            return read_bounce(self.parts())
        except UnreadableMailError:
            return None

    def order_lines(self, reader: int = READER_VERSION) -> tuple[str, ...]:
        """Returns the lines of its order, as `read_orders` takes them. Raises `UnreadableMailError`.

        `reader` is the version of the rules by which it is read.
        """
        return _unless_fault(self._order_lines) if reader == READER_VERSION else self._read_order(reader)

    def only_order(self, kind: OrderKind) -> MailOrder | None:
        """Returns its command if it has one, of that kind, and nothing else; None for any other mail."""
        try:
            read = read_orders(self.order_lines())
        except UnreadableMailError:
            return None
        return read[0] if not isinstance(read, OrderFault) and [each.kind for each in read] == [kind] else None

    @cached_property
    def _parts(self) -> MailPart | Text:
        try:
            return read_parts(self.fields, self.body) if self.fault is None else self.fault
        except UnreadableMailError as error:
            return error.reason

    @cached_property
    def _order_lines(self) -> tuple[str, ...] | Text:
        try:
            return self._read_order(READER_VERSION)
        except UnreadableMailError as error:
            return error.reason

    def _read_order(self, reader: int) -> tuple[str, ...]:
        subject = self.header.subject.strip().lower()
        if self.fault is None and subject in STOP_WORDS:
            return (subject,)
        return text_order(self.parts(), reader)


def read_mail(raw: bytes) -> Mail:
    """Reads a mail. Of one that breaks a limit or a rule as much is read as says whom that concerns."""
    fault = None
    try:
        header, body = split_header(as_read(raw))
        fields = read_fields(header)
    except UnreadableMailError as error:
        fault, body = error.reason, b""
        fields = fields_there(split_header(as_read(raw[:LONGEST_HEADER]))[0])
    read = _read_header(fields)
    if fault is not None:
        read = replace(read, sender=None, sender_fault=fault)
    return Mail(raw, fields, body, read, tuple(_marks(fields)), fault)


def _unless_fault(found: _Read | Text) -> _Read:
    if isinstance(found, Text):
        raise UnreadableMailError(found)
    return found


def _read_header(fields: Sequence[MailField]) -> MailHeader:
    values: dict[str, list[MailField]] = {}
    for field in fields:
        values.setdefault(field.name, []).append(field)

    def ids(name: str) -> list[str]:
        return _ID.findall(values[name][0].text) if name in values else []

    def addresses(name: str, most: int | None = None) -> tuple[str, ...]:
        return tuple(address for field in values.get(name, ())[:most] for address in addresses_in(field.text))

    sender = read_sender([field.value for field in values.get("from", ())])
    subjects = values.get("subject", ())
    return MailHeader(
        sender=None if isinstance(sender, Text) else sender,
        sender_fault=sender if isinstance(sender, Text) else None,
        message_id=next(iter(ids("message-id")), None),
        in_reply_to=next(iter(ids("in-reply-to")), None),
        last_reference=next(reversed(ids("references")), None),
        to=addresses("to"),
        cc=addresses("cc"),
        # A second one can be put on top by others.
        subject=clean(decode_words(subjects[0].text)) if len(subjects) == 1 else "",
        delivered_to=next(iter(addresses("delivered-to", 1)), None),
        x_original_to=next(iter(addresses("x-original-to", 1)), None),
    )


def _marks(fields: Sequence[MailField]) -> Iterator[Automatic]:
    """Yields everything by which a mail counts as sent by a program."""
    for field in fields:
        if field.name not in _MARKS:
            continue
        name = Automatic(field.name)
        value = re.split(r"[;(]", field.value.decode("latin-1"), maxsplit=1)[0].strip().lower()
        if name is Automatic.AUTO_SUBMITTED and value == "no":
            continue
        if name is Automatic.PRECEDENCE and value not in _PRECEDENCES:
            continue
        if name is Automatic.REPORT and value != _REPORT:
            continue
        yield name


_MARKS: Final = frozenset(each.value for each in Automatic)
