"""Mailboxes that players ask for: by a login, and by a mail `register NAME` to the bare address.

docs/spec/http.md, "Mailboxes". For the mailbox of a player with a key of their own the service holds a fresh key, and
certifies it. It signs with that key only in games whose log has a `delegate` by the player's own key. Nobody learns
here whose mailbox an address is: all faults of an address are reported in one way.

A person who can write in the name of somebody else must not cause a letter to them. So a mail `register NAME` is kept,
and answered, only if it has a DKIM signature that holds and is of the domain of its sender; then the sender answers
`yes` to a letter.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from hkoji.errors import (
    ExistsError,
    ForbiddenError,
    IllegalError,
    InvalidError,
    MalformedError,
    TooManyChannelsError,
    TooManyError,
)
from hkoji.game.held_keys import Gateway
from hkoji.log.canonical import JsonValue, is_name
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.commands import OrderKind
from hkoji.mail.dkim_rules import judge_dkim, key_names
from hkoji.mail.letters.mailbox import ConfirmWhat
from hkoji.mail.mail import Mail
from hkoji.messages.text import tell
from hkoji_server.service.mail.rights import LookUp
from hkoji_server.service.players.channel_settings import FORMATS, ChannelSettings
from hkoji_server.service.players.held_players import (
    UNCHANGED,
    HeldPlayers,
    confirmation,
    no_mail,
    read_certificate,
    verify_address,
    verify_language,
)
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.choices import MOST_CHANNELS, channel_exists
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_invitations import NewMailbox
from hkoji_server.store.mail_values import SHUT, Mailbox, mailbox_locked
from hkoji_server.store.player_tables import RetiredKey
from hkoji_server.store.tables import row_of

_AT_ONCE: Final = 4
"""How many of these mails DNS is asked about at the same time. More are dropped, so that no other mail waits."""
_MOST_WAITED: Final = 20.0
"""For how many seconds DNS is waited for in a row."""
_SHARE: Final = 0.1
"""For which part of the time it is waited for then."""
_LANGUAGE: Final = "en"


class WishedMailbox(NamedTuple):
    """The wish of a player: letters to an address in a language, and `orders` from there or not. `settings` is JSON.

    With None for `orders` a new mailbox has none, and one that is in use is not changed.
    """

    address: str
    lang: str
    orders: bool | None
    settings: Mapping[str, JsonValue]


class KeptOwnMailbox(NamedTuple):
    """A mailbox of a player, the newest certificate of its key, and the salt of its address hash (64 hex digits)."""

    mailbox: Mailbox
    certificate: Gateway
    salt: str


class OwnMailboxes:
    """Use cases about mailboxes of players with a key of their own. `own` is the service's mail address, if any."""

    def __init__(
        self,
        store: Store,
        sources: ClockAndEntropy,
        players: HeldPlayers,
        limits: RateLimits,
        own: OwnAddress | None,
    ) -> None:
        self._store = store
        self._sources = sources
        self._players = players
        self._limits = limits
        self._own = own

    async def of(self, channel: str) -> KeptOwnMailbox | None:
        """Returns the mailbox of a channel; None for a channel of another kind."""
        box = await self._store.mailbox(channel)
        kept = () if box is None else await self._store.certificates(box.held_key)
        if box is None or not kept:
            return None
        return KeptOwnMailbox(box, read_certificate(kept[0]), kept[0].salt)

    async def wish(self, player: str, wished: WishedMailbox) -> str:
        """Makes the mailbox of a player, whose owner is asked by a letter, or changes it. Returns its channel.

        With `orders` a mailbox that is in use gets a fresh key: so a `delegate` can name it in place of an earlier one.
        Raises `MalformedError`, `IllegalError`, `ForbiddenError`, `ExistsError` if the player uses another mailbox or
        wants no change, `TooManyChannelsError`, and what `Store.ask_mailbox` raises.
        """
        if self._own is None:
            raise no_mail(operator=False)
        verify_address(wished.address, self._own)
        verify_language(wished.lang)
        settings = _read_settings(wished.settings)
        registered = await self._store.player(player)
        assert registered is not None  # who is logged in is registered
        if await self._store.held_key(registered.key) is not None:
            raise IllegalError(tell("the service holds your only key"), hint=UNCHANGED)
        box = await self._store.own_mailbox(player)
        if box is None or not box.plays:
            return await self._ask(player, wished, settings, box)
        if box.address.lower() != wished.address.lower():
            raise ExistsError(
                tell("mailbox of"), player, hint=tell("nothing was changed; remove that one first, or use its address")
            )
        if wished.orders is None:
            raise channel_exists(box.channel)
        if box.state in SHUT:
            raise mailbox_locked()
        if wished.orders:
            await self._renew(box, wished.lang)
        else:
            await self._stop_orders(box)
        await self._store.set_channel_settings(box.channel, settings.text)
        return box.channel

    async def _ask(self, player: str, wished: WishedMailbox, settings: ChannelSettings, before: Mailbox | None) -> str:
        # Another mailbox that waits for its owner makes way.
        others = [each for each in await self._store.channels(player) if before is None or each.id != before.channel]
        if len(others) >= MOST_CHANNELS:
            raise TooManyChannelsError(
                tell("{name} has {most} channels already", name=player, most=MOST_CHANNELS),
                hint=tell("nothing was changed; remove one first"),
            )
        held, channel = self._players.make_key(player), self._sources.entropy(8).hex()
        box = Mailbox(
            channel,
            player,
            wished.address,
            held.key,
            wished.lang,
            "asked",
            self._sources.at(),
            orders=bool(wished.orders),
            confirm=confirmation(ConfirmWhat.ON, channel),
        )
        certificate = await self._players.certify(player, held.key, wished.address)
        asked = await self._store.ask_mailbox(NewMailbox(box, settings.text, player, held, certificate))
        if wished.orders not in (None, asked.orders):  # the owner was asked before, for something else
            await self._store.change_mailbox(replace(asked, orders=bool(wished.orders)), asked)
        return asked.channel

    async def _renew(self, box: Mailbox, lang: str) -> None:
        """Gives a mailbox a fresh key, and takes orders from it."""
        await self._limits.admit_test(box.name)
        held = self._players.make_key(box.name)
        await self._store.add_held_key(held, await self._players.certify(box.name, held.key, box.address))
        since = box.since if box.state == "active" else self._sources.at()
        new = replace(box, held_key=held.key, orders=True, lang=lang, state="active", since=since)
        await self._store.change_mailbox(new, box)

    async def _stop_orders(self, box: Mailbox) -> None:
        """Ends orders by mail at once: when it returns, no append needs one of the keys any more."""
        # The keys come first: as long as there are orders, a client whose request has failed asks again.
        await self._revoke_keys(box)
        await self._store.change_mailbox(replace(box, orders=False), box)
        await self._revoke_keys(box)  # one that another request has made meanwhile

    async def _revoke_keys(self, box: Mailbox) -> None:
        now = self._sources.at()
        for key in await self._store.held_keys(box.name, box.address):
            if await self._store.retired(key) is None:
                await self._store.revoke_key(row_of(RetiredKey, key=key, name=box.name, at=now, revoked=True))


