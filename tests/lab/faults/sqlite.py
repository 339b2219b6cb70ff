"""The failures of a store on SQLite: calls of its driver, of SQLite to the system, and of the store to its folder."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hkoji_server.settings import load
from hkoji_server.store.sqlite import connections as module

from tests.lab.faults.fault import SERVICE_KINDS, Fault
from tests.support.driver_calls import driver_watched
from tests.support.ledger import Dump, dumped
from tests.support.service import UNLIMITED
from tests.support.sqlite_files import BUSY, CANTOPEN, FULL, IOERR, Call, watched

_KINDS: Final = (
    "driver",  # a call of the database driver raises instead of happening
    "driver, after",  # the call has happened, and raises
    "file",  # a call of SQLite to the system fails
    "disk full",  # from a write on there is no space, until a client has got the error
    "system",  # the store's own calls about its folder fail
)
KINDS: Final = (*_KINDS, *SERVICE_KINDS)


class OnSqlite:
    """A store in a new folder."""

    kinds = _KINDS
    clock = None

    def __init__(self, data: Path) -> None:
        self.settings = load(data=data, log_level="error", **UNLIMITED)
        self._path = data / "hkoji.sqlite3"

    @contextmanager
    def watched(self, fault: Fault) -> Iterator[None]:
        """Lets `fault` choose the call that fails."""
        with watched(_Files(fault)), driver_watched(_Driver(fault)), patch.object(module, "os", _System(fault)):
            yield

    async def settle(self) -> None:
        """Returns at once: no work goes on after an answer."""

    def dumped(self) -> Dump | None:
        """All rows of all tables; None before there are tables."""
        if not self._path.exists():
            return None
        try:
            return dumped(self._path)
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return None
            raise


class _Driver:
    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def before_call(self, what: str, sql: str) -> None:
        if self._fault.due("driver", f"{what} {sql[:60]}"):
            raise sqlite3.OperationalError("disk I/O error")

    def after_call(self, what: str, sql: str) -> None:
        if self._fault.due("driver, after", f"{what} {sql[:60]}"):
            raise sqlite3.OperationalError("disk I/O error")


class _Files:
    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def before(self, call: Call) -> int:
        fault = self._fault
        if call.what in ("close", "folder"):
            return 0  # SQLite ignores their failures
        codes = {"lock": BUSY, "open": CANTOPEN}
        if fault.due("file", f"{call.what} {call.name}"):
            return codes.get(call.what, IOERR)
        if call.what == "write" and fault.due("disk full", f"{call.what} {call.name}"):
            fault.full = True
        return FULL if fault.full and call.what == "write" and not fault.paused else 0

    def after(self, call: Call) -> None:
        return


class _System:
    """Stands in for `os` in the store."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def __getattr__(self, name: str) -> Any:  # Any: an attribute of `os`
        real = getattr(os, name)
        if name not in ("open", "fsync"):
            return real

        def call(*given: Any) -> Any:  # Any: the arguments of that function
            if self._fault.due("system", name):
                raise OSError(28, "No space left on device")
            return real(*given)

        return call
