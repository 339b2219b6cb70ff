"""The service's own tidying: at intervals each process removes what nobody needs.

Those are offers that nobody has opened, what has expired, notices to channels that were removed, messages of games that
ended long ago, and tokens, mails and invitations of play by mail. A process that finds nothing of the others reads.
Those of several processes that find the same remove it once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Final

from hkoji.errors import HkojiError
from hkoji.game.time_control import DAY
from hkoji_server.log import log
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.service.talk import KEPT, WRITTEN
from hkoji_server.store.contract import Removed, Store
from hkoji_server.store.mail_values import SPENT_DAYS

TIDY_PACE: Final = 600.0
"""The seconds between two looks."""
_MOST_REMOVED: Final = 200
"""How many offers are removed in one transaction, for which moves may have to wait."""
_PAUSE: Final = 0.1


async def remove_in_steps(
    store: Store, now: str, offered_before: str, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> Removed:
    """Removes offers made before a time that nobody has opened, and what has expired, and returns how many of each."""
    total = Removed()
    while True:
        removed = await store.remove_expired(now, offered_before, _MOST_REMOVED)
        total = Removed(*map(sum, zip(total, removed, strict=True)))
        if removed.offers < _MOST_REMOVED:
            return total
        await pause(_PAUSE)


async def remove_old_talk(
    store: Store, sources: ClockAndEntropy, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> int:
    """Removes the messages of games that ended so long ago that nobody may read them. Returns of how many games."""
    # A first message comes at the latest `WRITTEN` after the end.
    ended, begun = sources.at(-KEPT), sources.at(WRITTEN - KEPT)
    total = 0
    while True:
        removed = await store.remove_talk(ended, begun, _MOST_REMOVED)
        total += removed
        if removed < _MOST_REMOVED:
            return total
        await pause(_PAUSE)


async def remove_old_mail(
    store: Store, sources: ClockAndEntropy, keep_days: int, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> int:
    """Removes what is over of play by mail. Mails are kept as evidence for `keep_days` after the end of their game.

    Returns how many rows were removed.
    """
    spent, ended = sources.at(-SPENT_DAYS * DAY), sources.at(-keep_days * DAY)
    total = 0
    while True:
        removed = await store.remove_old_mail(sources.at(), spent_before=spent, ended_before=ended, most=_MOST_REMOVED)
        total += removed
        if removed < _MOST_REMOVED:
            return total
        await pause(_PAUSE)


async def tidy_at_intervals(
    store: Store, sources: ClockAndEntropy, offer_lifetime: int, mail_keep_days: int | None = None
) -> None:
    """Tidies until it is cancelled. Without `mail_keep_days` nobody plays by mail."""
    # Processes that were started together do not look together.
    chance = Random()  # noqa: S311 # no secret
    while True:
        await asyncio.sleep(TIDY_PACE * chance.uniform(0.5, 1.0))
        try:
            removed = await remove_in_steps(store, sources.at(), sources.at(-offer_lifetime))
            await remove_old_talk(store, sources)
            await store.remove_stray_notices()
            if mail_keep_days is not None:
                await remove_old_mail(store, sources, mail_keep_days)
        except HkojiError as error:
            log.warning("could not tidy", reason=str(error))
        else:
            if removed.offers:
                log.info("removed offers that were not opened", offers=removed.offers)
