"""Hanamikoji with its options, which is the `Ruleset` that the rest of the project sees, and its state machine.

Options of all editions: who starts the first round, a limit of rounds (0 for none) and the tie-break at the limit.

The table `_MACHINE` says which events may come next; any other event raises an error and changes nothing. This module
does not know where cards come from: dealing and drawing are events. Source: rulebooks, "Sequence of play".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hkoji.errors import (
    IllegalActionError,
    IllegalError,
    IllegalEventError,
    MalformedError,
    MissingCardsError,
    NotationError,
    NotUnderstoodError,
    NotYourTurnError,
)
from hkoji.messages.text import any_of, tell
from hkoji.rules.cards import NAME_CARDS, NUMBERS, UNKNOWN, Cards, Pack, Pair, put
from hkoji.rules.events import Act, Answer, Chance, Deal, Draw, Event, Reveal, Seat
from hkoji.rules.hanamikoji import actions, position
from hkoji.rules.hanamikoji.actions import ALL_USED, NAMES, PACK, SECRET, TRADE_OFF, answers, choice_set, read, taken
from hkoji.rules.hanamikoji.position import HanamikojiOptions, HanamikojiPosition
from hkoji.rules.protocol import Due, Hidden, Json, State, close

HAND, DRAWS, ASIDE = 6, 8, 1
_X: Final = PACK.unknown
_BOTH: Final = 0b11


class HanamikojiState(HanamikojiPosition):
    """A position that events are applied to."""

    __slots__ = ()

    def apply(self, event: Event) -> HanamikojiState:
        """The position after `event`. Raises `IllegalError` or `NotationError`; `self` never changes."""
        step = _MACHINE[self.due].get(type(event))
        if step is None:
            return self._replace(due=Due.OVER, actor=None, outcome=close(event, self.due))
        return step(self, event)

    def _chance(self, event: Chance) -> HanamikojiState:
        if event.first not in (0, 1) or event.markers is not None:
            raise self._contradiction(tell("chance decides who starts, seat 0 or 1, and nothing else"))
        return self._replace(first=event.first, due=Due.DEAL)

    def _deal(self, event: Deal) -> HanamikojiState:
        hands = (PACK.encode(event.hands[0]), PACK.encode(event.hands[1]))
        rest, aside = PACK.encode(event.rest), PACK.encode(event.aside)
        if [PACK.count(c) for c in (*hands, rest, aside)] != [HAND, HAND, DRAWS, ASIDE]:
            raise self._contradiction(
                tell(
                    "a deal is two hands of {hand}, {draws} cards to draw and {aside} removed",
                    hand=HAND,
                    draws=DRAWS,
                    aside=ASIDE,
                )
            )
        if not PACK.fits((*hands, rest, aside)):
            raise self._contradiction(tell("the deal has more copies of a card than there are"))
        first = self.first if self.round == 0 else 1 - (self.first or 0)
        return initial(self.ruleset, first)._replace(
            round=self.round + 1,
            due=Due.DRAW,
            actor=first,
            hands=hands,
            deck=event.rest,
            aside=aside,
            markers=self.markers,
        )

    def _draw(self, event: Draw) -> HanamikojiState:
        seat, card = event.seat, event.card
        if seat != self.actor:
            raise self._contradiction(tell("seat {actor} is to draw, not seat {seat}", actor=self.actor, seat=seat))
        top = self.deck[0]
        if top not in (card, UNKNOWN):
            raise self._contradiction(tell("the card drawn is not the top card of the deck"))
        if len(card) != 1:
            raise self._contradiction(tell("one card is drawn at a time"))
        if card == top:
            drawn = PACK.weight(card)
        else:
            drawn = PACK.encode(card)
            self._check_copies(drawn)
        hands = put(self.hands, seat, self.hands[seat] + drawn)
        return self._replace(due=Due.ACT, hands=hands, deck=self.deck[1:])

    def _act(self, event: Act) -> HanamikojiState:
        seat, action = event.seat, event.action
        if seat != self.actor:
            raise NotYourTurnError(
                tell("seat {actor} is to act, not seat {seat}", actor=self.actor, seat=seat), actor=self.actor
            )
        if action.startswith("-"):
            raise IllegalActionError(action, tell("no proposal waits for an answer"), shape=self.shape())
        number, cards, mask = read(action)
        hand, used = self.hands[seat], self.used[seat]
        if used & mask:
            raise IllegalActionError(
                action, tell("{action} has been used this round", action=NAMES[number]), shape=self.shape()
            )
        if hand < _X:
            if action not in choice_set(number, hand):
                raise self._missing(action, hand, cards)
            hand -= cards
        else:
            left = PACK.take(hand, cards)
            if left is None:
                raise IllegalActionError(action, tell("the hand does not have that many cards"), shape=self.shape())
            hand = left
        secrets, trade_offs, proposal = self.secrets, self.trade_offs, ""
        if number == SECRET:
            secrets = put(secrets, seat, cards)
        elif number == TRADE_OFF:
            trade_offs = put(trade_offs, seat, cards)
        else:
            proposal = action
        all_used = put(self.used, seat, used | mask)
        due, actor = (Due.ANSWER, 1 - seat) if proposal else _next(all_used, seat)
        after = self._replace(
            due=due,
            actor=actor,
            hands=put(self.hands, seat, hand),
            used=all_used,
            secrets=secrets,
            trade_offs=trade_offs,
            proposal=proposal,
        )
        if self.hands[seat] >= _X:
            after._replace(due=self.due)._check_copies()  # so that an error names what is due here
        return after

    def _answer(self, event: Answer) -> HanamikojiState:
        seat, answer = event.seat, event.action
        if seat != self.actor:
            raise NotYourTurnError(
                tell("seat {actor} is to answer, not seat {seat}", actor=self.actor, seat=seat), actor=self.actor
            )
        options = answers(self.proposal)
        if answer not in options:
            raise IllegalActionError(
                answer,
                tell("{proposal} can be answered {answers}", proposal=self.proposal, answers=any_of(options)),
                shape=options,
            )
        took, left = taken(self.proposal, answer)
        rows = self.rows
        rows = (rows[0] + took, rows[1] + left) if seat == 0 else (rows[0] + left, rows[1] + took)
        due, actor = _next(self.used, 1 - seat)
        return self._replace(due=due, actor=actor, rows=rows, proposal="")

    def _reveal(self, event: Reveal) -> HanamikojiState:
        seat = event.seat
        if seat not in self.due_reveals():
            raise self._contradiction(tell("no secret of seat {seat} is to be revealed", seat=seat))
        cards = PACK.encode(event.cards)
        hidden = self.secrets[seat]
        if cards >= _X or PACK.count(cards) != 1:
            raise self._contradiction(tell("a reveal shows one card"))
        if hidden not in (_X, cards):
            raise self._contradiction(tell("the secret of seat {seat} is another card", seat=seat))
        if hidden == _X:
            self._check_copies(cards)
        rows, secrets = put(self.rows, seat, self.rows[seat] + cards), put(self.secrets, seat, 0)
        revealed = self.revealed | (1 << seat)
        return self._score(rows) if revealed == _BOTH else self._replace(rows=rows, secrets=secrets, revealed=revealed)

    def _score(self, rows: tuple[Cards, Cards]) -> HanamikojiState:
        """The end of a round in which both secrets are in `rows`."""
        markers = position.move_markers(self.markers, *rows)
        outcome = position.winner(markers)
        if outcome is None and self.round == self.ruleset.max_rounds:
            outcome = position.limit(markers, self.ruleset.tiebreak)
        return self._replace(
            due=Due.OVER if outcome else Due.DEAL,
            rows=rows,
            secrets=(0, 0),
            markers=markers,
            revealed=_BOTH,
            outcome=outcome,
        )

    def _check_copies(self, turned_up: Cards = 0) -> None:
        """Raises if there are too many of a card, `turned_up` (unknown so far) included.

        Call this before adding it to a place: one card too many carries into the digit of another kind.
        """
        places = (*self.hands, *self.rows, *self.secrets, *self.trade_offs, self.aside, turned_up)
        if not PACK.fits((*places, PACK.encode(self.deck), PACK.encode(self.proposal[1:]))):
            raise self._contradiction(tell("there would be more copies of a card than the game has"))

    def _contradiction(self, reason: str) -> IllegalEventError:
        return IllegalEventError(reason, due=self.due.value)

    def _missing(self, action: str, hand: Cards, cards: Cards) -> IllegalActionError:
        counts = zip(PACK.kinds, PACK.counts(hand), PACK.counts(cards), strict=False)
        lacking = [_number_of(kind, want) for kind, have, want in counts if want > have]
        if not lacking:
            return IllegalActionError(action, NAME_CARDS, shape=self.shape())
        return MissingCardsError(action, any_of(lacking), shape=self.shape())


def _number_of(kind: str, number: int) -> str:
    """So many cards of a kind, in words."""
    if number == 1:
        return tell("any {kind} card", kind=kind)
    return tell("{number} {kind} cards", number=NUMBERS[number], kind=kind)


def _next(used: Pair, acted: Seat) -> tuple[Due, Seat | None]:
    """The state after a completed action of seat `acted`: the other seat's turn, or the reveal."""
    if used[0] == used[1] == ALL_USED:
        return Due.REVEAL, None
    return Due.DRAW, 1 - acted


