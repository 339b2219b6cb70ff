"""Makes a player's entries in a sealed game, and keeps the rules that protect the player's cards.

docs/spec/sealed.md, "How a client makes them". The log has been verified and is on disk before this module gives
anything. A machine answers only one second deck, under a first lock that was made on it. For one turn a home signs only
one choice of cards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from typing import Final, TypeVar

from hkoji.client.answers import REFUSALS
from hkoji.client.kept.sealed import LockNotes, OtherMachineError, SealedNotes
from hkoji.client.sealed_cards import UNREADABLE
from hkoji.client.sealed_choices import DepositChoice, prepare
from hkoji.client.sealing import Made
from hkoji.client.sending import EntrySender
from hkoji.client.service import utc_now
from hkoji.client.verified_log import KnownGame
from hkoji.errors import (
    ConflictError,
    GameOverError,
    HkojiError,
    IllegalError,
    NotYourTurnError,
    RevokedError,
    TimeOverError,
    TrustError,
)
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening
from hkoji.game.course import Course, EntryBody
from hkoji.game.entry_kinds import parse_body
from hkoji.game.knowledge import SeatKnowledge
from hkoji.game.position import Position, read_position, time_of_record
from hkoji.game.replay import KEEP_FOLDER, replay, require_whole
from hkoji.game.sealed_parts import GivePart
from hkoji.game.sealing import Acting, act
from hkoji.game.submission import Submission, draft_entry
from hkoji.log.line import Line
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Due
from hkoji.sealed import sodium

_Body = TypeVar("_Body", bound=EntryBody)

_SAME_TURN: Final = (entry_kinds.Rekey.KIND, entry_kinds.Revoke.KIND, entry_kinds.Credit.KIND)
"""The kinds of entries that change the place of the next entry, and not the turn. A `credit` may be shown late."""
_MOVED_ON: Final = (ConflictError, GameOverError, NotYourTurnError, RevokedError, TimeOverError)
"""The refusals of an entry that is legal by the log here."""


class SealedPlayer:
    """Makes and sends the entries of the player of `sender`."""

    def __init__(self, sender: EntrySender) -> None:
        self._sender: Final = sender
        self._vault: Final = sender.vault
        self.cards: Final = sender.record.sealed_cards
        self.notes: Final = SealedNotes(sender.vault)

    @cached_property
    def _locks(self) -> LockNotes:
        return LockNotes(self._vault.game)

    # --- entries --------------------------------------------------------------------------------------------------

    def prepare(self, deposits: bool | None, *, new_key: bool) -> None:
        """Makes what the player needs before a seat is taken, and keeps the wish. Raises what `prepare` raises."""
        prepare(self._sender.service.home, self._sender.service, self._sender.player().name, new_key=new_key)
        if deposits is not None:
            self.notes.keep_deposits(deposits)

    def open(self, course: Course, body: entry_kinds.Open, entropy: str) -> None:
        """Sends the `open` of the player, with the first lock."""
        body = body._replace(parts=self.cards.sealer(course, 0, entropy).open(course))
        self._note_first_lock(course, body)
        self._send(course, 0, body, None)

    def seed(self, course: Course, seat: Seat, entropy: str) -> None:
        """Sends the `seed` of the player. One that was refused is sent again: another would deal other cards."""
        body, deposit = self._stored(course, entry_kinds.Seed)
        if body is None:
            sealer = self.cards.sealer(course, seat, entropy)
            self.cards.verify_coming(course, seat, sealer)
            made = sealer.seed(course, deposit=self._deposits_in(course, seat))
            body, deposit = entry_kinds.Seed(entropy, None, made.body), made.deposit
        self._send(course, seat, body, deposit)

    def settle(self, known: KnownGame, reveal: Callable[[], Position], again: Callable[[], Position]) -> Position:
        """Sends the `release` or the `seed` that the player owes, and returns the game. Says why if this home cannot.

        `reveal` sends a `seed`, and `again` looks for what is owed after a `release`. Both return the game.
        """
        try:
            if known.position.course.debtor != known.seat:
                return reveal()
            self._release(known)
            return again()
        except (*UNREADABLE, OtherMachineError) as error:
            self._sender.say(tell("game {short}: {reason}", short=known.position.short, reason=error))
            self._sender.say(error.hint)
            return known.position

    def _release(self, known: KnownGame) -> None:
        """Sends the `release` that the player owes."""
        course, seat = known.position.course, known.seat
        assert seat is not None
        body, deposit = self._stored(course, entry_kinds.Release)
        if body is None:
            body, deposit = self.cards.sealer(course, seat).release(course, deposit=self._deposits_in(course, seat))
        self._send(course, seat, body, deposit)

    def move(self, known: KnownGame, action: str) -> Submission:
        """Returns the signed move `action`, which is canonical and legal. For a turn it signs one choice of cards only.

        Raises `IllegalError` if another choice was signed for this turn.
        """
        course, seat = known.position.course, known.seat
        assert seat is not None
        before, made = self._made_before(known), None
        if before is not None:
            body = parse_body(before.entry.kind, before.entry.body)
            assert isinstance(body, entry_kinds.Move)
            chosen = self._chosen(known, seat, before, body)
            if chosen != action:
                raise IllegalError(
                    tell(
                        "you have already signed {made} for this turn; in a sealed game you cannot sign another move "
                        "for it",
                        made=chosen,
                    ),
                    hint=tell(
                        "nothing was sent; send that move again: `hkoji move {game} {made}`",
                        game=course.setup.game[:8],
                        made=chosen,
                    ),
                )
            if before.entry.prev == course.head:
                made = Made(body, before.deposit)
        if made is None:
            made = self.cards.sealer(course, seat).move(course, action, deposit=self._deposits_in(course, seat))
            self._note_first_lock(course, made.body)
        self._verify_answers(course, seat, made.body, made.deposit)
        return self._sender.sign(course, made.body, made.deposit)

    def try_move(self, known: KnownGame, action: str) -> Position:
        """Returns the position after a move that is legal and canonical. Sends and keeps nothing."""
        course, seat = known.position.course, known.seat
        assert seat is not None
        body, seq = self.cards.sealer(course, seat).move(course, action).body, course.seq + 1
        name, seen = self._sender.player().name, time_of_record(known.lines[-1])
        draft = draft_entry(course, body, by=name, at=utc_now(), seen=seen)
        hidden = course.setup.ruleset.hidden(action) if course.state.due is Due.ACT else ()
        own = self.cards.knowledge(known.replay, seat)
        opened = tuple(Opening(seq, part, group.cards, "") for part, group in enumerate(hidden))
        cards = SeatKnowledge(seat, own.dealt, {**own.openings, seq: opened})
        lines = (Line(draft.entry, b""),)  # nothing is signed
        return read_position(require_whole(replay(lines, cards, after=known.replay)), seat, name)

    def send_move(self, submission: Submission, known: KnownGame) -> None:
        """Sends a move that `move` has returned."""
        self._warned(lambda: self._sender.send(submission, known))

    def allow_here(self, known: KnownGame) -> None:
        """Notes that the player goes on here under the first lock of a round that was made on another machine.

        Raises `IllegalError` if there is no such lock, and `NoSodiumError`.
        """
        sodium.require()
        course, seat = known.position.course, known.seat
        if course.sealed is not None and seat is not None:
            for dealt in (course.sealed.coming, course.sealed.now):
                if len(dealt.decks) == len(dealt.keys) and self._is_first(known, seat, dealt.decks[0]):
                    lock = _name(dealt.decks[0])
                    if not self._locks.has(lock):
                        self._locks.answer(lock, _name(dealt.decks[1]))
                        return
        raise IllegalError(
            tell("in game {short} no round waits for another machine", short=known.position.short),
            hint=tell("nothing was changed"),
        )

    def _stored(self, course: Course, kind: type[_Body]) -> tuple[_Body | None, GivePart | None]:
        """Returns the body of an entry of a kind that was signed here to follow `course`, with its deposit."""
        for made in reversed(self._vault.made({course.head})):
            body = parse_body(made.entry.kind, made.entry.body)
            if isinstance(body, kind):
                return body, made.deposit
        return None, None

    def _send(self, course: Course, seat: Seat, body: EntryBody, deposit: GivePart | None) -> None:
        self._verify_answers(course, seat, body, deposit)
        self._warned(lambda: self._sender.post(course, body, deposit))

    def _warned(self, send: Callable[[], None]) -> None:
        """Sends, and says what a refusal of a legal entry may mean."""
        try:
            send()
        except REFUSALS as error:
            if not isinstance(error, _MOVED_ON):
                self._sender.say(
                    tell(
                        "warning: the service refuses a legal entry of a sealed game. The cards in it may have been "
                        "seen. Send the same move again"
                    )
                )
            raise

    def _deposits_in(self, course: Course, seat: Seat) -> bool:
        """Whether draws are deposited: as was said for this game, else as the player has settled.

        By default they are, but not with a service that the opponent runs.
        """
        wanted = self.notes.deposits
        if wanted is None:
            service, opponent = self._sender.service, course.setup.names[1 - seat]
            wanted = DepositChoice(service.home).wanted(service, opponent)
            self.notes.keep_deposits(wanted)
        return wanted

    # --- one choice a turn ----------------------------------------------------------------------------------------

    def _made_before(self, known: KnownGame) -> Submission | None:
        """Returns the entry with cards that was signed here for the turn that is due; None if there is none."""
        heads = {known.position.course.head}
        for step in reversed(known.replay.steps):
            if step.entry.kind not in _SAME_TURN:
                break
            heads.add(step.entry.prev)
        for made in reversed(self._vault.made(heads)):
            parts = parse_body(made.entry.kind, made.entry.body).parts
            if parts.show or parts.hide or parts.close:
                return made
        return None

    def signed_action(self, known: KnownGame, made: Submission) -> str | None:
        """Returns the action of a move that was signed here, with its cards.

        It is None for any other entry, for one that does not follow `known`, and where the cards cannot be read.
        """
        body, place, seat = parse_body(made.entry.kind, made.entry.body), made.entry.seq - 1, known.seat
        steps = known.replay.steps
        follows = place < len(steps) and steps[place].entry.head == made.entry.prev
        if seat is None or not follows or not isinstance(body, entry_kinds.Move):
            return None
        try:
            return self._chosen(known, seat, made, body)
        except HkojiError:
            return None

    def _chosen(self, known: KnownGame, seat: Seat, made: Submission, body: entry_kinds.Move) -> str:
        """Returns the action of a move that was signed here, with its cards."""
        course = known.replay.steps[made.entry.seq - 1].course
        if body.parts.hide is None:
            return body.action
        assert course.sealed is not None
        now = course.sealed.now
        acting = Acting(seat, body.action, made.entry.seq, made.entry.prev)
        after = act(now, course.setup.ruleset, acting, body.parts)
        return self.cards.sealer(course, seat).hides(after, now, body.action)

    # --- one lock, one answer -------------------------------------------------------------------------------------

    def _note_first_lock(self, course: Course, body: EntryBody) -> None:
        """Notes a first lock in `body`, which has just been made. It is not noted again where it is sent again."""
        assert course.sealed is not None
        if body.parts.lock is not None and not course.sealed.coming.decks:
            self._locks.keep(_name(body.parts.lock.deck))

    def _verify_answers(self, course: Course, seat: Seat, body: EntryBody, deposit: GivePart | None) -> None:
        """Checks and notes which second decks the shares in `body` and the deposit answer."""
        assert course.sealed is not None
        for give in (body.parts.give, deposit):
            dealt = course.sealed.round(give.round) if give is not None else None
            if dealt is not None and len(dealt.decks) == len(dealt.keys):  # else the own lock is the second
                self._verify_answer(course, seat, dealt.number, dealt.decks)

    def _verify_answer(self, course: Course, seat: Seat, number: int, decks: tuple[tuple[bytes, ...], ...]) -> None:
        known = self._sender.record.require()
        if not self._is_first(known, seat, decks[0]):
            return
        lock, answer = _name(decks[0]), _name(decks[1])
        if self._locks.has(lock) or self._has_given(known, seat, number):
            if self._locks.answer(lock, answer) != answer:
                raise TrustError(
                    tell(
                        "the service shows another deck for round {round} than the one for which you gave cards before",
                        round=number,
                    ),
                    hint=KEEP_FOLDER,
                )
            return
        game = course.setup.game[:8]
        raise OtherMachineError(
            tell("you locked the deck of round {round} on another machine", round=number),
            hint=tell(
                "nothing was sent; go on there. If you cannot: `hkoji release {game} --here`. Then do not play this "
                "game on the other machine until round {round} has begun, or a dishonest service can show your hand to "
                "your opponent",
                round=number,
                game=game,
            ),
        )

    def _is_first(self, known: KnownGame, seat: Seat, deck: tuple[bytes, ...]) -> bool:
        """Whether the first lock, with that deck, is the player's own."""
        name = known.position.course.setup.names[seat]
        for step in known.replay.steps:
            lock = step.body.parts.lock
            if lock is not None and lock.deck == deck:
                return step.entry.by == name
        return False

    def _has_given(self, known: KnownGame, seat: Seat, number: int) -> bool:
        """Whether the log has a share of the player in that round, which only another home can have given."""
        name = known.position.course.setup.names[seat]
        gives = (step.body.parts.give for step in known.replay.steps if step.entry.by == name)
        return any(give is not None and give.round == number for give in gives)


def _name(deck: tuple[bytes, ...]) -> str:
    """Returns 64 hex digits that stand for a deck."""
    return sha256(b"".join(deck)).hexdigest()
