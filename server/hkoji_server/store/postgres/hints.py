"""Hints of the PostgreSQL store: LISTEN and NOTIFY, never within the transactions of moves.

PostgreSQL lets only one notifying transaction commit at a time; all others wait. So a process collects the hints for
the other processes for a fiftieth of a second and sends them in one statement of its own. A hint that cannot be sent is
dropped. The listeners of the same process get each hint at once.
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
from hkoji_server.store.game_values import ANYWHERE, WAITS, Hint
from hkoji_server.store.postgres.connections import PostgresConnection, PostgresConnections, closing
from hkoji_server.store.sql_steps import Hints, Row

_CHANNEL: Final = "hkoji"
_PACE: Final = 0.02
_MOST_BYTES: Final = 7900
"""PostgreSQL accepts less than 8000."""
_PAUSES: Final = (0.1, 0.5, 1.0, 5.0)


class PostgresHints(Hints):
    """Gives hints to the listeners of this process and to the other processes."""

    def __init__(self, connections: PostgresConnections) -> None:
        super().__init__()
        self._connections = connections
        self._name = secrets.token_hex(4)
        self._waiting: list[Hint] = []
        self._sending: asyncio.Task[None] | None = None

    def publish(self, hint: Hint) -> None:
        """Passes a hint to the listeners here, and sends it to the other processes soon."""
        super().publish(hint)
        self._waiting.append(hint)
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def close(self) -> None:
        """Sends the hints that wait, and stops listening."""
        if self._sending is not None:
            await self._sending
        if (hearing := self.stop_hearing()) is not None:
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
                    super().publish(ANYWHERE)  # notifications sent before LISTEN have been missed
                    async for notification in connection.notifies():
                        for hint in _parse(self._name, notification.payload):
                            super().publish(hint)
            except (psycopg.Error, HkojiError):
                pass
            await asyncio.sleep(_PAUSES[min(failed, len(_PAUSES) - 1)])
            failed += 1


def _notify(payload: str) -> Callable[[PostgresConnection], Awaitable[list[Row]]]:
    async def notify(connection: PostgresConnection) -> list[Row]:
        cursor = await connection.execute("SELECT pg_notify(%s, %s)", (_CHANNEL, payload))
        return await cursor.fetchall()

    return notify


def _format(name: str, hints: list[Hint]) -> str:
    """Returns the message of the process `name`. If the hints do not fit into it, it is about all games."""
    latest = {hint.game: hint.players for hint in hints if hint.game is not None}
    told = {"by": name, "waits": any(hint.waits for hint in hints)}
    text = json.dumps({**told, "games": [[game, *players] for game, players in latest.items()]})
    return text if len(text) <= _MOST_BYTES else json.dumps({**told, "games": None})


def _parse(own: str, payload: str) -> list[Hint]:
    """Returns the hints in a message of another process.

    Any user of the database may send messages. One that cannot be parsed counts as a hint about all games.
    """
    try:
        message = json.loads(payload)
        if message["by"] == own:
            return []
        if message["games"] is None:
            return [ANYWHERE]
        games = [Hint(str(game), tuple(map(str, players))) for game, *players in message["games"]]
        return [*games, WAITS] if message["waits"] else games
    except (ValueError, KeyError, TypeError):
        return [ANYWHERE]
