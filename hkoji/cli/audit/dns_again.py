"""Asks DNS for the keys of DKIM signatures, at the command line. No other module of the player's side speaks to DNS."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from hkoji.errors import UsageError
from hkoji.extras import install_command
from hkoji.mail.name_server import NAME_SERVER, parse_name_server, refused_name_server
from hkoji.messages.text import tell

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
    server = os.environ.get(NAME_SERVER, "")
    resolver = dns.resolver.Resolver(configure=not server)
    if server:
        host, port = parse_name_server(server)
        try:
            resolver.nameservers, resolver.port = [host], port
        except ValueError:
            raise refused_name_server(server) from None
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
