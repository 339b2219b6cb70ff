"""Mailboxes of players with a key of their own: letters to them, and orders from them if the player wants that.

docs/spec/http.md, "Mailboxes". The service holds a fresh key for the mailbox, and certifies it. It signs with that key
only in games whose log has a `delegate` by the player's own key. Nobody learns here whose mailbox an address is: what
speaks against an address is said in one way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from hkoji.errors import ExistsError, IllegalError, InvalidError, MalformedError, TooManyChannelsError
from hkoji.game.held_keys import Gateway, read_gateway, require_strong_gateway
from hkoji.log.canonical import JsonValue, decode
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.letters.confirmation_facts import ConfirmWhat
from hkoji.messages.text import LANGUAGES, tell
from hkoji_server.service.channel_settings import FORMATS, ChannelSettings
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.service.confirmations import confirmation
from hkoji_server.service.held_players import UNCHANGED, HeldPlayers, no_mail, verify_address
from hkoji_server.service.rate_limits import RateLimits
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import SHUT, AskedMailbox, Mailbox, mailbox_locked
from hkoji_server.store.notice_contract import MOST_CHANNELS, channel_exists
from hkoji_server.store.player_contract import RetiredKey


class WishedMailbox(NamedTuple):
    """What a player wants: letters to an address in a language, and `orders` from there or not. `settings` is JSON.

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
        *,
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
        gateway = require_strong_gateway(read_gateway(decode(kept[0].text, tell("certificate"))))
        return KeptOwnMailbox(box, gateway, kept[0].salt)

    async def wish(self, player: str, wished: WishedMailbox) -> str:
        """Makes the mailbox of a player, whose owner is asked by a letter, or changes it. Returns its channel.

        With `orders` a mailbox that is in use gets a fresh key: so a `delegate` can name it in place of an earlier one.
        Raises `MalformedError`, `IllegalError`, `ForbiddenError`, `ExistsError` if the player uses another mailbox or
        wants no change, `TooManyChannelsError`, and what `MailStore.ask_mailbox` raises.
        """
        if self._own is None:
            raise no_mail(operator=False)
        verify_address(wished.address, self._own)
        if wished.lang not in LANGUAGES:
            raise IllegalError(
                tell("letters are not written in that language"),
                hint=tell("nothing was changed; languages: {names}", names=", ".join(LANGUAGES)),
            )
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
        asked = await self._store.ask_mailbox(AskedMailbox(box, settings.text, player, held, certificate))
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
                await self._store.revoke_key(RetiredKey(key, box.name, now, revoked=True))


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
