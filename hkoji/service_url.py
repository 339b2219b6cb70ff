"""The rule for the address of a service: players' programs and the service itself check it by this one."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from hkoji.errors import UsageError
from hkoji.messages.text import tell

PORTS: Final = {"http": 80, "https": 443}
"""The usual ports."""


def parse_url(text: str) -> str:
    """Returns a server's URL in canonical form: scheme, host in lower case, port if it is not the usual one, path.

    Raises `UsageError` for anything but an http or https URL without user, query and fragment. A colon after the host
    needs a port, and nobody can be reached at port 0.
    """
    host = None
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        pass
    if (
        not host
        or not all("!" <= c <= "~" for c in text)
        or parts.scheme not in PORTS
        or "@" in parts.netloc
        or parts.netloc.endswith(":")
        or port == 0
        or parts.query
        or parts.fragment
    ):
        raise UsageError(
            tell("{text!r} is not the address of a server", text=text),
            hint=tell(
                "an address looks like https://hanamikoji.example, or with a port from 1 to 65535, like "
                "https://hanamikoji.example:8443"
            ),
        )
    shown = f"[{host}]" if ":" in host else host
    suffix = "" if port in (None, PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{shown}{suffix}{parts.path.rstrip('/')}"


def same_address(url: str, origin: str) -> bool:
    """Returns whether the origin that a service states is its address `url`, as `parse_url` returns it."""
    try:
        return parse_url(origin) == url
    except UsageError:
        return False
