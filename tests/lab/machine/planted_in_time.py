"""Bugs about time to plant in the service, as in planted.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from unittest.mock import patch

from hkoji_server.service.games.keeper import Keeper
from hkoji_server.service.time import service_time

from hkoji import referee
from hkoji.errors import TimeOverError
from hkoji.game.entry_kinds.time import find_help

Patch = Callable[[], Any]  # Any: a patch that is not yet applied


def _late_is_taken() -> Any:
    real = referee._verify_in_time

    def verify(*given: Any) -> Any:
        try:
            return real(*given)
        except TimeOverError:
            return None

    return patch.object(referee, "_verify_in_time", verify)


def _no_credit() -> Any:
    real = referee._verify_in_time

    def verify(*given: Any) -> None:
        real(*given)

    return patch.object(referee, "_verify_in_time", verify)


def _outage_does_not_count() -> Any:
    real = find_help
    return patch.object(
        referee, "find_help", lambda course, at, until, gifts, outages: real(course, at, until, gifts, ())
    )


def _no_slack() -> Any:
    real = Keeper.look

    async def look(self: Any) -> int:
        self._slack = 0
        return await real(self)

    return patch.object(Keeper, "look", look)


def _every_clock_is_trusted() -> Any:
    return patch.object(service_time, "JUMP", 10**9)


PLANTED_IN_TIME: Final[dict[str, Patch]] = {
    "a late move is taken": _late_is_taken,
    "a gift is not written into the log": _no_credit,
    "an outage moves no deadline": _outage_does_not_count,
    "a timeout comes without slack": _no_slack,
    "a clock that has jumped is trusted": _every_clock_is_trusted,
}
