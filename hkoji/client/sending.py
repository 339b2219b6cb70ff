"""Sends a player's entries of one game until they have receipts, also those that need no decision of the player.

docs/spec/log.md, "Client rules". Every signed entry is kept before it is sent, so a command that breaks off signs
nothing twice: the next one sends the same bytes. When the player owes the next entry, an earlier key of theirs is
replaced first, by a `rekey` of that key or by a `revoke` of the service; and a `delegate` lets the service sign for
them too, by mail, or ends that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hkoji.audit.checks import HEAD_SECONDS
from hkoji.client.answers import REFUSALS
from hkoji.client.identity import Identity
from hkoji.client.kept.home import MAIL_WISHES
from hkoji.client.service import utc_now
from hkoji.client.verified_log import KnownGame, VerifiedLog
from hkoji.errors import ConflictError, HkojiError, IllegalError, LoginError, NotShownError, RevokedError, TrustError
from hkoji.game import entry_kinds
from hkoji.game.agreement import format_duration
from hkoji.game.clock import parse_time
from hkoji.game.course import Course
from hkoji.game.entry_kinds.key_changes import Rekey
from hkoji.game.position import time_of_record
from hkoji.game.replay import verify_head
from hkoji.game.submission import Submission, draft_entry
from hkoji.log import sshsig
from hkoji.log.line import Entry, Line, parse_entry
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import proof_message
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.game.sealed_parts import GivePart
    from hkoji.log.private_key import Signer

_EITHER: Final = tell(
    "you have already signed another entry with this number; either of them may become part of the log"
)


class EntrySender:
    """Signs and sends entries of the game of `record`, whose player is None for a spectator without one."""

    def __init__(self, record: VerifiedLog) -> None:
        self.record: Final = record
        self.vault: Final = record.vault
        self.service: Final = record.service
        self.say: Final = record.say

    def player(self) -> Identity:
        """Returns the player. Raises `LoginError` if there is none."""
        if self.record.identity is None:
            raise LoginError(tell("there is no player here"), hint=tell("make one with `hkoji init NAME`"))
        return self.record.identity

    def my_key(self) -> PublicKey:
        """Returns the key by which the service knows the player."""
        return self.player().key_at(self.service.url)

    def counting_key(self, course: Course) -> PublicKey:
        """Returns the player's key in a game."""
        seat = course.setup.seat_of(self.player().name)
        key = None if seat is None else course.setup.keys[seat]
        return key or self.my_key()

    def signer(self, course: Course) -> Signer:
        """Returns the signer of the player's key in a game."""
        return self.player().signer_of(self.counting_key(course))

    def post(self, course: Course, body: entry_kinds.EntryBody, deposit: GivePart | None = None) -> None:
        """Signs the next entry and sends it, with a draw to deposit if there is one."""
        self.send(self.sign(course, body, deposit), self.record.require())

    def sign(self, course: Course, body: entry_kinds.EntryBody, deposit: GivePart | None = None) -> Submission:
        """Returns the next entry, signed. If the service has refused the same entry before, returns that one again."""
        player, known = self.player(), self.record.require()
        seen = time_of_record(known.lines[-1])
        # Each further text that is signed for one place could become part of the log.
        refused = self.refused(course)
        drafts = [
            draft_entry(course, body, by=player.name, at=at, seen=seen)
            for at in (*(each.at for each in refused), utc_now())
        ]
        texts = [each.text for each in refused]
        draft = next((each for each in drafts if each.entry.text in texts), drafts[-1])
        signer = player.signer_of(body.newcomer_key() or self.counting_key(course))
        return draft.sign(signer)._replace(deposit=deposit)

    def refused(self, course: Course) -> tuple[Entry, ...]:
        """Returns the player's entries that were signed for the next place, and are not in the log."""
        return tuple(parse_entry(text) for text in self.vault.signed(course.seq + 1) if text)

    def send(self, submission: Submission, known: KnownGame) -> None:
        """Keeps a submission, then sends it. Without an answer it stays in the outbox for the next command.

        `known` is the game as it is kept here now.
        """
        self.warn(submission)
        self.vault.keep_outbox(submission)
        began = self.service.now()
        lines = self._deliver(submission, known)
        self._compare_clocks(began, lines[0])

    def deliver_pending(self) -> None:
        """Sends what an earlier command has left in the outbox."""
        pending = self.vault.outbox()
        if pending is not None:
            self._deliver(pending, self.record.known())

    def _compare_clocks(self, began: str, line: Line) -> None:
        """Warns if a line that was sent since `began` is recorded far off the time that the service's answers state."""
        assert line.receipt is not None
        at = parse_time(line.receipt.receipt.at)
        behind, ahead = parse_time(began) - at, at - parse_time(self.service.now())
        if ahead > HEAD_SECONDS:
            text = tell(
                "warning: the service has recorded your entry {time} later than the time that its answers state",
                time=format_duration(ahead),
            )
        elif behind > HEAD_SECONDS:
            text = tell(
                "warning: the service has recorded your entry {time} earlier than the time that its answers state",
                time=format_duration(behind),
            )
        else:
            return
        self.say(text)
        self.say(tell("the time on record counts; tell the operator"))

    def _deliver(self, submission: Submission, known: KnownGame | None) -> tuple[Line, ...]:
        """Sends the stored bytes, and returns the lines that they have added.

        A refusal empties the outbox, but the entry is remembered: its signature exists.
        """
        kept = known.lines if known else ()
        try:
            lines = self.service.submit(submission)
        except REFUSALS as error:
            if isinstance(error, ConflictError):
                verify_head(kept, error.seq, error.head)
            self.vault.keep_signed(submission)
            self.vault.clear_outbox(durable=True)
            raise
        with self.record.kept_if_refused(kept, lines):
            self.service.verify_submitted(submission, lines)
        last = kept[-1].entry.seq if kept else -1
        new = tuple(line for line in lines if line.entry.seq > last)
        try:
            self.record.accept(known, new, None, submission)
            self.vault.confirm(self.service.clock_ahead)
        except TrustError as error:
            # The entry may have brought cards that only the view shows: `refresh` fetches it. Any other fault is found
            # there again.
            if not isinstance(error, NotShownError):
                from hkoji.client.refused import keep_refused  # most answers are accepted

                keep_refused(self.vault, self.service.pins, error, kept, lines)
                self.say(tell("warning: {reason}", reason=error))
                self.say(error.hint)
            self.record.refresh(new)
        self.vault.clear_outbox()
        return lines

    def warn(self, submission: Submission) -> None:
        """Warns if another entry with the same number has been signed before."""
        signed = self.vault.signed(submission.entry.seq)
        if any(text != submission.entry.text for text in signed):
            self.say(tell("warning: {reason}", reason=_EITHER))

    # --- what needs no decision of the player ---------------------------------------------------------------------

    def bring_key(self, known: KnownGame) -> bool:
        """Replaces an earlier or lost key of the player by the new one, if the player owes the next entry.

        Returns whether it has been replaced. While a signed move waits, which would become void, an earlier key stays
        unless it is revoked.
        """
        position, course, seat = known.position, known.position.course, known.seat
        if self.record.identity is None or seat is None or course.actor != seat:
            return False
        old, new = course.setup.keys[seat], self.my_key()
        if old is None or old == new:
            return False
        here, signed = self.record.identity.signs_for(old), bool(self.vault.signed(course.seq + 1))
        # Directly after a rekey no other one may follow, only the service's revoke.
        signs = here and not signed and not course.rekeyed
        if not signs and not self._is_revoked(old):
            if signed or not here:
                self.say(_why_kept(position.short, old, here=here))
            return False
        if new in course.setup.every_key() or new == course.setup.link:
            # A dishonest service may say that it holds this key for somebody. To declare it would break a rule.
            self.say(
                tell(
                    "game {short} keeps your earlier key: it names your new key already, and a key counts once there",
                    short=position.short,
                )
            )
            return False

        message = proof_message(
            game=course.setup.game,
            key=new,
            name=self.record.identity.name,
            old=old,
            prev=course.head,
            seq=course.seq + 1,
        )
        proof = self.record.identity.signer_of(new).sign(sshsig.REKEY, message)
        if signs:
            try:
                self.post(course, Rekey(new, old, proof))
            except RevokedError:
                self._recover_seat(known, proof)
        else:
            self._recover_seat(known, proof)
        self.say(tell("game {short} has your new key now: {key}", short=position.short, key=new.fingerprint))
        return True

    def _is_revoked(self, key: PublicKey) -> bool:
        """Returns whether the service has revoked an earlier key of the player: then nothing that it signed counts."""
        found = self.service.player(self.player().name)
        return any(each.key == key and each.revoked for each in found.earlier)

    def _recover_seat(self, known: KnownGame, proof: bytes) -> None:
        lines = self.service.recover_seat(self.vault.game, proof)
        last = known.lines[-1].entry.seq
        new = tuple(line for line in lines if line.entry.seq > last)
        with self.record.kept_if_refused(known.lines, lines):
            self.record.accept(known, new, None)

    def delegate(self, known: KnownGame) -> bool:
        """Sends the `delegate` that the game needs now, if it needs one. Returns whether it has been sent.

        Nothing is sent while a signed move waits, which it would make void. Raises `ConflictError` if another home of
        the player has been faster. Any other obstacle is only said: the player can play on without it.
        """
        course, seat, identity = known.position.course, known.seat, self.record.identity
        if identity is None or seat is None or course.actor != seat or self.vault.signed(course.seq + 1):
            return False
        if course.sealed is not None:  # only the player's own program plays in it
            return False
        if not identity.signs_for(course.setup.keys[seat]):
            return False
        if course.setup.held_key(seat) is None and MAIL_WISHES not in self.service.home.config():
            return False  # as for most players, and then nothing about mail is loaded
        from hkoji.client.held_keys import OwnMailbox

        short = known.position.short
        try:
            body = OwnMailbox(self.service, identity.name).due(course, seat)
            if body is None:
                return False
            self.post(course, body)
        except ConflictError:
            raise
        except HkojiError as error:
            self.say(
                tell("game {short}: who signs for you by mail stays as it was: {reason}", short=short, reason=error)
            )
            return False
        if body.gateway is None:
            self.say(tell("game {short}: the service no longer signs for you", short=short))
        else:
            self.say(tell("game {short}: from now on the service signs for you too, by mail", short=short))
        return True


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


def not_joined(short: str) -> IllegalError:
    """Returns the error for a game that can only be taken back, because nobody has joined it."""
    return IllegalError(
        tell("nobody has joined yet"), hint=tell("take it back with `hkoji cancel {short}`", short=short)
    )
