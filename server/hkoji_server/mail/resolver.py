"""Asks DNS for the keys of DKIM signatures: few names, for a few seconds, and with no error that could stop a mail."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Final

from dns.asyncresolver import Resolver
from dns.exception import DNSException, Timeout
from dns.name import from_text
from dns.rdatatype import TXT
from dns.resolver import NXDOMAIN, NoResolverConfiguration

from hkoji.mail.dkim_rules import LONGEST_RECORD
from hkoji.mail.dns_answers import NAME_SERVER, DnsAnswers, parse_name_server, refused_name_server
from hkoji_server.log import log

SECONDS: Final = 3.0
"""How long one try for one name may take."""
TRIES: Final = 2
MOST_NAMES: Final = 4
"""How many names are asked for at once; no mail needs more."""


def system_resolver() -> Resolver | None:
    """Returns what asks the name servers of this machine, or the one that `HKOJI_DNS_SERVER` names.

    Returns None, with a line in the log, if the machine has none. Raises `UsageError` if the variable names none.
    """
    try:
        if not (server := os.environ.get(NAME_SERVER, "")):
            return Resolver()
        resolver, (host, port) = Resolver(configure=False), parse_name_server(server)
        resolver.nameservers, resolver.port = [host], port
        return resolver
    except ValueError:
        raise refused_name_server(server) from None
    except (NoResolverConfiguration, OSError):
        log.error("this machine has no name server, so no DKIM signature can be verified")
        return None


class TxtResolver:
    """Looks TXT records up with `resolver`; without one there are no records."""

    def __init__(self, resolver: Resolver | None, seconds: float = SECONDS) -> None:
        self._resolver = resolver
        self._seconds = seconds

    async def look_up(self, names: Sequence[str]) -> DnsAnswers:
        """Returns the TXT records of those names that have any, in `TRIES` times `seconds` at most.

        An answer that does not come, or that says that a name server has failed, is as good as no record: then the
        mail has no signature, which is no fault of anybody. It raises nothing.
        """
        found = await asyncio.gather(*(self._records(name) for name in names[:MOST_NAMES]))
        return {name: records for name, records in zip(names, found, strict=False) if records}

    async def _records(self, name: str) -> tuple[bytes, ...]:
        reason = "no name server"
        for _ in range(TRIES if self._resolver is not None else 0):
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._ask(name)
            except (Timeout, TimeoutError):
                reason = "no answer in time"
            except NXDOMAIN:
                return ()
            except (DNSException, OSError, ValueError) as error:
                reason = type(error).__name__
                break
        log.warning("DNS did not say which key a DKIM signature has", reason=reason)
        return ()

    async def _ask(self, name: str) -> tuple[bytes, ...]:
        assert self._resolver is not None
        asked = from_text(name + ".")
        answer = await self._resolver.resolve(
            asked, TXT, raise_on_no_answer=False, lifetime=self._seconds, search=False
        )
        records = tuple(b"".join(each.strings) for each in answer.rrset or ())
        # Nobody reads longer ones, and they would only have to be kept.
        return records if sum(map(len, records)) <= LONGEST_RECORD else ()
