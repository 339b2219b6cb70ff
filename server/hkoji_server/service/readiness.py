"""Whether the service takes moves, asked of its store: at most once a second, however many ask."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.contract import Store

PATIENCE: Final = 5.0
_FRESH: Final = 1.0


class Readiness:
    """Of the `store`, which is given when it is there."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self._lock = asyncio.Lock()
        self._asked = float("-inf")
        self._error: StorageError | None = None

    async def verify(self) -> None:
        """Raises `StorageError` if no move would be taken now."""
        async with self._lock:
            if monotonic() - self._asked > _FRESH:
                self._error = await self._ask()
                self._asked = monotonic()
        if (error := self._error) is not None:
            raise StorageError(error.message, hint=error.hint) from error.__cause__

    async def _ask(self) -> StorageError | None:
        assert self.store is not None
        try:
            async with asyncio.timeout(PATIENCE):
                await self.store.verify_ready()
        except StorageError as error:
            return error
        except TimeoutError:
            return StorageError(tell("the database has not answered in {seconds} s", seconds=int(PATIENCE)))
        return None
