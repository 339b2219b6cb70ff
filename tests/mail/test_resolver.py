"""DNS for DKIM: what is asked, for how long, and that no name server and no answer is an error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import dns.message
import pytest
from dns.asyncresolver import Resolver
from dns.exception import DNSException
from dns.flags import QR
from dns.rcode import NXDOMAIN, SERVFAIL
from dns.rdatatype import TXT
from dns.resolver import NoNameservers
from dns.rrset import from_text
from hkoji_server.mail.resolver import MOST_NAMES, TRIES, TxtResolver, system_resolver

from hkoji.errors import UsageError
from hkoji.mail.dkim_rules import LONGEST_RECORD
from hkoji.mail.dns_answers import parse_name_server
from tests.support.mail.servers import name_server

NAME = "s1._domainkey.example.org"
LONG = '"' + "x" * 200 + '" '


class NameServer(asyncio.DatagramProtocol):
    """A name server on loopback. Names are `s1` and so on under example.org, and each behaves in its own way."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def connection_made(self, transport: Any) -> None:  # Any: as asyncio has it
        self.transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        name = query.question[0].name
        assert query.question[0].rdtype == TXT
        label = name.labels[0].decode()
        self.asked.append(label)
        answer = dns.message.make_response(query)
        answer.flags |= QR
        if label == "silent":
            return
        if label in ("failing", "missing"):
            answer.set_rcode(SERVFAIL if label == "failing" else NXDOMAIN)
        elif label == "alias":
            answer.answer += [
                from_text(name, 60, "IN", "CNAME", "real.example.org."),
                from_text("real.example.org.", 60, "IN", "TXT", '"v=DKIM1; " "p=abc"'),
            ]
        elif label == "two":
            answer.answer.append(from_text(name, 60, "IN", "TXT", '"a"', '"b"'))
        elif label == "odd":
            answer.answer.append(from_text(name, 60, "IN", "TXT", '"a\\010b\\255" ""'))
        elif label == "long":
            answer.answer.append(from_text(name, 60, "IN", "TXT", LONG * (LONGEST_RECORD // 200 + 1)))
        elif label != "empty":
            answer.answer.append(from_text(name, 60, "IN", "TXT", '"v=DKIM1"'))
        self.transport.sendto(answer.to_wire(max_size=65535), address)


def served(work: Callable[[TxtResolver, NameServer], Awaitable[object]], seconds: float = 1.0) -> None:
    """Does something with a resolver that asks a name server of its own."""

    async def run() -> None:
        transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
            NameServer, local_addr=("127.0.0.1", 0)
        )
        resolver = Resolver(configure=False)
        resolver.nameservers, resolver.port = ["127.0.0.1"], transport.get_extra_info("sockname")[1]
        try:
            await work(TxtResolver(resolver, seconds), server)
        finally:
            transport.close()

    asyncio.run(run())


def test_each_name_is_asked_for_once_and_has_its_records() -> None:
    async def work(resolver: TxtResolver, server: NameServer) -> None:
        names = [f"{label}.example.org" for label in ("good", "alias", "two", "missing")]
        found = dict(await resolver.look_up(names))
        assert sorted(found.pop("two.example.org")) == [b"a", b"b"]
        assert found == {"good.example.org": (b"v=DKIM1",), "alias.example.org": (b"v=DKIM1; p=abc",)}
        assert sorted(server.asked) == ["alias", "good", "missing", "two"]

    served(work)


def test_odd_tags_of_a_record_stay_and_unread_ones_go() -> None:
    async def work(resolver: TxtResolver, _: NameServer) -> None:
        found = await resolver.look_up([f"{label}.example.org" for label in ("odd", "long", "empty")])
        assert found == {"odd.example.org": (b"a\nb\xff",)}

    served(work)


def test_a_name_server_that_fails_or_says_nothing_is_no_error() -> None:
    async def work(resolver: TxtResolver, server: NameServer) -> None:
        assert await resolver.look_up(["failing.example.org", "silent.example.org", "good.example.org"]) == {
            "good.example.org": (b"v=DKIM1",)
        }
        assert server.asked.count("silent") >= TRIES

    served(work, 0.1)


def test_no_mail_needs_more_names() -> None:
    async def work(resolver: TxtResolver, server: NameServer) -> None:
        await resolver.look_up([f"n{number}.example.org" for number in range(MOST_NAMES + 3)])
        assert len(server.asked) == MOST_NAMES

    served(work)


class Failing(Resolver):
    """A resolver that raises, or never answers."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__(configure=False)
        self.error = error
        self.tries = 0

    async def resolve(self, *asked: Any, **options: Any) -> Any:  # Any: as the resolver has them
        self.tries += 1
        if self.error is None:
            await asyncio.Event().wait()
        raise self.error or AssertionError


@pytest.mark.parametrize("error", [DNSException, NoNameservers, OSError, ValueError, None])
def test_nothing_is_raised(error: type[Exception] | None) -> None:
    resolver = Failing(None if error is None else error())
    assert asyncio.run(TxtResolver(resolver, 0.01).look_up([NAME])) == {}
    assert resolver.tries == (TRIES if error is None else 1)
    assert asyncio.run(TxtResolver(None).look_up([NAME])) == {}
    assert asyncio.run(TxtResolver(resolver, 0.01).look_up(["a" * 64 + ".example.org", ".."])) == {}


def test_the_environment_names_another_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with name_server({f"{NAME}.": (b"v=DKIM1",)}, monkeypatch) as asked:
        found = asyncio.run(TxtResolver(system_resolver()).look_up([NAME]))
        assert found == {NAME: (b"v=DKIM1",)}
        assert asked == [f"{NAME}."]
    for wrong in ("127.0.0.1:what", "127.0.0.1:70000", "ns.example", "1.2.3", "[::1"):
        monkeypatch.setenv("HKOJI_DNS_SERVER", wrong)
        with pytest.raises(UsageError, match="is not the address of a name server"):
            system_resolver()
    for text, address in (("::1", ("::1", 53)), ("[::1]:5353", ("::1", 5353)), ("127.0.0.1", ("127.0.0.1", 53))):
        assert parse_name_server(text) == address
