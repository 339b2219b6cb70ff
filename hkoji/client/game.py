"""One game of one player: fetching and believing what is new, and bringing own entries to their receipts.

docs/spec/log.md, "Client rules". Every method that sends is to be called with the vault locked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from hkoji.client.api import REFUSALS
from hkoji.client.identity import Identity
from hkoji.client.incremental_check import verify_head
from hkoji.client.service import Service, utc_now
from hkoji.client.vault import Vault
from hkoji.client.verified_log import Known, VerifiedLog
from hkoji.errors import (
    ConflictError,
    ForbiddenError,
    GameOverError,
    IllegalError,
    LoginError,
    NetworkError,
    NotShownError,
    NotYourTurnError,
    RevokedError,
    TrustError,
)
from hkoji.game import entry_kinds
from hkoji.game.course import Course, Stage
from hkoji.game.dealer_terms import SERVER_V1
from hkoji.game.entry_kinds.key_changes import Rekey
from hkoji.game.openings import Opening
from hkoji.game.position import Position, action_of
from hkoji.game.submission import Submission
from hkoji.log.key_statements import proof_message
from hkoji.log.line import Line
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Due

SEED_STAGES: Final = {Stage.GUEST_SEED: 1, Stage.HOST_SEED: 0}
_TAKEN: Final = tell("nothing was sent; find another with `hkoji games --open`")
_EITHER: Final = tell(
    "you have signed another entry for this place before; either of them may become the one that counts"
)


class Made(NamedTuple):
    """A position, and the number of the own entry in the log that has just been brought to its receipt."""

    position: Position
    seq: int


class ClientGame:
    """The game of `vault` at `service`. `identity` is None for a spectator without one."""

    def __init__(
        self,
        vault: Vault,
        service: Service,
        identity: Identity | None,
        entropy: Callable[[int], bytes],
        say: Callable[[str], None],
    ) -> None:
        self.vault: Final = vault
        self.service: Final = service
        self._identity: Final = identity
        self._entropy = entropy
        self._say = say
        self.record: Final = VerifiedLog(vault, service, identity)

    # --- looking --------------------------------------------------------------------------------------------------

    def stored(self) -> Position:
        """The game as it was seen last. Raises `NotFoundError` if it never was."""
        return self.record.require().position

    def lines(self) -> tuple[Line, ...]:
        """The verified log as it was seen last."""
        known = self.record.known()
        return known.lines if known else ()

    def current(self) -> Position:
        """The game as it stands now: what waits is sent, what is new is fetched, the own entropy is revealed if due."""
        try:
            self._deliver_pending()
        except REFUSALS as error:
            self._say(tell("the service did not take the entry that waited here: {reason}", reason=error))
        return self._settle()

    def _settle(self) -> Position:
        known = self._bring_key(self.record.refresh())
        course, seat = known.position.course, known.seat
        if seat is None or SEED_STAGES.get(course.stage) != seat:
            return known.position
        entropy = self.vault.entropy(seat, course.setup.entropy_commits[seat])
        if entropy is None:
            self._say(
                tell(
                    "game {short} waits for your entropy, and it is not in {folder}",
                    short=known.position.short,
                    folder=self.vault.folder,
                )
            )
            return known.position
        self._post(course, entry_kinds.Seed(entropy))
        return self._fresh().position

    def _bring_key(self, known: Known) -> Known:
        """The own new key takes the place of an earlier or lost one, when this player owes the next entry."""
        position, course, seat = known.position, known.position.course, known.seat
        if self._identity is None or seat is None or course.actor != seat:
            return known
        old, new = course.setup.keys[seat], self._my_key()
        if old is None or old == new:
            return known
        if self.vault.signed(course.seq + 1):
            self._say(
                tell(
                    "game {short} keeps your earlier key for now: a new one would spoil what you have signed there",
                    short=position.short,
                )
            )
            return known
        if course.last_kind == entry_kinds.Rekey.KIND:  # another one can follow after the move
            return known
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
        if self._identity.signs_for(old):
            try:
                self._post(course, Rekey(new, old, proof))
            except ForbiddenError as error:
                if error.code != RevokedError.code:
                    raise
                self._recover_seat(known, proof)
        else:
            self._recover_seat(known, proof)
        self._say(tell("in game {short} your new key counts now: {key}", short=position.short, key=new.fingerprint))
        return self._fresh()

    def _recover_seat(self, known: Known, proof: bytes) -> None:
        lines = self.service.recover_seat(self.vault.game, proof)
        last = known.lines[-1].entry.seq
        new = tuple(line for line in lines if line.entry.seq > last)
        with self.record.refusals.kept_if_refused(known.lines, lines):
            self.record.accept(known, new, None)

    # --- own entries ----------------------------------------------------------------------------------------------

    def take_offer(self, line: Line) -> Position:
        """Keeps a new game's first line. Raises `TrustError` if the game was there before, or its cards are chosen."""
        if self.record.known() is not None:
            raise TrustError(tell("the service offered a game that was there before"), hint=tell("nothing was signed"))
        with self.record.refusals.kept_if_refused((), (line,)):
            position = self.record.accept(None, (line,), None).position
        refuse_chosen_cards(position.course)
        return position

    def open(self, invite: entry_kinds.Invite | None) -> Position:
        """Opens the offered game, unless that has been done."""
        self._deliver_pending()
        known = self.record.require()
        if known.position.course.stage is Stage.OPEN:
            refuse_chosen_cards(known.position.course)
            commit = self._commit_entropy(0)
            self._post(known.position.course, entry_kinds.Open(commit, self._my_key(), invite))
        return self._fresh().position

    def join(self) -> Position:
        """Joins the game, unless that has been done, and reveals the own entropy."""
        self._deliver_pending()
        known = self.record.refresh()
        course = known.position.course
        if known.seat == 0:
            raise IllegalError(tell("you host this game; somebody else has to join it"), hint=tell("nothing was sent"))
        if known.seat is None:
            if course.finished:
                raise GameOverError(course.setup.game)
            if course.stage is not Stage.JOIN:
                raise ConflictError(course.setup.game, seq=course.seq, head=course.head, hint=_TAKEN)
            refuse_chosen_cards(course)
            invite, me, key = course.setup.invite, self._player(), self._my_key()
            if invite is not None and (invite.name != me.name or invite.key not in (None, key)):
                raise IllegalError(tell("the game is open only to {name}", name=invite.name), hint=_TAKEN)
            commit = self._commit_entropy(1)
            self._post(course, entry_kinds.Join(commit, key))
        return self._settle()

    def move(self, notation: str) -> Made:
        """Makes a move. Everything is checked here first; the service checks it again.

        If the last command broke off, its move is sent first; when that is this very move, it is the one that is made.
        """
        pending = self.vault.outbox()
        position = self.current()
        done = self._arrived(pending, "move")
        if done is not None:
            return self._made_before(position, done, notation)
        action = position.choose(notation)
        submission = self._make_move(position.course, action)
        self._send(submission)
        return Made(self._fresh().position, submission.entry.seq)

    def leave(self, body: entry_kinds.Resign | entry_kinds.Cancel) -> Made:
        """Resigns, or takes an open game back."""
        kind = body.KIND
        pending = self.vault.outbox()
        position = self.current()
        done = self._arrived(pending, kind)
        if done is not None:
            return Made(position, done)
        course = position.course
        if position.over:
            raise GameOverError(course.setup.game)
        if position.seat is None:
            raise NotYourTurnError(
                tell("you do not play in this game"), actor=course.actor, hint=tell("nothing was sent")
            )
        if kind == "resign" and course.stage is Stage.JOIN:
            raise IllegalError(
                tell("nobody has joined yet"),
                hint=tell("take it back with `hkoji cancel {short}`", short=position.short),
            )
        if kind == "cancel" and (course.stage is not Stage.JOIN or position.seat != 0):
            hint = tell("nothing was sent; you can give the game up with `hkoji resign {short}`", short=position.short)
            raise IllegalError(tell("a game can be cancelled only by its host, and before anyone joins"), hint=hint)
        self._post(course, body)
        return Made(self._fresh().position, course.seq + 1)

    def sign(self, notation: str) -> Submission:
        """Signs a move without sending it; openings and entry are kept here.

        From what was seen last, and without the service; only when there was nothing to decide then is it asked.
        """
        position = self.stored()
        if not position.legal and not position.over:
            try:
                position = self.current()
            except NetworkError as error:
                self._say(tell("{reason}; going by what was seen last", reason=error))
        submission = self._make_move(position.course, position.choose(notation))
        self._warn(submission)
        self.vault.keep_signed(submission)
        return submission

    # --- the steps ------------------------------------------------------------------------------------------------

    def _player(self) -> Identity:
        if self._identity is None:
            raise LoginError(tell("there is no player here"), hint=tell("make one with `hkoji init NAME`"))
        return self._identity

    def _my_key(self) -> PublicKey:
        return self._player().key_at(self.service.url)

    def _commit_entropy(self, seat: Seat) -> str:
        from hkoji.game.openings import entropy_commit

        entropy = self._entropy(32).hex()
        self.vault.begin(self.service.url)
        self.vault.keep_entropy(entropy)
        return entropy_commit(self.vault.game, seat, entropy)

    def _make_move(self, course: Course, action: str) -> Submission:
        ruleset, seq = course.setup.ruleset, course.seq + 1
        hidden = ruleset.hidden(action) if course.state.due is Due.ACT else ()
        openings = tuple(Opening(seq, part, group.cards, self._entropy(32).hex()) for part, group in enumerate(hidden))
        commits = tuple(opening.commitment(course.setup.game) for opening in openings)
        return self._sign(course, entry_kinds.Move(ruleset.public(action) if hidden else action, commits), openings)

    def _sign(self, course: Course, body: entry_kinds.EntryBody, openings: tuple[Opening, ...] = ()) -> Submission:
        from hkoji.log.entry import make_entry
        from hkoji.log.line import sign_entry

        player = self._player()
        entry = make_entry(
            at=utc_now(),
            body=body.to_json(),
            by=player.name,
            game=course.setup.game,
            kind=body.KIND,
            prev=course.head,
            seq=course.seq + 1,
        )
        return Submission(entry, sign_entry(entry, player.signer_of(self._counting(course, body))), openings)

    def _counting(self, course: Course, body: entry_kinds.EntryBody) -> PublicKey:
        """The own key that has to sign the next entry of a game."""
        if isinstance(body, entry_kinds.Open | entry_kinds.Join):
            return body.key
        seat = course.setup.seat_of(self._player().name)
        key = None if seat is None else course.setup.keys[seat]
        return key or self._my_key()

    def _post(self, course: Course, body: entry_kinds.EntryBody) -> None:
        self._send(self._sign(course, body))

    def _send(self, submission: Submission) -> None:
        """Keeps, then sends. Without an answer the submission stays in the outbox, for the next command to send."""
        self._warn(submission)
        self.vault.keep_outbox(submission)
        self._deliver(submission)

    def _deliver_pending(self) -> None:
        pending = self.vault.outbox()
        if pending is not None:
            self._deliver(pending)

    def _deliver(self, submission: Submission) -> None:
        """Sends the stored bytes. A refusal empties the outbox, but the entry is not forgotten: it exists."""
        try:
            lines = self.service.submit(submission)
        except REFUSALS as error:
            if isinstance(error, ConflictError):
                verify_head(self.lines(), error.seq, error.head)
            self.vault.keep_signed(submission)
            self.vault.clear_outbox()
            raise
        known = self.record.known()
        kept = known.lines if known else ()
        with self.record.refusals.kept_if_refused(kept, lines):
            self.service.verify_submitted(submission, lines)
        last = kept[-1].entry.seq if kept else -1
        new = tuple(line for line in lines if line.entry.seq > last)
        try:
            self.record.accept(known, new, None)
        except TrustError as error:
            # The entry has brought cards that only the view shows; if that is not it, the same is found out again.
            if not isinstance(error, NotShownError):
                self.record.refusals.keep(error, kept, lines)
                self._say(tell("warning: {reason}", reason=error))
                self._say(error.hint)
            self.record.refresh(new)
        self.vault.clear_outbox()

    def _fresh(self) -> Known:
        """What is known; with the view as of now if new cards may have come to this player since the last one."""
        known = self.record.require()
        view, course = known.view, known.position.course
        if known.seat is not None and (view is None or (known.position.mine and view.seq != course.seq)):
            return self.record.refresh()
        return known

    def _arrived(self, pending: Submission | None, kind: str) -> int | None:
        """The number of a submission that waited and is in the log now."""
        if pending is None or pending.entry.kind != kind:
            return None
        lines = self.lines()
        seq = pending.entry.seq
        return seq if seq < len(lines) and lines[seq].entry.text == pending.entry.text else None

    def _made_before(self, position: Position, seq: int, notation: str) -> Made:
        """The move of a command that broke off has arrived now: it must be the one that was asked for."""
        steps = position.replay.steps
        made = action_of(steps[seq])
        if steps[seq - 1].course.state.parse_action(notation) == made:
            return Made(position, seq)
        raise ConflictError(
            position.course.setup.game,
            seq=position.course.seq,
            head=position.course.head,
            hint=tell("your earlier move {made} has arrived as entry {seq}; nothing else was sent", made=made, seq=seq),
        )

    def _warn(self, submission: Submission) -> None:
        signed = self.vault.signed(submission.entry.seq)
        if any(text != submission.entry.text for text in signed):
            self._say(tell("warning: {reason}", reason=_EITHER))


def refuse_chosen_cards(course: Course) -> None:
    """Raises `TrustError` unless the player has a part in the shuffle: a service may not choose the dealer either."""
    dealer = course.setup.terms.name
    if dealer != SERVER_V1:
        raise TrustError(
            tell("the game's dealer is {dealer}, of which the service alone can choose the cards", dealer=dealer),
            hint=tell("nothing was signed; play at a service that offers {dealer}", dealer=SERVER_V1),
        )
