"""The choices of a player before a sealed game: the sealed key, and whether draws are deposited with the service.

docs/spec/sealed.md, "How a client makes them".
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

from hkoji.client.kept.files import intact
from hkoji.client.kept.home import Home
from hkoji.client.kept.sealed import KEY_BYTES, SealedKeys
from hkoji.errors import HkojiError, UsageError
from hkoji.game.dealer import SEALED_V1
from hkoji.messages.text import tell
from hkoji.sealed import sodium

if TYPE_CHECKING:
    from hkoji.client.service import Service

_OPERATORS: Final = "operators"
"""The key of the settings with what the player has said about operators: by the service's URL and the name."""


def prepare(home: Home, service: Service, name: str, *, new_key: bool = False) -> None:
    """Checks that the player `name` can play sealed games here, and makes a sealed key if there is none.

    With `new_key` makes one in any case. Raises `UsageError` where PyNaCl is not installed, and if the player has a
    sealed game from another home, whose key should be copied.
    """
    sodium.require()
    keys = SealedKeys(home)
    if keys.all() and not new_key:
        return
    for summary in () if new_key else [each for one in ("open", "playing") for each in service.own_games(status=one)]:
        # The player has no key yet for a game to which they are only invited.
        if summary.get("dealer") == SEALED_V1 and name in (summary["host"], summary["guest"]):
            raise UsageError(
                tell("the sealed key of game {game} is not in {file}", game=summary["game"][:8], file=keys.file),
                hint=tell(
                    "nothing was sent; copy `sealed.key` from your other machine or from a backup. If it is lost, give "
                    "the command again with --new-key; you cannot play on in {game}",
                    game=summary["game"][:8],
                ),
            )
    keys.add(secrets.token_bytes(KEY_BYTES))


class DepositChoice:
    """Whether draws are deposited in sealed games, as far as `home` knows who runs a service."""

    def __init__(self, home: Home) -> None:
        self._home: Final = home

    def told(self, service: Service, name: str) -> bool | None:
        """Returns whether the player has said that `name` runs the service; None if they were not asked."""
        with intact(self._home.config_file):
            found = self._home.config().get(_OPERATORS, {}).get(service.url, {}).get(name)
        return found if isinstance(found, bool) else None

    def keep_told(self, service: Service, name: str, runs: bool) -> None:
        """Keeps whether `name` runs the service."""
        told: dict[str, Any] = self._home.config().get(_OPERATORS, {})  # Any: JSON
        here = {**told.get(service.url, {}), name: runs}
        self._home.update_config(**{_OPERATORS: {**told, service.url: here}})

    def runs(self, service: Service, name: str) -> bool | None:
        """Returns whether a player runs the service, by the word of the player here or of the service itself.

        Returns None if the service does not answer.
        """
        if self.told(service, name):
            return True
        try:
            return name in service.describe().operators
        except HkojiError:
            return None

    def wanted(self, service: Service, opponent: str | None) -> bool:
        """Returns whether draws are deposited by default: not if the opponent runs the service, or may run it."""
        return opponent is None or self.runs(service, opponent) is False
