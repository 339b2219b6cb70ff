"""Leases of all notices that are due, one after the other, as a process that delivers them takes them."""

from __future__ import annotations

from collections.abc import Collection

from hkoji_server.store.contract import Store
from hkoji_server.store.notices import LeasedNotice


async def lease_due(
    store: Store, kinds: Collection[str], now: str, until: str, most: int = 1000
) -> tuple[LeasedNotice, ...]:
    """Leases at most `most` notices, those first that have waited longest."""
    found: list[LeasedNotice] = []
    while len(found) < most and (due := await store.due_channels(kinds, now, 1)):
        waiting = await store.due_notice(due[0].channel, now)
        leased = None if waiting is None else await store.lease_notice(waiting, until)
        if leased is not None:
            found.append(leased)
    return tuple(found)


async def read_due(store: Store, kinds: Collection[str], now: str) -> tuple[LeasedNotice, ...]:
    """Returns all notices that are due, and leaves them so. Nobody may hold any afterwards."""
    found = await lease_due(store, kinds, now, "9999-12-31T00:00:00Z")
    for each in found:
        assert await store.put_off_notice(each, now)
    return found
