"""Replaces an earlier key of the player in a game, by a `rekey` of that key or by a `revoke` of the service.

docs/spec/log.md, "Client rules". It happens by itself, when the player owes the next entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hkoji.client.identity import Identity
from hkoji.client.sending import EntrySender
from hkoji.client.service import Service
from hkoji.client.vault import Vault
from hkoji.client.verified_log import KnownGame, VerifiedLog
from hkoji.errors import ForbiddenError, RevokedError
from hkoji.game.entry_kinds.key_changes import Rekey
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import proof_message
from hkoji.messages.text import tell


class SeatKey:
    """The key of the player `identity` in the game of `vault`; None for a spectator."""

    def __init__(
        self,
        vault: Vault,
        service: Service,
        identity: Identity | None,
        record: VerifiedLog,
        sender: EntrySender,
        say: Callable[[str], None],
    ) -> None:
        self._vault: Final = vault
        self._service: Final = service
        self._identity: Final = identity
        self._record: Final = record
        self._sender: Final = sender
        self._say = say

    def bring(self, known: KnownGame) -> bool:
        """Replaces an earlier or lost key of the player by the new one, if the player owes the next entry.

        Returns whether it has been replaced. While a signed move waits, which would become void, an earlier key stays
        unless it is revoked.
        """
        position, course, seat = known.position, known.position.course, known.seat
        if self._identity is None or seat is None or course.actor != seat:
            return False
        old, new = course.setup.keys[seat], self._sender.my_key()
        if old is None or old == new:
            return False
        here, signed = self._identity.signs_for(old), bool(self._vault.signed(course.seq + 1))
        # Directly after a rekey no other one may follow, only the service's revoke.
        signs = here and not signed and not course.rekeyed
        if not signs and not self._is_revoked(old):
            if signed or not here:
                self._say(_why_kept(position.short, old, here=here))
            return False
        if new in course.setup.every_key() or new == course.setup.link:
            # A dishonest service may say that it holds this key for somebody. To declare it would break a rule.
            self._say(
                tell(
                    "game {short} keeps your earlier key: it names your new key already, and a key counts once there",
                    short=position.short,
                )
            )
            return False
        from hkoji.log import sshsig

        message = proof_message(
            game=course.setup.game,
            key=new,
            name=self._identity.name,
            old=old,
            prev=course.head,
            seq=course.seq + 1,
        )
        proof = self._identity.signer_of(new).sign(sshsig.REKEY, message)
        if signs:
            try:
                self._sender.post(course, Rekey(new, old, proof))
            except ForbiddenError as error:
                if error.code != RevokedError.code:
                    raise
                self._recover_seat(known, proof)
        else:
            self._recover_seat(known, proof)
        self._say(tell("game {short} has your new key now: {key}", short=position.short, key=new.fingerprint))
        return True

    def _is_revoked(self, key: PublicKey) -> bool:
        """Returns whether the service has revoked an earlier key of the player: then nothing that it signed counts."""
        found = self._service.player(self._sender.player().name)
        return any(each.key == key and each.revoked for each in found.earlier)

    def _recover_seat(self, known: KnownGame, proof: bytes) -> None:
        lines = self._service.recover_seat(self._vault.game, proof)
        last = known.lines[-1].entry.seq
        new = tuple(line for line in lines if line.entry.seq > last)
        with self._record.refusals.kept_if_refused(known.lines, lines):
            self._record.accept(known, new, None)


def _why_kept(short: str, old: PublicKey, *, here: bool) -> str:
    """Returns why a game keeps an earlier key, although its player could change it now."""
    if here:
        return tell(
            "game {short} keeps your earlier key for now: a new one would invalidate your signed move there",
            short=short,
        )
    return tell(
        "game {short} still names your earlier key {key}, which is not here: look at the game once on the machine "
        "that has it",
        short=short,
        key=old.fingerprint,
    )
