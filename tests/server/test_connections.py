"""A connection reads a request up to the limit and no further, however the request is cut; addresses take turns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
import uvicorn
from hkoji_server.process.connections import MOST_HEAD, GuardedConnection, JoinedWrites
from hkoji_server.routes.middleware import Turns
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

LIMIT = 32_768
MANY = b"".join(b"x-%05d: y\r\n" % number for number in range(LIMIT))


NONE: Any = (None, None)
"""The callables with which an application receives and sends, where it does neither."""


class Line(asyncio.Transport):
    """The answer that a client reads."""

    def __init__(self) -> None:
        super().__init__()
        self.read = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed
        self.read += bytes(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def told(pieces: Sequence[bytes]) -> tuple[bytes, bool, list[int]]:
    """Sends the pieces on one connection; returns the answer, whether it was closed, and the sizes of the bodies."""
    taken: list[int] = []

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            size, more = size + len(message.get("body", b"")), message.get("more_body", False)
        if message["type"] == "http.request":
            taken.append(size)
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    async def talk() -> tuple[bytes, bool]:
        config = uvicorn.Config(app, log_config=None, access_log=False, proxy_headers=False)
        config.load()
        line = Line()
        protocol = GuardedConnection(config, ServerState(), {})
        protocol.connection_made(line)
        for piece in pieces:
            if line.closed:
                break
            protocol.data_received(piece)
            for _ in range(100):
                await asyncio.sleep(0)
        closed = line.closed
        protocol.connection_lost(None)
        for _ in range(100):
            await asyncio.sleep(0)
        return line.read, closed

    return *asyncio.run(talk()), taken


def cut(text: bytes, size: int) -> list[bytes]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1000, 10**7])
@pytest.mark.parametrize(
    "text",
    [
        b"GET /healthz HTTP/1.1\r\nx: " + b"y" * LIMIT + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n" + MANY + b"\r\n",
        b"GET /healthz?" + b"y" * LIMIT + b" HTTP/1.1\r\n\r\n",
        b"POST /v1/login HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + MANY + b"\r\n",
    ],
    ids=["one header", "many headers", "address", "after the body"],
)
def test_more_than_a_request_may_have_is_refused(text: bytes, size: int) -> None:
    answer, closed, taken = told(cut(text, size))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 "), head
    assert (closed, taken) == (True, [])
    problem = json.loads(body)
    assert (problem["status"], problem["code"]) == (431, "too-large")
    assert f"larger than {MOST_HEAD} bytes" in problem["detail"]


@pytest.mark.parametrize("begin", [b"GET /?", b"GET / HTTP/1.1\r\nx: ", b"POST / HTTP/1.1\r\nx: y\r\nz"])
def test_a_stream_that_never_ends_is_not_waited_for(begin: bytes) -> None:
    answer, closed, taken = told([begin, *cut(b"y" * (LIMIT + 1000), 1000)])
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert (closed, taken) == (True, [])


@pytest.mark.parametrize("size", [1000, 10**7])
def test_a_request_that_is_not_too_large_is_taken_again_and_again(size: int) -> None:
    head = b"POST /v1/games HTTP/1.1\r\nx: " + b"y" * (LIMIT - 100) + b"\r\ncontent-length: 200000\r\n\r\n"
    answer, closed, taken = told(cut((head + b"z" * 200_000) * 3, size))
    assert answer.count(b"HTTP/1.1 204 ") == 3
    assert (closed, taken) == (False, [200_000] * 3)


def test_several_requests_in_a_piece_are_counted_each_by_itself() -> None:
    one = b"GET / HTTP/1.1\r\nx: " + b"y" * 5000 + b"\r\n\r\n"
    answer, closed, taken = told([one * 8 + one[:2000], one[2000:]])
    assert answer.count(b"HTTP/1.1 204 ") == 9
    assert (closed, taken) == (False, [0] * 9)


def test_a_hundred_requests_that_are_sent_ahead_are_answered_and_any_number_is_not() -> None:
    one = b"GET / HTTP/1.1\r\nx: y\r\n\r\n"
    answer, closed, taken = told([one * 100])
    assert answer.count(b"HTTP/1.1 204 ") == len(taken) == 100
    assert not closed
    answer, closed, taken = told([one * 100_000])
    assert closed
    assert len(taken) <= 1  # the one that had begun


def scope_of(address: str, path: str) -> Scope:
    return {"type": "http", "client": (address, 1), "path": path, "query_string": b""}


def begun(asked: Sequence[tuple[str, str, int]]) -> list[tuple[str, int]]:
    """Sends numbers of requests of addresses to paths, all at once; returns address and pass of each as it begins."""
    order: list[tuple[str, int]] = []
    passes = 0

    async def app(scope: Scope, _: Receive, __: Send) -> None:
        order.append((scope["client"][0], passes))

    async def all_at_once() -> None:
        nonlocal passes
        turns = Turns(app)
        tasks = [
            asyncio.ensure_future(
                turns({"type": "http", "client": (name, 1), "path": path, "query_string": b""}, *NONE)
            )
            for name, path, count in asked
            for _ in range(count)
        ]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            passes += 1

    asyncio.run(all_at_once())
    return order


def test_however_many_requests_an_address_sends_another_one_begins_in_the_first_pass() -> None:
    order = begun([("192.0.2.1", "/v1/service", 1000), ("192.0.2.2", "/v1/service", 1)])
    assert len(order) == 1001
    assert dict(order)["192.0.2.2"] == 0
    assert max(order.count(("192.0.2.1", each)) for each in range(1000)) <= 4


def test_clients_that_wait_begin_a_few_at_a_time_from_however_many_addresses_they_come() -> None:
    order = begun([*((f"192.0.2.{number}", "/v1/events", 5) for number in range(200)), ("192.0.3.1", "/healthz", 1)])
    assert len(order) == 1001
    assert dict(order)["192.0.3.1"] == 0
    passes = [each for name, each in order if name != "192.0.3.1"]
    assert max(map(passes.count, passes)) <= 4


def test_a_request_that_is_cancelled_takes_no_turn() -> None:
    async def cancelled() -> int:
        ran = 0

        async def app(_: Scope, __: Receive, ___: Send) -> None:
            nonlocal ran
            ran += 1

        turns = Turns(app)
        tasks = [asyncio.ensure_future(turns(scope_of("192.0.2.1", "/"), *NONE)) for _ in range(12)]
        await asyncio.sleep(0)
        for task in tasks[4:8]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return ran

    assert asyncio.run(cancelled()) == 8


def test_head_and_body_of_an_answer_are_sent_together() -> None:
    class Written(asyncio.Transport):
        def __init__(self) -> None:
            super().__init__()
            self.sent: list[bytes] = []
            self.reset = False

        def is_closing(self) -> bool:
            return self.reset

        def write(self, data: bytes | bytearray | memoryview) -> None:
            assert not self.reset
            self.sent.append(bytes(data))

        def close(self) -> None:
            self.sent.append(b"closed")

    head = b"HTTP/1.1 200 OK\r\n\r\n"

    async def work() -> None:
        transport = Written()
        joined = JoinedWrites(transport, asyncio.get_running_loop())
        joined.write(head)
        joined.write(b"body")
        joined.write(b"more")
        assert transport.sent == [head + b"body", b"more"]
        joined.write(head)  # a stream whose first event comes later
        assert len(transport.sent) == 2
        await asyncio.sleep(0)
        assert transport.sent[2:] == [head]
        joined.write(head)
        joined.close()
        await asyncio.sleep(0)
        assert transport.sent[3:] == [head, b"closed"]
        joined.write(head)
        transport.reset = True
        joined.write(b"body")
        joined.write(head)
        joined.close()
        await asyncio.sleep(0)
        assert transport.sent[5:] == [b"closed"]

    asyncio.run(work())
