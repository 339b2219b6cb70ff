"""Answers of DNS about mails in their one form, and the setting that names another name server.

`hkoji audit` and the mail process ask DNS.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping
from typing import Final

from hkoji.errors import UnreadableMailError, UsageError
from hkoji.log.canonical import encode_base64
from hkoji.messages.text import shorten, tell

DnsAnswers = Mapping[str, tuple[bytes, ...]]
"""The TXT records of names in lower case without the final dot, each record with its strings joined."""
_LINE = re.compile(rb"([!-~]+)\t([A-Za-z0-9+/]*={0,2})")
_BAD_ANSWERS: Final = tell("its DNS answers are not in their one form")

NAME_SERVER: Final = "HKOJI_DNS_SERVER"
"""The environment variable with the address of the name server to ask, `127.0.0.1` or `127.0.0.1:5353`."""
_PORT: Final = 53
_FORM: Final = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9]+(?:\.[0-9]+){3}))(?::(?P<port>[0-9]{1,5}))?|(?P<bare>[0-9A-Fa-f:.]+)"
)


def encode_answers(answers: DnsAnswers) -> bytes:
    """Returns DNS answers in their one form: sorted lines `name TAB base64`, one for each record."""
    lines = (f"{name}\t{encode_base64(record)}\n" for name, records in answers.items() for record in records)
    return "".join(sorted(lines)).encode("ascii")


def decode_answers(data: bytes) -> DnsAnswers:
    """Reads what `encode_answers` has written. Raises `UnreadableMailError` for anything else."""
    found: dict[str, list[bytes]] = {}
    for line in data.split(b"\n")[:-1]:
        parts = _LINE.fullmatch(line)
        if parts is None:
            raise UnreadableMailError(_BAD_ANSWERS)
        try:
            record = a2b_base64(parts[2], strict_mode=True)
        except Base64Error:
            raise UnreadableMailError(_BAD_ANSWERS) from None
        found.setdefault(parts[1].decode("ascii"), []).append(record)
    answers = {name: tuple(records) for name, records in found.items()}
    if encode_answers(answers) != data:
        raise UnreadableMailError(_BAD_ANSWERS)
    return answers


def parse_name_server(text: str) -> tuple[str, int]:
    """Returns the address and port of a name server. Raises `UsageError`."""
    found = _FORM.fullmatch(text)
    port = int((found and found["port"]) or _PORT)
    if found is None or port > 65535:
        raise refused_name_server(text)
    return found["six"] or found["four"] or found["bare"], port


def refused_name_server(text: str) -> UsageError:
    """Returns the refusal of a text that is not the address of a name server."""
    return UsageError(
        tell("{text!r} is not the address of a name server", text=shorten(text)),
        hint=tell("set {variable} to an address like 127.0.0.1 or 127.0.0.1:5353", variable=NAME_SERVER),
    )
