"""Statements are compiled once in a process, for all engines that tests open in it.

SQLAlchemy keeps what it has compiled with the engine. Tests open one service after another, each with an engine of its
own, and to compile the same statements again would take half of the time that their databases take.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from sqlalchemy import Engine

_Key = tuple[Any, ...]  # Any: SQLAlchemy's own; the first part is the engine's dialect


class CompiledStatements:
    """Stands in for the caches of all engines with one driver."""

    def __init__(self) -> None:
        self._known: dict[_Key, Any] = {}  # Any: a compiled statement

    def get(self, key: _Key) -> Any:
        """The compiled statement, or None."""
        return self._known.get(key[1:])

    def __setitem__(self, key: _Key, compiled: Any) -> None:
        self._known[key[1:]] = compiled


_BY_DRIVER: Final[defaultdict[tuple[str, str], CompiledStatements]] = defaultdict(CompiledStatements)


def share() -> None:
    """Lets all engines of this process share what they compile."""

    def shared(engine: Engine) -> CompiledStatements:
        return _BY_DRIVER[engine.dialect.name, engine.dialect.driver]

    Engine._compiled_cache = property(shared, lambda engine, own: None)  # type: ignore[assignment]
