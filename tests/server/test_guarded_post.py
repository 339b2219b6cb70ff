"""Posts to addresses of players: what is refused before anything is sent, and what no receiver can do to us."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from unittest.mock import patch

import pytest
from hkoji_server.service.notices import guarded_post
from hkoji_server.service.notices.guarded_post import (
    LONGEST,
    MOST_BYTES,
    GuardedPoster,
    PostAnswer,
    is_public,
    parse_webhook_url,
    resolve,
)
from hkoji_server.service.notices.posting import PostCourier
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import MalformedError, NotDeliveredError
from tests.support.loops import run
from tests.support.receiver import Receiver, answers, certified, hook, receiver

__all__ = ["hook"]

NAME = "hook.example"
PUBLIC = "93.184.215.14"


class Resolver:
    """Returns one list of addresses after the other, and the last one for ever."""

    def __init__(self, *found: Sequence[str]) -> None:
        self.found = list(found)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.found.pop(0) if len(self.found) > 1 else self.found[0]


def post(poster: GuardedPoster, url: str, body: bytes = b"{}") -> PostAnswer:
    return run(poster.post(parse_webhook_url(url, private=poster.private), body, {"webhook-id": "x"}))


def near(hook: Receiver, longest: float = LONGEST) -> tuple[GuardedPoster, str]:
    """A poster that may reach loopback, and the address of the receiver there."""
    return GuardedPoster(private=True, longest=longest), f"http://127.0.0.1:{hook.port}/in?a=b"


# --- addresses --------------------------------------------------------------------------------------------------------


@given(st.text(max_size=40))
def test_an_address_is_read_or_refused(tail: str) -> None:
    try:
        url = parse_webhook_url(f"https://{tail}")
    except MalformedError:
        return
    assert url.text.isascii()
    assert url.text.isprintable()
    assert parse_webhook_url(url.text) == url
    assert "@" not in url.host


# Networks of which no machine may be connected to. Those of IPv4 also count in each form that IPv6 has for them.
NOT_PUBLIC = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
    *("::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16"),
    *("fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
]


def members(network: str) -> st.SearchStrategy[str]:
    found = ipaddress.ip_network(network)
    return st.integers(int(found[0]), int(found[-1])).map(lambda each: str(type(found[0])(each)))


@given(st.sampled_from(NOT_PUBLIC).flatmap(members))
def test_no_address_of_a_network_of_ones_own_is_public(address: str) -> None:
    forms = [""] if ":" in address else ["", "::ffff:", "::", "64:ff9b::"]
    assert not [form for form in forms if is_public(f"{form}{address}")]


@pytest.mark.parametrize(
    "address", [PUBLIC, "1.1.1.1", "2606:4700::1111", f"::ffff:{PUBLIC}", f"64:ff9b::{PUBLIC}", "2a00:1450::1"]
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


# --- what is connected to ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "found",
    [["127.0.0.1"], [PUBLIC, "127.0.0.1"], ["10.0.0.1", PUBLIC], [PUBLIC, "::ffff:127.0.0.1"], ["fe80::1%lo"], []],
)
def test_a_name_with_one_private_address_is_not_connected_to(found: list[str], hook: Receiver) -> None:
    poster = GuardedPoster(resolve=Resolver(found))
    with (
        patch.object(asyncio, "open_connection", side_effect=AssertionError("it connects")),
        pytest.raises(NotDeliveredError) as raised,
    ):
        post(poster, f"https://{NAME}/")
    assert raised.value.reason == guarded_post.UNREACHABLE


def test_exactly_the_addresses_that_were_checked_are_connected_to() -> None:
    """A name that resolves to another address when it is asked again gains nothing by it."""
    resolver, tried = Resolver([PUBLIC, "1.1.1.1"], ["127.0.0.1"]), []

    async def refuse(host: str, port: int, **options: object) -> None:
        tried.append((host, port, options["server_hostname"]))
        raise ConnectionRefusedError

    with patch.object(asyncio, "open_connection", refuse), pytest.raises(NotDeliveredError):
        post(GuardedPoster(resolve=resolver), f"https://{NAME}/")
    assert tried == [(PUBLIC, 443, NAME), ("1.1.1.1", 443, NAME)]
    assert resolver.asked == [NAME]


def test_an_address_is_not_resolved_by_the_loop_either() -> None:
    """Connecting asks no name server: the loop gets an address, which it takes as it is."""
    with patch.object(socket, "getaddrinfo", side_effect=AssertionError("it resolves")), receiver() as hook:
        poster = GuardedPoster(private=True, resolve=Resolver(["127.0.0.1"]))
        assert post(poster, f"http://{NAME}:{hook.port}/").status == 204


def test_all_that_fails_before_an_answer_has_one_text(hook: Receiver) -> None:
    async def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(-2, "Name or service not known")

    said = set()
    closed = GuardedPoster(private=True, resolve=Resolver(["127.0.0.1"]))
    for poster, url in (
        (GuardedPoster(resolve=unknown), f"https://{NAME}/"),
        (GuardedPoster(resolve=Resolver(["10.0.0.1"])), f"https://{NAME}/"),
        (closed, f"https://{NAME}:1/"),
        (closed, f"https://{NAME}:{hook.port}/"),  # it does not speak TLS
    ):
        with pytest.raises(NotDeliveredError) as raised:
            post(poster, url)
        said.add(str(raised.value))
    assert len(said) == 1
    assert hook.posts == []


def test_http_never_leaves_the_operators_network() -> None:
    poster = GuardedPoster(private=True, resolve=Resolver([PUBLIC]))
    with (
        patch.object(asyncio, "open_connection", side_effect=AssertionError("it connects")),
        pytest.raises(NotDeliveredError),
    ):
        post(poster, f"http://{NAME}/")


def test_the_certificate_must_be_that_of_the_name(tmp_path: Path) -> None:
    served, trusting = certified(tmp_path, NAME)
    names: list[str | None] = []
    served.sni_callback = lambda _socket, name, _context: names.append(name)
    with receiver(served) as hook:
        poster = GuardedPoster(private=True, resolve=Resolver(["127.0.0.1"]), context=lambda: trusting)
        assert post(poster, f"https://{NAME}:{hook.port}/x").status == 204
        assert [each.target for each in hook.posts] == ["/x"]
        for other, trust in (("other.example", trusting), (NAME, ssl.create_default_context())):
            distrustful = GuardedPoster(private=True, resolve=Resolver(["127.0.0.1"]), context=lambda: trust)  # noqa: B023
            with pytest.raises(NotDeliveredError) as raised:
                post(distrustful, f"https://{other}:{hook.port}/x")
            assert isinstance(raised.value.__cause__, ssl.SSLError)
        assert names == [NAME, "other.example", NAME]
        assert len(hook.posts) == 1


def test_proxies_of_the_environment_are_not_used(hook: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        poster, url = near(hook)
        assert post(poster, url).status == 204
        assert proxy.connections == 0


# --- what receivers can do --------------------------------------------------------------------------------------------


def test_a_post_arrives_as_it_was_sent(hook: Receiver) -> None:
    poster, url = near(hook)
    assert post(poster, url, b'{"v":1}') == PostAnswer(204)
    only = hook.posts[0]
    assert (only.target, only.body, only.headers["webhook-id"]) == ("/in?a=b", b'{"v":1}', "x")
    assert only.headers["host"] == f"127.0.0.1:{hook.port}"
    assert only.headers["content-type"] == "application/json"


def test_a_redirect_is_an_answer_like_others(hook: Receiver) -> None:
    with receiver() as aim:
        hook.behave = answers(307, Location=f"http://127.0.0.1:{aim.port}/")
        poster, url = near(hook)
        assert post(poster, url) == PostAnswer(307)
        assert aim.connections == 0


@pytest.mark.parametrize(("given", "wait"), [("7", 7), ("0", 0), ("-1", None), ("soon", None), ("9" * 30, None)])
def test_a_receiver_may_ask_to_wait(given: str, wait: int | None, hook: Receiver) -> None:
    hook.behave = answers(503, Retry_After=given)
    poster, url = near(hook)
    assert post(poster, url) == PostAnswer(503, wait)


def says(*parts: bytes, pause: float = 0) -> object:
    def act(handler: BaseHTTPRequestHandler) -> None:
        for part in parts:
            handler.wfile.write(part)
            time.sleep(pause)

    return act


def test_a_receiver_that_says_one_byte_after_the_other_is_left(hook: Receiver) -> None:
    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
        while not hook.released.wait(0.01):
            handler.wfile.write(b"y")

    hook.behave = trickle
    poster, url = near(hook, 0.2)
    begun = time.monotonic()
    with pytest.raises(NotDeliveredError) as raised:
        post(poster, url)
    assert isinstance(raised.value.__cause__, TimeoutError)
    assert time.monotonic() - begun < LONGEST / 2


def test_a_receiver_that_never_answers_is_left(hook: Receiver) -> None:
    hook.behave = lambda _: (hook.released.wait(30), None)[1]
    poster, url = near(hook, 0.2)
    with pytest.raises(NotDeliveredError):
        post(poster, url)


def test_a_name_server_that_never_answers_is_left() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(NotDeliveredError):
        post(GuardedPoster(resolve=never, longest=0.05), f"https://{NAME}/")


def test_a_name_server_that_never_answers_keeps_nobody_else_waiting() -> None:
    """The store works in threads of the event loop. A question about a name cannot be ended, only left."""
    answered = threading.Event()

    def asked(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        if host == NAME:
            answered.wait(30)
        return [(0, 0, 0, "", ("192.0.2.1", 443))]

    async def work() -> str:
        url, poster = parse_webhook_url(f"https://{NAME}/"), GuardedPoster(longest=0.5)
        posts = [poster.post(url, b"{}", {}) for _ in range(2 * PostCourier.places)]
        for found in await asyncio.gather(*posts, return_exceptions=True):
            assert isinstance(found, NotDeliveredError)
        try:
            assert await asyncio.wait_for(resolve("other.example", 443), 20) == ["192.0.2.1"]
            return await asyncio.wait_for(asyncio.to_thread(lambda: "done"), 60)  # there are at most 32 of them
        finally:
            answered.set()

    with patch.object(socket, "getaddrinfo", asked):
        assert run(work()) == "done"


_ENDS = f"""
import asyncio, socket, time
from hkoji.errors import NotDeliveredError
from hkoji_server.service.notices.guarded_post import GuardedPoster, parse_webhook_url

