"""`search` at Hanamikoji: plays rounds out in worlds that fit what it has seen, and keeps what wins most games.

The moves that look best are all tried in the same worlds, both sides playing on by `HanamikojiJudgement`;
after each of several passes the worse half goes. What counts is the chance to win the whole game that the round
leaves (`HanamikojiRoundWorth`).
All randomness comes from the seed and the number of events seen, so a decision is a function of seed and `Seen`.
"""

from __future__ import annotations

import random
from typing import Final

from hkoji.bots.halving import Effort, halve
from hkoji.bots.hanamikoji.beliefs import HanamikojiBeliefs, HanamikojiWorld
from hkoji.bots.hanamikoji.judgement import HanamikojiJudgement
from hkoji.bots.hanamikoji.model import (
    ALL_CARDS,
    HanamikojiMove,
    HanamikojiSide,
    Lead,
    from_pack,
    hand_of,
    play_out,
    read,
)
from hkoji.bots.hanamikoji.worth import HanamikojiRoundWorth
from hkoji.bots.protocol import Seen
from hkoji.rules.events import Seat
from hkoji.rules.hanamikoji.actions import CHARM
from hkoji.rules.hanamikoji.state import HanamikojiState

ENOUGH: Final = 800
"""Worlds that a pass needs at most, however short the playouts."""

LEVELS: Final = {
    "easy": Effort(0, ENOUGH),
    "normal": Effort(3_000, ENOUGH),
    "hard": Effort(12_000, ENOUGH),
}
"""`easy` plays the best move at a glance."""


class HanamikojiSearch:
    """Plays at one of `LEVELS`."""

    def __init__(self, seed: int, level: str = "hard") -> None:
        self._seed = seed
        self._effort = LEVELS[level]

    def decide(self, seen: Seen) -> str:
        """The action that wins most of the games played out."""
        actions = seen.view.legal_actions()
        if len(actions) == 1:
            return actions[0]
        return _HanamikojiSampling(seen, self._effort, random.Random(f"{self._seed}/{len(seen.events)}")).best(actions)

    def close(self) -> None:
        """Holds nothing."""


class _HanamikojiSampling:
    """One decision. Seat 0 is the deciding seat here, and 1 the other, whatever they are in the game."""

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
        self._offer = read(view.offer) if view.offer else None
        self._turns = len(view.deck)
        self._beliefs = HanamikojiBeliefs(seen, chance)

    # --- the players of `play_out` --------------------------------------------------------------------------------

    def act(self, seat: int, side: HanamikojiSide) -> HanamikojiMove:
        """Both players move by their judgement."""
        return self._judges[seat].best(side)

    def reply(self, seat: int, side: HanamikojiSide, move: HanamikojiMove) -> Lead:
        """And so they answer."""
        return self._judges[seat].reply(side, move)

    # --- the decision ---------------------------------------------------------------------------------------------

    def best(self, actions: tuple[str, ...]) -> str:
        """The best of `actions`, all that are legal."""
        side, offer = self._sides[0], self._offer
        if offer:
            answers = {offer.cards - 2 * hand_of(action[1:]): action for action in actions}
            ranked = sorted(((worth, answers[change]) for worth, change in self._judges[0].replies(side, offer)))
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
        """The lead at the end of the round after `action`, in `world`."""
        me, other = self._sides
        hidden = world.secret + world.trade_off
        other = HanamikojiSide(world.hand, other.used, other.lead + world.secret, other.coming - hidden)
        if self._offer:
            # For whoever offered, an answer changes the lead by what is left less what is taken.
            change = self._offer.cards - 2 * hand_of(action[1:])
            me = me.meets(self._offer, change)
            other = HanamikojiSide(other.hand, other.used, other.lead + change, other.coming - self._offer.cards)
            return play_out((me, other), 0, world.rest[: self._turns], world.secret, self)
        move = read(action)
        change = move.changes[0] if len(move.changes) == 1 else self.reply(1, other, move)
        return play_out(
            (me.plays(move, change), other.meets(move, change)), 1, world.rest[: self._turns], world.secret, self
        )


def _side(view: HanamikojiState, seat: Seat) -> HanamikojiSide:
    """What the view shows of one side; of the deciding seat that is all there is."""
    rows = from_pack(view.rows[seat]), from_pack(view.rows[1 - seat])
    hidden = from_pack(view.secrets[seat]) + from_pack(view.trade_offs[seat])
    lead = rows[0] - rows[1] + from_pack(view.secrets[seat])
    return HanamikojiSide(from_pack(view.hands[seat]), view.used[seat], lead, ALL_CARDS - rows[0] - rows[1] - hidden)