_Step = Callable[[HanamikojiState, Any], HanamikojiState]  # Any: each step takes just its own event's type

_MACHINE: Final[dict[Due, dict[type, _Step]]] = {
    Due.CHANCE: {Chance: HanamikojiState._chance},
    Due.DEAL: {Deal: HanamikojiState._deal},
    Due.DRAW: {Draw: HanamikojiState._draw},
    Due.ACT: {Act: HanamikojiState._act},
    Due.ANSWER: {Answer: HanamikojiState._answer},
    Due.ORDER: {},
    Due.PICK: {},
    Due.REVEAL: {Reveal: HanamikojiState._reveal},
    Due.OVER: {},
}


def initial(ruleset: HanamikojiOptions, first: Seat | None) -> HanamikojiState:
    """The position before any event; `first` is None when chance decides who starts."""
    return HanamikojiState(
        ruleset=ruleset,
        round=0,
        first=first,
        due=Due.CHANCE if first is None else Due.DEAL,
        actor=None,
        hands=(0, 0),
        used=(0, 0),
        rows=(0, 0),
        secrets=(0, 0),
        trade_offs=(0, 0),
        proposal="",
        deck="",
        aside=0,
        markers=position.START,
        revealed=0,
        outcome=None,
    )


NAME: Final = "hanamikoji"
VERSION: Final = 1
FIRST: Final[dict[str, Seat | None]] = {"host": 0, "guest": 1, "random": None}
TIEBREAKS: Final = ("geisha", "charm")
MOST_ROUNDS: Final = 99