socket.getaddrinfo = lambda *_, **__: time.sleep(600)
try:
    asyncio.run(GuardedPoster(longest=0.05).post(parse_webhook_url("https://{NAME}/"), b"", {{}}))
except NotDeliveredError:
    print("left")
"""


def test_a_name_server_that_never_answers_does_not_hold_up_the_end_of_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", _ENDS], check=True, capture_output=True, text=True, timeout=300)
    assert done.stdout == "left\n"


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"HTTP/1.1 200 OK\r\n"],
        [b"HTTP/1.1 200 OK\r\nx: " + b"y" * MOST_BYTES + b"\r\n\r\n"],
        [b"HTTP/1.1 100 Continue\r\n\r\n" * MOST_BYTES],
        [b"SSH-2.0-OpenSSH_9.9\r\n" * 10],
        [bytes(range(256)) * 100],
        [b"HTTP/1.1 2000 OK\r\n\r\n"],
    ],
    ids=["nothing", "half", "long", "continue", "ssh", "noise", "status"],
)
def test_an_answer_that_is_none_has_failed(parts: list[bytes], hook: Receiver) -> None:
    hook.behave = says(*parts)  # type: ignore[assignment]
    poster, url = near(hook)
    with pytest.raises(NotDeliveredError) as raised:
        post(poster, url)
    assert raised.value.reason == guarded_post.UNREACHABLE


@pytest.mark.parametrize(
    "parts",
    [
        [b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 100_000],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"],
        [b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"],
        [b"HTTP/1.0 200 OK\r\n\r\n"],
    ],
    ids=["megabytes", "less than promised", "after another", "old"],
)
def test_the_status_is_all_that_counts_of_an_answer(parts: list[bytes], hook: Receiver) -> None:
    """Megabytes that follow it are not read, and a body that never comes is not waited for."""
    hook.behave = says(*parts)  # type: ignore[assignment]
    poster, url = near(hook)
    assert post(poster, url) == PostAnswer(200)
