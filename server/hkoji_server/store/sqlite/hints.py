"""The SQLite store's hints report this process's writes at once, and that another process has written, but not what.

SQLite does not notify anyone of writes. A connection can ask whether others have written since it last asked, by its
`data_version`. But to the connection that reads, this process's own writer is another connection too. So the writer
asks as well, at each of its transactions, and it counts only the writes of other processes. While there are listeners,
both are read ten times a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from hkoji.errors import HkojiError
from hkoji_server.store.contract import ANYWHERE, Hint, OnHint

_PACE: Final = 0.1


class WriteCounts(Protocol):
    """What the writer counts."""

    written: int
    foreign: int


class SqliteHints:
    """Gives hints to the listeners of this process.

    `version` returns a number that changes when anyone, this process included, has written to the database.
    """

    def __init__(self, counts: WriteCounts, version: Callable[[], int]) -> None:
        self._counts = counts
        self._version = version
        self._listeners: list[OnHint] = []
        self._polling: asyncio.Task[None] | None = None

    def publish(self, hint: Hint) -> None:
        """Passes a hint to all listeners."""
        for listener in self._listeners:
            listener(hint)

    def listen(self, listener: OnHint) -> Callable[[], None]:
        """Calls `listener` with hints until the returned function is called."""
        self._listeners.append(listener)
        if self._polling is None:
            self._polling = asyncio.get_running_loop().create_task(self._poll())

        def stop() -> None:
            self._listeners.remove(listener)
            if not self._listeners:
                self.close()

        return stop

    def close(self) -> None:
        """Stops polling."""
        polling, self._polling = self._polling, None
        if polling is not None and not polling.get_loop().is_closed():
            polling.cancel()

    async def _poll(self) -> None:
        """Gives a hint when another process has written.

        If the version has changed and this process has written nothing, another process has written. If this process
        has written too, either may have changed it. Then the writer's count decides, but it does not cover writes after
        the writer's last transaction. So the doubt remains until this process writes nothing between two polls.
        """
        before, unsure = self._state(), False
        while True:
            await asyncio.sleep(_PACE)
            now = self._state()
            ours = now[1] != before[1]
            changed = unsure or now[0] != before[0]
            unsure = changed and ours
            if now[2] != before[2] or (changed and not ours):
                self.publish(ANYWHERE)
            before = now

    def _state(self) -> tuple[int | None, int, int]:
        """Returns the version, None if it cannot be read, and the counts of the writer."""
        try:
            version = self._version()
        except HkojiError:
            version = None
        return version, self._counts.written, self._counts.foreign
