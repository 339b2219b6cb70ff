"""Hints of the store on PostgreSQL: LISTEN and NOTIFY, beside the moves and never within their transactions.

Whoever notifies holds up all others who do until it has committed. So what a process has written is told to the others
together, a few times in each tenth of a second at most, in a statement of its own; and a hint that cannot be sent is
dropped. This process's own listeners are told at once.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import psycopg

from hkoji.errors import HkojiError
from hkoji_server.store.contract import ANYWHERE, Hint, Notice
from hkoji_server.store.postgres.connections import Connection, Connections, closing
from hkoji_server.store.sqlite.statements import Row

_CHANNEL: Final = "hkoji"
_PACE: Final = 0.02
_MOST_BYTES: Final = 7900
"""PostgreSQL takes 8000."""
_PAUSES: Final = (0.1, 0.5, 1.0, 5.0)


class PostgresHints:
    """Gives hints to those who listen here, and to the other processes. For one event loop."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._name = secrets.token_hex(4)
        self._notices: list[Notice] = []
        self._waiting: list[Hint] = []
        self._sending: asyncio.Task[None] | None = None
        self._hearing: asyncio.Task[None] | None = None

    def tell(self, hint: Hint) -> None:
        """Passes a hint on."""
        for notice in list(self._notices):
            notice(hint)
        self._waiting.append(hint)
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send())

    def listen(self, notice: Notice) -> Callable[[], None]:
        """Tells `notice` until the function that is returned is called."""
        self._notices.append(notice)
        if self._hearing is None:
            self._hearing = asyncio.get_running_loop().create_task(self._hear())

        def stop() -> None:
            self._notices.remove(notice)
            if not self._notices and self._hearing is not None:
                self._hearing.cancel()
                self._hearing = None

        return stop

    async def close(self) -> None:
        """Sends what waits, and ends the listening."""
        if self._sending is not None:
            await self._sending
        hearing, self._hearing = self._hearing, None
        if hearing is not None:
            hearing.cancel()
            with suppress(asyncio.CancelledError):
                await hearing

    async def _send(self) -> None:
        while self._waiting:
            await asyncio.sleep(_PACE)
            hints, self._waiting = self._waiting, []
            with suppress(HkojiError):
                await self._connections.once(_notify(_format(self._name, hints)))
        self._sending = None

    async def _hear(self) -> None:
        failed = 0
        while True:
            try:
                async with closing(await self._connections.connect()) as connection:
                    await connection.execute(f"LISTEN {_CHANNEL}")
                    failed = 0
                    self._pass_on(ANYWHERE)  # what came before this is heard by nobody
                    async for notification in connection.notifies():
                        for hint in _parse(self._name, notification.payload):
                            self._pass_on(hint)
            except (psycopg.Error, HkojiError):
                pass
            await asyncio.sleep(_PAUSES[min(failed, len(_PAUSES) - 1)])
            failed += 1

    def _pass_on(self, hint: Hint) -> None:
        for notice in list(self._notices):
            notice(hint)


def _notify(payload: str) -> Callable[[Connection], Awaitable[list[Row]]]:
    async def notify(connection: Connection) -> list[Row]:
        cursor = await connection.execute("SELECT pg_notify(%s, %s)", (_CHANNEL, payload))
        return await cursor.fetchall()

    return notify


def _format(name: str, hints: list[Hint]) -> str:
    """`name` is who tells; hints that are too many for one message become one about everything."""
    told = {hint.game: hint.players for hint in hints}
    text = json.dumps({"by": name, "games": [[game, *players] for game, players in told.items()]})
    return text if len(text) <= _MOST_BYTES else json.dumps({"by": name, "games": [[None]]})


def _parse(own: str, payload: str) -> list[Hint]:
    """The hints of another process. Anybody in the database may notify: what is not understood is about everything."""
    try:
        told = json.loads(payload)
        if told["by"] == own:
            return []
        return [Hint(game, tuple(map(str, players))) for game, *players in told["games"]]
    except (ValueError, KeyError, TypeError):
        return [ANYWHERE]
