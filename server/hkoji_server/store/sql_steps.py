"""The steps that a backend gives, and over which the areas of the store are written.

A read is a statement that is compiled once for each backend and given to the driver as text with named parameters:
SQLAlchemy's own execution of a statement costs several times what SQLite takes to run it. Work that writes, or
runs rarely, runs on a connection of SQLAlchemy in a transaction.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from functools import lru_cache, wraps
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from sqlalchemy import ClauseElement, Connection, Dialect, Executable

from hkoji.errors import StorageError
from hkoji.messages.text import tell
from hkoji_server.store.game_values import WAITS, Hint, OnHint

T = TypeVar("T")
P = ParamSpec("P")
S = TypeVar("S", bound="SqlSteps")
Work = Callable[Concatenate[S, Connection, P], T]
Method = Callable[Concatenate[S, P], Coroutine[Any, Any, T]]
Row = tuple[Any, ...]  # Any: a row has the columns that the statement selects
Values = dict[str, Any]  # Any: column values
Rows = Callable[[str, Values], Coroutine[Any, Any, list[Row]]]
Snapshot = Callable[[Sequence[str], Values], Coroutine[Any, Any, list[list[Row]]]]


class RunsWork(Protocol):
    """Runs work on a connection."""

    def __call__(self, work: Callable[[Connection], T], /) -> Coroutine[Any, Any, T]:
        """Returns the result of the work."""


def unwritten(cause: BaseException) -> StorageError:
    """Returns the error for a write that changed nothing."""
    error = StorageError(tell("the database could not be written; nothing was changed"), hint=tell("try again later"))
    error.__cause__ = cause
    return error


@lru_cache(maxsize=1024)
def compiled(statement: ClauseElement, dialect: Dialect) -> str:
    """Returns the text of a statement with named parameters, as the driver takes it."""
    return str(statement.compile(dialect=dialect))


def waking(event: asyncio.Event) -> OnHint:
    """Returns a listener that sets `event` when a notice may be due, or a mail may wait to be processed."""

    def hear(hint: Hint) -> None:
        if hint.waits:
            event.set()

    return hear


class Hints(ABC):
    """Gives hints to the listeners of this process, in one event loop. While there are any it hears of others' writes.

    A backend may tell other processes too.
    """

    def __init__(self) -> None:
        self._listeners: list[OnHint] = []
        self._hearing: asyncio.Task[None] | None = None

    def publish(self, hint: Hint) -> None:
        """Passes a hint to all listeners."""
        for listener in list(self._listeners):
            listener(hint)

    def listen(self, listener: OnHint) -> Callable[[], None]:
        """Calls `listener` with hints until the returned function is called."""
        self._listeners.append(listener)
        if self._hearing is None:
            self._hearing = asyncio.get_running_loop().create_task(self._hear())

        def stop() -> None:
            self._listeners.remove(listener)
            if not self._listeners:
                self.stop_hearing()

        return stop

    def stop_hearing(self) -> asyncio.Task[None] | None:
        """Hears of others no longer. Returns the task that ends."""
        hearing, self._hearing = self._hearing, None
        if hearing is not None and not hearing.get_loop().is_closed():
            hearing.cancel()
        return hearing

    @abstractmethod
    async def _hear(self) -> None:
        """Publishes hints of what others write, until it is cancelled."""


class SqlSteps(ABC):
    """The steps of a backend."""

    _dialect: Dialect
    _hints: Hints

    _rows: Rows
    """Returns the rows of a compiled statement. Raises `StorageError`."""
    _snapshot: Snapshot
    """Returns the rows of each of several compiled statements. Raises `StorageError`.

    All are read at one moment, or one after the other in the order given.
    """
    _transaction: RunsWork
    """Runs work in a transaction that is serializable, and returns its result when the transaction is on disk.

    The work may run several times, and one of its runs is committed. Raises what the work raises, or `StorageError`;
    then nothing has changed, unless the error is a `StorageError` that says that the outcome is not known.
    """
    _holding: RunsWork
    """Runs work in a transaction that begins by holding a row, mostly that of a game, and returns its result.

    Each statement sees what was committed before it began. Then none misses what was committed while the transaction
    waited for the row.
    """
    _entering: RunsWork
    """Runs work likewise, but never beside a transaction that runs `_alone`.

    The rows of the work are as old as they say when `drained` has returned: its first statement holds a row.
    """
    _alone: RunsWork
    """Runs work in a transaction beside which nobody appends, adds a game or keeps a statement.

    Each statement sees what was committed before it began. Reads go on meanwhile.
    """

    async def _read(self, statement: ClauseElement, **values: Any) -> list[Row]:  # Any: column values
        """Returns the rows of a statement that is made once. Raises `StorageError`."""
        return await self._rows(compiled(statement, self._dialect), values)

    async def _change(self, statement: Executable) -> int:
        """Executes one statement in a transaction of its own, and returns how many rows it has changed."""
        return await self._holding(lambda connection: connection.execute(statement).rowcount)

    @abstractmethod
    def _time(self, connection: Connection) -> datetime:
        """Returns the time by the clock that judges the age of decisions."""


def within(step: str, *, wakes: bool = False) -> Callable[[Work[S, P, T]], Method[S, P, T]]:
    """Returns a decorator that makes a method of the work of one transaction: it runs by this step of the backend.

    With `wakes`, those who send notices and process mails are woken for what it has written.
    """

    def decorate(work: Work[S, P, T]) -> Method[S, P, T]:
        @wraps(work)
        async def run(self: S, /, *given: P.args, **named: P.kwargs) -> T:
            result: T = await getattr(self, step)(lambda connection: work(self, connection, *given, **named))
            if wakes:
                self._hints.publish(WAITS)
            return result

        return run

    return decorate


transaction: Final = within("_transaction")
holding: Final = within("_holding")
