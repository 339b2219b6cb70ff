"""What players have chosen at a service, as the store keeps it: their settings, and whom they have blocked.

It is a part of the contract of the store, and has the same promises: see `contract`.
"""

from __future__ import annotations

from typing import Final, Protocol

MOST_BLOCKS: Final = 1000
"""How many players one player may block."""


class ChoiceStore(Protocol):
    """The settings and blocks of players. The names of the methods are labels of the metrics."""

    async def settings(self, player: str) -> str | None:
        """Returns what a player has set, as text; None if that is nothing."""

    async def set_settings(self, player: str, text: str) -> None:
        """Replaces what a registered player has set."""

    async def blocks(self, player: str) -> tuple[str, ...]:
        """Returns the names of those whom a player has blocked, in order."""

    async def add_block(self, player: str, other: str) -> None:
        """Blocks `other` for a registered player. If that is done already, nothing changes.

        Changes nothing if it raises: `NotFoundError` if no player has the name `other`, `IllegalError` if the player
        has blocked `MOST_BLOCKS` others.
        """

    async def remove_block(self, player: str, other: str) -> bool:
        """Removes a block. Returns False if there is none."""

    async def is_blocked(self, player: str, other: str) -> bool:
        """Returns whether `player` has blocked `other`."""

    async def have_finished(self, one: str, other: str) -> bool:
        """Returns whether two players have finished a game with each other; one that was cancelled does not count."""

    async def open_invitations(self, host: str, invited: str) -> tuple[str, ...]:
        """Returns the open games of `host` that invite the player `invited`: a few, because a host may open few."""
