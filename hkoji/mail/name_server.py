"""The setting that names another name server, for all that ask DNS about mails: `hkoji audit` and the mail process."""

from __future__ import annotations

import re
from typing import Final

from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell

NAME_SERVER: Final = "HKOJI_DNS_SERVER"
"""The environment variable with the address of the name server to ask, `127.0.0.1` or `127.0.0.1:5353`."""
_PORT: Final = 53
_FORM: Final = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9]+(?:\.[0-9]+){3}))(?::(?P<port>[0-9]{1,5}))?|(?P<bare>[0-9A-Fa-f:.]+)"
)


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
