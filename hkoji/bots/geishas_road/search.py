"""`search` at Geisha's Road: plays rounds out in worlds that fit what it has seen, and chooses the best on average.

The decisions that look best are all tried in the same worlds, where `GeishasRoadJudgement` plays on for both sides;
after each of several passes the worse half is dropped. The choice of a marker or of the starting player is judged
without playouts. All randomness comes from the seed and the number of events seen, so a decision is a function of the
seed and `Seen`.

The value of a round's end is the chance to win the whole game from there. The first player to win two rounds wins the
game. The markers count a little too: they stay, and each is half a point in every round to come.
"""

from __future__ import annotations

import random
from math import tanh
from typing import Final, NamedTuple

from hkoji.bots.geishas_road.greedy import lead_of
from hkoji.bots.geishas_road.judgement import GeishasRoadJudgement, stakes
from hkoji.bots.geishas_road.model import (
    ALL_CARDS,
    INFLUENCE,
    Card,
    GeishasRoadRoundEnd,
    GeishasRoadSide,
    Lead,
    Road,
    cards_of,
    finish,
    from_road,
    in_mask,
    lanterns,
    leads,
    make_move,
    mask_of,
    play_out,
    plays,
    read,
    step,
)
from hkoji.bots.halving import Effort, halve
from hkoji.bots.protocol import Bot, Seen
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road import position
from hkoji.rules.geishas_road.actions import COLOURS, KNOWN, PACK
from hkoji.rules.geishas_road.ruleset import GeishasRoadState
from hkoji.rules.protocol import Due


class GeishasRoadWorld(NamedTuple):
    """The unseen cards: the opponent's hand, its kept and its discarded card (empty if not played), and the deck."""

    hand: int
    kept: int
    discarded: int
    deck: tuple[Card, ...]


class GeishasRoadBeliefs:
    """The worlds that `seen` allows; all are equally likely."""

    def __init__(self, seen: Seen, chance: random.Random) -> None:
        view = seen.view
        assert isinstance(view, GeishasRoadState)
        me, other = seen.seat, 1 - seen.seat
        self._chance = chance
        known = view.tableaus[0] | view.tableaus[1] | view.hands[me] | view.intrigues[me] | view.discards[me]
        known |= PACK.encode(view.proposal[1:]) | PACK.encode(view.left)
        self._unseen = list(in_mask(ALL_CARDS & ~(known & KNOWN)))
        self._size = PACK.count(view.hands[other])
        self._intrigue = int(view.intrigues[other] != 0)

    def any(self) -> GeishasRoadWorld:
        """Returns a random world."""
        unseen = self._unseen
        self._chance.shuffle(unseen)
        kept = self._size
        discarded = kept + self._intrigue
        rest = discarded + self._intrigue
        return GeishasRoadWorld(
            mask_of(unseen[:kept]),
            mask_of(unseen[kept:discarded]),
            mask_of(unseen[discarded:rest]),
            tuple(unseen[rest:]),
        )


EDGE: Final = 0.02
"""How much each marker of lead over the other player raises the chance to win a round."""

MARGIN: Final = 0.15
"""The share of the margin in a round's worth: a larger margin is safer and carries more information than the result."""


class GeishasRoadRoundWorth:
    """A seat's chance to win the game, by the road and the seat's lead at the end of the current round."""

    def __init__(self, view: GeishasRoadState, seat: Seat) -> None:
        self._marks = tuple(0 if m == position.MIDDLE else 1 if m == str(seat) else -1 for m in view.markers)
        self._wins = view.wins[seat], view.wins[1 - seat]
        self._starts = view.first == seat

    def won(self, road: Road, lead: Lead) -> tuple[bool, int, int]:
        """Returns whether the seat wins the round, and then its leads in prestige and in markers."""
        points, markers = 0, 0
        for prestige, ahead, mark in zip(lanterns(road), leads(lead), self._marks, strict=True):
            favour = 1 if ahead > 0 else -1 if ahead < 0 else mark
            points += favour * prestige
            markers += favour or mark
        return (points, markers) > (0, 0) or (points == markers == 0 and self._starts), points, markers

    def of(self, road: Road, lead: Lead) -> float:
        """Returns the seat's chance to win the game."""
        won, points, markers = self.won(road, lead)
        mine, yours = self._wins
        ahead = EDGE * markers
        chance = game_worth(mine + won, yours + (not won), ahead)
        return (1 - MARGIN) * chance + MARGIN * (0.5 + 0.5 * tanh(points / 8))


def game_worth(mine: int, yours: int, edge: float) -> float:
    """Returns the chance to win a game with these rounds won, if each coming round is won with chance 0.5 + `edge`."""
    if position.ROUNDS_TO_WIN in (mine, yours):
        return float(mine > yours)
    chance = min(0.9, max(0.1, 0.5 + edge))
    return chance * game_worth(mine + 1, yours, edge) + (1 - chance) * game_worth(mine, yours + 1, edge)


ENOUGH: Final = 400
"""The most worlds for a pass, however short the playouts."""

