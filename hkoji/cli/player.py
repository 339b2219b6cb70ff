"""Who I am: making an identity, showing it, registering it."""

from __future__ import annotations

from pathlib import Path

from hkoji.cli.output import Output
from hkoji.client import Client, Home


def init(out: Output, name: str, key: Path | None) -> None:
    """Makes a name and a key."""
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
        lambda: (
            f"You are {identity.name}, key {identity.key.fingerprint}, kept in {home.path}\n"
            "Then: hkoji register --server URL"
        ),
    )


def whoami(client: Client, out: Output) -> None:
    """The player and their service."""
    identity = client.identity
    server = client.home.config().get("server")
    value = {
        "name": identity.name,
        "key": identity.key.text,
        "fingerprint": identity.key.fingerprint,
        "server": server,
        "home": str(client.home.path),
    }
    out.result(
        value,
        lambda: (
            f"{identity.name}\n{identity.key.text}\n{identity.key.fingerprint}\n"
            f"service: {server or 'none yet'}\nhome: {client.home.path}"
        ),
    )


def key(client: Client, out: Output) -> None:
    """The public key."""
    identity = client.identity
    value = {"name": identity.name, "key": identity.key.text, "fingerprint": identity.key.fingerprint}
    out.result(value, lambda: identity.key.text)


def register(client: Client, out: Output, server: str) -> None:
    """Registers at a service."""
    service = client.register(server)
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
        lambda: f"{identity.name} is registered at {service.url}\nThen: hkoji new, or: hkoji games --open",
    )
