"""The steps that a backend gives, and over which the methods of the store are written that are the same on each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection

from hkoji_server.store.contract import WAITS, Hint
from hkoji_server.store.statements import ReadStatements, Row, Values

T = TypeVar("T")


class SqlSteps:
    """The steps of a backend."""

    _reads: ReadStatements
    """The statements of reads in the dialect of the backend."""

    @abstractmethod
    async def _rows(self, statement: str, values: Values) -> list[Row]:
        """Returns the rows of a compiled statement. Raises `StorageError`."""

    @abstractmethod
    async def _snapshot(self, *statements: str, values: Values) -> list[list[Row]]:
        """Returns the rows of each of several compiled statements. Raises `StorageError`.

        All are read at one moment, or one after the other in the order given.
        """

    @abstractmethod
    async def _transaction(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a transaction that is serializable, and returns its result when the transaction is on disk.

        `work` may run several times, and one of its runs is committed. Raises what `work` raises, or `StorageError`;
        then nothing has changed, unless the error is a `StorageError` that says that the outcome is not known.
        """

    @abstractmethod
    async def _holding(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a transaction that begins by holding a row, mostly that of a game, and returns its result.

        Each statement sees what was committed before it began. Then none misses what was committed while the
        transaction waited for the row.
        """

    @abstractmethod
    async def _entering(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` likewise, but never beside a transaction that runs `_alone`.

        What `work` writes is as old as it says when `drained` has returned: its first statement holds a row.
        """

    @abstractmethod
    async def _alone(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in a transaction beside which nobody appends, adds a game or keeps a statement.

        Each statement sees what was committed before it began. Reads go on meanwhile.
        """

    @abstractmethod
    def _publish(self, hint: Hint) -> None:
        """Gives a hint to those who listen, in this process and in others as far as they can be told."""

    async def _waking(self, work: Awaitable[T]) -> T:
        """Awaits a transaction, and wakes those who send notices and process mails for what it has written."""
        result = await work
        self._publish(WAITS)
        return result

    @abstractmethod
    def _time(self, connection: Connection) -> datetime:
        """Returns the time by the clock that judges the age of decisions."""
