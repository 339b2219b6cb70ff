"""`hkoji init`, `register` and `whoami`: the player's name and key, and the default service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hkoji.cli.input import read_code, with_origin
from hkoji.cli.language import _
from hkoji.cli.output import CommandOutput
from hkoji.client import Client, Home


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


def register(client: Client, out: CommandOutput, server: str, origin: str | None, code: str | None) -> None:
    """Registers the player at a service, which becomes the default one. The code `-` is read from standard input."""
    given = read_code(out) if code == "-" else code
    service = with_origin(out, origin, lambda confirmed: client.register(server, confirmed, given))
    identity = client.identity
    value = {
        "name": identity.name,
        "key": identity.key.text,
        "server": service.url,
        "server_key": service.key.text,
        "server_fingerprint": service.key.fingerprint,
    }
    out.result(
        value,
        lambda: _(
            "{name} is registered at {url}\nThen: hkoji new, or: hkoji games --open",
            name=identity.name,
            url=service.url,
        ),
    )
