"""The application's routers, made once in a process and lent to one application after the other.

FastAPI analyses each endpoint when a router is made, which is most of the time in which an application starts. The
endpoints are those of the product; they reach the use cases of the application that has borrowed them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import hkoji_server.app
from fastapi import APIRouter
from hkoji_server.routes.service import UseCases

_MAKERS: Final = tuple(name for name in vars(hkoji_server.app) if name.startswith("make_") and name.endswith("_router"))


class _Placeholder:
    """Stands for the use cases, which are others in each application."""

    target: UseCases | None = None

    def __getattr__(self, name: str) -> Any:  # Any: a use case
        return getattr(self.target, name)


class _LentRouter(NamedTuple):
    name: str
    cases: _Placeholder
    router: APIRouter


_free: defaultdict[str, list[_LentRouter]] = defaultdict(list)


def _made(name: str, make: Callable[[Any], APIRouter]) -> _LentRouter:
    place = _Placeholder()
    return _LentRouter(name, place, make(place))


def make_ahead() -> None:
    """Makes all routers, and lends them to the application of each process that is forked from this one."""
    borrowed = BorrowedRouters()
    for name in _MAKERS:
        make = getattr(hkoji_server.app, name)
        _free[name].append(_made(name, make))
        setattr(hkoji_server.app, name, borrowed._borrowing(name, make))


class BorrowedRouters:
    """The routers of one application, from its start until `give_back`."""

    def __init__(self) -> None:
        self._lent: list[_LentRouter] = []

    @contextmanager
    def starting(self) -> Iterator[None]:
        """An application that starts in this block borrows its routers. No other may start at the same time."""
        with ExitStack() as stack:
            for name in _MAKERS:
                make = getattr(hkoji_server.app, name)
                stack.enter_context(patch.object(hkoji_server.app, name, self._borrowing(name, make)))
            yield

    def _borrowing(self, name: str, make: Callable[[Any], APIRouter]) -> Callable[[UseCases], APIRouter]:
        def borrow(cases: UseCases) -> APIRouter:
            lent = _free[name].pop() if _free[name] else _made(name, make)
            lent.cases.target = cases
            self._lent.append(lent)
            return lent.router

        return borrow

    def give_back(self) -> None:
        """Lets other applications have them. This one must have ended."""
        for lent in self._lent:
            lent.cases.target = None
            _free[lent.name].append(lent)
        self._lent.clear()
