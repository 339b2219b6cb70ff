"""The limits of a service on how many games a player asks for."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.game.clock import add_seconds
from hkoji.game.time_control import DAY
from hkoji_server.store.contract import OfferQuota

_ANY_NUMBER = 10**9


class OfferLimits(NamedTuple):
    """How many games a player may ask for in 24 hours, and in the first 24 hours after registering; 0: any number."""

    daily: int = 50
    daily_of_new: int = 5

    def quota(self, at: str) -> OfferQuota | None:
        """Returns the quota at the time `at`; None if nothing is limited."""
        if not self.daily and not self.daily_of_new:
            return None
        most = self.daily or _ANY_NUMBER
        return OfferQuota(add_seconds(at, -DAY), most, min(most, self.daily_of_new or most))
