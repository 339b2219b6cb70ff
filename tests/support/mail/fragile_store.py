"""A store whose process is killed at a call: before it has an effect, or after that, when nobody has the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any, cast

from hkoji_server.store.contract import Store


class KilledError(BaseException):
    """The process has been killed. No code of the product handles it."""


class FragileStore:
    """The calls of `store`. The one at the armed point kills; each call has two points, before and after it."""

    def __init__(self, store: Store) -> None:
        self._left: int | None = None
        for name in dir(Store):
            if not name.startswith("_"):
                call = getattr(store, name)
                setattr(self, name, self._fragile(call) if iscoroutinefunction(call) else call)

    @property
    def store(self) -> Store:
        """This as a store."""
        return cast(Store, self)

    def arm(self, point: int | None) -> None:
        """Kills at the point of that number from now, from 0; never with None."""
        self._left = point

    def point(self) -> None:
        """A point at which the process may be killed."""
        if self._left is None:
            return
        self._left -= 1
        if self._left < 0:
            self._left = None
            raise KilledError

    def _fragile(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def fragile(*given: Any, **named: Any) -> Any:  # Any: whatever the call takes and returns
            self.point()
            done = await call(*given, **named)
            self.point()
            return done

        return fragile
