"""`search` at Hanamikoji: plays rounds out in worlds that fit what it has seen, and chooses the best move on average.

The moves that look best are all tried in the same worlds, where `HanamikojiJudgement` plays on for both sides; after
each of several passes the worse half is dropped. All randomness comes from the seed and the number of events seen, so a
decision is a function of the seed and `Seen`.

*Worlds.* Every distribution of the unseen cards counts as equally likely. The opponent's choices say something about
its hand, but weighting worlds by them has not made play stronger (docs/bots.md), so they are ignored.

*The value of a round's end* is the chance to win the whole game from there. A game without a limit goes on until a
player has won, and markers stay from round to round. So a round is not won or lost: its result is its markers. Their
worth follows from a chain of rounds, in which each geisha's marker moves on its own with the chances in `MOVES`,
measured by `scripts/bench/bots.py --markers`. In truth the geisha depend on each other; the chain ignores that. The
rules decide when a game ends.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from hkoji.bots.halving import Effort, halve
from hkoji.bots.hanamikoji.judgement import HanamikojiJudgement
from hkoji.bots.hanamikoji.model import (
    ALL_CARDS,
    KINDS,
    WEIGHTS,
    HanamikojiSide,
    Hand,
    Lead,
    counts,
    from_pack,
    hand_of,
    leads,
    play_out,
    read,
)
from hkoji.bots.protocol import Bot, Seen
from hkoji.rules.events import Seat
from hkoji.rules.hanamikoji import position
from hkoji.rules.hanamikoji.actions import CHARM
from hkoji.rules.hanamikoji.position import HanamikojiOptions
from hkoji.rules.hanamikoji.ruleset import HanamikojiState


class HanamikojiWorld(NamedTuple):
    """The unseen cards: the opponent's hand, its secret and trade-off (0 if not played), then the deck and the rest."""

    hand: Hand
    secret: Hand
    trade_off: Hand
    rest: tuple[Hand, ...]
    """The cards to be drawn, in order, then the card removed from the round."""


class HanamikojiBeliefs:
    """The worlds that `seen` allows."""

    def __init__(self, seen: Seen, chance: random.Random) -> None:
        view = seen.view
        assert isinstance(view, HanamikojiState)
        me, other = seen.seat, 1 - seen.seat
        self._chance = chance
        shown = from_pack(view.rows[0]) + from_pack(view.rows[1]) + hand_of(view.proposal[1:])
        own = from_pack(view.hands[me]) + from_pack(view.secrets[me]) + from_pack(view.trade_offs[me])
        hidden = counts(ALL_CARDS - shown - own)
        self._unseen = [weight for n, weight in zip(hidden, WEIGHTS, strict=True) for _ in range(n)]
        pack = view.ruleset.pack
        self._secret_at = pack.count(view.hands[other])
        self._trade_off_at = self._secret_at + pack.count(view.secrets[other])
        self._rest_at = self._trade_off_at + pack.count(view.trade_offs[other])
        assert len(self._unseen) == self._rest_at + len(view.deck) + 1

    def any(self) -> HanamikojiWorld:
        """Returns a random world; all are equally likely."""
        unseen = self._unseen
        self._chance.shuffle(unseen)
        return HanamikojiWorld(
            sum(unseen[: self._secret_at]),
            sum(unseen[self._secret_at : self._trade_off_at]),
            sum(unseen[self._trade_off_at : self._rest_at]),
            tuple(unseen[self._rest_at :]),
        )


MOVES: Final = {2: (0.31, 0.33), 3: (0.44, 0.37), 4: (0.32, 0.36), 5: (0.26, 0.29)}
"""For each charm, how often a round's starter has more of a geisha's items, and how often the other player."""

SETTLED: Final = 12
"""The number of rounds to look ahead in a game without a limit: hardly any game lasts that long."""

Worths: TypeAlias = tuple[float, ...]
"""Indexed by the markers as a number in base 3, geisha A the lowest digit: 0 middle, 1 the starter's, 2 the other's."""

