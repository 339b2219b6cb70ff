"""What a store asks of psycopg, seen and prevented: the counterpart of `driver_calls`, which see.

What is done in a pipeline is one transaction. Its beginning and its end are told in the words of the other driver.
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
    """Lets `observer` see what connections are asked for in this block."""

    def told(owner: type, name: str, say: Any) -> Any:  # Any: what to say of the arguments, and a patch
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
