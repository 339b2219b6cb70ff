"""The player's own mailbox: answering from it by mail, beside the key that they have here.

docs/spec/log.md, "Held keys" and "Client rules". What the player has asked for is kept here, with the certificate that
was verified then. So only what was typed at this home makes it sign a `delegate`, and no service can ask for another
mailbox, key or grade. The end of it needs no such wish: it takes away what the service may do.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hkoji.client.channels import PlayerChannel, PlayerChannels
from hkoji.client.files import damaged
from hkoji.client.held_seats import verify_certificate_key, verify_own_certificate
from hkoji.client.home import MAIL_WISHES
from hkoji.client.service import Service
from hkoji.errors import HkojiError, NotFoundError, TrustError, UsageError
from hkoji.game.course import Course
from hkoji.game.entry_kinds import Delegate
from hkoji.game.held_keys import Gateway, MailGrade, read_gateway, require_strong_gateway
from hkoji.mail.addresses import is_mailbox
from hkoji.messages.text import tell
from hkoji.rules.events import Seat

MAIL: Final = "mail"
"""The kind of the channel."""
_NO_TIMES: Final[dict[str, Any]] = {  # Any: JSON
    "digest": [],
    "format": "json",
    "quiet": None,
    "zone": "+00:00",
}


class OrdersWish(NamedTuple):
    """What the player has asked for here: orders by mail from `address`, by mails of at least the grade `least`.

    `gateway` is the certificate of the key that may sign them.
    """

    address: str
    least: MailGrade
    gateway: Gateway


class OwnMailbox:
    """The mailbox of the player with the name `name` at `service`."""

    def __init__(self, service: Service, name: str) -> None:
        self._home: Final = service.home
        self._service: Final = service
        self._name: Final = name
        self._channels: Final = PlayerChannels(service)

    # --- what the commands do -------------------------------------------------------------------------------------

    def turn_on(self, address: str, least: MailGrade, language: str) -> PlayerChannel:
        """Asks the service for orders by mail, and keeps what was asked for. A second call changes nothing.

        Raises `UsageError` for what is no address, `TrustError` for a false certificate, and what the service answers.
        """
        if not is_mailbox(address):
            raise UsageError(
                tell("that is not a mail address"),
                hint=tell("nothing was sent; an address is like someone@mail.example, in plain letters"),
            )
        before, wish = self.channel(), self.wish()
        if before is not None and before.confirmed is not None and _still(wish, before, address, least):
            return before
        made = self._channels.set_mailbox(address, orders=True, language=language, settings=_settings_of(before))
        if made.certificate is None or made.salt is None or made.target.lower() != address.lower():
            raise TrustError(tell("the service has made another mailbox than was asked for"), hint=_UNSIGNED)
        verify_own_certificate(self._service, made.certificate, self._name, address, made.salt)
        self._keep(OrdersWish(address, least, made.certificate))
        return made

    def turn_off(self) -> PlayerChannel:
        """Ends orders by mail at once. Letters go on, unless the mailbox is not confirmed: that one is removed.

        Raises `NotFoundError` if the player has no mailbox.
        """
        self._keep(None)
        channel = self.channel()
        if channel is None:
            raise NotFoundError(tell("mailbox of"), self._name, hint=tell("nothing was changed"))
        if channel.confirmed is None:
            self._channels.remove(channel.id)
            return channel._replace(orders=False)
        if not channel.orders:
            return channel
        settings = channel.settings
        return self._channels.set_mailbox(channel.target, orders=False, language=None, settings=settings)

    def channel(self) -> PlayerChannel | None:
        """Returns the channel of the mailbox, as the service has it now; None if there is none."""
        return next((each for each in self._channels.all() if each.kind == MAIL), None)

    # --- what was asked for ---------------------------------------------------------------------------------------

    def wish(self) -> OrdersWish | None:
        """Returns what the player has asked for here; None if that is nothing. Raises `StorageError`."""
        kept = self._home.config().get(MAIL_WISHES, {})
        try:
            found = kept.get(self._service.url)
            if found is None:
                return None
            gateway = require_strong_gateway(read_gateway(found["certificate"]))
            return OrdersWish(str(found["address"]), MailGrade(found["grade"]), gateway)
        except (AttributeError, KeyError, TypeError, ValueError, HkojiError) as error:
            raise damaged(self._home.config_file) from error

    def _keep(self, wish: OrdersWish | None) -> None:
        kept: dict[str, Any] = {**self._home.config().get(MAIL_WISHES, {})}  # Any: JSON
        kept.pop(self._service.url, None)
        if wish is not None:
            value = {"address": wish.address, "grade": wish.least.value, "certificate": wish.gateway.to_json()}
            kept[self._service.url] = value
        self._home.update_config(**{MAIL_WISHES: kept})

    # --- in a game ------------------------------------------------------------------------------------------------

    def due(self, course: Course, seat: Seat) -> Delegate | None:
        """Returns the `delegate` that the game needs for what the player has asked for; None if it needs none.

        Asks the service only if the log does not have it, or lets the service sign. Raises `TrustError` for a
        certificate that does not hold any more.
        """
        held, wish = course.setup.held_key(seat), self.wish()
        if course.rekeyed or (held is None and wish is None) or (held is not None and held.only):
            return None
        channel = self.channel()
        on = channel is not None and channel.orders and channel.confirmed is not None
        if held is not None and (not on or channel is None):
            return Delegate(None, None)
        if wish is None or channel is None or not on or channel.certificate != wish.gateway:
            return None  # what was asked for at another home is delegated there
        if held is not None and (held.gateway.key, held.grade) == (wish.gateway.key, wish.least):
            return None
        verify_certificate_key(self._service, wish.gateway, self._name)
        return None if wish.gateway.key in course.setup.every_key() else Delegate(wish.gateway, wish.least)


_UNSIGNED: Final = tell("nothing was signed; ask the operator of the service")


def _still(wish: OrdersWish | None, channel: PlayerChannel, address: str, least: MailGrade) -> bool:
    """Returns whether the service has what the player asks for, as it was asked for here before."""
    same = wish is not None and (wish.address.lower(), wish.least, wish.gateway) == (
        address.lower(),
        least,
        channel.certificate,
    )
    return bool(same and channel.orders and channel.target.lower() == address.lower())


def _settings_of(channel: PlayerChannel | None) -> dict[str, Any]:  # Any: JSON
    return dict(_NO_TIMES) if channel is None else channel.settings
