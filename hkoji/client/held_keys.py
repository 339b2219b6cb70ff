"""Keys that the service holds: those of players by mail, and the one that may sign beside the player's own.

docs/spec/log.md, "Held keys" and "Client rules". A certificate is verified before anything is signed: it must be by the
pinned key of this service, for this origin and for that name. Otherwise no game is opened and none is joined.

The player can answer from a mailbox of their own, too, beside the key that they have here. Their wish for that is kept
here, with the certificate that was verified then. So only a wish that was typed at this home makes it sign a
`delegate`, and no service can ask for another mailbox, key or grade. The end of it needs no such wish: it takes a right
away from the service.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hkoji.client.kept.files import damaged
from hkoji.client.kept.home import MAIL_WISHES, Home
from hkoji.client.player_settings import PlayerChannel, PlayerChannels
from hkoji.client.service import Service
from hkoji.errors import (
    ExistsError,
    ForbiddenError,
    HkojiError,
    NotFoundError,
    ServiceError,
    TooManyError,
    TrustError,
    UsageError,
)
from hkoji.game.agreement import Agreement
from hkoji.game.course import Course
from hkoji.game.entry_kinds import Delegate, Invite
from hkoji.game.held_keys import Gateway, read_gateway, require_strong_gateway, verify_gateway
from hkoji.log.mail_claim import MailGrade
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.mail.addresses import is_mailbox
from hkoji.mail.tokens import address_hash
from hkoji.messages.text import Text, tell
from hkoji.rules.events import Seat

MAIL: Final = "mail"
"""The kind of the channel."""
_NO_TIMES: Final[dict[str, Any]] = {  # Any: JSON
    "digest": [],
    "format": "json",
    "quiet": None,
    "zone": "+00:00",
}
_UNSIGNED: Final = tell("nothing was signed; ask the operator of the service")


class InvitedPlayer(NamedTuple):
    """Whom a game invites, and whether the service holds the key of that player."""

    invite: Invite
    held: bool = False


def invite_by_name(service: Service, name: str, *, sealed: bool = False) -> InvitedPlayer:
    """Returns the invitation of a registered player; of a mail player it names the key that the service holds.

    A `sealed` game cannot be played by mail, so nobody is advised to invite by mail.

    Raises `NotFoundError` if nobody has registered the name, and `TrustError` for a false certificate.
    """
    try:
        held = service.player(name).held
    except ServiceError as error:
        if error.status == 404:
            hint = tell(
                "no game was opened; the player has to register first, with `hkoji register --server {server}`, or "
                "you invite them by mail, with --mail",
                server=service.url,
            )
            if sealed:
                hint = tell(
                    "no game was opened; the player has to register first, with `hkoji register --server {server}`, or "
                    "you send them a link, with --link instead of --invite",
                    server=service.url,
                )
            raise NotFoundError(tell("player"), name, hint=hint) from error
        held = None  # a service that does not answer the question may have the player
    if held is None:
        return InvitedPlayer(Invite(name))
    verify_certificate(service, held, name)
    return InvitedPlayer(Invite(name, held.key), held=True)


def invite_by_mail(
    service: Service, home: Home, name: str, address: str, language: str, agreement: Agreement
) -> InvitedPlayer:
    """Asks the service for the key of somebody who will play by mail, and returns the invitation with that key.

    The service refuses an `agreement` with which it would not let the game be opened, before it reserves the name.

    The address goes to the service only, and is not kept here. After a command that broke off, the game that it has
    asked for is opened with the same key. Raises `UsageError` for what is no address, `TrustError` for a false
    certificate, and what the service answers.
    """
    if not is_mailbox(address):
        raise UsageError(
            tell("that is not a mail address"),
            hint=tell("no game was opened; an address is like someone@mail.example, in plain letters"),
        )
    request = {"address": address, "agreement": agreement.to_json(), "lang": language, "name": name}
    try:
        gateway = service.invite_by_mail(request)
    except HkojiError as error:
        key = _started(home, service.url, name)
        if key is None or error.code not in (ExistsError.code, ForbiddenError.code, TooManyError.code):
            raise
        return InvitedPlayer(Invite(name, key), held=True)
    verify_certificate(service, gateway, name)
    return InvitedPlayer(Invite(name, gateway.key), held=True)


def _started(home: Home, server: str, name: str) -> PublicKey | None:
    """Returns the key with which a command that broke off was about to invite the player; None if there is none."""
    started = home.started()
    match started.get("invite"):
        case [str() as invited, str() as key] if invited == name and started.get("server") == server:
            return parse_public_key(key)
    return None


def verify_certificate(service: Service, gateway: Gateway, name: str) -> None:
    """Checks that the certificate is this service's, for that name. Raises `TrustError`.

    The key must also be another one than the service's, the player's own, and those that others are known by.
    """
    verify_certificate_key(service, gateway, name)
    pinned = service.pins.players
    if any(gateway.key == key and other != name for other, key in pinned.items()):
        raise _false(tell("its key is somebody else's"), name)
    if name not in pinned or service.pins.said_held(name, gateway.key) or service.pins.trusted(name, gateway.key):
        return
    raise TrustError(
        tell("{name} is known here by another key, and now the service says that it holds theirs", name=name),
        hint=tell(
            "nothing was signed; ask {name}. If it is so: `hkoji trust {name} {fingerprint}`",
            name=name,
            fingerprint=gateway.key.fingerprint,
        ),
    )


def verify_certificate_key(service: Service, gateway: Gateway, name: str) -> None:
    """Checks that this service has signed the certificate, for its origin and that name. Raises `TrustError`."""
    if not service.pins.certifies(gateway.origin):
        raise _false(tell("it is for another origin, {origin}", origin=gateway.origin), name)
    try:
        verify_gateway(gateway, name, service.key)
    except HkojiError as error:
        raise _false(tell("the service has not signed it"), name) from error
    if gateway.key == service.key:
        raise _false(tell("its key is somebody else's"), name)


def verify_own_certificate(service: Service, gateway: Gateway, name: str, address: str, salt: str) -> None:
    """Checks the certificate of a key that the service is to use beside the player's own. Raises `TrustError`.

    It must be for the mailbox `address`, and its key one that nobody is known by. `salt` has 64 hex digits.
    """
    verify_certificate_key(service, gateway, name)
    if any(gateway.key in keys for keys in service.pins.every.values()):
        raise _false(tell("its key is somebody else's"), name)
    if gateway.address != address_hash(gateway.origin, address, bytes.fromhex(salt)):
        raise _false(tell("it is for another mailbox"), name)


def verify_host(service: Service, course: Course) -> None:
    """Checks the certificate of a host who plays by mail, before the game is joined. Raises `TrustError`."""
    gateway, name = course.setup.gateways[0], course.setup.names[0]
    if gateway is not None and name is not None:
        verify_certificate(service, gateway, name)


def _false(reason: Text, name: str) -> TrustError:
    return TrustError(
        tell(
            "the certificate of the key that the service holds for {name} is false: {reason}", name=name, reason=reason
        ),
        hint=tell("nothing was signed, and no game was opened; ask the operator of the service"),
    )


class OrdersWish(NamedTuple):
    """The wish that the player has typed here: orders by mail from `address`, by mails of at least the grade `least`.

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
        settings = dict(_NO_TIMES) if before is None else before.settings
        made = self._channels.set_mailbox(address, orders=True, language=language, settings=settings)
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


def _still(wish: OrdersWish | None, channel: PlayerChannel, address: str, least: MailGrade) -> bool:
    """Returns whether the service has what the player asks for, as it was asked for here before."""
    same = wish is not None and (wish.address.lower(), wish.least, wish.gateway) == (
        address.lower(),
        least,
        channel.certificate,
    )
    return bool(same and channel.orders and channel.target.lower() == address.lower())