_SIZE: Final = 2187
_POWERS: Final[tuple[int, ...]] = tuple(3**i for i in range(KINDS))


@cache
def _ends(goals_only: bool, tiebreak: str) -> tuple[float | None, ...]:
    """Returns the worth for the side whose markers are 1 where the rules end the game, and None elsewhere."""
    worths: list[float | None] = []
    for code in range(_SIZE):
        markers = "".join(".01"[code // power % 3] for power in _POWERS)
        outcome = position.winner(markers) or (None if goals_only else position.limit(markers, tiebreak))
        worths.append(None if outcome is None else {0: 1.0, 1: 0.0, None: 0.5}[outcome.winner])
    return tuple(worths)


@cache
def _swap() -> tuple[int, ...]:
    """Returns the index of each position with the sides swapped."""
    return tuple(sum((0, 2, 1)[code // power % 3] * power for power in _POWERS) for code in range(_SIZE))


@cache
def before_round(rounds: int, tiebreak: str) -> Worths:
    """Returns the chance to win of the player who starts a round, with at most `rounds` to go, this one included."""
    values = list(after_round(rounds - 1, tiebreak))
    for power, charm in zip(_POWERS, CHARM, strict=True):
        more, less = MOVES[charm]
        tie = 1.0 - more - less
        for code in range(_SIZE):
            if code // power % 3 == 0:
                middle, mine, yours = values[code], values[code + power], values[code + 2 * power]
                moved = more * mine + less * yours
                values[code] = moved + tie * middle
                values[code + power] = moved + tie * mine
                values[code + 2 * power] = moved + tie * yours
    return tuple(values)


@cache
def after_round(rounds: int, tiebreak: str) -> Worths:
    """Returns the chance to win of the player who started the round just scored, with at most `rounds` to go."""
    swap = _swap()
    if rounds == 0:
        return tuple(worth if worth is not None else 0.0 for worth in _ends(False, tiebreak))
    ahead = before_round(rounds, tiebreak)
    return tuple(
        worth if worth is not None else 1.0 - ahead[swap[code]] for code, worth in enumerate(_ends(True, tiebreak))
    )


def code_of(markers: str, seat: Seat) -> int:
    """Returns the markers as a number from the side of `seat`: its own have the digit 1."""
    digits = {position.NEUTRAL: 0, str(seat): 1, str(1 - seat): 2}
    return sum(digits[marker] * power for marker, power in zip(markers, _POWERS, strict=True))


class HanamikojiRoundWorth(dict[Lead, float]):
    """A seat's chance to win the game, by its lead at the end of the current round. Entries are computed on demand."""

    def __init__(self, ruleset: HanamikojiOptions, markers: str, seat: Seat, first: Seat, number: int) -> None:
        """`markers` are those before the scoring of round `number`, which seat `first` has started."""
        super().__init__()
        to_go = ruleset.max_rounds - number if ruleset.max_rounds else SETTLED
        after = after_round(to_go, ruleset.tiebreak)
        swap = _swap()
        self._worths: Worths = after if seat == first else tuple(1.0 - after[swap[code]] for code in range(_SIZE))
        before = code_of(markers, seat)
        self._digits = tuple(before // power % 3 for power in _POWERS)

    def __missing__(self, lead: Lead) -> float:
        code = 0
        for ahead, digit, power in zip(leads(lead), self._digits, _POWERS, strict=True):
            code += power * (1 if ahead > 0 else 2 if ahead < 0 else digit)
        worth: float = self._worths[code]
        self[lead] = worth
        return worth


ENOUGH: Final = 800
"""The most worlds for a pass, however short the playouts."""

LEVELS: Final = {
    "easy": Effort(0, ENOUGH),
    "normal": Effort(3_000, ENOUGH),
    "hard": Effort(12_000, ENOUGH),
}
"""`easy` plays the best move at a glance."""


class HanamikojiSearch(Bot):
    """Plays at one of `LEVELS`."""

    def __init__(self, seed: int, level: str = "hard") -> None:
        self._seed = seed
        self._effort = LEVELS[level]

    def decide(self, seen: Seen) -> str:
        """Returns the action with the best chance to win the game over all playouts."""
        actions = seen.view.legal_actions()
        if len(actions) == 1:
            return actions[0]
        return _HanamikojiSampling(seen, self._effort, random.Random(f"{self._seed}/{len(seen.events)}")).best(actions)


class _HanamikojiSampling:
    """One decision. Here seat 0 is the deciding seat and 1 the other, whatever their seats in the game."""

    def __init__(self, seen: Seen, effort: Effort, chance: random.Random) -> None:
        view = seen.view
        assert isinstance(view, HanamikojiState)
        assert view.first is not None
        me, other = seen.seat, 1 - seen.seat
        self._effort = effort
        self._worth = HanamikojiRoundWorth(view.ruleset, view.markers, me, view.first, view.round)
        kept = [{str(me): 1, str(other): -1}.get(marker, 0) for marker in view.markers]
        self._judges = HanamikojiJudgement(CHARM, kept), HanamikojiJudgement(CHARM, [-side for side in kept])
        self._sides = _side(view, me), _side(view, other)
        self._proposal = read(view.proposal) if view.proposal else None
        self._turns = len(view.deck)
        self._beliefs = HanamikojiBeliefs(seen, chance)

    def best(self, actions: tuple[str, ...]) -> str:
        """Returns the best of `actions`, which are all legal actions."""
        side, proposal = self._sides[0], self._proposal
        if proposal:
            answers = {proposal.cards - 2 * hand_of(action[1:]): action for action in actions}
            ranked = sorted(((worth, answers[change]) for worth, change in self._judges[0].replies(side, proposal)))
        else:
            named = {read(action): action for action in actions}
            ranked = sorted((worth, named[move]) for worth, move in self._judges[0].rank(side))
        tried = [action for _, action in reversed(ranked)][: self._effort.width]
        if not self._effort.turns:
            return tried[0]
        return halve(tried, self._effort, self._turns, self._beliefs.any, self._value)

    def _value(self, action: str, world: HanamikojiWorld) -> float:
        return self._worth[self._play(action, world)]

    def _play(self, action: str, world: HanamikojiWorld) -> Lead:
        """Returns the lead at the end of the round after `action`, in `world`."""
        me, other = self._sides
        hidden = world.secret + world.trade_off
        other = HanamikojiSide(world.hand, other.used, other.lead + world.secret, other.coming - hidden)
        if self._proposal:
            # For the player who offered, an answer changes the lead by the cards left less the cards taken.
            change = self._proposal.cards - 2 * hand_of(action[1:])
            me = me.meets(self._proposal, change)
            other = HanamikojiSide(other.hand, other.used, other.lead + change, other.coming - self._proposal.cards)
            return play_out((me, other), 0, world.rest[: self._turns], world.secret, self._judges)
        move = read(action)
        change = move.changes[0] if len(move.changes) == 1 else self._judges[1].reply(other, move)
        return play_out(
            (me.plays(move, change), other.meets(move, change)),
            1,
            world.rest[: self._turns],
            world.secret,
            self._judges,
        )


def _side(view: HanamikojiState, seat: Seat) -> HanamikojiSide:
    """Returns what the view shows of one side. For the deciding seat, that is complete."""
    rows = from_pack(view.rows[seat]), from_pack(view.rows[1 - seat])
    hidden = from_pack(view.secrets[seat]) + from_pack(view.trade_offs[seat])
    lead = rows[0] - rows[1] + from_pack(view.secrets[seat])
    return HanamikojiSide(from_pack(view.hands[seat]), view.used[seat], lead, ALL_CARDS - rows[0] - rows[1] - hidden)
