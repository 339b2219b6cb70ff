"""How a player takes a seat in a game: by opening the game that was asked for, or by joining one.

docs/spec/log.md, "Client rules". Before anything is signed, the game is verified to be the one that the player means,
and to be dealt with the players' part in the shuffle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hkoji.client.held_seats import verify_host
from hkoji.client.invite_link import own_code, refuse_without_link, verify_link
from hkoji.client.sending import EntrySender
from hkoji.client.service import Service
from hkoji.client.vault import Vault
from hkoji.client.verified_log import VerifiedLog
from hkoji.errors import ConflictError, GameOverError, IllegalError, TrustError
from hkoji.game import entry_kinds
from hkoji.game.commitments import ENTROPY_BYTES, entropy_commit
from hkoji.game.course import Course, Stage
from hkoji.game.dealer import SERVER_V1
from hkoji.game.position import Position
from hkoji.log.entry import SERVER_NAME
from hkoji.log.line import Line
from hkoji.log.link_key import link_key
from hkoji.messages.text import tell
from hkoji.rules.events import Seat

_TAKEN: Final = tell("nothing was sent; find another with `hkoji games --open`")
_JOINED: Final = tell("somebody has already joined this game")
_USED: Final = tell("somebody has already used this link")
_ASK: Final = tell("nothing was sent; a link is good for one guest: ask your friend for a new one")


class SeatTaker:
    """Takes a seat in the game of `vault` at `service` for the player of `sender`."""

    def __init__(
        self,
        vault: Vault,
        service: Service,
        record: VerifiedLog,
        sender: EntrySender,
        entropy: Callable[[int], bytes],
    ) -> None:
        self._vault: Final = vault
        self._service: Final = service
        self._record: Final = record
        self._sender: Final = sender
        self._entropy = entropy

    def take_offer(self, line: Line) -> Position:
        """Keeps a new game's first line.

        Raises `TrustError` if the game exists here, or if the service alone could choose its cards.
        """
        if self._record.known() is not None:
            raise TrustError(tell("the service offered a game that was there before"), hint=tell("nothing was signed"))
        with self._record.refusals.kept_if_refused((), (line,)):
            position = self._record.accept(None, (line,), None).position
        refuse_chosen_cards(position.course)
        return position

    def open(self, invite: entry_kinds.Invite | None, *, by_link: bool) -> None:
        """Sends the `open` of the offered game, unless the game is open already."""
        self._sender.deliver_pending()
        course = self._record.require().position.course
        if course.stage is not Stage.OPEN:
            return
        refuse_chosen_cards(course)
        name, key = self._sender.player().name, self._sender.my_key()
        commit = self._commit_entropy(0, course)
        body = entry_kinds.Open(commit, key, invite)
        if by_link:
            link = link_key(own_code(self._vault, self._entropy))
            body = entry_kinds.open_by_link(link, course, entropy_commit=commit, key=key, name=name)
        self._sender.post(course, body)

    def join(self, agree: Callable[[Course], None], code: str | None) -> None:
        """Sends the `join`, unless the player has joined already. Raises what `ClientGame.join` raises."""
        self._sender.player()
        self._sender.deliver_pending()
        known = self._record.refresh()
        course = known.position.course
        if code is not None:
            verify_link(course, code)
        if course.finished:
            raise GameOverError(course.setup.game)
        if known.seat == 0:
            if course.stage is not Stage.JOIN:
                raise IllegalError(
                    tell("you host this game, and {name} has joined it", name=course.setup.names[1]),
                    hint=tell("see it with `hkoji show {game}`", game=course.setup.game[:8]),
                )
            raise IllegalError(tell("you host this game; somebody else has to join it"), hint=tell("nothing was sent"))
        if code is not None:  # the game may have been known here before the link was
            self._service.pins.introduce(SERVER_NAME, course.setup.server_key)
        if known.seat is not None:
            return
        if course.stage is not Stage.JOIN:
            used, hint = (_JOINED, _TAKEN) if code is None else (_USED, _ASK)
            raise ConflictError(course.setup.game, seq=course.seq, head=course.head, hint=hint, reason=used)
        refuse_chosen_cards(course)
        invite, me, key = course.setup.invite, self._sender.player(), self._sender.my_key()
        if code is None:
            refuse_without_link(course)
        if isinstance(invite, entry_kinds.Invite) and (reason := invite.refusal(me.name, key)):
            raise IllegalError(reason, hint=_TAKEN)
        verify_host(self._service, course)
        agree(course)
        commit = self._commit_entropy(1, course)
        body = entry_kinds.Join(commit, key)
        if code is not None:
            body = entry_kinds.join_by_link(link_key(code), course, entropy_commit=commit, key=key, name=me.name)
        self._sender.post(course, body)

    def _commit_entropy(self, seat: Seat, course: Course) -> str:
        """Returns the commitment of the next entry: that of one which the service has refused there, or a fresh one."""
        for entry in self._sender.refused(course):
            commitment = entry.body.get("entropy_commit")
            if isinstance(commitment, str) and self._vault.entropy(seat, commitment) is not None:
                return commitment
        entropy = self._entropy(ENTROPY_BYTES).hex()
        self._vault.begin(self._service.url, entropy)
        return entropy_commit(self._vault.game, seat, entropy)


def refuse_chosen_cards(course: Course) -> None:
    """Raises `TrustError` unless the game's dealer gives the players a part in the shuffle.

    The service names the dealer. With any other dealer it could choose the cards alone.
    """
    dealer = course.setup.terms.name
    if dealer != SERVER_V1:
        raise TrustError(
            tell("the game's dealer is {dealer}, which lets the service alone choose the cards", dealer=dealer),
            hint=tell("nothing was signed; play at a service that offers {dealer}", dealer=SERVER_V1),
        )
