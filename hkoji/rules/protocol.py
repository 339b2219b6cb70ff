"""The `Ruleset` and `State` protocols: all that the rest of the project knows of a game.

A `Ruleset` is one game with its options fixed. A `State` is a position as one observer knows it; it is a value:
`apply` returns another state or raises and changes nothing. The laws that every game keeps are in tests/rules/.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter
from typing import Final, Protocol, TypeAlias

from hkoji.errors import IllegalActionError, IllegalError, IllegalEventError, InvalidError
from hkoji.messages.text import tell
from hkoji.rules.cards import Pack
from hkoji.rules.events import Act, Answer, Close, Deal, Decision, Event, Order, Outcome, Pick, Seat

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | bool | None"


class Due(StrEnum):
    """The kind of event that must come next."""

    CHANCE = "chance"
    DEAL = "deal"
    DRAW = "draw"
    ACT = "act"
    ANSWER = "answer"
    ORDER = "order"
    PICK = "pick"
    REVEAL = "reveal"
    OVER = "over"


DECISION_KINDS: Final[dict[Due, type[Decision]]] = {Due.ACT: Act, Due.ANSWER: Answer, Due.ORDER: Order, Due.PICK: Pick}
"""The events that a seat decides, by what is due. No other event is a decision."""

DECISION_DUE: Final = frozenset(DECISION_KINDS)


def close(event: Event, due: Due) -> Outcome:
    """Returns the outcome if `event` ends a running game from outside, which can happen at any time.

    Raises `IllegalEventError` for any other event.
    """
    if not isinstance(event, Close) or due is Due.OVER:
        raise IllegalEventError(
            tell("a {event} cannot happen now: {due} is due", event=type(event).__name__.lower(), due=due.value),
            due=due.value,
        )
    if not event.is_possible:
        raise IllegalEventError(tell("a game is not closed by {reason!r}", reason=event.outcome.reason), due=due.value)
    return event.outcome


@dataclass(frozen=True, slots=True)
class Hidden:
    """A group of an action's face-down cards that is opened together.

    With `counts` it is opened at scoring, else after the game.
    """

    cards: str
    counts: bool


class State(Protocol):
    """A position as one observer knows it."""

    @property
    def ruleset(self) -> Ruleset:
        """The game and its options."""

    @property
    def round(self) -> int:
        """The current round from 1; 0 before the first deal. A finished round stays current until the next deal."""

    @property
    def due(self) -> Due:
        """The event that must happen next."""

    @property
    def actor(self) -> Seat | None:
        """The seat that must draw or decide; None when the next event belongs to no seat."""

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended; None while it goes on."""

    @property
    def hands(self) -> tuple[int, int]:
        """Both hands as multisets of the ruleset's pack."""

    @property
    def deck(self) -> str:
        """The cards still to be drawn, in order."""

    @property
    def wins(self) -> tuple[int, int] | None:
        """The rounds that each seat has won; None in a game whose rounds are not won."""

    def legal_actions(self) -> tuple[str, ...]:
        """The decisions open to the actor, canonical, sorted; empty when no decision is due.

        Raises `UnknownHandError` when they depend on a hand that is not fully known here.
        """

    def shape(self) -> tuple[str, ...]:
        """The form of a legal decision now, with `?` for each character of a card; reveals nothing of any hand."""

    def parse_action(self, text: str) -> str:
        """Lenient text to canonical notation. Raises `NotationError`; does not check whether the action is legal."""

    def apply(self, event: Event) -> State:
        """The position after `event`. Raises `IllegalError` or `InvalidError`; `self` never changes."""

    def due_reveals(self) -> tuple[Seat, ...]:
        """The seats whose face-down card must be revealed now."""

    def project(self, seat: Seat | None) -> State:
        """The position as `seat` (None: a spectator) knows it."""

    def to_json(self) -> dict[str, Json]:
        """The position as plain data; equal states give equal data."""


class Ruleset(Protocol):
    """A game with its options fixed."""

    @property
    def pack(self) -> Pack:
        """The cards of one deal."""

    @property
    def name(self) -> str:
        """The game's name in the log."""

    @property
    def action_names(self) -> Mapping[str, str]:
        """The name of each action, by the first character of its notation."""

    @property
    def markers(self) -> tuple[str, ...]:
        """The markers that chance may draw at random; empty in a game that has none."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """The reasons for which its rules end it, as in the log's `result`: words of lower-case letters.

        Each has the words for people that complete `alice wins …`, `lost …` or `a shared win, …`.
        """

    @property
    def most_turns(self) -> int:
        """The most turns of a round, for a clock: a turn is all that one seat decides before the other does."""

    @property
    def most_rounds(self) -> int | None:
        """The most rounds of a game; None if there is no limit."""

    def initial(self) -> State:
        """The state before any event."""

    def next_first(self, state: State) -> Seat | None:
        """The seat that starts the round after the one of `state`; None if that is decided later."""

    def to_json(self) -> dict[str, Json]:
        """Every option, the name and the version: the `ruleset` object of the log."""

    def deal(self, order: tuple[str, ...]) -> Deal:
        """The `Deal` of a round from the cards of the shuffled deck, top first."""

    def chance(self) -> tuple[str, ...]:
        """The choices of public chance before the first deal: of `first` and `markers`."""

    def public(self, action: str) -> str:
        """An action as the other seat sees it: hidden cards as `X`."""

    def hidden(self, action: str) -> tuple[Hidden, ...]:
        """The groups of face-down cards of an action, in commitment order. In a public form their cards are `X`.

        For text that is no action the result is arbitrary, or a `NotationError`.
        """

    def complete(self, action: str, cards: tuple[str, ...]) -> str:
        """A public form with its hidden groups filled in, in commitment order; raises `NotationError` if it cannot."""


def find_refusal(state: State, action: str) -> IllegalActionError:
    """Returns the error of a decision in canonical notation that the actor of a state cannot take."""
    try:
        if state.actor is not None:
            state.apply(DECISION_KINDS[state.due](state.actor, action))
    except IllegalActionError as error:
        return error
    except (IllegalError, InvalidError) as error:  # such as a card too many
        return IllegalActionError(action, error.message, shape=state.shape())
    return IllegalActionError(action, tell("it is not among the legal moves"), shape=state.shape())


def of_each_kind(moves: Iterable[str], most: int) -> tuple[str, ...]:
    """Returns up to `most` of the moves: the first of each kind, as its sign says, then the second, and so on."""
    before = Counter[str]()
    ranks: list[tuple[int, str]] = []
    for move in moves:
        ranks.append((before[move[0]], move))
        before[move[0]] += 1
    return tuple(move for _, move in sorted(ranks, key=itemgetter(0))[:most])
