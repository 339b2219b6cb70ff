"""The limits of a service: requests, places, offers, and what two players may agree on.

An address is counted before its request is read. A player is counted only after a signature or a login has identified
them, so that no one can use up another player's limit. Rates hold for all processes together, places for each process,
like the places themselves. No address is exempt, not even this machine's own: behind a tunnel, or a proxy that is not
trusted, everybody has that address.

Posts and letters to addresses that players have given have limits that no operator can switch off.
"""

from __future__ import annotations

import ipaddress
import math
from collections import Counter
from functools import lru_cache
from typing import Final, TypeVar

from hkoji.errors import IllegalError, TooManyError
from hkoji.game.agreement import DAY, Agreement, format_duration
from hkoji.game.clock import add_seconds, format_time, parse_time
from hkoji.game.dealer import SEALED_V1, SERVER_V1
from hkoji.messages.text import shorten, tell
from hkoji_server.settings import Settings, parse_rate
from hkoji_server.store.game_values import OfferQuota
from hkoji_server.store.open_store import location_of, open_rates
from hkoji_server.store.rates import Rate, Rates

T = TypeVar("T")

POSTS: Final = Rate(60, 3600)
"""The notices that a channel gets."""
TESTS: Final = Rate(10, 3600)
"""The first notices and tests of all channels that a player has, or has had."""
CODES: Final = Rate(5, DAY)
"""The codes that may be tried for a channel."""
_IPV6_HOST: Final = 64
"""The holder of one IPv6 address usually has the network of this prefix length."""
_ANY_NUMBER = 10**9


class RateLimits:
    """The limits of a service; `rates` counts the requests."""

    def __init__(
        self,
        rates: Rates | None = None,
        *,
        address: Rate | None = None,
        player: Rate | None = None,
        registrations: Rate | None = None,
    ) -> None:
        self._rates = rates
        self._address = address
        self._player = player
        self._registrations = registrations

    def take_address(self, address: str | None) -> bool:
        """Counts a request of an address like `admit_address`, if this process can; returns whether it has.

        Raises `TooManyError`.
        """
        return self._take("a", counted_name(address), self._address)

    async def admit_address(self, address: str | None) -> None:
        """Counts a request of an address. Raises `TooManyError` if it has asked too often."""
        await self._admit("a", counted_name(address), self._address)

    async def admit_repeat(self, address: str | None) -> None:
        """Counts a possible repeat of an accepted entry, apart from other requests. Raises `TooManyError`."""
        await self._admit("r", counted_name(address), self._address)

    async def admit_player(self, name: str, requests: int = 1) -> None:
        """Counts a request of a player, or so many. Raises `TooManyError` if they have asked too often."""
        await self._admit("p", name, self._player, requests=requests)

    def take_player(self, name: str, requests: int = 1) -> bool:
        """Counts a request of a player like `admit_player`, in any thread, if this process can; returns whether it has.

        Raises `TooManyError`.
        """
        return self._take("p", name, self._player, requests=requests)

    def give_back_player(self, name: str, requests: int = 1) -> None:
        """Takes back the count of what `take_player` has counted."""
        if self._rates is not None and self._player is not None:
            self._rates.give_back(f"p:{name}", self._player, requests)

    def charge_player(self, name: str, requests: int) -> None:
        """Counts so many requests more of a player, for work that they have caused."""
        if self._rates is not None and self._player is not None:
            self._rates.charge(f"p:{name}", self._player, requests)

    async def admit_registration(self, address: str | None) -> None:
        """Counts a new name from an address. Raises `TooManyError` if too many have come from there."""
        reason = tell("too many new names from this address")
        await self._admit("n", counted_name(address), self._registrations, reason)

    async def admit_post(self, channel: str) -> None:
        """Counts a notice to a channel. Raises `TooManyError` if it has had too many."""
        await self._admit("c", channel, POSTS, tell("too many notices to this channel"))

    async def admit_test(self, player: str) -> None:
        """Counts a first notice or a test that a player asks for. Raises `TooManyError` if there were too many."""
        await self._admit("t", player, TESTS, tell("too many new channels and tests"))

    async def admit_code(self, channel: str) -> None:
        """Counts a code that is tried for a channel. Raises `TooManyError` if there were too many."""
        await self._admit("k", channel, CODES, tell("too many codes for this channel"))

    def close(self) -> None:
        """Closes the counter of requests."""
        if self._rates is not None:
            self._rates.close()

    def _take(self, kind: str, name: str, rate: Rate | None, reason: str | None = None, *, requests: int = 1) -> bool:
        if self._rates is None or rate is None:
            return True
        wait = self._rates.take(f"{kind}:{name}", rate, requests)
        if wait:
            raise TooManyError(math.ceil(wait), reason)
        return wait is not None

    async def _admit(
        self, kind: str, name: str, rate: Rate | None, reason: str | None = None, *, requests: int = 1
    ) -> None:
        if self._take(kind, name, rate, reason, requests=requests):
            return
        assert self._rates is not None
        assert rate is not None
        wait = await self._rates.admit(f"{kind}:{name}", rate, requests)
        if wait:
            raise TooManyError(math.ceil(wait), reason)


