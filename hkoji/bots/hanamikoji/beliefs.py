"""What the cards that a seat cannot see may be: worlds that fit all it has seen, likelier ones more often.

Every way to spread the unseen cards is as likely as another before anybody has acted. What the opponent did then says
more: a world in which it passed over much better moves is a less likely one. How much better is judged by
`Judgement`, from what the opponent knew at the time, hand included.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate
from math import exp
from typing import Final, NamedTuple

from hkoji.bots.hanamikoji.judgement import Judgement
from hkoji.bots.hanamikoji.model import (
    ALL_CARDS,
    FACE_DOWN,
    WEIGHTS,
    Hand,
    Lead,
    Move,
    Side,
    counts,
    from_pack,
    hand_of,
    names_of,
    read,
)
from hkoji.bots.protocol import Seen
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import Act, Answer, Deal
from hkoji.rules.hanamikoji.state import HanamikojiState

FLOOR: Final = 0.05
"""The weight of a decision that cannot be explained at all, against one that is the best: players err, and so do we."""


class World(NamedTuple):
    """The unseen cards: the opponent's hand, its secret and trade-off (0 if not played), then the deck and the rest."""

    hand: Hand
    secret: Hand
    trade_off: Hand
    rest: tuple[Hand, ...]
    """The cards to be drawn, in order, and behind them the card removed from the round."""


class Step(NamedTuple):
    """A decision of the current round, answered if it was an offer. Of the opponent's face-down ones `move` is None."""

    mine: bool
    number: int
    move: Move | None
    change: Lead


def steps(seen: Seen) -> list[Step]:
    """The completed actions of the current round."""
    found: list[Step] = []
    offer = ""
    for event in seen.events:
        match event:
            case Deal():
                found.clear()
            case Act(seat, action) if action[0] in "34":
                offer = action
            case Act(seat, action):
                move = None if UNKNOWN in action else read(action)
                found.append(Step(seat == seen.seat, int(action[0]), move, move.changes[0] if move else 0))
            case Answer(seat, answer):
                move = read(offer)
                found.append(Step(seat != seen.seat, int(offer[0]), move, move.cards - 2 * hand_of(answer[1:])))
    return found


class Beliefs:
    """The worlds that `seen` allows; `yours` judges for the opponent."""

    def __init__(self, seen: Seen, yours: Judgement, chance: random.Random) -> None:
        view = seen.view
        assert isinstance(view, HanamikojiState)
        me, other = seen.seat, 1 - seen.seat
        self._chance = chance
        self._yours = yours
        self._steps = steps(seen)
        offer = hand_of(view.offer[1:])
        self._pending = read(view.offer) if view.offer else None
        open_cards = from_pack(view.rows[0]) + from_pack(view.rows[1]) + offer
        own = from_pack(view.hands[me]) + from_pack(view.secrets[me]) + from_pack(view.trade_offs[me])
        hidden = counts(ALL_CARDS - open_cards - own)
        self._unseen = [weight for n, weight in zip(hidden, WEIGHTS, strict=True) for _ in range(n)]
        self._size = view.ruleset.pack.count(view.hands[other])
        self._secret = int(view.secrets[other] != 0)
        self._trade_off = 2 * int(view.trade_offs[other] != 0)
        assert len(self._unseen) == self._size + self._secret + self._trade_off + len(view.deck) + 1

    def any(self) -> World:
        """A world, all being as likely."""
        unseen = self._unseen
        self._chance.shuffle(unseen)
        secret_at = self._size
        trade_off_at = secret_at + self._secret
        rest_at = trade_off_at + self._trade_off
        return World(
            sum(unseen[:secret_at]),
            sum(unseen[secret_at:trade_off_at]),
            sum(unseen[trade_off_at:rest_at]),
            tuple(unseen[rest_at:]),
        )

    def history(self, world: World) -> list[Hand]:
        """The opponent's hands before each of its actions, first to last, as they may have been in `world`.

        Any card of such a hand may be the one just drawn, each as likely: so hands are found from the last one back.
        """
        hand, hands = world.hand, []
        for move in reversed(self._moves(world)):
            hand += move.cards
            hands.append(hand)
            hand -= self._chance.choice(_cards(hand))
        hands.reverse()
        return hands

    def _moves(self, world: World) -> list[Move]:
        """The opponent's actions in `world`, an unanswered offer included."""
        found = [step.move or _face_down(step.number, world) for step in self._steps if not step.mine]
        return [*found, self._pending] if self._pending else found

    def likelihood(self, world: World, tolerance: float) -> float:
        """How well `world` explains the opponent's decisions: 1 if each seems its best one there.

        `tolerance` is the loss, in the unit of stakes, that makes a decision e times less likely.
        """
        hands = iter(self.history(world))
        side = Side(0, 0, 0, ALL_CARDS)
        total = 1.0
        for step in self._steps:
            move = step.move or _face_down(step.number, world)
            if not step.mine:
                side = side._replace(hand=next(hands))
                total *= _fit([(worth, option) for worth, option in self._yours.rank(side)], move, tolerance)
                side = side.plays(move, step.change if step.move else move.changes[0])
                continue
            # Between its own turns its hand is what is left of the one before: the card just drawn comes later.
            if len(move.changes) > 1:
                total *= _fit(self._yours.replies(side, move), step.change, tolerance)
            side = side.meets(move, step.change)
        if self._pending:
            side = side._replace(hand=next(hands))
            total *= _fit([(worth, option) for worth, option in self._yours.rank(side)], self._pending, tolerance)
        return total

    def draw(self, pool: int, tolerance: float) -> Iterator[World]:
        """Worlds without end, drawn from `pool` of them by likelihood, the deck shuffled anew each time.

        With a pool of 0, or when nothing has happened yet, all worlds are as likely.
        """
        if not pool or not (self._pending or any(not step.mine for step in self._steps)):
            while True:
                yield self.any()
        worlds = [self.any() for _ in range(pool)]
        weights = list(accumulate(self.likelihood(world, tolerance) for world in worlds))
        while True:
            hand, secret, trade_off, rest = self._chance.choices(worlds, cum_weights=weights)[0]
            cards = list(rest)
            self._chance.shuffle(cards)
            yield World(hand, secret, trade_off, tuple(cards))


def _cards(hand: Hand) -> list[Hand]:
    return [weight for n, weight in zip(counts(hand), WEIGHTS, strict=True) for _ in range(n)]


def _face_down(number: int, world: World) -> Move:
    cards = world.secret if 1 << number - 1 == FACE_DOWN[0] else world.trade_off
    return read(f"{number}{names_of(cards)}")


def _fit(options: list[tuple[float, Move]] | list[tuple[float, Lead]], chosen: object, tolerance: float) -> float:
    best = max(worth for worth, _ in options)
    worth = next(worth for worth, option in options if option == chosen)
    return FLOOR + (1.0 - FLOOR) * exp((worth - best) / tolerance)
