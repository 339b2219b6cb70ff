"""Geisha's Road with its options, which is the `Ruleset` that the rest of the project sees, and its state machine.

Options: who starts the first round, and whether the first two markers are chosen or drawn at random (the rulebook
suggests drawing them in a first game).

The table `_MACHINE` says which events may come next; any other event raises an error and changes nothing. This module
does not know where cards come from: dealing and drawing are events.

Source: rulebook (2021), "Gameplay", "Round End", "Preparing for the Next Round".
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
    NotationError,
    NotUnderstoodError,
    NotYourTurnError,
)
from hkoji.messages.text import any_of, tell
from hkoji.rules.cards import UNKNOWN, Cards, Pack, Pair, put
from hkoji.rules.events import Act, Answer, Chance, Deal, Draw, Event, Order, Outcome, Pick, Reveal, Seat
from hkoji.rules.geishas_road import actions, position
from hkoji.rules.geishas_road.actions import (
    ALL_USED,
    COLOURS,
    COMPETITION,
    GIFT,
    KNOWN,
    NAMES,
    PACK,
    REVEAL,
    all_differ,
    missing,
    read,
    why_wrong_answer,
)
from hkoji.rules.geishas_road.position import GeishasRoadOptions, GeishasRoadPosition
from hkoji.rules.geishas_road.road import Road, answers
from hkoji.rules.protocol import Due, Hidden, Json, State, close

HAND, DRAWS = 6, 8
_X: Final = PACK.unknown
_BOTH: Final = 0b11
_START: Final = Road()


class GeishasRoadState(GeishasRoadPosition):
    """A position that events are applied to."""

    __slots__ = ()

    def apply(self, event: Event) -> GeishasRoadState:
        """The position after `event`. Raises `IllegalError` or `NotationError`; `self` never changes."""
        step = _MACHINE[self.due].get(type(event))
        if step is None:
            return self._replace(due=Due.OVER, actor=None, outcome=close(event, self.due))
        return step(self, event)

    def _chance(self, event: Chance) -> GeishasRoadState:
        decides = self.ruleset.chance()
        first = event.first if "first" in decides else self.first
        if (event.first is not None) != ("first" in decides) or first not in (0, 1):
            raise self._contradiction(tell("chance decides who starts, seat 0 or 1, if the options leave that to it"))
        assert first is not None
        drawn = event.markers or ""
        if (event.markers is not None) != ("markers" in decides):
            raise self._contradiction(tell("chance draws markers if the options leave that to it"))
        markers = self.markers
        if drawn:
            if len(set(drawn)) != 2 or len(drawn) != 2 or not set(drawn) <= set(COLOURS):
                raise self._contradiction(
                    tell("two different markers are drawn, the starting player's and the other's")
                )
            markers = position.mark(position.mark(markers, drawn[0], first), drawn[1], 1 - first)
        elif event.markers is not None:
            raise self._contradiction(tell("two different markers are drawn, the starting player's and the other's"))
        return self._replace(first=first, markers=markers, due=Due.DEAL)

    def _deal(self, event: Deal) -> GeishasRoadState:
        hands = (PACK.encode(event.hands[0]), PACK.encode(event.hands[1]))
        rest, aside = PACK.encode(event.rest), PACK.encode(event.aside)
        if [PACK.count(c) for c in (*hands, rest, aside)] != [HAND, HAND, DRAWS, 0]:
            raise self._contradiction(
                tell("a deal is two hands of {hand} and {draws} cards to draw", hand=HAND, draws=DRAWS)
            )
        if not all_differ((*hands, rest)):
            raise self._contradiction(tell("the deal has a card twice"))
        if self.round:
            due, first, actor = Due.PICK, None, self.loser
        else:
            due, first = Due.DRAW if self.ruleset.starting_markers == "random" else Due.PICK, self.first
            actor = first
        return initial(self.ruleset, first)._replace(
            round=self.round + 1,
            due=due,
            actor=actor,
            hands=hands,
            deck=event.rest,
            markers=self.markers,
            wins=self.wins,
            loser=self.loser,
        )

    def _pick(self, event: Pick) -> GeishasRoadState:
        seat, choice = event.seat, event.action
        if seat != self.actor:
            raise NotYourTurnError(
                tell("seat {actor} is to choose, not seat {seat}", actor=self.actor, seat=seat), actor=self.actor
            )
        options = self._picks()
        if choice not in options:
            what = tell("who starts") if self.round > 1 else tell("a marker in the middle")
            raise IllegalActionError(
                choice, tell("the choice is {what}: {choices}", what=what, choices=any_of(options)), shape=options
            )
        if self.round > 1:
            first = int(choice[1])
            return self._replace(first=first, due=Due.DRAW, actor=first)
        markers = position.mark(self.markers, choice[1], seat)
        if seat == self.first:
            return self._replace(markers=markers, actor=1 - seat)
        return self._replace(markers=markers, due=Due.DRAW, actor=self.first)

    def _draw(self, event: Draw) -> GeishasRoadState:
        seat, card = event.seat, event.card
        if seat != self.actor:
            raise self._contradiction(tell("seat {actor} is to draw, not seat {seat}", actor=self.actor, seat=seat))
        top = UNKNOWN if self.deck[0] == UNKNOWN else self.deck[:2]
        if top not in (card, UNKNOWN):
            raise self._contradiction(tell("the card drawn is not the top card of the deck"))
        if card == top:
            drawn = PACK.weight(card)
        else:
            drawn = PACK.encode(card)
            if PACK.count(drawn) != 1:
                raise self._contradiction(tell("one card is drawn at a time"))
            self._check_single(drawn)
        return self._replace(
            due=Due.ACT,
            hands=put(self.hands, seat, self.hands[seat] + drawn),
            deck=self.deck[len(top) :],
        )

    def _act(self, event: Act) -> GeishasRoadState:
        seat, action = event.seat, event.action
        if seat != self.actor:
            raise NotYourTurnError(
                tell("seat {actor} is to act, not seat {seat}", actor=self.actor, seat=seat), actor=self.actor
            )
        if action[:1] in ("-", ">", "!", "^"):
            raise IllegalActionError(action, tell("an action is due"), shape=self.shape())
        code, cards, mask = read(action)
        hand, used = self.hands[seat], self.used[seat]
        if used & mask:
            raise IllegalActionError(
                action, tell("{action} has been used this round", action=NAMES[code]), shape=self.shape()
            )
        left = PACK.take(hand, cards) if cards >= _X or hand >= _X else hand - cards
        if left is None or (hand < _X and hand & cards != cards):
            raise missing(action, hand, cards, self.shape())
        hands, all_used = put(self.hands, seat, left), put(self.used, seat, used | mask)
        if hand >= _X:
            self._replace(hands=hands)._check_single(cards & KNOWN)
        if code in (GIFT, COMPETITION):
            return self._replace(hands=hands, used=all_used, proposal=action, due=Due.ANSWER, actor=1 - seat)
        due, actor = _next(all_used, seat)
        names = PACK.split(action[1:])
        if code == REVEAL:
            tableaus, road = _lay(self.tableaus, seat, names), self.road.walk(names)
            return self._replace(hands=hands, used=all_used, tableaus=tableaus, road=road, due=due, actor=actor)
        kept, discarded = map(PACK.weight, names)
        return self._replace(
            hands=hands,
            used=all_used,
            intrigues=put(self.intrigues, seat, kept),
            discards=put(self.discards, seat, discarded),
            due=due,
            actor=actor,
        )

    def _answer(self, event: Answer) -> GeishasRoadState:
        seat, answer = event.seat, event.action
        if seat != self.actor:
            raise NotYourTurnError(
                tell("seat {actor} is to answer, not seat {seat}", actor=self.actor, seat=seat), actor=self.actor
            )
        options = answers(self.proposal, self.road)
        if answer not in options:
            raise IllegalActionError(answer, why_wrong_answer(answer, self.proposal, options), shape=options)
        taken = PACK.split(answer[1:])
        rest = tuple(name for name in PACK.split(self.proposal[1:]) if name not in taken)
        tableaus, road = _lay(self.tableaus, seat, taken), self.road.walk(taken)
        orders = road.orders((rest[0], rest[1]))
        if len(orders) > 1:
            left = "".join(rest)
            return self._replace(tableaus=tableaus, road=road, proposal="", left=left, due=Due.ORDER, actor=1 - seat)
        tableaus, road = _lay(tableaus, 1 - seat, rest), road.walk(orders[0])
        due, actor = _next(self.used, 1 - seat)
        return self._replace(tableaus=tableaus, road=road, proposal="", due=due, actor=actor)

    def _order(self, event: Order) -> GeishasRoadState:
        seat, order = event.seat, event.action
        if seat != self.actor:
            raise NotYourTurnError(
                tell("seat {actor} is to order its cards, not seat {seat}", actor=self.actor, seat=seat),
                actor=self.actor,
            )
        options = self.legal_actions()
        if order not in options:
            raise IllegalActionError(
                order, tell("the cards left are played {answers}", answers=any_of(options)), shape=options
            )
        cards = PACK.split(order[1:])
        tableaus, road = _lay(self.tableaus, seat, cards), self.road.walk(cards)
        due, actor = _next(self.used, seat)
        return self._replace(tableaus=tableaus, road=road, left="", due=due, actor=actor)

    def _reveal(self, event: Reveal) -> GeishasRoadState:
        seat = event.seat
        if seat not in self.due_reveals():
            raise self._contradiction(tell("no intrigue of seat {seat} is to be revealed", seat=seat))
        cards = PACK.encode(event.cards)
        hidden = self.intrigues[seat]
        if cards >= _X or cards.bit_count() != 1:
            raise self._contradiction(tell("a reveal shows one card"))
        if hidden not in (_X, cards):
            raise self._contradiction(tell("the intrigue of seat {seat} kept another card", seat=seat))
        if hidden == _X:
            self._check_single(cards)
        intrigues, revealed = put(self.intrigues, seat, cards), self.revealed | (1 << seat)
        return self._score(intrigues) if revealed == _BOTH else self._replace(intrigues=intrigues, revealed=revealed)

    def _score(self, intrigues: tuple[Cards, Cards]) -> GeishasRoadState:
        """Plays both intrigues, the starting player's first regardless of arrival, and scores the round."""
        first = self.first
        assert first is not None
        tableaus, road = self.tableaus, self.road
        for seat in (first, 1 - first):
            card = (PACK.decode(intrigues[seat]),)
            tableaus, road = _lay(tableaus, seat, card), road.walk(card)
        markers = position.move_markers(self.markers, tableaus)
        winner = position.winner(road.lanterns, markers, first)
        wins = put(self.wins, winner, self.wins[winner] + 1)
        over = wins[winner] == position.ROUNDS_TO_WIN
        return self._replace(
            tableaus=tableaus,
            road=road,
            intrigues=(0, 0),
            revealed=_BOTH,
            markers=markers,
            counted=self.markers,
            wins=wins,
            loser=1 - winner,
            outcome=Outcome("rounds", winner) if over else None,
            due=Due.OVER if over else Due.DEAL,
        )

    # --- parts of steps -------------------------------------------------------------------------------------------

    def _check_single(self, shown: Cards) -> None:
        """Raises if a card of `shown`, unknown until now, already lies somewhere."""
        places = (*self.hands, *self.tableaus, *self.intrigues, *self.discards, PACK.encode(self.deck))
        if not all_differ((*places, shown)):
            raise self._contradiction(tell("a card would be in two places"))

    def _contradiction(self, reason: str) -> IllegalEventError:
        return IllegalEventError(reason, due=self.due.value)


