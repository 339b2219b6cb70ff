"""`search` at Hanamikoji: plays rounds out in worlds that fit what it has seen, and chooses the best move on average.

The moves that look best are all tried in the same worlds, where `HanamikojiJudgement` plays on for both sides; after
each of several passes the worse half is dropped. The value of a round's end is the chance to win the whole game from
there (`HanamikojiRoundWorth`).
All randomness comes from the seed and the number of events seen, so a decision is a function of the seed and `Seen`.
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
"""The most worlds for a pass, however short the playouts."""

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
        """Returns the action with the best chance to win the game over all playouts."""
        actions = seen.view.legal_actions()
        if len(actions) == 1:
            return actions[0]
        return _HanamikojiSampling(seen, self._effort, random.Random(f"{self._seed}/{len(seen.events)}")).best(actions)

    def close(self) -> None:
        """Does nothing: the bot holds no resources."""


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

    # --- the players of `play_out` --------------------------------------------------------------------------------

    def act(self, seat: int, side: HanamikojiSide) -> HanamikojiMove:
        """Returns the move that the seat's judgement prefers."""
        return self._judges[seat].best(side)

    def reply(self, seat: int, side: HanamikojiSide, move: HanamikojiMove) -> Lead:
        """Returns the answer that the seat's judgement prefers."""
        return self._judges[seat].reply(side, move)

    # --- the decision ---------------------------------------------------------------------------------------------

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
            return play_out((me, other), 0, world.rest[: self._turns], world.secret, self)
        move = read(action)
        change = move.changes[0] if len(move.changes) == 1 else self.reply(1, other, move)
        return play_out(
            (me.plays(move, change), other.meets(move, change)), 1, world.rest[: self._turns], world.secret, self
        )


def _side(view: HanamikojiState, seat: Seat) -> HanamikojiSide:
    """Returns what the view shows of one side. For the deciding seat, that is complete."""
    rows = from_pack(view.rows[seat]), from_pack(view.rows[1 - seat])
    hidden = from_pack(view.secrets[seat]) + from_pack(view.trade_offs[seat])
    lead = rows[0] - rows[1] + from_pack(view.secrets[seat])
    return HanamikojiSide(from_pack(view.hands[seat]), view.used[seat], lead, ALL_CARDS - rows[0] - rows[1] - hidden)
