"""How much an address and a player may ask for. Without rates nothing is limited, and nothing counted.

An address is limited before anything is read; a player only once a signature or a login has shown who it is, so that
nobody can use up what another may ask for.
"""

from __future__ import annotations

import ipaddress
import math
from typing import Final

from hkoji.errors import TooManyError
from hkoji_server.store.rates import Rate, Rates

_IPV6_HOST: Final = 64
"""Whoever has one IPv6 address has all of its network of this size."""


class RateLimits:
    """The limits of a service; `rates` counts."""

    def __init__(self, rates: Rates | None = None, *, address: Rate | None = None, player: Rate | None = None) -> None:
        self._rates = rates
        self._address = address
        self._player = player

    @property
    def of_players(self) -> bool:
        """Whether players are limited at all."""
        return self._rates is not None and self._player is not None

    async def admit_address(self, address: str | None) -> None:
        """Raises `TooManyError` if an address has asked for too much."""
        await self._admit("a", place_of(address), self._address)

    async def admit_repeat(self, address: str | None) -> None:
        """The same for those who may have been answered already and not have heard it: counted apart."""
        await self._admit("r", place_of(address), self._address)

    async def admit_player(self, name: str) -> None:
        """Raises `TooManyError` if a player has asked for too much."""
        await self._admit("p", name, self._player)

    def close(self) -> None:
        """Lets what counts go."""
        if self._rates is not None:
            self._rates.close()

    async def _admit(self, kind: str, name: str, rate: Rate | None) -> None:
        if self._rates is None or rate is None:
            return
        wait = await self._rates.admit(f"{kind}:{name}", rate)
        if wait:
            raise TooManyError(math.ceil(wait))


def place_of(address: str | None) -> str:
    """Whom an address is counted for: IPv6 by network, IPv4 written as IPv6 as what it is; all others together."""
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return "other"
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _IPV6_HOST), strict=False))
