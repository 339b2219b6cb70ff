"""Faults to plant in the processes that deliver; the judgement has to find each."""

from __future__ import annotations

from typing import Any, Final
from unittest.mock import patch

from hkoji_server.service.games.notice_rules import SEND
from hkoji_server.service.notices import delivery
from hkoji_server.store.contract import Store

from tests.support.timed_laboratory import PlantedFault


def _deleted_before_sent() -> None:
    """A notice is deleted when it is leased."""
    lease = Store.lease_notices

    async def lease_and_delete(self: Any, *given: Any, **named: Any) -> Any:  # Any: as in the original, here and below
        found = await lease(self, *given, **named)
        for each in found:
            await self.delete_notice(each, sent=False)
        return found

    patch.object(Store, "lease_notices", lease_and_delete).start()


def _stale_are_sent() -> None:
    """Nobody looks whether what a notice tells is still so."""
    patch.object(delivery, "judge", lambda *_: SEND).start()


def _no_lease() -> None:
    """A lease ends at once."""
    lease = Store.lease_notices

    async def lease_for_nothing(self: Any, kinds: Any, now: str, until: str, most: int, **named: Any) -> Any:
        return await lease(self, kinds, now, now, most, **named)

    patch.object(Store, "lease_notices", lease_for_nothing).start()


PLANTED: Final[dict[str, PlantedFault]] = {
    "notices are deleted before they are sent": PlantedFault(_deleted_before_sent, "kills", "was never sent"),
    "stale notices are sent": PlantedFault(_stale_are_sent, "quick replies", "is stale"),
    "leases end at once": PlantedFault(_no_lease, "two processes", "times, and processes were killed"),
}
