"""`hkoji init`, `register` and `whoami`: the player's name and key, and the default service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hkoji.cli.input import confirm, read_code, with_origin
from hkoji.cli.language import _, _n
from hkoji.cli.output import CommandOutput
from hkoji.client import Client, Home
from hkoji.errors import HkojiError, TrustError
from hkoji.messages.text import plural, tell

if TYPE_CHECKING:
    from hkoji.client.service import Service


class RegisterOptions(NamedTuple):
    """The options of a registration: the service's origin, the operator's code, whether games move there."""

    origin: str | None = None
    code: str | None = None
    move_games: bool = False


def init(out: CommandOutput, name: str, key: Path | None) -> None:
    """Creates a name and a key in HKOJI_HOME."""
    import secrets

    from hkoji.client.identity import create

    home = Home()
    identity = create(home, name, key, secrets.token_bytes(32))
    value = {
        "name": identity.name,
        "key": identity.key.text,
        "fingerprint": identity.key.fingerprint,
        "home": str(home.path),
    }
    out.result(
        value,
        lambda: _(
            "You are {name}, key {fingerprint}, kept in {folder}\n"
            "Then: hkoji register --server URL, or with a link from a friend: hkoji join LINK",
            name=identity.name,
            fingerprint=identity.key.fingerprint,
            folder=home.path,
        ),
    )


def whoami(client: Client, out: CommandOutput) -> None:
    """Shows the player's name, keys and service."""
    identity = client.identity
    server = client.home.config().get("server")
    value: dict[str, Any] = {  # Any: JSON
        "name": identity.name,
        "key": identity.key.text,
        "fingerprint": identity.key.fingerprint,
        "server": server,
        "home": str(client.home.path),
        "earlier": [own.public.fingerprint for own in identity.earlier],
        "next": identity.next.public.fingerprint if identity.next else None,
    }
    next_ = [_("next key, not known to all services yet: {key}", key=value["next"])] if identity.next else []
    out.result(
        value,
        lambda: "\n".join(
            (
                identity.name,
                identity.key.text,
                identity.key.fingerprint,
                *next_,
                *(_("earlier key: {key}", key=own.public.fingerprint) for own in identity.earlier),
                _("service: {url}", url=server or _("none yet")),
                _("home: {folder}", folder=client.home.path),
            )
        ),
        exact=True,
    )


def register(client: Client, out: CommandOutput, server: str, terms: RegisterOptions) -> None:
    """Registers the player at a service, which becomes the default one. The code `-` is read from standard input."""
    from hkoji.client.moving import goes_on, require_proof

    given = read_code(out) if terms.code == "-" else terms.code

    def enrol(confirmed: str | None) -> Service:
        if terms.move_games:
            require_proof(client.home, client.service(server), confirmed)
        return client.register(server, confirmed, given)

    service = with_origin(out, terms.origin, enrol)
    moved = client.move_games() if terms.move_games else _offer_to_move(client, out, service)
    going = sum(goes_on(client.home, game) for game in moved)
    if going:
        out.say(plural("{n} game is bound to {url} now", "{n} games are bound to {url} now", going, url=service.url))
    elif terms.move_games and not moved:
        out.say(tell("no game here is bound to an earlier address of this service"))
    identity = client.identity
    value = {
        "name": identity.name,
        "key": identity.key.text,
        "server": service.url,
        "server_key": service.key.text,
        "server_fingerprint": service.key.fingerprint,
        "moved": list(moved),
    }
    out.result(
        value,
        lambda: _(
            "You are now registered at {url} as {name}.\nThen: hkoji new, or: hkoji games --open",
            name=identity.name,
            url=service.url,
        ),
    )


def _offer_to_move(client: Client, out: CommandOutput, service: Service) -> tuple[str, ...]:
    """Offers to move the games of earlier addresses of a service if some go on. Returns those that have been moved."""
    from hkoji.client.moving import goes_on, movable_games
    from hkoji.client.requests import move_command

    going: list[str] = []
    urls: list[str] = []
    for each in movable_games(client.home, service.url, service.key):
        found = [game for game in each.games if goes_on(client.home, game)]
        going += found
        urls += [each.url] if found else []
    if not going:
        return ()
    out.say(
        plural(
            "{n} game here is bound to an earlier address of this service: {urls}",
            "{n} games here are bound to earlier addresses of this service: {urls}",
            len(going),
            urls=", ".join(urls),
        )
    )
    try:
        service.prove(service.key, service.pins.origin or "")
        confirm(out, _n("Move it to {url}?", "Move them to {url}?", len(going), url=service.url), "", yes=False)
    except TrustError as error:
        out.say(tell("warning: {reason}", reason=error))
        out.say(error.hint)
    except HkojiError:
        out.say(tell("to move them: {command}", command=move_command(service.url)))
    else:
        return client.move_games()
    return ()
