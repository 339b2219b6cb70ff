"""A store whose calls are timed, for metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from time import perf_counter
from typing import Any, cast

from hkoji.errors import HkojiError
from hkoji_server.store.contract import Store

Observe = Callable[[str, float, HkojiError | None], None]
"""A function that is called after each call, with its name, its seconds, and its error if that is an `HkojiError`."""


def timed_store(store: Store, observe: Observe) -> Store:
    """Returns `store` with a call of `observe` after every awaited call."""
    return cast(Store, TimedStore(store, observe))


class TimedStore:
    """The awaited methods of a store, timed, and the others as they are."""

    def __init__(self, store: Store, observe: Observe) -> None:
        for name in dir(Store):
            if not name.startswith("_"):
                call = getattr(store, name)
                setattr(self, name, _timed(name, call, observe) if iscoroutinefunction(call) else call)


def _timed(name: str, call: Callable[..., Awaitable[Any]], observe: Observe) -> Callable[..., Awaitable[Any]]:
    async def timed(*given: Any, **named: Any) -> Any:  # Any: whatever the call takes and returns
        started = perf_counter()
        failed: HkojiError | None = None
        try:
            return await call(*given, **named)
        except HkojiError as error:
            failed = error
            raise
        finally:
            observe(name, perf_counter() - started, failed)

    return timed