def limits_of(settings: Settings) -> RateLimits:
    """Returns the limits that all processes of a service share."""
    texts = (settings.limit_address, settings.limit_player, settings.limit_registrations)
    address, player, registrations = (Rate(*parse_rate(text)) if text else None for text in texts)
    rates = open_rates(location_of(settings))
    return RateLimits(rates, address=address, player=player, registrations=registrations)


class UncountedError(Exception):
    """Only the database can tell whether the author of a submission has asked too often."""


class AuthorCount:
    """Counts a submission once for the player `name`, after the referee has accepted their signature.

    It counts as one request, and with proofs as so many as `weigh` was told.
    """

    def __init__(self, limits: RateLimits, name: str) -> None:
        self._limits = limits
        self._name = name
        self._requests = 1
        self._done = self._taken = False

    async def weigh(self, requests: int) -> None:
        """Counts the submission as so many requests, before its proofs are checked. Raises `TooManyError`."""
        if not self._done:
            self._requests = requests
            try:
                self.counted(None)
            except UncountedError:
                await self.ask()

    def charge(self) -> None:
        """Counts a submission whose proofs do not hold three times."""
        self._limits.charge_player(self._name, 2 * self._requests)

    def counted(self, append: T) -> T:
        """Returns what is appended for the submission, and counts it. Raises `TooManyError` and `UncountedError`."""
        if not self._done:
            self._done = self._taken = self._limits.take_player(self._name, self._requests)
            if not self._done:
                raise UncountedError
        return append

    async def ask(self) -> None:
        """Counts the submission by asking the database. Raises `TooManyError`."""
        await self._limits.admit_player(self._name, self._requests)
        self._done = True

    def give_back(self) -> None:
        """Takes the count back, if this process has counted the submission by itself."""
        if self._taken:
            self._taken = False
            self._limits.give_back_player(self._name, self._requests)


class PlacesOfAddresses:
    """How many places of this process each address has taken: at most `most`, or any number if that is 0."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    def take(self, name: str) -> bool:
        """Takes a place for the address counted as `name`. Returns False, and takes none, if it has too many."""
        if self._most and self._taken[name] >= self._most:
            return False
        self._taken[name] += 1
        return True

    def leave(self, name: str) -> None:
        """Gives a place back."""
        self._taken[name] -= 1
        if not self._taken[name]:
            del self._taken[name]


@lru_cache(maxsize=4096)
def counted_name(address: str | None) -> str:
    """Returns the name under which an address is counted: IPv6 by network, mapped IPv4 as IPv4, all others together."""
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return "other"
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _IPV6_HOST), strict=False))


def dealers(settings: Settings) -> list[str]:
    """Returns the names of the dealers with which players can ask for a game, in order."""
    return [SEALED_V1, SERVER_V1] if settings.sealed else [SERVER_V1]


def verify_dealer(dealer: str, settings: Settings) -> None:
    """Raises `IllegalError` for a dealer with which a service with these settings offers no game."""
    if dealer in dealers(settings):
        return
    hint = tell("nothing was created; ask for a game that is not sealed, or ask the operator of the service")
    if dealer == SEALED_V1:
        raise IllegalError(tell("this service offers no sealed games"), hint=hint)
    raise IllegalError(tell("this service does not know the dealer {name}", name=shorten(dealer)), hint=hint)


def verify_agreement(agreement: Agreement, at: str, settings: Settings) -> None:
    """Raises `IllegalError` for an agreement that a service with these settings does not offer at the time `at`."""
    clock, expires = agreement.clock, agreement.expires
    if clock is not None and clock.move + clock.bank < settings.shortest_clock:
        raise IllegalError(
            tell(
                "the clock is too short: time per turn and reserve together are less than {least}",
                least=format_duration(settings.shortest_clock),
            ),
            hint=tell("nothing was changed; agree on more time"),
        )
    if expires is None:
        return
    if expires <= at:
        raise IllegalError(
            tell("the game would have expired already, at {expires}; it is {at}", expires=expires, at=at),
            hint=tell("nothing was changed; is your clock right?"),
        )
    if expires > format_time(parse_time(at) + settings.longest_expiry):
        raise IllegalError(
            tell(
                "the game would wait for a guest until {expires}, and here it may wait at most {most}",
                expires=expires,
                most=format_duration(settings.longest_expiry),
            ),
            hint=tell("nothing was changed; let it expire earlier"),
        )


def offer_quota(settings: Settings, at: str) -> OfferQuota | None:
    """Returns how many games a player may ask for in the 24 hours before the time `at`; None if nothing is limited."""
    if not settings.daily_offers and not settings.daily_offers_of_new:
        return None
    most = settings.daily_offers or _ANY_NUMBER
    return OfferQuota(add_seconds(at, -DAY), most, min(most, settings.daily_offers_of_new or most))
