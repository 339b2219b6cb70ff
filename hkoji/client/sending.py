"""Sends a player's entries of one game until they have receipts.

docs/spec/log.md, "Client rules". What is signed is kept before it is sent, so a command that breaks off signs nothing
twice: the next one sends the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hkoji.audit.checks import HEAD_SECONDS
from hkoji.client.answers import REFUSALS
from hkoji.client.identity import Identity
from hkoji.client.line_checks import verify_head
from hkoji.client.service import Service, utc_now
from hkoji.client.vault import Vault
from hkoji.client.verified_log import VerifiedLog
from hkoji.errors import ConflictError, LoginError, NotShownError, TrustError
from hkoji.game import entry_kinds
from hkoji.game.clock import parse_time
from hkoji.game.course import Course
from hkoji.game.position import time_of_record
from hkoji.game.submission import Submission, draft_entry
from hkoji.game.time_control import format_duration
from hkoji.log.entry import Entry, parse_entry
from hkoji.log.line import Line
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell

_EITHER: Final = tell(
    "you have already signed another entry with this number; either of them may become part of the log"
)


class EntrySender:
    """Signs and sends entries of the game of `vault` at `service`. `identity` is None for a spectator without one."""

    def __init__(
        self,
        vault: Vault,
        service: Service,
        identity: Identity | None,
        record: VerifiedLog,
        say: Callable[[str], None],
    ) -> None:
        self._vault: Final = vault
        self._service: Final = service
        self._identity: Final = identity
        self._record: Final = record
        self._say = say

    def player(self) -> Identity:
        """Returns the player. Raises `LoginError` if there is none."""
        if self._identity is None:
            raise LoginError(tell("there is no player here"), hint=tell("make one with `hkoji init NAME`"))
        return self._identity

    def my_key(self) -> PublicKey:
        """Returns the key by which the service knows the player."""
        return self.player().key_at(self._service.url)

    def counting_key(self, course: Course) -> PublicKey:
        """Returns the player's key in a game."""
        seat = course.setup.seat_of(self.player().name)
        key = None if seat is None else course.setup.keys[seat]
        return key or self.my_key()

    def post(self, course: Course, body: entry_kinds.EntryBody) -> None:
        """Signs the next entry and sends it. If the service has refused the same entry before, sends that one again."""
        player = self.player()
        seen = time_of_record(self._record.require().lines[-1])
        # Each further text that is signed for one place could become part of the log.
        refused = self.refused(course)
        drafts = [
            draft_entry(course, body, by=player.name, at=at, seen=seen)
            for at in (*(each.at for each in refused), utc_now())
        ]
        texts = [each.text for each in refused]
        draft = next((each for each in drafts if each.entry.text in texts), drafts[-1])
        self.send(draft.sign(player.signer_of(body.newcomer_key() or self.counting_key(course))))

    def refused(self, course: Course) -> tuple[Entry, ...]:
        """Returns the player's entries that were signed for the next place, and are not in the log."""
        return tuple(parse_entry(text) for text in self._vault.signed(course.seq + 1) if text)

    def send(self, submission: Submission) -> None:
        """Keeps a submission, then sends it. Without an answer it stays in the outbox for the next command."""
        self.warn(submission)
        self._vault.keep_outbox(submission)
        began = self._service.now()
        lines = self._deliver(submission)
        self._compare_clocks(began, lines[0])

    def deliver_pending(self) -> None:
        """Sends what an earlier command has left in the outbox."""
        pending = self._vault.outbox()
        if pending is not None:
            self._deliver(pending)

    def _compare_clocks(self, began: str, line: Line) -> None:
        """Warns if a line that was sent since `began` is recorded far off the time that the service's answers state."""
        assert line.receipt is not None
        at = parse_time(line.receipt.receipt.at)
        behind, ahead = parse_time(began) - at, at - parse_time(self._service.now())
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
        self._say(text)
        self._say(tell("the time on record counts; tell the operator"))

    def _deliver(self, submission: Submission) -> tuple[Line, ...]:
        """Sends the stored bytes, and returns the lines that they have added.

        A refusal empties the outbox, but the entry is remembered: its signature exists.
        """
        known = self._record.known()
        kept = known.lines if known else ()
        try:
            lines = self._service.submit(submission)
        except REFUSALS as error:
            if isinstance(error, ConflictError):
                verify_head(kept, error.seq, error.head)
            self._vault.keep_signed(submission)
            self._vault.clear_outbox(durable=True)
            raise
        with self._record.refusals.kept_if_refused(kept, lines):
            self._service.verify_submitted(submission, lines)
        last = kept[-1].entry.seq if kept else -1
        new = tuple(line for line in lines if line.entry.seq > last)
        try:
            self._record.accept(known, new, None, submission)
            self._vault.confirm(self._service.clock_ahead)
        except TrustError as error:
            # The entry may have brought cards that only the view shows: `refresh` fetches it. Any other fault is found
            # there again.
            if not isinstance(error, NotShownError):
                self._record.refusals.keep(error, kept, lines)
                self._say(tell("warning: {reason}", reason=error))
                self._say(error.hint)
            self._record.refresh(new)
        self._vault.clear_outbox()
        return lines

    def warn(self, submission: Submission) -> None:
        """Warns if another entry with the same number has been signed before."""
        signed = self._vault.signed(submission.entry.seq)
        if any(text != submission.entry.text for text in signed):
            self._say(tell("warning: {reason}", reason=_EITHER))