def _lay(tableaus: Pair, seat: Seat, cards: tuple[str, ...]) -> Pair:
    """Puts cards from a hand or a proposal into a tableau."""
    return put(tableaus, seat, tableaus[seat] + sum(map(PACK.weight, cards)))


def _next(used: Pair, acted: Seat) -> tuple[Due, Seat | None]:
    """The state after a completed action of seat `acted`: the other seat's turn, or the reveal."""
    if used[0] == used[1] == ALL_USED:
        return Due.REVEAL, None
    return Due.DRAW, 1 - acted


_Step = Callable[[GeishasRoadState, Any], GeishasRoadState]  # Any: each step takes just its own event's type

_MACHINE: Final[dict[Due, dict[type, _Step]]] = {
    Due.CHANCE: {Chance: GeishasRoadState._chance},
    Due.DEAL: {Deal: GeishasRoadState._deal},
    Due.DRAW: {Draw: GeishasRoadState._draw},
    Due.ACT: {Act: GeishasRoadState._act},
    Due.ANSWER: {Answer: GeishasRoadState._answer},
    Due.ORDER: {Order: GeishasRoadState._order},
    Due.PICK: {Pick: GeishasRoadState._pick},
    Due.REVEAL: {Reveal: GeishasRoadState._reveal},
    Due.OVER: {},
}


