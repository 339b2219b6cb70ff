"""The places of a process from which it sends notices: how many at once, and how they are shared.

A receiver that is slow keeps its place until it has answered. So a player has few places, and so have all who are told
at one host: they wait for each other, and nobody else waits for them.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from hkoji_server.service.notice import Courier
from hkoji_server.store.notice_contract import DueChannel

MOST_OF_PLAYER: Final = 2
"""To how many channels of one player a process sends at the same time."""
MOST_OF_HOST: Final = 10
"""To how many channels at one host."""


class _Share(NamedTuple):
    """Those who share places: all channels of a kind, those of a player, or those at a host."""

    kind: str
    of: str = ""
    name: str = ""


class SendingPlaces:
    """The places of this process, by the channels that have them."""

    def __init__(self) -> None:
        self._shares: dict[str, tuple[_Share, ...]] = {}
        self._taken: Counter[_Share] = Counter()

    def take(self, due: DueChannel, courier: Courier) -> bool:
        """Gives a channel a place. Returns False if it has one, or has to wait for one."""
        if due.channel in self._shares:
            return False
        most = {
            _Share(due.kind): courier.places,
            _Share(due.kind, "player", due.player): MOST_OF_PLAYER,
            _Share(due.kind, "host", courier.host_of(due.target)): MOST_OF_HOST,
        }
        if any(self._taken[share] >= number for share, number in most.items()):
            return False
        self._shares[due.channel] = tuple(most)
        self._taken.update(most.keys())
        return True

    def leave(self, channel: str) -> None:
        """Takes the place of a channel back."""
        self._taken.subtract(self._shares.pop(channel))
        self._taken = +self._taken
