"""With whom a player plays: whose invitations the player accepts, and whom the player has blocked.

docs/spec/http.md, "Choices of players". What is said here is asked of the store each time, so it holds at once, in
every process. Games that go on are not touched.
"""

from __future__ import annotations

import json
from typing import Final, Literal, NamedTuple

from hkoji.errors import BlockedError, IllegalError, NotAcceptedError
from hkoji.log.canonical import encode
from hkoji.messages.text import tell
from hkoji_server.service.invitation_answers import InvitationAnswers
from hkoji_server.store.contract import Store

Invites = Literal["everyone", "known", "nobody"]

MOST_KNOWN: Final = 400
"""How many players a player may name as known: their names fit into one request."""


class Choices(NamedTuple):
    """Whose invitations a player accepts. `known` are the names that count as known beside those of past opponents."""

    invites: Invites = "everyone"
    known: tuple[str, ...] = ()


class PlayerChoices:
    """Use cases about settings and blocks, and the checks that follow from them."""

    def __init__(self, store: Store, answers: InvitationAnswers) -> None:
        self._store = store
        self._answers = answers

    async def settings(self, player: str) -> Choices:
        """Returns what a player has set, or the defaults."""
        text = await self._store.settings(player)
        if text is None:
            return Choices()
        kept = json.loads(text)
        return Choices(kept["invites"], tuple(kept["known"]))

    async def set_settings(self, player: str, choices: Choices) -> Choices:
        """Replaces what a player has set, and returns it: each name once, in order."""
        known = tuple(sorted(set(choices.known)))
        await self._store.set_settings(player, encode({"invites": choices.invites, "known": list(known)}))
        return Choices(choices.invites, known)

    async def block(self, player: str, other: str) -> None:
        """Blocks another player, and declines that player's open invitations.

        Raises `IllegalError` for the player's own name or too many blocks, and `NotFoundError`.
        """
        if other == player:
            raise IllegalError(tell("you cannot block yourself"), hint=tell("nothing was changed"))
        await self._store.add_block(player, other)
        await self._answers.decline_all(other, player)

    async def verify_may_invite(self, host: str, name: str) -> None:
        """Checks that the player `name` accepts invitations of `host`.

        Raises `BlockedError`, `NotAcceptedError`, and `IllegalError` if it is the host who has blocked the player.
        """
        unchanged = tell("the game was not opened; invite somebody else, or leave it open for anyone")
        if await self._store.is_blocked(name, host):
            raise BlockedError(tell("{name} has blocked you", name=name), hint=unchanged)
        if await self._store.is_blocked(host, name):
            raise IllegalError(
                tell("you have blocked {name}, who could not join", name=name),
                hint=tell("the game was not opened; remove the block with `hkoji block {name} --remove`", name=name),
            )
        choices = await self.settings(name)
        if choices.invites == "everyone":
            return
        if choices.invites == "known" and (host in choices.known or await self._store.have_finished(name, host)):
            return
        raise NotAcceptedError(tell("{name} does not accept your invitation", name=name), hint=unchanged)

    async def verify_may_join(self, host: str, guest: str) -> None:
        """Checks that the host has not blocked the guest. Raises `BlockedError`."""
        if await self._store.is_blocked(host, guest):
            raise BlockedError(
                tell("{name} has blocked you", name=host), hint=tell("nothing was accepted; join another game")
            )
