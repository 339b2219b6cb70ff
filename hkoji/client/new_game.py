"""How a player asks the service for a new game and opens it.

A request and the game that the service has made for it are kept until the game is open. So a command that broke off is
continued by the next one that asks for the same, and no second game is made.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.client.game import ClientGame
from hkoji.client.kept.files import locked
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Home
from hkoji.client.service import Service
from hkoji.errors import NotFoundError, TrustError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, Series
from hkoji.game.clock import add_seconds
from hkoji.game.dealer import SEALED_V1
from hkoji.game.position import Position
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset

if TYPE_CHECKING:
    from hkoji.client.seats import SealedWish

_SERIES_BYTES: Final = 16


class GameRequest(NamedTuple):
    """A request for a game: the arguments of `Client.new`."""

    ruleset: Ruleset
    invite: entry_kinds.Invite | None
    agreement: Agreement
    expires_in: int | None
    series: int | None
    by_link: bool
    sealed: SealedWish | None = None

    def to_json(self, server: str) -> dict[str, Any]:  # Any: JSON
        """Returns the request to a service as it is kept until the game is open."""
        return {
            "server": server,
            "agreement": self.agreement.to_json(),
            "expires_in": self.expires_in,
            "series": self.series,
            "ruleset": self.ruleset.to_json(),
            "invite": [self.invite.name, self.invite.key.text if self.invite.key else None] if self.invite else None,
            "by_link": self.by_link,
            "sealed": self.sealed is not None,
        }


def open_game(
    request: GameRequest,
    home: Home,
    service: Service,
    entropy: Callable[[int], bytes],
    hold: Callable[[str], AbstractContextManager[ClientGame]],
) -> Position:
    """Returns a new game that is open. `hold` gives a game by its id, and locks it.

    Raises `TrustError`, and signs nothing, if another game is offered.
    """
    wanted = request.to_json(service.url)
    if request.sealed is not None:
        from hkoji.client.sealed_choices import prepare

        prepare(home, service, str(home.config()["name"]), new_key=request.sealed.new_key)
        request = request._replace(sealed=request.sealed._replace(new_key=False))

    def opened(game: str) -> Position:
        with hold(game) as held:
            position = held.open(request.invite, by_link=request.by_link, sealed=request.sealed)
        home.set_started({})
        return position

    with locked(home.path / "games"):
        started = home.started()
        game = started.pop("game", None)
        if game is not None and started == wanted and Vault(home.game_folder(game)).exists:
            with hold(game) as held:
                expires = held.stored().course.setup.agreement.expires
            if expires is None or expires >= service.now():  # somebody can still join it
                try:
                    return opened(game)
                except NotFoundError:  # the service has removed the offer, because it was not opened for so long
                    home.set_started({})
        agreement = request.agreement
        if request.expires_in is not None:
            agreement = agreement._replace(expires=add_seconds(service.told_now(), request.expires_in))
        if request.series is not None:
            agreement = agreement._replace(series=Series(request.series, entropy(_SERIES_BYTES).hex(), 1))
        line = service.offer(request.ruleset, agreement, None if request.sealed is None else SEALED_V1)
        game = line.entry.game
        with hold(game) as held:
            offered = held.seats.take_offer(line, sealed=request.sealed is not None)
        if offered.course.setup.ruleset != request.ruleset:
            raise TrustError(tell("the service offered another game than requested"), hint=tell("nothing was signed"))
        if offered.course.setup.agreement != agreement:
            raise TrustError(
                tell("the service offered another agreement than requested"), hint=tell("nothing was signed")
            )
        home.set_started({**wanted, "game": game})
        return opened(game)
