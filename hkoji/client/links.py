"""Links of games: shows that of an own game, and takes up that of a friend's.

Before a guest joins, the client verifies the game at the service of the link, and registers the player there. The log
is public, so nothing is signed before it has been verified: the host knew the code, and has signed the entry that names
the service's key and the agreement.
"""

from __future__ import annotations

from contextlib import suppress

from hkoji.client.answers import ServiceDescription
from hkoji.client.client import Client
from hkoji.client.identity import Identity
from hkoji.client.kept.game import Vault
from hkoji.client.log_checks import verify_game, verify_lines
from hkoji.client.seats import InviteLink, verify_link
from hkoji.client.verified_log import VerifiedLog
from hkoji.errors import UsageError
from hkoji.game.course import Course
from hkoji.game.replay import is_sealed, replay, require_whole
from hkoji.messages.text import tell
from hkoji.service_url import parse_url


def own_link(client: Client, game: str) -> InviteLink | None:
    """Returns the link of a game that was opened by link here; None for any other.

    It has the service's origin, if that is an address: the operator's own machine may reach the service by another one
    than everybody else.
    """
    vault = Vault(client.home.game_folder(game))
    code, server = vault.link_code, client.server_of(game)
    if code is None:
        return None
    with suppress(UsageError):
        server = parse_url(client.service(server).pins.origin or server)
    return InviteLink(server, game, code, is_sealed(vault.lines()))


def introduce(client: Client, link: InviteLink, origin: str | None = None) -> ServiceDescription:
    """Verifies and keeps the game of a link, and pins the keys in it. Signs nothing, and sends no more than the id.

    `origin` is the service's, if the user has confirmed it. Raises what `Service.meet` raises, `LoginError` if there
    is no player here, `NotFoundError`, `UsageError` if the host has the player's name, and `TrustError` if the game was
    not opened by this link.
    """
    _ = client.identity
    service = client.service(link.server)
    vault = Vault(client.home.game_folder(link.game))
    if (kept := vault.server) not in (None, service.url):
        raise UsageError(
            tell("the game of the link is known here from another service, {url}", url=kept),
            hint=tell("nothing was sent; ask your friend for a new link"),
        )
    about = service.meet(origin)
    if not vault.exists:
        lines = service.log(link.game)
        with vault.locked(), VerifiedLog(vault, service, None, client.say).kept_if_refused((), lines):
            verify_game(lines, link.game)
            result = require_whole(replay(lines))
            verify_lines(result, lines, len(lines), about.key)
            course = result.steps[-1].course
            verify_link(course, link.code)
            if not service.registered:
                _refuse_namesake(client.identity, course)
            service.pins.pin_server(about.key, by_link=True)
            service.known_keys.meet(course.setup, client.identity.name)
            vault.begin(service.url)
            # The join asks for the log once more. If this one were not kept, another one would be accepted then.
            vault.append(lines)
    return about


def _refuse_namesake(me: Identity, course: Course) -> None:
    """Raises `UsageError` if the host has the player's name, but no key that is here.

    The player cannot be registered by that name, and the host's key would be taken for one that the player has lost.
    """
    if course.setup.names[0] == me.name and not any(map(me.signs_for, course.setup.all_keys(0))):
        raise UsageError(
            tell("the host of the game is called {name}, like you", name=me.name),
            hint=tell("nothing was sent; choose another name with `hkoji init NAME`"),
        )


def enrol(client: Client, link: InviteLink, origin: str, code: str | None = None) -> bool:
    """Registers the player at the service of a link, after `introduce`; returns False if they have registered already.

    It becomes the player's service only if there is none yet. `origin` is that of its description, and `code` the
    operator's. Raises what `Service.register` raises.
    """
    service = client.service(link.server)
    if missing := not service.registered:
        service.register(origin, code)
    # Also if an earlier command registered the player and broke off before it noted that.
    if "server" not in client.home.config():
        client.home.update_config(server=service.url)
    return missing
