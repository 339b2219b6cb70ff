"""Moves the games of a home to the address at which their service is now.

docs/spec/log.md, "Client rules"; docs/hosting.md, "To another address". A game is bound to the address at which it was
opened or joined. Its service may answer at another one later. The key is what makes it the same service: so a game is
moved only to an address that has signed, with the key pinned for the game, that the origin confirmed there is its own.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Home, Pins
from hkoji.client.service import Service
from hkoji.errors import HkojiError
from hkoji.game.replay import replay
from hkoji.log.public_key import PublicKey


class BoundGames(NamedTuple):
    """The games of a home that are bound to the address `url`, where the service has the pinned `key`."""

    url: str
    key: PublicKey | None
    games: tuple[str, ...]


def bound_games(home: Home) -> tuple[BoundGames, ...]:
    """Returns the games kept in a home by the address to which they are bound, in order.

    Leaves out games whose files are damaged. Raises `StorageError` for damaged pins.
    """
    found: dict[str, list[str]] = {}
    for game in home.games():
        with suppress(HkojiError):
            url = Vault(home.game_folder(game)).server
            if url is not None:
                found.setdefault(url, []).append(game)
    return tuple(BoundGames(url, Pins(home, url).server_key, tuple(games)) for url, games in sorted(found.items()))


def goes_on(home: Home, game: str) -> bool:
    """Returns whether a game goes on, as far as its log here says."""
    try:
        steps = replay(Vault(home.game_folder(game)).lines()).steps
    except HkojiError:
        return True
    return not steps or not steps[-1].course.finished


def movable_games(home: Home, url: str, key: PublicKey) -> tuple[BoundGames, ...]:
    """Returns the games that are bound to other addresses than `url`, for which `key` is pinned."""
    return tuple(each for each in bound_games(home) if each.url != url and each.key == key)


def require_proof(home: Home, service: Service, origin: str | None = None) -> None:
    """Lets a service prove its key if games can be moved to it, before anything is kept of it.

    `origin` is the one that the user has confirmed. Raises what `Service.meet` and `Service.prove` raise.
    """
    about = service.meet(origin)
    if movable_games(home, service.url, about.key):
        service.prove(about.key, about.origin)


def move_games(home: Home, service: Service) -> tuple[str, ...]:
    """Moves all `movable_games` to a service at which the player has registered, and returns them.

    All that is known of the players at the earlier addresses goes with them. The service proves its key first. Raises
    `TrustError` for no proof, and `ServiceError` if the service does not know the question. A command that breaks off
    is given again.
    """
    found = movable_games(home, service.url, service.key)
    if found:
        service.prove(service.key, service.pins.origin or "")
    for each in found:
        service.pins.adopt(each.url)
        for game in each.games:
            vault = Vault(home.game_folder(game))
            with vault.locked():
                vault.move(service.url)
    return tuple(game for each in found for game in each.games)
