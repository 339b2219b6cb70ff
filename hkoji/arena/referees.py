"""The referees of a match's game: one that uses only the rules, for speed, and one that writes a signed log.

A `MatchReferee` takes decisions and returns the events, with all cards known. It deals, draws and reveals by itself
until the next decision is due.

The log that a `LoggingReferee` writes has real signatures and receipts, made by `hkoji.referee`. Both players and the
service are this one program. Their keys, entropy and salts come from the match's seed, and the clock stands still, so
that the same match makes the same bytes. Such a log proves that a game kept the rules and got the cards of its deal. It
proves who made it only as far as the seed was secret.
"""

from __future__ import annotations

from typing import Final, Protocol

from hkoji import referee
from hkoji.arena.plan import MatchPlan, seated
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening, entropy_commit
from hkoji.game.dealer import Dealer
from hkoji.game.submission import Submission
from hkoji.log.line import SERVER_NAME, Line, format_log, make_entry, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.rules.events import Deal, Decision, Draw, Event, Reveal
from hkoji.rules.protocol import DECISION_KINDS, Due, Ruleset, State


class MatchReferee(Protocol):
    """A game in progress."""

    @property
    def state(self) -> State:
        """The position, with all cards known."""

    def begin(self) -> tuple[Event, ...]:
        """Starts the game and returns the events up to the first decision."""

    def decide(self, action: str) -> tuple[Event, ...]:
        """Applies the actor's decision, in canonical notation, and returns the events up to the next decision.

        Raises `HkojiError`, and changes nothing, if the decision is not possible.
        """


class RulesReferee:
    """A `MatchReferee` that only applies the rules and keeps the position. It writes no log."""

    def __init__(self, ruleset: Ruleset, dealer: Dealer) -> None:
        self._ruleset = ruleset
        self._dealer = dealer
        self._counting: dict[int, str] = {}
        self._state: State = ruleset.initial()

    @property
    def state(self) -> State:
        """The position."""
        return self._state

    def begin(self) -> tuple[Event, ...]:
        """Applies chance, the first deal and the first draw."""
        return self._go_on(())

    def decide(self, action: str) -> tuple[Event, ...]:
        """Applies the actor's decision."""
        state = self._state
        seat = state.actor
        assert seat is not None
        event: Decision = DECISION_KINDS[state.due](seat, action)
        self._state = state.apply(event)
        if state.due is Due.ACT:
            for hidden in self._ruleset.hidden(action):
                if hidden.counts:
                    self._counting[seat] = hidden.cards
        return self._go_on((event,))

    def _go_on(self, happened: tuple[Event, ...]) -> tuple[Event, ...]:
        """Applies the events that follow without a decision."""
        state, events = self._state, list(happened)
        width = self._ruleset.pack.width
        while True:
            event: Event | None
            match state.due:
                case Due.DRAW:
                    assert state.actor is not None
                    event = Draw(state.actor, state.deck[:width])
                case Due.DEAL:
                    event = self._deal(state.round + 1)
                case Due.REVEAL:
                    seat = state.due_reveals()[0]
                    event = Reveal(seat, self._counting.pop(seat))
                case Due.CHANCE:
                    event = self._dealer.chance()
                    assert event is not None
                case _:
                    break
            state = state.apply(event)
            events.append(event)
        self._state = state
        return tuple(events)

    def _deal(self, round_number: int) -> Deal:
        """Returns a deal with sorted hands, as in a log's replay."""
        raw, pack = self._dealer.deal(round_number), self._ruleset.pack
        hands = (pack.decode(pack.encode(raw.hands[0])), pack.decode(pack.encode(raw.hands[1])))
        return Deal(hands, raw.rest, raw.aside)


AT: Final = "2000-01-01T00:00:00Z"
"""The time of every entry and receipt."""


def service_key(plan: MatchPlan) -> PrivateKey:
    """Returns the key that signs for the service."""
    return PrivateKey.from_seed(plan.derive("key", SERVER_NAME))


def bot_key(plan: MatchPlan, bot: int) -> PrivateKey:
    """Returns the key that signs for bot 0 or 1."""
    return PrivateKey.from_seed(plan.derive("key", plan.labels[bot]))


class LoggingReferee:
    """A `MatchReferee` that writes a signed log."""

    def __init__(self, plan: MatchPlan, number: int, table: str) -> None:
        self._plan = plan
        bots = (seated(table, 0), seated(table, 1))
        self._names = (plan.labels[bots[0]], plan.labels[bots[1]])
        self._keys = (bot_key(plan, bots[0]), bot_key(plan, bots[1]))
        self._server = service_key(plan)
        self._game = plan.game(number, table)
        terms, seed = plan.deal(number)
        offered = referee.offer(self._game, plan.ruleset, seed, signer=self._server, at=AT, terms=terms)
        self._refereed = offered.refereed
        self._lines: list[Line] = list(offered.lines)

    @property
    def state(self) -> State:
        """The position."""
        return self._refereed.course.state

    def begin(self) -> tuple[Event, ...]:
        """Seats both players, reveals their entropy, and returns what happens up to the first decision."""
        entropy = [self._plan.derive("entropy", self._game, seat).hex() for seat in (0, 1)]
        commits = [entropy_commit(self._game, seat, entropy[seat]) for seat in (0, 1)]
        return (
            *self._send(0, entry_kinds.Open(commits[0], self._keys[0].public)),
            *self._send(1, entry_kinds.Join(commits[1], self._keys[1].public)),
            *self._send(1, entry_kinds.Seed(entropy[1])),
            *self._send(0, entry_kinds.Seed(entropy[0])),
        )

    def decide(self, action: str) -> tuple[Event, ...]:
        """Commits to the cards that the action hides, signs the action and submits it."""
        state, ruleset = self.state, self._plan.ruleset
        seat = state.actor
        assert seat is not None
        decision: Decision = DECISION_KINDS[state.due](seat, action)
        state.apply(decision)  # so that an illegal action raises the error of the rules
        if state.due is not Due.ACT:
            return self._send(seat, entry_kinds.Move(action))
        seq = self._refereed.course.seq + 1
        openings = tuple(
            Opening(seq, part, hidden.cards, self._plan.derive("salt", self._game, seq, part).hex())
            for part, hidden in enumerate(ruleset.hidden(action))
        )
        commits = tuple(opening.commitment(self._game) for opening in openings)
        return self._send(seat, entry_kinds.Move(ruleset.public(action), commits), openings)

    def unseal(self) -> str:
        """Publishes the seed, after the end, and returns the complete log."""
        accepted = referee.unseal(self._refereed, signer=self._server, at=AT)
        self._take(accepted)
        return format_log(self._lines)

    def _send(self, seat: int, body: entry_kinds.EntryBody, openings: tuple[Opening, ...] = ()) -> tuple[Event, ...]:
        course = self._refereed.course
        entry = make_entry(
            at=AT,
            body=body.to_json(),
            by=self._names[seat],
            game=self._game,
            kind=body.KIND,
            prev=course.head,
            seen=self._refereed.at,
            seq=course.seq + 1,
        )
        submission = Submission(entry, sign_entry(entry, self._keys[seat]), openings)
        return self._take(referee.accept(self._refereed, submission, signer=self._server, at=AT))

    def _take(self, accepted: referee.Accepted) -> tuple[Event, ...]:
        self._refereed = accepted.refereed
        self._lines.extend(accepted.lines)
        return accepted.events
