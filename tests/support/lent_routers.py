"""The application's routers, made once in a process and lent to one application after the other.

FastAPI analyses each endpoint when a router is made, which is most of the time in which an application starts. The
endpoints are those of the product; they reach the use cases of the application that has borrowed them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

import hkoji_server.app
from fastapi import APIRouter

_MAKERS: Final = tuple(name for name in vars(hkoji_server.app) if name.startswith("make_") and name.endswith("_router"))
_PLAIN: Final = (str, int, type(None))
"""The content of a router as it is. A router with other such values is another one."""

_free: defaultdict[Hashable, list[_LentRouter]] = defaultdict(list)


class _Placeholder:
    """Stands for a use case, which is another one in each application."""

    _target: Any = None  # Any: a use case

    def __getattr__(self, name: str) -> Any:  # Any: a member of the use case
        return getattr(self._target, name)


class _LentRouter:
    def __init__(self, make: Callable[..., APIRouter], args: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._places = [_Placeholder() for _ in _use_cases(args, named)]
        self.fill(_use_cases(args, named))
        places = iter(self._places)
        # Not in the call: Python would make its named arguments before it goes through a generator.
        positional = [each if isinstance(each, _PLAIN) else next(places) for each in args]
        self.router = make(
            *positional,
            **{name: each if isinstance(each, _PLAIN) else next(places) for name, each in named.items()},
        )

    def fill(self, use_cases: list[Any]) -> None:
        for place, each in zip(self._places, use_cases, strict=True):
            place._target = each

    def empty(self) -> None:
        self.fill([None] * len(self._places))


def _use_cases(args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    return [each for each in (*args, *named.values()) if not isinstance(each, _PLAIN)]


class BorrowedRouters:
    """The routers of one application, from its start until `give_back`."""

    def __init__(self) -> None:
        self._lent: list[tuple[Hashable, _LentRouter]] = []

    @contextmanager
    def starting(self) -> Iterator[None]:
        """An application that starts in this block borrows its routers. No other may start at the same time."""
        with ExitStack() as stack:
            for name in _MAKERS:
                make = getattr(hkoji_server.app, name)
                stack.enter_context(patch.object(hkoji_server.app, name, self._borrowing(make)))
            yield

    def _borrowing(self, make: Callable[..., APIRouter]) -> Callable[..., APIRouter]:
        def borrow(*args: Any, **named: Any) -> APIRouter:  # Any: use cases and values of settings
            plain = [each if isinstance(each, _PLAIN) else _Placeholder for each in (*args, *named.values())]
            kind = (make, *plain, *named)
            free = _free[kind]
            if free:
                lent = free.pop()
                lent.fill(_use_cases(args, named))
            else:
                lent = _LentRouter(make, args, named)
            self._lent.append((kind, lent))
            return lent.router

        return borrow

    def give_back(self) -> None:
        """Lets other applications have them. This one must have ended."""
        for kind, lent in self._lent:
            lent.empty()
            _free[kind].append(lent)
        self._lent.clear()
