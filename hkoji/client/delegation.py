"""Lets the service sign for the player in a game too, by mail, and ends that: by a `delegate` of the player's own key.

docs/spec/log.md, "Client rules". It is sent when the player owes the next entry, by itself: before the first `seed`, or
before the next move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hkoji.client.home import MAIL_WISHES
from hkoji.client.identity import Identity
from hkoji.client.sending import EntrySender
from hkoji.client.service import Service
from hkoji.client.vault import Vault
from hkoji.client.verified_log import KnownGame
from hkoji.errors import ConflictError, HkojiError
from hkoji.messages.text import tell


class Delegation:
    """What the service may sign in the game of `vault`, as the player `identity` wishes; None for a spectator."""

    def __init__(
        self,
        vault: Vault,
        service: Service,
        identity: Identity | None,
        sender: EntrySender,
        say: Callable[[str], None],
    ) -> None:
        self._vault: Final = vault
        self._service: Final = service
        self._identity: Final = identity
        self._sender: Final = sender
        self._say = say

    def bring(self, known: KnownGame) -> bool:
        """Sends the `delegate` that the game needs now, if it needs one. Returns whether it has been sent.

        Nothing is sent while a signed move waits, which it would make void. Raises `ConflictError` if another home of
        the player has been faster. Whatever else speaks against it is said: the player can play on without it.
        """
        course, seat, identity = known.position.course, known.seat, self._identity
        if identity is None or seat is None or course.actor != seat or self._vault.signed(course.seq + 1):
            return False
        if not identity.signs_for(course.setup.keys[seat]):
            return False
        if course.setup.held_key(seat) is None and MAIL_WISHES not in self._service.home.config():
            return False  # as for most players, and then nothing about mail is loaded
        from hkoji.client.own_mailbox import OwnMailbox

        short = known.position.short
        try:
            body = OwnMailbox(self._service, identity.name).due(course, seat)
            if body is None:
                return False
            self._sender.post(course, body)
        except ConflictError:
            raise
        except HkojiError as error:
            self._say(
                tell("game {short}: who signs for you by mail stays as it was: {reason}", short=short, reason=error)
            )
            return False
        if body.gateway is None:
            self._say(tell("game {short}: the service no longer signs for you", short=short))
        else:
            self._say(tell("game {short}: from now on the service signs for you too, by mail", short=short))
        return True
