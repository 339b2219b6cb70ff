"""The course of a game: the state of the game that its log gives so far. The same fold of entries serves all observers.

docs/spec/log.md, "Kinds" and "Who may append". `Course.apply` checks that an entry may come next; the class of its kind
(`hkoji.game.entry_kinds`) defines its effect. Hidden cards, which the log does not contain, come from a `Knowledge`.
This module checks no signatures or receipts: the audit and the referee do that.
"""

from __future__ import annotations

from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, Self, TypeAlias

from hkoji.errors import (
    ForbiddenError,
    GameOverError,
    IllegalError,
    KeptDepositError,
    MalformedError,
    NotYourTurnError,
)
from hkoji.game.agreement import TimeControl
from hkoji.game.clock import Effect, GameClock
from hkoji.game.commitments import Opening, verify_openings
from hkoji.game.held_keys import Gateway, verify_mail
from hkoji.game.knowledge import Knowledge
from hkoji.game.parts import NO_PARTS, PART_KEYS, Parts
from hkoji.game.setup import Setup
from hkoji.log.canonical import JsonValue, read_hex
from hkoji.log.line import SERVER_NAME, Entry, verify_link
from hkoji.log.mail_claim import MailClaim
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.events import Close, Deal, Draw, Event, Outcome, Seat
from hkoji.rules.protocol import DECISION_DUE, Due, State

if TYPE_CHECKING:
    from hkoji.game.sealing import Sealed


class FaceDown(NamedTuple):
    """A group of cards played face down and not opened yet."""

    seq: int
    part: int
    seat: Seat
    round: int
    commit: str
    counts: bool


class Stage(StrEnum):
    """The stage of a game between its first and last entry, named after what its log waits for."""

    OPEN = "open"
    JOIN = "join"
    GUEST_SEED = "guest seed"
    HOST_SEED = "host seed"
    CHANCE = "chance"
    PLAY = "play"
    END = "end"
    UNSEAL = "unseal"
    OVER = "over"


_STAGES: Final = {
    Stage.OPEN: tell("open"),
    Stage.JOIN: tell("join"),
    Stage.GUEST_SEED: tell("guest seed"),
    Stage.HOST_SEED: tell("host seed"),
    Stage.CHANCE: tell("chance"),
    Stage.PLAY: tell("play"),
    Stage.END: tell("end"),
    Stage.UNSEAL: tell("unseal"),
    Stage.OVER: tell("over"),
}


STATUSES: Final = ("open", "playing", "finished", "cancelled")
"""The statuses of the games in lists. A game that was offered and not opened yet is in no list."""
OVER: Final = ("finished", "cancelled")
"""The statuses of a game whose log has its `end`."""


class Author(Enum):
    """The author who may write an entry of a kind, and when."""

    SERVICE = auto()
    """The service, when it owes an entry of this kind."""
    SERVICE_ANY_TURN = auto()
    """The service, while a seat owes the next entry."""
    SERVICE_WHILE_OPEN = auto()
    """The service, while the game waits for a guest."""
    SERVICE_AFTER_PLAY = auto()
    """The service, directly after a `seed` or `move`, while a clock runs."""
    SERVICE_AFTER_END = auto()
    """The service, after an end that left the seed unopened."""
    NEWCOMER = auto()
    """A player who has no seat yet."""
    ACTOR = auto()
    """The seat that owes the next entry."""
    GIVER_OR_SERVICE = auto()
    """The same, or the service where it owes an entry of this kind."""
    SEAT = auto()
    """Either seat, at any time."""


_BY_PLAYERS: Final = (Author.NEWCOMER, Author.ACTOR, Author.GIVER_OR_SERVICE, Author.SEAT)


class EntryBody:
    """The body of an entry, as a value: the base class of all kinds. Each kind is a subclass in `entry_kinds`."""

    __slots__ = ()

    KIND: ClassVar[str]
    """The name of the kind in the log."""
    AUTHOR: ClassVar[Author]
    EFFECT: ClassVar[Effect] = Effect.NONE
    """The effect of an entry of this kind on the clock."""

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Self:
        """Reads a body. Raises `NotUnderstoodError`, `WeakKeyError` or `MalformedError`."""
        raise NotImplementedError

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body as it stands in the log."""
        raise NotImplementedError

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Returns the course after this entry. `Course.apply` has checked the author and sets `seq` and `head`.

        Raises `IllegalError`, `ForbiddenError`, `CommitmentError` or `MalformedError`.
        """
        course.expect(self.KIND)
        return course, ()

    @property
    def effect(self) -> Effect:
        """The effect of this entry on the clock."""
        return self.EFFECT

    @property
    def mail(self) -> MailClaim | None:
        """The claim of the service about the mail behind this entry; None if a player's own key has signed it."""
        return None

    @property
    def certificate(self) -> Gateway | None:
        """The certificate of a held key in this entry, if there is one."""
        return None

    @property
    def parts(self) -> Parts:
        """The locks, shares and proofs of the entry in a sealed game; none in all others."""
        return NO_PARTS

    def newcomer_key(self) -> PublicKey | None:
        """Returns the key that must sign this entry if its author is a newcomer; None for all other kinds."""
        return None

    def credited(self, control: TimeControl) -> int:  # noqa: ARG002
        """Returns the seconds that this entry credits to the seat that has moved before it."""
        return 0


