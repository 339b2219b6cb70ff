"""The events of a game, and what each seat sees of them. A state is a fold over events.

A seat is 0 (host) or 1 (guest); None as an observer is a spectator. Cards and decisions are text in the game's
notation, with `X` for a card that the reader cannot see. Which cards of a decision are hidden depends on
the game: the caller passes that as a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from hkoji.messages.text import tell
from hkoji.rules.cards import UNKNOWN

Seat: TypeAlias = int
"""0 is the host, 1 the guest."""

SEATS: tuple[Seat, Seat] = (0, 1)

_CANCEL: Final = "cancel"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended. `winner` is None for a shared win or no result; `reason` is a word of the log format."""

    reason: str
    winner: Seat | None

    @property
    def cancelled(self) -> bool:
        """Whether the game was taken back before anyone joined: then nobody has won it, and nobody has lost it."""
        return self.reason == _CANCEL


@dataclass(frozen=True, slots=True)
class Chance:
    """Public chance before the first deal: who starts, and markers drawn (the starter's, then the other's)."""

    first: Seat | None = None
    markers: str | None = None


@dataclass(frozen=True, slots=True)
class Deal:
    """A round's cards: both hands, the rest of the deck in drawing order, and cards set aside (none in some games)."""

    hands: tuple[str, str]
    rest: str
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Draw:
    """One card from the deck for the seat that is to act."""

    seat: Seat
    card: str


@dataclass(frozen=True, slots=True)
class Act:
    """A turn's action."""

    seat: Seat
    action: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The choice among the cards offered."""

    seat: Seat
    action: str


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which the actor plays the cards that are left of a proposal."""

    seat: Seat
    action: str


@dataclass(frozen=True, slots=True)
class Pick:
    """A choice outside the turns: a marker, or who starts."""

    seat: Seat
    action: str


@dataclass(frozen=True, slots=True)
class Reveal:
    """A face-down card that counts is turned up at the end of a round."""

    seat: Seat
    cards: str


@dataclass(frozen=True, slots=True)
class Close:
    """The game ends by something other than its rules: resignation, timeout, cancellation."""

    outcome: Outcome

    @property
    def is_possible(self) -> bool:
        """Whether the outcome can come from outside the rules: by resignation, timeout or cancellation.

        An event cannot claim a result that only the rules can decide.
        """
        return self.outcome in _CLOSINGS


CLOSING_REASONS: Final[Mapping[str, str]] = {
    "resign": tell("by resignation"),
    "timeout": tell("on time"),
    _CANCEL: tell("cancelled"),
}
"""The reasons of an end from outside the rules, each with the words that complete `alice wins …` or `no winner, …`."""
_CLOSINGS = frozenset(
    {*(Outcome(reason, seat) for reason in ("resign", "timeout") for seat in SEATS), Outcome(_CANCEL, None)}
)


Event: TypeAlias = Chance | Deal | Draw | Act | Answer | Order | Pick | Reveal | Close

Decision: TypeAlias = Act | Answer | Order | Pick
DECISIONS = (Act, Answer, Order, Pick)


def hide_text(cards: str) -> str:
    """One `X` for each card of `cards`, however long the cards' names are. The number of cards is public."""
    return UNKNOWN * sum(c.isalpha() for c in cards)


def project(event: Event, seat: Seat | None, hide: Callable[[str], str]) -> Event:
    """Returns `event` as `seat` (None: a spectator) sees it.

    `hide` turns an action into its public form (a ruleset's `public`). Everything but hands, draws and the hidden
    cards of actions is public.
    """
    match event:
        case Deal(hands, rest, aside):
            shown = tuple(hand if owner == seat else hide_text(hand) for owner, hand in enumerate(hands))
            return Deal((shown[0], shown[1]), hide_text(rest), hide_text(aside))
        case Draw(owner, card) if owner != seat:
            return Draw(owner, hide_text(card))
        case Act(owner, action) if owner != seat:
            return Act(owner, hide(action))
        case _:
            return event