@dataclass(frozen=True, slots=True)
class Hanamikoji:
    """`first` is `host`, `guest` or `random`; `max_rounds` 0 for no limit; `tiebreak` counts only with a limit.

    Raises `IllegalError` for options that no edition has.
    """

    first: str = "host"
    max_rounds: int = 0
    tiebreak: str = "geisha"

    name: ClassVar[str] = NAME
    pack: ClassVar[Pack] = actions.PACK
    action_names: ClassVar[Mapping[str, str]] = {str(number): name for number, name in actions.NAMES.items()}
    markers: ClassVar[tuple[str, ...]] = ()
    reasons: ClassVar[Mapping[str, str]] = {
        "charm": tell("by charm"),
        "geisha": tell("by geisha"),
        "limit": tell("at the round limit"),
    }
    most_turns: ClassVar[int] = 9
    """Eight actions, each together with the answer to the one before, and the answer to the last."""

    def __post_init__(self) -> None:
        if self.first not in FIRST:
            raise IllegalError(tell("the first player is one of {names}", names=", ".join(FIRST)))
        if not 0 <= self.max_rounds <= MOST_ROUNDS:
            raise IllegalError(tell("the round limit is 1 to {most_rounds}, or 0 for none", most_rounds=MOST_ROUNDS))
        if self.tiebreak not in TIEBREAKS:
            raise IllegalError(tell("the tie-break is one of {names}", names=", ".join(TIEBREAKS)))
        if self.max_rounds == 0 and self.tiebreak != TIEBREAKS[0]:
            raise IllegalError(tell("a tie-break needs a limit of rounds"), hint=tell("add `--max-rounds 3`"))

    @property
    def most_rounds(self) -> int | None:
        """The limit of rounds; None if there is none."""
        return self.max_rounds or None

    def initial(self) -> HanamikojiState:
        """The state before any event."""
        return initial(self, FIRST[self.first])

    def next_first(self, state: State) -> Seat | None:
        """The other seat."""
        assert isinstance(state, HanamikojiState)
        return None if state.first is None else 1 - state.first

    def to_json(self) -> dict[str, Json]:
        """The `ruleset` object of the log: every option is always present."""
        return {
            "first": self.first,
            "max_rounds": self.max_rounds,
            "name": NAME,
            "tiebreak": self.tiebreak,
            "version": VERSION,
        }

    @classmethod
    def from_json(cls, options: dict[str, Json]) -> Hanamikoji:
        """Reads `to_json`. Raises `NotUnderstoodError` for another version or option, else `MalformedError`."""
        version = options.get("version")
        if type(version) is int and version != VERSION:
            raise NotUnderstoodError(tell("{name} version", name=NAME), str(version))
        known = {"first", "max_rounds", "name", "tiebreak", "version"}
        for key in options:
            if key not in known:
                raise NotUnderstoodError(tell("{name} option", name=NAME), key)
        if type(version) is not int:
            raise MalformedError(tell("ruleset"), tell("its version is not a number"))
        first, limit, tiebreak = options.get("first"), options.get("max_rounds"), options.get("tiebreak")
        if not isinstance(first, str) or not isinstance(tiebreak, str) or type(limit) is not int:
            raise MalformedError(tell("ruleset"), tell("first or tiebreak is not text, or max_rounds is not a number"))
        try:
            return cls(first, limit, tiebreak)
        except IllegalError as error:
            raise MalformedError(tell("ruleset"), error.message) from error

    def deal(self, order: tuple[str, ...]) -> Deal:
        """A shuffled deck as a deal: the top card is removed, then six cards for each seat, then the draws."""
        return Deal(("".join(order[1:7]), "".join(order[7:13])), "".join(order[13:21]), order[0])

    def chance(self) -> tuple[str, ...]:
        """The choices of public chance before the first deal."""
        return ("first",) if FIRST[self.first] is None else ()

    def public(self, action: str) -> str:
        """An action as the opponent sees it."""
        return actions.public(action)

    def hidden(self, action: str) -> tuple[Hidden, ...]:
        """A secret's card counts at scoring; a trade-off's two cards are opened together after the game."""
        if action[:1] in ("1", "2"):
            return (Hidden(action[1:], action[0] == "1"),)
        return ()

    def complete(self, action: str, cards: tuple[str, ...]) -> str:
        """`1X` or `2XX` with its cards; the result is canonical. Raises `NotationError` if they do not fit."""
        groups = self.hidden(action)
        if not groups and not cards:
            return action
        if len(groups) != len(cards) or UNKNOWN in cards[0]:
            raise NotationError(action, tell("it has no such hidden cards"))
        completed = action[0] + cards[0]
        actions.read(completed)
        if action != self.public(completed):  # `2X` with two cards: an observer who sees only the X could not read it
            raise NotationError(action, tell("it has no such hidden cards"))
        return completed
