"""Connections that a supervisor hands to its workers, and what the workers report of them."""

from __future__ import annotations

import asyncio
import os
import resource
import socket

from hkoji_server.process.handover import Giver, Taker

from tests.support.conditions import until_seen


def test_a_worker_gets_each_connection_and_reports_its_end() -> None:
    async def run() -> None:
        one, other = socket.socketpair()
        giver, taker = Giver(one), Taker(other)
        taken: list[socket.socket] = []
        orphaned: list[bool] = []
        assert not giver.ready
        taker.start(taken.append, lambda: orphaned.append(True))
        assert giver.hear()
        assert (giver.ready, giver.open) == (True, 0)
        clients = []
        for _ in range(5):
            client, connection = socket.socketpair()
            assert giver.give(connection)
            connection.close()
            clients.append(client)
        assert giver.open == 5
        await until_seen(lambda: len(taken) == 5)
        for number, (client, connection) in enumerate(zip(clients, taken, strict=True)):
            client.sendall(b"%d" % number)
            assert connection.recv(10) == b"%d" % number
        for _ in range(3):
            taker.report()
        assert giver.hear()
        assert giver.open == 2
        assert orphaned == []
        giver.close()
        await until_seen(lambda: orphaned == [True])
        for sock in (*clients, *taken, other):
            sock.close()

    asyncio.run(run())


def test_reports_that_come_at_once_with_the_first_are_counted() -> None:
    async def run() -> None:
        one, other = socket.socketpair()
        giver, taker = Giver(one), Taker(other)
        giver.open = 2
        taker.start(socket.socket.close, lambda: None)
        taker.report()
        taker.report()
        assert giver.hear()
        assert (giver.ready, giver.open) == (True, 0)
        giver.close()
        other.close()

    asyncio.run(run())


def test_a_worker_that_takes_nothing_is_passed_over() -> None:
    async def run() -> None:
        one, other = socket.socketpair()
        giver, taker = Giver(one), Taker(other)
        client, connection = socket.socketpair()
        given = 0
        while giver.give(connection):  # the worker is busy, and the channel fills
            given += 1
            assert given < 100_000
        assert giver.open == given > 0
        taken: list[socket.socket] = []
        taker.start(taken.append, lambda: None)
        await until_seen(lambda: len(taken) == given)
        assert giver.give(connection)
        taker.stop()
        assert not giver.give(connection)
        assert giver.open == given + 1
        assert giver.hear()
        other.close()
        assert not giver.hear()
        assert not giver.give(connection)
        for sock in (client, connection, one, *taken):
            sock.close()

    asyncio.run(run())


def test_a_connection_for_which_a_worker_has_no_place_is_reported() -> None:
    """Otherwise it would count for ever, and the other workers would get nearly all that come later."""

    async def run() -> None:
        one, other = socket.socketpair()
        giver, taker = Giver(one), Taker(other)
        taken: list[socket.socket] = []
        taker.start(taken.append, lambda: None)
        client, connection = socket.socketpair()
        assert giver.hear()
        assert giver.give(connection)
        connection.close()
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest = os.dup(0)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
        try:
            await asyncio.sleep(0.1)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert client.recv(1) == b""
        assert taken == []
        assert giver.hear()
        assert giver.open == 0
        for sock in (client, one, other):
            sock.close()

    asyncio.run(run())


def test_reports_that_found_the_channel_full_are_made_later() -> None:
    async def run() -> None:
        one, other = socket.socketpair()
        giver, taker = Giver(one), Taker(other)
        giver.open = most = 5000
        taker.start(socket.socket.close, lambda: None)
        for _ in range(most - 1):
            taker.report()
        assert giver.hear()
        assert giver.open > 1  # most reports found no place
        taker.report()
        while giver.open:
            before = giver.open
            assert giver.hear()
            assert 0 <= giver.open < before
        giver.close()
        other.close()

    asyncio.run(run())
