"""The channels through which players want to be told of events: how they make, confirm, test and remove them.

docs/spec/http.md, "Notices". A player can name any address, also one of somebody else. So a new channel gets one notice
with a code, and no other before the player has shown that they have read it. How often that may be tried is limited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hkoji.errors import (
    ForbiddenError,
    HkojiError,
    IllegalError,
    InvalidError,
    MalformedError,
    NotDeliveredError,
    NotFoundError,
    TooManyChannelsError,
)
from hkoji.game.agreement import DAY
from hkoji.log.canonical import JsonValue
from hkoji.messages.text import tell
from hkoji_server.service.games.notice_rules import EVENTS
from hkoji_server.service.notices.posting import PostCourier
from hkoji_server.service.players.channel_settings import ChannelSettings
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.players.players import digest_of
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.choices import channel_exists, most_channels
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import mailbox_locked
from hkoji_server.store.tables import Channel, row_of

CODE_LIFETIME: Final = DAY
"""Seconds in which a code must be typed."""
_ALPHABET: Final = "23456789abcdefghjkmnpqrstuvwxyz"
"""The characters of a code, which a person can read and type without mistaking one for another."""
_LETTERS: Final = 10


class Channels:
    """Use cases about the channels of a player. `kinds` has the couriers of the service by name."""

    def __init__(
        self, store: Store, sources: ClockAndEntropy, kinds: Mapping[str, PostCourier], limits: RateLimits
    ) -> None:
        self._store = store
        self._sources = sources
        self._kinds = kinds
        self._limits = limits

    def shown_target(self, channel: Channel) -> str:
        """Returns the address of a channel as its owner is shown it."""
        kind = self._kinds.get(channel.kind)
        return "" if kind is None else kind.show_target(channel.target)

    async def add(
        self, player: str, kind: str, target: str, events: Sequence[str], settings: Mapping[str, JsonValue]
    ) -> Channel:
        """Makes a channel and sends its code. A channel with the same address that was not confirmed makes way for it.

        Raises `MalformedError`, `NotUnderstoodError`, `ExistsError`, `TooManyChannelsError`, `TooManyError`, and
        `NotDeliveredError` if the code could not be sent; then there is no channel.
        """
        courier = self._kinds.get(kind)
        if courier is None:
            raise MalformedError(
                tell("channel"),
                tell("there is no such kind; the kinds here are: {kinds}", kinds=", ".join(self._kinds)),
                hint=_UNCHANGED,
            )
        address = courier.read_target(target)
        chosen = _read_events(events)
        try:
            wished = ChannelSettings.read(dict(settings))
        except InvalidError as error:
            error.hint = error.hint or _UNCHANGED
            raise
        await self._make_way(player, kind, address)
        code = self._code()
        channel = row_of(
            Channel,
            id=self._sources.entropy(8).hex(),
            player=player,
            kind=kind,
            target=address,
            events=f" {' '.join(chosen)} ",
            settings=wished.text,
            created=self._sources.at(),
            code=digest_of(code),
        )
        if not await self._store.add_channel(channel):
            raise TooManyChannelsError(
                tell("{name} has {most} channels already", name=player, most=most_channels(kind)),
                hint=tell("nothing was changed; remove one first"),
            )
        try:
            await self._limits.admit_test(player)
            await courier.send_code(channel, code)
        except BaseException as error:  # also if the request is given up
            await self._store.remove_channel(player, channel.id)
            if isinstance(error, HkojiError):
                error.hint = error.hint or tell("no channel was made; check the address and try again")
            raise
        return channel

    async def confirm(self, player: str, channel: str, code: str) -> Channel:
        """Confirms a channel by its code. A channel that is confirmed stays as it is.

        Raises `NotFoundError`, `ForbiddenError` for another code, `TooManyError` after too many of them.
        """
        found = await self.find(player, channel)
        if found.confirmed is not None:
            return found
        if self._is_stale(found):
            await self._store.remove_channel(player, channel)
            raise _unknown(channel)
        await self._limits.admit_code(channel)
        if not await self._store.confirm_channel(player, channel, digest_of(code.strip().lower()), self._sources.at()):
            raise ForbiddenError(
                tell("that is not the code of the channel {channel}", channel=channel),
                hint=tell(
                    "nothing was changed; the code is in the first notice; or remove the channel and add it again"
                ),
            )
        return await self.find(player, channel)

    async def test(self, player: str, channel: str) -> Channel:
        """Sends a test notice. If it arrives at a channel that was given up, that is used again.

        Raises `NotFoundError`, `IllegalError` for a channel that is not confirmed, `TooManyError`, `NotDeliveredError`.
        """
        found = await self.find(player, channel)
        if found.confirmed is None:
            raise IllegalError(
                tell("the channel {channel} is not confirmed", channel=channel),
                hint=tell("nothing was sent; confirm it with the code of the first notice"),
            )
        courier = self._kinds.get(found.kind)
        if courier is None:
            raise NotFoundError(tell("kind of channel"), found.kind)
        await self._limits.admit_test(player)
        try:
            await courier.send_test(found)
        except NotDeliveredError as error:
            error.hint = tell("the channel is as it was; check its address, and try again")
            raise
        await self._store.reset_channel(player, channel)
        return await self.find(player, channel)

    async def remove(self, player: str, channel: str) -> None:
        """Removes a channel, and what was still to be sent to it.

        Raises `NotFoundError`, and `ForbiddenError` for a mailbox that the operator has locked: with another one in its
        place it would be unlocked.
        """
        await self.find(player, channel)
        box = await self._store.mailbox(channel)
        if box is not None and box.state == "suspended":
            raise mailbox_locked()
        if not await self._store.remove_channel(player, channel):
            raise _unknown(channel)

    async def find(self, player: str, channel: str) -> Channel:
        """Returns a channel of a player. Raises `NotFoundError`, also for a channel of somebody else."""
        found = await self._store.channel(channel)
        if found is None or found.player != player:
            raise _unknown(channel)
        return found

    async def _make_way(self, player: str, kind: str, address: str) -> None:
        """Removes channels that wait for a code in vain. Raises `ExistsError` for a confirmed one with this address."""
        for each in await self._store.channels(player):
            same = (each.kind, each.target) == (kind, address)
            if same and each.confirmed is not None:
                raise channel_exists(each.id)
            if each.confirmed is None and self._is_stale(each):
                await self._store.remove_channel(player, each.id)

    def _is_stale(self, channel: Channel) -> bool:
        return channel.created < self._sources.at(-CODE_LIFETIME)

    def _code(self) -> str:
        # With 256 values for 31 letters some letters are a ninth more likely: 49 bits instead of 49.5.
        return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in self._sources.entropy(_LETTERS))


_UNCHANGED: Final = tell("nothing was changed")


def _read_events(events: Sequence[str]) -> tuple[str, ...]:
    """Returns events in the order of `EVENTS`. Raises `MalformedError`."""
    if not events or not set(events) <= set(EVENTS):
        raise MalformedError(
            tell("list of events"),
            tell("it must have at least one of {events}, and no others", events=", ".join(EVENTS)),
            hint=_UNCHANGED,
        )
    return tuple(event for event in EVENTS if event in events)


def _unknown(channel: str) -> NotFoundError:
    return NotFoundError(tell("channel"), channel, hint=tell("nothing was changed; see yours with `hkoji notify list`"))
