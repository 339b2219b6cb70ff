"""The course of a game: its log so far, understood. A fold of entries, one for every observer.

docs/spec/log.md, "Kinds" and "Who may append". `Course.apply` checks that an entry is the one that may come next,
and turns it into the rules' events; what the log does not say (cards) comes from a `Knowledge`. It checks neither
signatures nor receipts: those need keys from outside and are the audit's and the host's.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, NamedTuple

from hkoji.errors import (
    CommitmentError,
    ForbiddenError,
    GameOverError,
    IllegalActionError,
    IllegalError,
    MalformedError,
    NotYourTurnError,
)
from hkoji.game import bodies, dealer_terms
from hkoji.game.knowledge import Knowledge
from hkoji.game.openings import Opening, entropy_commit, verify_openings
from hkoji.game.rekey_entries import KeyChange, Rekey, Revoke
from hkoji.game.setup import FaceDown, Setup
from hkoji.log.chain import GENESIS, verify_link
from hkoji.log.entry import SERVER_NAME, Entry
from hkoji.log.private_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.events import Chance, Close, Deal, Draw, Event, Outcome, Reveal, Seat
from hkoji.rules.protocol import DECISION_DUE, DECISION_KINDS, Due, State


class Stage(StrEnum):
    """Where a game stands between its first and last entry: what its log waits for."""

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


class Course(NamedTuple):
    """A game up to one entry, as one observer knows it. A value: `apply` gives another or raises."""

    setup: Setup
    seq: int
    head: str
    stage: Stage
    state: State
    draws: tuple[int, int] = (0, 0)
    """How many cards each seat has drawn in the current round."""
    face_down: tuple[FaceDown, ...] = ()
    """In order of (seq, part)."""
    dealt: tuple[tuple[str, str], ...] = ()
    """For each round and seat the cards it got, in order: its deal, then its draws."""
    rekeyed: bool = False
    """Whether the last entry was a `rekey`, which no other may follow directly."""

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended, once it has."""
        return self.state.outcome

    @property
    def status(self) -> str:
        """`offered`, `open`, `playing` or `finished`: the stage in the words of lists and boards."""
        if self.finished:
            return "finished"
        return {Stage.OPEN: "offered", Stage.JOIN: "open"}.get(self.stage, "playing")

    @property
    def finished(self) -> bool:
        """Whether the log has its end; in `Stage.UNSEAL` not every card is known yet."""
        return self.stage in (Stage.UNSEAL, Stage.OVER)

    @property
    def actor(self) -> Seat | None:
        """The seat that owes the next entry; None when nobody known by seat does."""
        if self.stage is Stage.PLAY and self.state.due in DECISION_DUE:
            return self.state.actor
        return _SEED_SEATS.get(self.stage)

    def server_owes(self) -> str | None:
        """The kind of entry that the service owes now, in the transaction of the entry before; None if it owes none."""
        if self.stage is Stage.CHANCE:
            return "chance"
        if self.stage is Stage.END:
            return "end"
        return "reveal" if self.stage is Stage.PLAY and self.state.due is Due.REVEAL else None

    def signer(self, entry: Entry, body: bodies.Body) -> PublicKey:
        """The key that must have signed `entry`, which follows this course.

        Raises `ForbiddenError` when its author has no place in the game.
        """
        if entry.by == SERVER_NAME:
            return self.setup.offer.server_key
        if isinstance(body, bodies.Open | bodies.Join):
            return body.key
        seat = self.setup.seat_of(entry.by)
        key = None if seat is None else self.setup.keys[seat]
        if key is None:
            raise ForbiddenError(tell("{by} does not play in game {game}", by=entry.by, game=self.setup.game[:8]))
        return key

    def due_openings(self) -> tuple[FaceDown, ...]:
        """The face-down cards that the next `reveal` must open (those that count), or the `end` (all)."""
        if self.stage is Stage.END:
            return self.face_down
        return tuple(card for card in self.face_down if card.counts and card.round == self.state.round)

    def apply(self, entry: Entry, body: bodies.Body, knowledge: Knowledge) -> tuple[Course, tuple[Event, ...]]:
        """The course after `entry`, and the rules' events it brings.

        Raises `MalformedError` if the entry is not a link of this chain or breaks a format, `IllegalError` (not the
        author's turn, not legal, over …), `ForbiddenError`, `CommitmentError`.
        """
        verify_link(entry, self.seq, self.head, self.setup.game)
        if self.stage is Stage.OVER or (self.finished and entry.by != SERVER_NAME):
            raise GameOverError(self.setup.game)
        self._check_author(entry, body)
        after, events = _APPLY[type(body)](self, entry, body, knowledge)
        return after._replace(seq=entry.seq, head=entry.head, rekeyed=isinstance(body, Rekey)), events

    def verify_chance(self, body: bodies.ChanceBody, knowledge: Knowledge) -> None:
        """Checks what chance has decided in the next entry, if seed and entropy are known. Raises `CommitmentError`."""
        dealer = self.setup.dealer(knowledge.seed)
        given = dealer.chance() if dealer else None
        if given and (given.first, given.markers) != (body.first, body.markers):
            raise CommitmentError(tell("chance is not what the committed seed gives"), seq=self.seq + 1, part=0)

    # --- who may append what ----------------------------------------------------------------------------------

    def _check_author(self, entry: Entry, body: bodies.Body) -> None:
        by_server = entry.by == SERVER_NAME
        if by_server != (entry.kind in bodies.SERVER_KINDS):
            raise ForbiddenError(tell("a {kind} is not for {by} to write", kind=entry.kind, by=entry.by))
        owed = self.server_owes()
        if by_server:
            waits = isinstance(body, bodies.Timeout | Revoke) and self.actor is not None and owed is None
            done = isinstance(body, bodies.Unseal) and self.stage is Stage.UNSEAL
            if not waits and not done and entry.kind != owed:
                raise IllegalError(tell("the service has no {kind} to write now", kind=entry.kind))
            return
        if owed is not None:
            raise NotYourTurnError(tell("the service owes the {owed} first", owed=owed), actor=None)
        if isinstance(body, bodies.Open | bodies.Join):
            return
        seat = self.setup.seat_of(entry.by)
        if seat is None:
            raise ForbiddenError(tell("{by} does not play in game {game}", by=entry.by, game=self.setup.game[:8]))
        if isinstance(body, bodies.Resign | bodies.Cancel):
            return
        if self.actor is None:
            raise NotYourTurnError(tell("the game waits for a {due}", due=_STAGES[self.stage]), actor=None)
        if seat != self.actor:
            name = self.setup.names[self.actor]
            raise NotYourTurnError(
                tell("it is not the turn of {by}: the game waits for {name}", by=entry.by, name=name), actor=self.actor
            )

    def _expect(self, kind: str, *stages: Stage) -> None:
        if self.stage not in stages:
            raise IllegalError(
                tell("a {kind} cannot come now: the game waits for {waits_for}", kind=kind, waits_for=self._waits_for())
            )

    def _waits_for(self) -> str:
        return (
            tell("a move ({due})", due=self.state.due.value)
            if self.stage is Stage.PLAY
            else tell("the {due}", due=_STAGES[self.stage])
        )

    # --- one method a kind ------------------------------------------------------------------------------------

    def _open(self, entry: Entry, body: bodies.Open, _: Knowledge) -> _Applied:
        self._expect("open", Stage.OPEN)
        if body.invite and body.invite.name == entry.by:
            raise IllegalError(tell("nobody can invite themselves"))
        setup = self.setup._replace(
            names=(entry.by, None),
            keys=(body.key, None),
            invite=body.invite,
            entropy_commits=(body.entropy_commit, None),
        )
        return self._replace(setup=setup, stage=Stage.JOIN), ()

    def _join(self, entry: Entry, body: bodies.Join, _: Knowledge) -> _Applied:
        self._expect("join", Stage.JOIN)
        setup = self.setup
        if entry.by == setup.names[0] or body.key == setup.keys[0]:
            raise IllegalError(tell("host and guest must differ in name and in key"))
        invite = setup.invite
        if invite and (entry.by != invite.name or invite.key not in (None, body.key)):
            raise ForbiddenError(tell("the game is open only to {name}", name=invite.name))
        if body.entropy_commit == setup.entropy_commits[0]:
            raise IllegalError(tell("the guest's commitment repeats the host's"))
        setup = setup._replace(
            names=(setup.names[0], entry.by),
            keys=(setup.keys[0], body.key),
            entropy_commits=(setup.entropy_commits[0], body.entropy_commit),
        )
        return self._replace(setup=setup, stage=Stage.GUEST_SEED), ()

    def _seed(self, entry: Entry, body: bodies.Seed, knowledge: Knowledge) -> _Applied:
        self._expect("seed", Stage.GUEST_SEED, Stage.HOST_SEED)
        seat = _SEED_SEATS[self.stage]
        setup = self.setup
        if entropy_commit(setup.game, seat, body.entropy) != setup.entropy_commits[seat]:
            raise CommitmentError(tell("the entropy does not give the commitment"), seq=entry.seq, part=0)
        host, guest = setup.entropy
        setup = setup._replace(entropy=(body.entropy, guest) if seat == 0 else (host, body.entropy))
        if seat == 1:
            return self._replace(setup=setup, stage=Stage.HOST_SEED), ()
        if setup.ruleset.chance():
            return self._replace(setup=setup, stage=Stage.CHANCE), ()
        return self._replace(setup=setup, stage=Stage.PLAY)._advance(knowledge, ())

    def _chance(self, _: Entry, body: bodies.ChanceBody, knowledge: Knowledge) -> _Applied:
        decided = {name for name in ("first", "markers") if getattr(body, name) is not None}
        if decided != set(self.setup.ruleset.chance()):
            raise IllegalError(tell("it decides something else than chance has to"))
        self.verify_chance(body, knowledge)
        event = Chance(body.first, body.markers)
        return self._replace(stage=Stage.PLAY, state=self.state.apply(event))._advance(knowledge, (event,))

    def _move(self, entry: Entry, body: bodies.Move, knowledge: Knowledge) -> _Applied:
        if self.stage is not Stage.PLAY:
            raise IllegalError(
                tell("no move can come now: the game waits for {waits_for}", waits_for=self._waits_for())
            )
        ruleset, state, seat = self.setup.ruleset, self.state, self.actor
        assert seat is not None
        hidden = ruleset.hidden(body.action) if state.due is Due.ACT else ()
        if state.due is Due.ACT and ruleset.public(body.action) != body.action:
            raise MalformedError(tell("move"), tell("hidden cards are written as X in an entry"))
        if len(hidden) != len(body.commit):
            raise MalformedError(
                tell("move"),
                tell(
                    "{action} takes {wanted} commitments, not {given}",
                    action=body.action,
                    wanted=len(hidden),
                    given=len(body.commit),
                ),
            )
        if len(set(body.commit)) != len(body.commit):
            raise MalformedError(tell("move"), tell("a commitment is repeated"))
        event = DECISION_KINDS[state.due](seat, knowledge.complete(ruleset, seat, entry.seq, body.action))
        try:
            applied = state.apply(event)
        except IllegalActionError as error:
            canonical = state.parse_action(body.action)
            if canonical != body.action:
                raise MalformedError(
                    tell("move"),
                    tell("the canonical form of {action} is {canonical}", action=body.action, canonical=canonical),
                ) from error
            raise
        face_down = self.face_down + tuple(
            FaceDown(entry.seq, part, seat, state.round, commit, group.counts)
            for part, (group, commit) in enumerate(zip(hidden, body.commit, strict=True))
        )
        return self._replace(state=applied, face_down=face_down)._advance(knowledge, (event,))

    def _reveal(self, _: Entry, body: bodies.RevealBody, knowledge: Knowledge) -> _Applied:
        due = self._open_cards(body.openings)
        cards = {card.seat: opening.cards for card, opening in zip(due, body.openings, strict=True)}
        state = self.state
        events: list[Event] = []
        for seat in state.due_reveals():
            events.append(Reveal(seat, cards[seat]))
            state = state.apply(events[-1])
        left = tuple(card for card in self.face_down if card not in due)
        return self._replace(state=state, face_down=left)._advance(knowledge, tuple(events))

    def _change_key(self, entry: Entry, body: KeyChange, _: Knowledge) -> _Applied:
        if self.rekeyed and isinstance(body, Rekey):
            raise IllegalError(tell("one new key cannot follow another without a move in between"))
        return self._replace(setup=self.setup.with_changed_key(entry, body, self.actor)), ()

    def _resign(self, entry: Entry, _: bodies.Resign, __: Knowledge) -> _Applied:
        self._expect("resign", Stage.GUEST_SEED, Stage.HOST_SEED, Stage.PLAY)
        seat = self.setup.seat_of(entry.by)
        assert seat is not None
        return self._close(Outcome("resign", 1 - seat))

    def _timeout(self, _: Entry, body: bodies.Timeout, __: Knowledge) -> _Applied:
        if body.seat != self.actor:
            raise IllegalError(tell("seat {seat} does not owe an entry", seat=body.seat))
        return self._close(Outcome("timeout", 1 - body.seat))

    def _cancel(self, _: Entry, __: bodies.Cancel, ___: Knowledge) -> _Applied:
        self._expect("cancel", Stage.JOIN)
        return self._close(Outcome("cancel", None))

    def _end(self, entry: Entry, body: bodies.End, _: Knowledge) -> _Applied:
        if body.result != self.state.outcome:
            raise IllegalError(tell("the result is not the one that the game has come to"))
        dealer_terms.verify_end(self.setup.offer.terms, self.setup.game, entry.seq, body.seed)
        self._open_cards(body.openings)
        return self._replace(stage=Stage.OVER if body.seed else Stage.UNSEAL, face_down=()), ()

    def _unseal(self, entry: Entry, body: bodies.Unseal, _: Knowledge) -> _Applied:
        dealer_terms.verify_seed(self.setup.offer.terms, self.setup.game, entry.seq, body.seed)
        return self._replace(stage=Stage.OVER), ()

    # --- shared steps -----------------------------------------------------------------------------------------

    def _close(self, outcome: Outcome) -> _Applied:
        event = Close(outcome)
        return self._replace(state=self.state.apply(event), stage=Stage.END), (event,)

    def _open_cards(self, openings: tuple[Opening, ...]) -> tuple[FaceDown, ...]:
        due = self.due_openings()
        if [(card.seq, card.part) for card in due] != [(opening.seq, opening.part) for opening in openings]:
            raise IllegalError(tell("it opens other cards than those that are due"))
        verify_openings(self.setup.game, openings, (card.commit for card in due))
        return due

    def _advance(self, knowledge: Knowledge, events: tuple[Event, ...]) -> _Applied:
        """Deals and draws as long as one is due: nobody decides them, and no entry says them."""
        state, draws, dealt = self.state, self.draws, self.dealt
        pack = self.setup.ruleset.pack
        while True:
            event: Deal | Draw
            if state.due is Due.DRAW and state.actor is not None:
                seat = state.actor
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
            else:
                break
            state = state.apply(event)
            events = (*events, event)
        stage = Stage.END if state.due is Due.OVER else self.stage
        return self._replace(state=state, draws=draws, dealt=dealt, stage=stage), events