LEVELS: Final = {
    "easy": Effort(0, ENOUGH),
    "normal": Effort(600, ENOUGH),
    "hard": Effort(3_500, ENOUGH),
}
"""`easy` plays the best move at a glance."""


class GeishasRoadSearch(Bot):
    """Plays at one of `LEVELS`."""

    def __init__(self, seed: int, level: str = "hard") -> None:
        self._seed = seed
        self._effort = LEVELS[level]

    def decide(self, seen: Seen) -> str:
        """Returns the decision with the best chance to win the game over all playouts."""
        view = seen.view
        assert isinstance(view, GeishasRoadState)
        actions = view.legal_actions()
        if len(actions) == 1:
            return actions[0]
        if view.due is Due.PICK:
            return max(actions, key=lambda action: _pick(view, seen.seat, action))
        return _GeishasRoadSampling(seen, view, self._effort, random.Random(f"{self._seed}/{len(seen.events)}")).best(
            actions
        )


def _pick(view: GeishasRoadState, seat: Seat, action: str) -> float:
    """Rates the choice of a marker or of the starting player. The starting player wins ties, so starting is better."""
    if action[0] == "^":
        return float(action[1] == str(seat))
    colour = COLOURS.index(action[1])
    return stakes(view.hands[seat] >> 4 * colour & 15, 15)


class _GeishasRoadSampling:
    """One decision. Here seat 0 is the deciding seat and 1 the other, whatever their seats in the game."""

    def __init__(self, seen: Seen, view: GeishasRoadState, effort: Effort, chance: random.Random) -> None:
        me, other = seen.seat, 1 - seen.seat
        self._effort = effort
        self._due = view.due
        self._worth = GeishasRoadRoundWorth(view, me)
        marks = [0 if marker == position.MIDDLE else 1 if marker == str(me) else -1 for marker in view.markers]
        self._judges = GeishasRoadJudgement(tuple(marks)), GeishasRoadJudgement(tuple(-mark for mark in marks))
        self._sides = _side(view, me), _side(view, other)
        self._road = from_road(view.road)
        self._proposal = read(view.proposal) if view.proposal else None
        self._left = cards_of(view.left)
        self._starter = 0 if view.first == me else 1
        self._turns = PACK.count(PACK.encode(view.deck))
        self._beliefs = GeishasRoadBeliefs(seen, chance)

    def best(self, actions: tuple[str, ...]) -> str:
        """Returns the best of `actions`, which are all legal actions."""
        own = GeishasRoadSide(0, 0, 0, 0)  # without a world, nothing of the other side's hand is known
        looks = {action: self._judges[0].value(*self._after(action, own)[::2]) for action in actions}
        tried = sorted(actions, key=lambda action: -looks[action])[: self._effort.width]
        if not self._effort.turns:
            return tried[0]
        return halve(tried, self._effort, self._turns, self._beliefs.any, self._value)

    def _value(self, action: str, world: GeishasRoadWorld) -> float:
        return self._worth.of(*self._play(action, world))

    def _play(self, action: str, world: GeishasRoadWorld) -> GeishasRoadRoundEnd:
        """Returns the end of the round after `action`, in `world`."""
        side = self._sides[1]
        kept = sum(INFLUENCE[card] for card in in_mask(world.kept))
        other = GeishasRoadSide(
            world.hand, side.used, side.lead + kept, side.coming & ~(world.kept | world.discarded), world.kept
        )
        first, second, road = self._after(action, other)
        seat = 0 if self._due is Due.ANSWER else 1
        return play_out((first, second), seat, road, world.deck, self._starter, self._judges)

    def _after(self, action: str, other: GeishasRoadSide) -> tuple[GeishasRoadSide, GeishasRoadSide, Road]:
        """Returns both sides and the road after `action`, with its answer and the order of the cards left, if any."""
        me, road = self._sides[0], self._road
        if self._due is Due.ORDER:
            cards = cards_of(action[1:])
            gain = INFLUENCE[cards[0]] + INFLUENCE[cards[1]]
            for card in cards:
                road = step(road, card)
            mask = mask_of(cards)
            me = me._replace(lead=me.lead + gain, coming=me.coming & ~mask)
            return me, other._replace(lead=other.lead - gain, coming=other.coming & ~mask), road
        if self._due is Due.ANSWER:
            assert self._proposal is not None
            cards = cards_of(action[1:])
            rest = tuple(card for card in self._proposal.cards if card not in cards)
            taken = next(play for play in plays(road, cards) if play.cards == cards)
            return finish((me, other), 1, self._proposal, taken, rest, self._judges)
        return make_move((me, other), 0, road, read(action), self._judges)


def _side(view: GeishasRoadState, seat: Seat) -> GeishasRoadSide:
    """Returns what the view shows of one side. For the deciding seat, that is complete."""
    placed = view.tableaus[0] | view.tableaus[1] | (view.intrigues[seat] | view.discards[seat]) & KNOWN
    return GeishasRoadSide(
        view.hands[seat] & KNOWN,
        view.used[seat],
        lead_of(view, seat),
        ALL_CARDS & ~placed,
        view.intrigues[seat] & KNOWN,
    )
