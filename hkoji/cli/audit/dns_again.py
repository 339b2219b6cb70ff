"""Asks DNS for the keys of DKIM signatures, at the command line. No other module of the player's side speaks to DNS."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from hkoji.errors import UsageError
from hkoji.extras import install_command
from hkoji.messages.text import shorten, tell

SERVER: Final = "HKOJI_DNS_SERVER"
"""The environment variable with the address of the name server to ask, `127.0.0.1` or `127.0.0.1:5353`."""
_PORT: Final = 53
_SECONDS: Final = 5.0


def ask_keys(names: Iterable[str]) -> dict[str, tuple[bytes, ...] | None]:
    """Returns the TXT records that names have now, each with its strings joined; None where no answer came.

    Raises `UsageError` if dnspython is not installed, or the name server's address is none.
    """
    try:
        import dns.exception
        import dns.resolver
    except ModuleNotFoundError as error:
        raise UsageError(
            tell("DNS is asked with the package {name}, which is not installed", name=error.name),
            hint=tell("install it with: {command}", command=install_command("mail")),
        ) from error
    server = os.environ.get(SERVER, "")
    resolver = dns.resolver.Resolver(configure=not server)
    if server:
        host, _, port = server.partition(":")
        try:
            resolver.nameservers, resolver.port = [host], int(port or _PORT)
        except ValueError:
            raise UsageError(
                tell("{text!r} is not the address of a name server", text=shorten(server)),
                hint=tell("set {variable} to an address like 127.0.0.1 or 127.0.0.1:5353", variable=SERVER),
            ) from None
    found: dict[str, tuple[bytes, ...] | None] = {}
    for name in dict.fromkeys(names):
        try:
            answer = resolver.resolve(f"{name}.", "TXT", lifetime=_SECONDS, search=False)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            found[name] = ()
        except dns.exception.DNSException:
            found[name] = None
        else:
            found[name] = tuple(b"".join(record.strings) for record in answer)
    return found
