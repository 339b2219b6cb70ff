"""Moves the games of a home to the address at which their service is now.

docs/spec/log.md, "Client rules"; docs/hosting.md, "To another address". A game is bound to the address at which it was
opened or joined. Its service may answer at another one later. The key is what makes it the same service: so a game is
moved only to an address that has signed, with the key pinned for the game, that the origin confirmed there is its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from hkoji.client.answers import ServiceDescription
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Home, Pins
from hkoji.errors import HkojiError, NetworkError, TrustError
from hkoji.game.replay import replay
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import Text, tell


class ProvingService(Protocol):
    """The part of a `Service` that moving games needs. That module builds on one that needs this one."""

    @property
    def url(self) -> str:
        """Its address."""

    @property
    def pins(self) -> Pins:
        """Its pins."""

    @property
    def key(self) -> PublicKey:
        """Its pinned key."""

    def meet(self, origin: str | None = None) -> ServiceDescription:
        """Returns what it says of itself, checked."""

    def prove(self, key: PublicKey, origin: str) -> None:
        """Lets it prove that it has the key. Raises `TrustError`."""


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
        url = _address(home, game)
        if url is not None:
            found.setdefault(url, []).append(game)
    return tuple(
        BoundGames(url, Pins(home, url, _silent).server_key, tuple(games)) for url, games in sorted(found.items())
    )


def _address(home: Home, game: str) -> str | None:
    try:
        return Vault(home.game_folder(game)).server
    except HkojiError:
        return None


def _silent(_: str) -> None:
    return


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


def move_command(url: str) -> str:
    """Returns the command that moves the games to a service."""
    return f"hkoji register --server {url} --move-games"


@contextmanager
def naming_new_address(home: Home, url: str) -> Iterator[None]:
    """Says of a `NetworkError` of the block if the service at `url` has another address, as far as the home knows."""
    try:
        yield
    except NetworkError as error:
        now = _new_address(home, url)
        if now is not None:
            error.hint = tell("nothing is lost; {moved}", moved=_moved_to(now))
        raise


def another_service(home: Home, url: str, known: PublicKey, shown: PublicKey | None) -> TrustError:
    """Returns the error for `url` where the service with the key `known` does not answer any more.

    `shown` is the key of the service that does; None if it is no service of this kind.
    """
    now = _new_address(home, url)
    if now is not None:
        hint = tell("nothing was changed; {moved}", moved=_moved_to(now))
    else:
        hint = tell(
            "nothing was changed; check with `hkoji doctor`. If your service has moved, ask its operator where, and "
            "then: {command}",
            command=move_command("URL"),
        )
    if shown is None:
        return TrustError(tell("something else than your service answers at {url} now", url=url), hint=hint)
    return TrustError(
        tell(
            "another service answers at {url} now: its key is {shown}, and that of yours is {known}",
            url=url,
            shown=shown.fingerprint,
            known=known.fingerprint,
        ),
        hint=hint,
    )


def _moved_to(now: str) -> Text:
    return tell(
        "you are registered at the same service at {now}. If it has moved there: {command}",
        now=now,
        command=move_command(now),
    )


def _new_address(home: Home, url: str) -> str | None:
    """Returns the address at which the player is registered, if it is another one of the service at `url`."""
    now = home.config().get("server")
    if not isinstance(now, str) or now == url:
        return None
    key = Pins(home, url, _silent).server_key
    return now if key is not None and key == Pins(home, now, _silent).server_key else None


def require_proof(home: Home, service: ProvingService, origin: str | None = None) -> None:
    """Lets a service prove its key if games can be moved to it, before anything is kept of it.

    `origin` is the one that the user has confirmed. Raises what `Service.meet` and `Service.prove` raise.
    """
    about = service.meet(origin)
    if movable_games(home, service.url, about.key):
        service.prove(about.key, about.origin)


def move_games(home: Home, service: ProvingService) -> tuple[str, ...]:
    """Moves all `movable_games` to a service at which the player has registered, and returns them.

    What is known of the players at the earlier addresses goes with them. The service proves its key first. Raises
    `TrustError` for no proof, and `ServiceError` if the service does not know the question. A command that breaks off
    is given again.
    """
    found = movable_games(home, service.url, service.key)
    if found:
        service.prove(service.key, service.pins.origin or "")
    moved: list[str] = []
    for each in found:
        service.pins.adopt(each.url)
        for game in each.games:
            vault = Vault(home.game_folder(game))
            with vault.locked():
                vault.move(service.url)
            moved.append(game)
    return tuple(moved)
