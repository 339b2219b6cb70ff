"""Waits for the tidying of a service in this process; its pace is the test's to set (`keeper.TIDY_PACE`)."""

from __future__ import annotations

from unittest.mock import patch

from hkoji_server.service.games import keeper
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Removed

from tests.support.conditions import until_seen
from tests.support.service_in_process import Inside


def let_it_tidy(service: Inside) -> None:
    """Waits until the service has tidied once, from beginning to end."""
    remove, begun = keeper.remove_in_steps, 0

    async def removing(store: Store, now: str, offered_before: str) -> Removed:
        nonlocal begun
        begun += 1
        return await remove(store, now, offered_before)

    with patch.object(keeper, "remove_in_steps", removing):
        service.runner.run(until_seen(lambda: begun == 2))  # the first one has ended
