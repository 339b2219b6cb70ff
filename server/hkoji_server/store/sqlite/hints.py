"""Hints of the store on SQLite: what this process writes, told at once, and that another process has written.

SQLite tells nobody who has written what. Each connection can ask whether others have written since it asked last, its
`data_version`; but to the connection that reads, the one here that writes is another too. So the writer asks as well,
whenever it writes, and then knows of others only. That is looked at ten times a second, while somebody listens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from hkoji.errors import HkojiError
from hkoji_server.store.contract import ANYWHERE, Hint, Notice

_PACE: Final = 0.1


class Writings(Protocol):
    """What the writer counts."""

    written: int
    foreign: int


class SqliteHints:
    """Gives hints to those who listen. `version` changes when anybody has written to the database."""

    def __init__(self, writings: Writings, version: Callable[[], int]) -> None:
        self._writings = writings
        self._version = version
        self._notices: list[Notice] = []
        self._looking: asyncio.Task[None] | None = None

    def tell(self, hint: Hint) -> None:
        """Passes a hint on."""
        for notice in self._notices:
            notice(hint)

    def listen(self, notice: Notice) -> Callable[[], None]:
        """Tells `notice` until the function that is returned is called."""
        self._notices.append(notice)
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())

        def stop() -> None:
            self._notices.remove(notice)
            if not self._notices:
                self.close()

        return stop

    def close(self) -> None:
        """Ends the looking."""
        looking, self._looking = self._looking, None
        if looking is not None and not looking.get_loop().is_closed():
            looking.cancel()

    async def _look(self) -> None:
        """Tells when another process has written.

        A change of the version without a write of ours is another's. With one it may be either's: then the writer
        knows, but for what came after its last write; and so it is asked again until nothing of ours has come between.
        """
        before, unsure = self._state(), False
        while True:
            await asyncio.sleep(_PACE)
            now = self._state()
            ours = now[1] != before[1]
            changed = unsure or now[0] != before[0]
            unsure = changed and ours
            if now[2] != before[2] or (changed and not ours):
                self.tell(ANYWHERE)
            before = now

    def _state(self) -> tuple[int | None, int, int]:
        """The version, None if it cannot be read; and what the writer has counted."""
        try:
            version = self._version()
        except HkojiError:
            version = None
        return version, self._writings.written, self._writings.foreign