def _read_settings(settings: Mapping[str, JsonValue]) -> ChannelSettings:
    """Reads the settings of a mailbox: quiet hours and their zone. Raises `MalformedError`."""
    try:
        read = ChannelSettings.read(dict(settings))
    except InvalidError as error:
        error.hint = error.hint or UNCHANGED
        raise
    if read.digest or read.format != FORMATS[0]:
        raise MalformedError(
            tell("settings of a channel"), tell("a mailbox has no digest and no format"), hint=UNCHANGED
        )
    return read


class SelfRegistration:
    """Takes mails that ask for a name. `look_up` asks DNS, and `elapsed` returns seconds since some moment.

    Strangers choose which DNS is asked, and it can be a slow one. While it is waited for, a mailbox is not read. So
    mails that ask for a name are dropped for a while when others of them have taken long.
    """

    def __init__(self, players: HeldPlayers, look_up: LookUp, *, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._players = players
        self._look_up = look_up
        self._elapsed = elapsed
        self._asking = asyncio.Semaphore(_AT_ONCE)
        self._waits, self._since = _MOST_WAITED, elapsed()

    async def take(self, mail: Mail, received: str) -> bool:
        """Asks the sender of a mail that counts to confirm the name. Returns False if it is dropped.

        At most one letter leads to another: one that asks for `yes`, or one that says that the name is taken.
        """
        order, names, address = mail.only_order(OrderKind.REGISTER), key_names(mail), mail.header.sender
        if order is None or address is None or not names or self._asking.locked() or not self._may_wait():
            return False
        async with self._asking:
            began = self._elapsed()
            try:
                answers = await self._look_up(names)
            finally:
                self._waits -= self._elapsed() - began
        if not judge_dkim(mail, answers, at=received, token=None).holds:
            return False
        name = order.words[0]
        try:
            if not is_name(name):
                await self._players.refuse_name(name, address, _LANGUAGE)
                return True
            try:
                await self._players.ask(ConfirmWhat.REGISTER, name, address, _LANGUAGE, address)
            except ExistsError:
                await self._players.refuse_name(name, address, _LANGUAGE)
        except (ForbiddenError, IllegalError, MalformedError, TooManyError):
            return False  # they play here already, or have been asked often enough
        return True

    def _may_wait(self) -> bool:
        now = self._elapsed()
        self._waits = min(_MOST_WAITED, self._waits + (now - self._since) * _SHARE)
        self._since = now
        return self._waits > 0
