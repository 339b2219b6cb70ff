"""Observes, and can prevent, a store's calls to psycopg: the counterpart of `driver_calls`.

A pipeline is one transaction. Its beginning and end are reported under the names that the other driver uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import psycopg

from tests.support.driver_calls import DriverObserver


@contextmanager
def psycopg_watched(observer: DriverObserver) -> Iterator[None]:
    """Lets `observer` see all calls on connections during the block."""

    def told(owner: type, name: str, say: Any) -> Any:  # Any: how to describe the arguments, and a patch
        real = getattr(owner, name)

        async def watched(self: Any, *given: Any, **named: Any) -> Any:
            sql = say(given)
            observer.before_call("execute", sql)
            result = await real(self, *given, **named)
            observer.after_call("execute", sql)
            return result

        return patch.object(owner, name, watched)

    execute = psycopg.Cursor.execute

    def execute_watched(self: Any, *given: Any, **named: Any) -> Any:
        observer.before_call("execute", str(given[0]))
        result = execute(self, *given, **named)
        observer.after_call("execute", str(given[0]))
        return result

    with ExitStack() as stack:
        stack.enter_context(told(psycopg.AsyncConnection, "execute", lambda given: str(given[0])))
        stack.enter_context(told(psycopg.AsyncPipeline, "__aenter__", lambda _: "BEGIN IMMEDIATE"))
        stack.enter_context(told(psycopg.AsyncPipeline, "__aexit__", lambda _: "COMMIT"))
        stack.enter_context(patch.object(psycopg.Cursor, "execute", execute_watched))
        yield