_Applied = tuple[Course, tuple[Event, ...]]

_SEED_SEATS: Final = {Stage.GUEST_SEED: 1, Stage.HOST_SEED: 0}
_APPLY: Final[dict[type, Callable[[Course, Entry, Any, Knowledge], _Applied]]] = {  # Any: each takes its own body
    bodies.Open: Course._open,
    bodies.Join: Course._join,
    bodies.Seed: Course._seed,
    bodies.ChanceBody: Course._chance,
    bodies.Move: Course._move,
    bodies.RevealBody: Course._reveal,
    Rekey: Course._change_key,
    Revoke: Course._change_key,
    bodies.Resign: Course._resign,
    bodies.Timeout: Course._timeout,
    bodies.Cancel: Course._cancel,
    bodies.End: Course._end,
    bodies.Unseal: Course._unseal,
}


def begin(entry: Entry, body: bodies.Body) -> Course:
    """The course after a game's first entry. Raises `MalformedError` if it is not the service's offer at seq 0."""
    if entry.seq != 0 or entry.prev != GENESIS:
        raise MalformedError(tell("log"), tell("it does not begin with entry 0"))
    if not isinstance(body, bodies.Offer) or entry.by != SERVER_NAME:
        raise MalformedError(tell("log"), tell("its first entry is not the service's offer"))
    return Course(Setup(entry.game, body), 0, entry.head, Stage.OPEN, body.ruleset.initial())
