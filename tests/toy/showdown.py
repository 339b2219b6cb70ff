"""The complete rules of Showdown.

Twelve cards, two each of A (1) to F (6). Two are removed, three dealt to each seat; two turns each: draw a card, then
hide one (`HC`: face down, it counts) or offer one (`OC`: the other seat takes it, `-T`, or leaves it, `-L`), each once.
Then the hidden cards are turned up; more points win the round, more rounds the game, and equal rounds are shared. The
starting player alternates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from hkoji.errors import (
    IllegalActionError,
    IllegalError,
    IllegalEventError,
    MalformedError,
    NotationError,
    NotUnderstoodError,
    NotYourTurnError,
    UnknownHandError,
)
from hkoji.rules.cards import UNKNOWN, Cards, Pack
from hkoji.rules.events import Act, Answer, Chance, Close, Deal, Draw, Event, Outcome, Reveal, Seat
from hkoji.rules.protocol import Due, Hidden, Json, Ruleset, State

NAME: Final = "showdown"
PACK: Final = Pack("ABCDEF", [2] * 6)
FIRST: Final[dict[str, Seat | None]] = {"host": 0, "guest": 1, "random": None}
ACTIONS: Final = "HO"
ANSWERS: Final = ("-L", "-T")


@dataclass(frozen=True, slots=True)
class Showdown:
    """`first` is `host`, `guest` or `random`; `rounds` is 1 to 9."""

    first: str = "host"
    rounds: int = 1

    name: ClassVar[str] = NAME
    pack: ClassVar[Pack] = PACK
    action_names: ClassVar[Mapping[str, str]] = {"H": "hide", "O": "offer"}
    markers: ClassVar[tuple[str, ...]] = ()
    reasons: ClassVar[Mapping[str, str]] = {"points": "on points"}
    most_turns: ClassVar[int] = 5

    def __post_init__(self) -> None:
        if self.first not in FIRST or not 1 <= self.rounds <= 9:
            raise IllegalError("first is host, guest or random, and there are 1 to 9 rounds")

    @property
    def most_rounds(self) -> int | None:
        return self.rounds

    def initial(self) -> State:
        first = FIRST[self.first]
        return ShowdownState(self, first=first, due=Due.CHANCE if first is None else Due.DEAL)

    def next_first(self, state: State) -> Seat | None:
        return None

    def to_json(self) -> dict[str, Json]:
        return {"first": self.first, "name": NAME, "rounds": self.rounds, "version": 1}

    @classmethod
    def from_json(cls, options: dict[str, Json]) -> Ruleset:
        for key in options:
            if key not in ("first", "name", "rounds", "version"):
                raise NotUnderstoodError(f"{NAME} option", key)
        first, rounds = options.get("first"), options.get("rounds")
        if type(options.get("version")) is not int or not isinstance(first, str) or type(rounds) is not int:
            raise MalformedError("ruleset", "first is text, rounds and version are numbers")
        if options["version"] != 1:
            raise NotUnderstoodError(f"{NAME} version", str(options["version"]))
        try:
            return cls(first, rounds)
        except IllegalError as error:
            raise MalformedError("ruleset", error.message) from error

    def deal(self, order: tuple[str, ...]) -> Deal:
        return Deal(("".join(order[2:5]), "".join(order[5:8])), "".join(order[8:12]), "".join(order[:2]))

    def chance(self) -> tuple[str, ...]:
        return ("first",) if FIRST[self.first] is None else ()

    def public(self, action: str) -> str:
        return "HX" if action[:1] == "H" else action

    def hidden(self, action: str) -> tuple[Hidden, ...]:
        return (Hidden(action[1:], True),) if action[:1] == "H" else ()

    def complete(self, action: str, cards: tuple[str, ...]) -> str:
        if not self.hidden(action) and not cards:
            return action
        if action != "HX" or len(cards) != 1 or cards[0] not in PACK.kinds:
            raise NotationError(action, "it has no such hidden cards")
        return f"H{cards[0]}"


@dataclass(frozen=True, slots=True)
class ShowdownState:
    """A position. Pairs are by seat; cards are multisets of `PACK`."""

    ruleset: Showdown
    first: Seat | None
    due: Due
    round: int = 0
    actor: Seat | None = None
    hands: tuple[Cards, Cards] = (0, 0)
    rows: tuple[Cards, Cards] = (0, 0)
    down: tuple[Cards, Cards] = (0, 0)
    used: tuple[str, str] = ("", "")
    proposal: str = ""
    deck: str = ""
    aside: Cards = 0
    wins: tuple[int, int] = (0, 0)
    outcome: Outcome | None = None

    def legal_actions(self) -> tuple[str, ...]:
        if self.due is Due.ANSWER:
            return ANSWERS
        if self.due is not Due.ACT:
            return ()
        assert self.actor is not None
        hand = self.hands[self.actor]
        if hand >= PACK.unknown:
            raise UnknownHandError(self.actor)
        left = [action for action in ACTIONS if action not in self.used[self.actor]]
        return tuple(action + card for action in left for card in sorted(set(PACK.decode(hand))))

    def shape(self) -> tuple[str, ...]:
        if self.due is not Due.ACT:
            return self.legal_actions()
        assert self.actor is not None
        return tuple(f"{action}?" for action in ACTIONS if action not in self.used[self.actor])

    def parse_action(self, text: str) -> str:
        action = "".join(text.split()).upper()
        if action in ANSWERS or (len(action) == 2 and action[0] in ACTIONS and action[1] in PACK.kinds):
            return action
        if action == "HX":
            return action
        raise NotationError(text, "it is no move", hint="moves look like HC, OC, -T or -L")

    def due_reveals(self) -> tuple[Seat, ...]:
        return tuple(seat for seat in (0, 1) if self.down[seat]) if self.due is Due.REVEAL else ()

    def apply(self, event: Event) -> State:
        match self.due, event:
            case Due.CHANCE, Chance(0 | 1 as first, None):
                return replace(self, first=first, due=Due.DEAL)
            case Due.DEAL, Deal():
                return self._deal(event)
            case Due.DRAW, Draw(seat, card) if seat == self.actor and len(card) == 1:
                return self._draw(seat, card)
            case (Due.ACT, Act(seat, action)) | (Due.ANSWER, Answer(seat, action)):
                if seat != self.actor:
                    raise NotYourTurnError(f"seat {self.actor} is to decide", actor=self.actor)
                return self._act(seat, action) if self.due is Due.ACT else self._answer(seat, action)
            case Due.REVEAL, Reveal(seat, card) if seat in self.due_reveals() and card in PACK.kinds:
                return self._reveal(seat, card)
            case due, Close(outcome) if due is not Due.OVER and event.is_possible:
                return replace(self, due=Due.OVER, actor=None, outcome=outcome)
        raise self._refused("it cannot happen now")

    def _deal(self, deal: Deal) -> ShowdownState:
        hands = (PACK.encode(deal.hands[0]), PACK.encode(deal.hands[1]))
        rest, aside = PACK.encode(deal.rest), PACK.encode(deal.aside)
        if [PACK.count(cards) for cards in (*hands, rest, aside)] != [3, 3, 4, 2]:
            raise self._refused("a deal is two hands of 3, 4 cards to draw and 2 removed")
        if not PACK.fits((*hands, rest, aside)):
            raise self._refused("the deal has more copies of a card than there are")
        first = self.first if self.round == 0 else 1 - (self.first or 0)
        fresh = ShowdownState(self.ruleset, first, Due.DRAW, self.round + 1, first, hands, wins=self.wins)
        return replace(fresh, deck=deal.rest, aside=aside)

    def _draw(self, seat: Seat, card: str) -> ShowdownState:
        if self.deck[0] not in (card, UNKNOWN):
            raise self._refused("the card drawn is not the top card")
        if self.deck[0] == UNKNOWN:
            self._check(PACK.encode(card))
        hand = self.hands[seat] + PACK.encode(card)
        return replace(self, due=Due.ACT, hands=_put(self.hands, seat, hand), deck=self.deck[1:])

    def _act(self, seat: Seat, action: str) -> ShowdownState:
        if len(action) != 2 or action[0] not in ACTIONS or (action[1] not in PACK.kinds and action != "HX"):
            raise NotationError(action, "an action is H or O and a card")
        if action[0] in self.used[seat]:
            raise IllegalActionError(action, "it has been used this round", shape=self.shape())
        left = PACK.take(self.hands[seat], card := PACK.encode(action[1]))
        if left is None:
            raise IllegalActionError(action, "the hand does not have that card", shape=self.shape())
        used = (self.used[0] + action[0], self.used[1]) if seat == 0 else (self.used[0], self.used[1] + action[0])
        after = replace(self, hands=_put(self.hands, seat, left), used=used)
        if self.hands[seat] >= PACK.unknown:
            after._check(card)
        if action[0] == "O":
            return replace(after, proposal=action[1], due=Due.ANSWER, actor=1 - seat)
        return replace(after, down=_put(self.down, seat, card))._next(seat)

    def _answer(self, seat: Seat, answer: str) -> ShowdownState:
        if answer not in ANSWERS:
            raise IllegalActionError(answer, "take it (-T) or leave it (-L)", shape=ANSWERS)
        to = seat if answer == "-T" else 1 - seat
        rows = _put(self.rows, to, self.rows[to] + PACK.encode(self.proposal))
        return replace(self, rows=rows, proposal="")._next(1 - seat)

    def _next(self, acted: Seat) -> ShowdownState:
        if all(len(used) == 2 for used in self.used):
            return replace(self, due=Due.REVEAL, actor=None)
        return replace(self, due=Due.DRAW, actor=1 - acted)

    def _reveal(self, seat: Seat, card: str) -> ShowdownState:
        cards = PACK.encode(card)
        if self.down[seat] not in (cards, PACK.unknown):
            raise self._refused("another card lies there")
        if self.down[seat] == PACK.unknown:
            self._check(cards)
        rows = _put(self.rows, seat, self.rows[seat] + cards)
        after = replace(self, rows=rows, down=_put(self.down, seat, 0))
        return after if any(after.down) else after._score()

    def _score(self) -> ShowdownState:
        host, guest = self.points(0), self.points(1)
        wins = (self.wins[0] + (host > guest), self.wins[1] + (guest > host))
        if self.round < self.ruleset.rounds:
            return replace(self, wins=wins, due=Due.DEAL, actor=None)
        winner = None if wins[0] == wins[1] else int(wins[1] > wins[0])
        return replace(self, wins=wins, due=Due.OVER, actor=None, outcome=Outcome("points", winner))

    def points(self, seat: Seat) -> int:
        """The value of a seat's row."""
        return sum(n * value for value, n in enumerate(PACK.counts(self.rows[seat])[:-1], 1))

    def _check(self, shown: Cards) -> None:
        places = (*self.hands, *self.rows, *self.down, self.aside, PACK.encode(self.deck), PACK.encode(self.proposal))
        if not PACK.fits((*places, shown)):
            raise self._refused("there would be more copies of a card than the game has")

    def _refused(self, reason: str) -> IllegalEventError:
        return IllegalEventError(reason, due=self.due.value)

    def project(self, seat: Seat | None) -> State:
        return replace(
            self,
            hands=_hide(self.hands, seat),
            down=_hide(self.down, seat),
            deck=UNKNOWN * len(self.deck),
            aside=PACK.hide(self.aside),
        )

    def to_json(self) -> dict[str, Json]:
        outcome: Json = None
        if self.outcome is not None:
            outcome = {"reason": self.outcome.reason, "winner": self.outcome.winner}
        return {
            "ruleset": self.ruleset.to_json(),
            "round": self.round,
            "first": self.first,
            "due": self.due.value,
            "actor": self.actor,
            "hands": [PACK.decode(cards) for cards in self.hands],
            "rows": [PACK.decode(cards) for cards in self.rows],
            "down": [PACK.decode(cards) for cards in self.down],
            "used": list(self.used),
            "offer": self.proposal,
            "deck": self.deck,
            "removed": PACK.decode(self.aside),
            "wins": list(self.wins),
            "outcome": outcome,
        }


def _put(pair: tuple[int, int], seat: Seat, value: int) -> tuple[int, int]:
    return (value, pair[1]) if seat == 0 else (pair[0], value)


def _hide(pair: tuple[int, int], seat: Seat | None) -> tuple[int, int]:
    return (pair[0] if seat == 0 else PACK.hide(pair[0]), pair[1] if seat == 1 else PACK.hide(pair[1]))