class Course(NamedTuple):
    """A game up to one entry, as one observer knows it. It is a value: `apply` returns another or raises."""

    setup: Setup
    seq: int
    head: str
    stage: Stage
    state: State
    draws: tuple[int, int] = (0, 0)
    """The number of cards that each seat has drawn in the current round."""
    face_down: tuple[FaceDown, ...] = ()
    """In order of (seq, part)."""
    dealt: tuple[tuple[str, str], ...] = ()
    """For each round and seat, the cards that the seat got, in order: its deal, then its draws."""
    clock: GameClock | None = None
    """None in a game without a clock, and before a guest has joined."""
    sealed: Sealed | None = None
    """The cards of a sealed game; None in all others."""

    def shown_to(self, seat: Seat) -> tuple[str, ...]:
        """For each round the cards of a seat that the service shows it in a view: of a sealed game it knows none."""
        return () if self.sealed is not None else tuple(cards[seat] for cards in self.dealt)

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the game; None before its end."""
        return self.state.outcome

    @property
    def status(self) -> str:
        """The stage as lists and boards name it: `offered`, `open`, `playing`, `finished` or `cancelled`."""
        if self.finished:
            assert self.outcome is not None
            return "cancelled" if self.outcome.cancelled else "finished"
        return {Stage.OPEN: "offered", Stage.JOIN: "open"}.get(self.stage, "playing")

    @property
    def finished(self) -> bool:
        """Whether the log has its `end`. In `Stage.UNSEAL`, some cards are not known yet."""
        return self.stage in (Stage.UNSEAL, Stage.OVER)

    @property
    def seed_seat(self) -> Seat | None:
        """The seat that must reveal its entropy now, if any."""
        return _SEED_SEATS.get(self.stage)

    @property
    def actor(self) -> Seat | None:
        """The seat that owes the next entry; None if no seat does."""
        if self.stage is Stage.PLAY and self.state.due in DECISION_DUE:
            return self.state.actor
        return self.seed_seat if self.stage is not Stage.PLAY else self.debtor

    @property
    def debtor(self) -> Seat | None:
        """The seat that owes a `release` in a sealed game; None if none does."""
        if self.sealed is None or self.stage is not Stage.PLAY:
            return None
        return self.sealed.debtor(self.state, self.draws)

    @property
    def to_move(self) -> str | None:
        """The player who owes the next entry or is invited to join; None if that is no particular player."""
        if self.stage is Stage.JOIN:
            return self.setup.invited
        return None if self.actor is None else self.setup.names[self.actor]

    @property
    def rekeyed(self) -> bool:
        """Whether the last entry is a `rekey` or `delegate`: then no other one may follow."""
        replaced = self.setup.replaced
        if replaced and replaced[-1].seq == self.seq:
            return not replaced[-1].vouched
        # A delegation that has begun or ended with the last entry; one that a `revoke` has ended was found above.
        return any(not held.only and self.seq in (held.since, held.until) for held in self.setup.held_keys)

    @property
    def joinable(self) -> bool:
        """Whether the game waits for a guest."""
        return self.stage is Stage.JOIN

    def deadline(self, at: str, credits: int = 0) -> str | None:
        """Returns the last second in which this course can go on in time; None if no time runs.

        `at` is the time of record of the last entry, and `credits` are the seconds given to the seat that owes the
        next one. While the game waits for a guest, it is the time when the offer expires.
        """
        if self.joinable:
            return self.setup.agreement.expires
        actor = self.actor
        if self.clock is None or actor is None:
            return None
        return self.clock.settled(at).deadline(self.clock.control, actor, credits)

    def server_owes(self) -> str | None:
        """Returns the kind of entry that the service owes now, or None.

        The service must append it in the same transaction as the entry before it.
        """
        if self.stage is Stage.CHANCE:
            return "chance"
        if self.stage is Stage.END:
            return "end"
        if self.stage is not Stage.PLAY:
            return None
        if self.sealed is not None:
            return "release" if self.sealed.due_deposit(self.state, self.draws) else None
        return "reveal" if self.state.due is Due.REVEAL else None

    def signer(self, entry: Entry, body: EntryBody) -> PublicKey:
        """Returns the key that must have signed `entry`, which follows this course.

        Raises `ForbiddenError` if its author does not play in the game.
        """
        if entry.by == SERVER_NAME:
            return self.setup.server_key
        if (newcomer := body.newcomer_key()) is not None:
            return newcomer
        key = self.setup.key_at(self.setup.require_seat(entry.by), entry.seq, by_mail=body.mail is not None)
        assert key is not None
        return key

    def due_openings(self) -> tuple[FaceDown, ...]:
        """Returns the face-down cards that the next `reveal` must open (those that count), or the `end` (all)."""
        if self.stage is Stage.END:
            return self.face_down
        return tuple(card for card in self.face_down if card.counts and card.round == self.state.round)

    def apply(self, entry: Entry, body: EntryBody, knowledge: Knowledge) -> Applied:
        """Returns the course after `entry`, and the events of the rules that the entry brings.

        Raises `MalformedError` if the entry is not a link of this chain or breaks a format, `IllegalError` (not the
        author's turn, not legal, over …), `ForbiddenError`, `CommitmentError`.
        """
        verify_link(entry, self.seq, self.head, self.setup.game)
        if self.stage is Stage.OVER or (self.finished and entry.by != SERVER_NAME):
            raise GameOverError(self.setup.game)
        seat = self._verify_author(entry, body.AUTHOR)
        if entry.by != SERVER_NAME:
            self._verify_mail(entry, body, seat)
        if self.sealed is None:
            if body.parts is not NO_PARTS:
                raise MalformedError(entry.kind, tell("this is not a sealed game"))
        elif body.certificate is not None or body.mail is not None:
            raise IllegalError(tell("no key of a service can play in a sealed game, and no mail"))
        after, events = body.apply(self, entry, knowledge)
        setup, _, _, stage, state, draws, face_down, dealt, clock, sealed = after
        if body.mail is not None and (signed_for := setup.seat_of(entry.by)) is not None:
            setup = setup.weaken(signed_for, body.mail)
        if clock is not None and self.clock is not None:  # else the entry has just started it
            assert entry.seen is not None
            clock = clock.follow(body.effect, seat, entry.head, entry.seen, body.credited(clock.control))
        # Made field by field, here and in `advance`: `_replace` takes twice as long, and this is done for every entry.
        return Course(setup, entry.seq, entry.head, stage, state, draws, face_down, dealt, clock, sealed), events

    def _verify_author(self, entry: Entry, author: Author) -> Seat | None:
        """Checks that the author of `entry`, whose kind `author` may write, may append it here.

        Returns the author's seat; None for the service and for a newcomer. Raises `ForbiddenError`, `IllegalError` or
        `NotYourTurnError`.
        """
        by_server = entry.by == SERVER_NAME
        if by_server == (author in _BY_PLAYERS) and not (by_server and author is Author.GIVER_OR_SERVICE):
            raise ForbiddenError(tell("{by} may not write an entry of the kind {kind}", kind=entry.kind, by=entry.by))
        owed = self.server_owes()
        if by_server:
            if entry.kind != owed and not self._service_may(author, owed):
                raise IllegalError(tell("the service owes no {kind} now", kind=entry.kind))
            return None
        if owed == "release":
            raise KeptDepositError(tell("the service has a deposit for this draw, and has not released it"))
        if owed is not None:
            raise NotYourTurnError(tell("the service owes the {owed} first", owed=owed), actor=None)
        if author is Author.NEWCOMER:
            return None
        seat = self.setup.require_seat(entry.by)
        if author is Author.SEAT:
            return seat
        actor = self.actor
        if actor is None:
            raise NotYourTurnError(tell("the game waits for a {due}", due=self.waits_for()), actor=None)
        if seat != actor:
            name = self.setup.names[actor]
            raise NotYourTurnError(
                tell("it is not the turn of {by}: the game waits for {name}", by=entry.by, name=name), actor=actor
            )
        return seat

    def _service_may(self, author: Author, owed: str | None) -> bool:
        match author:
            case Author.SERVICE_ANY_TURN:
                return self.actor is not None and owed is None
            case Author.SERVICE_WHILE_OPEN:
                return self.joinable
            case Author.SERVICE_AFTER_PLAY:
                return self.clock is not None and self.clock.last.owed
            case Author.SERVICE_AFTER_END:
                return self.stage is Stage.UNSEAL
            case _:
                return False

    def _verify_mail(self, entry: Entry, body: EntryBody, seat: Seat | None) -> None:
        if seat is None:  # a newcomer
            verify_mail(entry.by, body.mail, held=body.certificate is not None)
            return
        if body.mail is None and not self.setup.held_keys:  # neither side has anything of mail
            return
        held = self.setup.held_key(seat)
        verify_mail(entry.by, body.mail, held=held is not None, least=held.grade if held else None)

    # --- building blocks of the kinds -------------------------------------------------------------------------

    def expect(self, kind: str, *stages: Stage) -> None:
        """Checks that the game is at one of `stages`. Raises `IllegalError`."""
        if self.stage not in stages:
            raise IllegalError(
                tell("a {kind} cannot come now: the game waits for {waits_for}", kind=kind, waits_for=self.waits_for())
            )

    def waits_for(self) -> str:
        """Describes for people what the log waits for."""
        if self.debtor is not None:
            return tell("a release")
        return (
            tell("a move ({due})", due=self.state.due.value)
            if self.stage is Stage.PLAY
            else tell("the {due}", due=_STAGES[self.stage])
        )

    def close(self, outcome: Outcome) -> Applied:
        """Ends the game with an outcome from outside its rules."""
        event = Close(outcome)
        return self._replace(state=self.state.apply(event), stage=Stage.END), (event,)

    def open_cards(self, openings: tuple[Opening, ...]) -> tuple[FaceDown, ...]:
        """Returns the face-down cards that are due, and checks that `openings` open exactly these.

        Raises `IllegalError` or `CommitmentError`.
        """
        due = self.due_openings()
        if [(card.seq, card.part) for card in due] != [(opening.seq, opening.part) for opening in openings]:
            raise IllegalError(tell("it opens other cards than those that are due"))
        verify_openings(self.setup.game, openings, (card.commit for card in due))
        return due

    def advance(
        self,
        knowledge: Knowledge,
        events: tuple[Event, ...],
        state: State | None = None,
        face_down: tuple[FaceDown, ...] | None = None,
        sealed: Sealed | None = None,
    ) -> Applied:
        """Goes on from `state`, with `face_down` and `sealed`; by default from those of this course.

        Deals and draws while a deal or a draw is due: these are not decisions, so no entry carries them. In a sealed
        game a draw waits until the card is given.
        """
        state, draws, dealt = self.state if state is None else state, self.draws, self.dealt
        sealed = self.sealed if sealed is None else sealed
        pack = self.setup.ruleset.pack
        while True:
            event: Deal | Draw
            if state.due is Due.DRAW and state.actor is not None:
                seat = state.actor
                if sealed is not None and sealed.waits(state, draws):
                    break
                event = Draw(seat, knowledge.draw(state, seat, draws[seat]))
                draws = (draws[0] + 1, draws[1]) if seat == 0 else (draws[0], draws[1] + 1)
                host, guest = dealt[-1]
                got = (host + event.card, guest) if seat == 0 else (host, guest + event.card)
                dealt = (*dealt[:-1], got)
            elif state.due is Due.DEAL:
                raw = knowledge.deal(self.setup.ruleset, self.setup.dealer(knowledge.seed), state.round + 1)
                hands = (pack.decode(pack.encode(raw.hands[0])), pack.decode(pack.encode(raw.hands[1])))
                event = Deal(hands, raw.rest, raw.aside)
                draws, dealt = (0, 0), (*dealt, raw.hands)
                sealed = sealed.begun() if sealed is not None else None
            else:
                break
            state = state.apply(event)
            events = (*events, event)
        stage = Stage.END if state.due is Due.OVER else self.stage
        face_down = self.face_down if face_down is None else face_down
        after = Course(self.setup, self.seq, self.head, stage, state, draws, face_down, dealt, self.clock, sealed)
        return after, events


def parts_of(fields: dict[str, JsonValue]) -> Parts:
    """Reads the parts among the keys of a body; `NO_PARTS` if there are none.

    Raises `MalformedError` or `NotUnderstoodError`.
    """
    if not fields.keys() & PART_KEYS:
        return NO_PARTS
    from hkoji.game import sealed_parts

    return Parts(
        lock=sealed_parts.read_lock(fields["lock"]) if "lock" in fields else None,
        give=sealed_parts.read_give(fields["give"]) if "give" in fields else None,
        show=sealed_parts.read_show(fields["show"]) if "show" in fields else None,
        hide=sealed_parts.read_hide(fields["hide"]) if "hide" in fields else None,
        close=sealed_parts.read_close(fields["close"]) if "close" in fields else None,
        deposit=read_hex(fields["deposit"], "deposit") if "deposit" in fields else None,
    )


Applied: TypeAlias = tuple[Course, tuple[Event, ...]]
"""The course after an entry, and the events of the rules that the entry brings."""

_SEED_SEATS: Final = {Stage.GUEST_SEED: 1, Stage.HOST_SEED: 0}