def initial(ruleset: GeishasRoadOptions, first: Seat | None) -> GeishasRoadState:
    """The position before any event; `first` is None when chance decides who starts."""
    return GeishasRoadState(
        ruleset=ruleset,
        round=0,
        first=first,
        due=Due.CHANCE if ruleset.chance() else Due.DEAL,
        actor=None,
        hands=(0, 0),
        used=(0, 0),
        tableaus=(0, 0),
        intrigues=(0, 0),
        discards=(0, 0),
        proposal="",
        left="",
        deck="",
        road=_START,
        markers=position.START,
        counted="",
        revealed=0,
        wins=(0, 0),
        loser=None,
        outcome=None,
    )


NAME: Final = "geishas-road"
VERSION: Final = 1
FIRST: Final[dict[str, Seat | None]] = {"host": 0, "guest": 1, "random": None}
MARKERS: Final = ("choose", "random")


@dataclass(frozen=True, slots=True)
class GeishasRoad:
    """`first` is `host`, `guest` or `random`; `starting_markers` is `choose` or `random`.

    Raises `IllegalError` for options that the game does not have.
    """

    first: str = "host"
    starting_markers: str = "choose"

    name: ClassVar[str] = NAME
    pack: ClassVar[Pack] = actions.PACK
    action_names: ClassVar[Mapping[str, str]] = actions.NAMES
    markers: ClassVar[tuple[str, ...]] = tuple(actions.COLOURS)
    reasons: ClassVar[Mapping[str, str]] = {"rounds": tell("with two rounds")}
    most_turns: ClassVar[int] = 18
    """Eight actions; two more for each of the four proposals, if its items are played in an order that is chosen; and
    the choice of two markers before the first round, or of who starts.
    """
    most_rounds: ClassVar[int | None] = 3

    def __post_init__(self) -> None:
        if self.first not in FIRST:
            raise IllegalError(tell("the first player is one of {names}", names=", ".join(FIRST)))
        if self.starting_markers not in MARKERS:
            raise IllegalError(tell("the first markers are one of {names}", names=", ".join(MARKERS)))

    def initial(self) -> GeishasRoadState:
        """The state before any event."""
        return initial(self, FIRST[self.first])

    def next_first(self, state: State) -> Seat | None:  # noqa: ARG002
        """None: the loser of the round picks."""
        return None

    def to_json(self) -> dict[str, Json]:
        """The `ruleset` object of the log: every option is always present."""
        return {"first": self.first, "markers": self.starting_markers, "name": NAME, "version": VERSION}

    @classmethod
    def from_json(cls, options: dict[str, Json]) -> GeishasRoad:
        """Reads `to_json`. Raises `NotUnderstoodError` for another version or option, else `MalformedError`."""
        version = options.get("version")
        if type(version) is int and version != VERSION:
            raise NotUnderstoodError(tell("{name} version", name=NAME), str(version))
        for key in options:
            if key not in ("first", "markers", "name", "version"):
                raise NotUnderstoodError(tell("{name} option", name=NAME), key)
        if type(version) is not int:
            raise MalformedError(tell("ruleset"), tell("its version is not a number"))
        first, markers = options.get("first"), options.get("markers")
        if not isinstance(first, str) or not isinstance(markers, str):
            raise MalformedError(tell("ruleset"), tell("first and markers are not both text"))
        try:
            return cls(first, markers)
        except IllegalError as error:
            raise MalformedError(tell("ruleset"), error.message) from error

    def deal(self, order: tuple[str, ...]) -> Deal:
        """A shuffled deck as a deal: six cards for each seat, then the draws; none is removed."""
        return Deal(("".join(order[:6]), "".join(order[6:12])), "".join(order[12:20]))

    def chance(self) -> tuple[str, ...]:
        """The choices of public chance before the first deal."""
        first = ("first",) if FIRST[self.first] is None else ()
        return (*first, "markers") if self.starting_markers == "random" else first

    def public(self, action: str) -> str:
        """An action as the opponent sees it."""
        return actions.public(action)

    def hidden(self, action: str) -> tuple[Hidden, ...]:
        """The kept card of an intrigue, which counts at scoring, and the discarded one, which is opened after the game.

        Raises `NotationError` for an intrigue without exactly two cards.
        """
        if action[:1] != actions.INTRIGUE:
            return ()
        cards = self.pack.split(action[1:])
        if len(cards) != actions.SIZES[actions.INTRIGUE]:
            raise NotationError(action, "an intrigue has two cards")
        return (Hidden(cards[0], True), Hidden(cards[1], False))

    def complete(self, action: str, cards: tuple[str, ...]) -> str:
        """`IXX` with its cards. Raises `NotationError` if they do not fit."""
        groups = self.hidden(action)
        if not groups and not cards:
            return action
        if len(groups) != len(cards) or action != self.public(action) or UNKNOWN in cards:
            raise NotationError(action, tell("it has no such hidden cards"))
        if any(len(self.pack.split(card)) != 1 for card in cards):
            raise NotationError(action, tell("each of its hidden groups is one card"))
        completed = action[0] + "".join(cards)
        actions.read(completed)
        return completed
