"""The envelope of a mail that was delivered to a mailbox: what the mail server that delivered it has written on top."""

from __future__ import annotations

import re
from typing import NamedTuple

from hkoji.mail.addresses import OwnAddress
from hkoji.mail.fields import LONGEST_HEADER, as_read, split_header, unfold

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
