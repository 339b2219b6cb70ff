"""Games with players who play by mail: the service holds their keys, and says so in certificates.

docs/spec/log.md, "Client rules". A certificate is verified before anything is signed: it must be by the pinned key of
this service, for this origin and for that name. Otherwise no game is opened and none is joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
from hkoji.game.entry_kinds import Invite
from hkoji.game.held_keys import Gateway, verify_gateway
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.mail.addresses import is_mailbox
from hkoji.mail.tokens import address_hash
from hkoji.messages.text import Text, tell

if TYPE_CHECKING:
    from hkoji.client.home import Home
    from hkoji.client.service import Service
    from hkoji.game.agreement import Agreement
    from hkoji.game.course import Course


class InvitedPlayer(NamedTuple):
    """Whom a game invites, and whether the service holds the key of that player."""

    invite: Invite
    held: bool = False


def invite_by_name(service: Service, name: str) -> InvitedPlayer:
    """Returns the invitation of a registered player; of a mail player it names the key that the service holds.

    Raises `NotFoundError` if nobody has registered the name, and `TrustError` for a false certificate.
    """
    try:
        held = service.player(name).held
    except ServiceError as error:
        if error.status == 404:
            raise NotFoundError(
                tell("player"),
                name,
                hint=tell(
                    "no game was opened; the player has to register first, with `hkoji register --server {server}`, or "
                    "you invite them by mail, with --mail",
                    server=service.url,
                ),
            ) from error
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
