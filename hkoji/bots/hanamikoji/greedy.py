"""`greedy` at Hanamikoji: the action after which its own view looks best, the opponent answering to its harm.

It looks no further than that answer, guesses no hidden card, and weighs geisha by their charm. It is the yardstick for
stronger bots, so it is kept plain.
"""

from __future__ import annotations

from math import sqrt, tanh
from typing import Final

from hkoji.bots.hanamikoji.model import counts, from_pack, hand_of, leads, read
from hkoji.bots.protocol import Seen
from hkoji.rules.cards import Cards
from hkoji.rules.events import Seat
from hkoji.rules.hanamikoji import scoring
from hkoji.rules.hanamikoji.actions import CHARM
from hkoji.rules.hanamikoji.state import HanamikojiState

HELD: Final = 0.3
"""What a card in hand counts for, against one at a geisha: it may yet be given away or traded off."""

KEPT: Final = 0.5
"""What having the marker already counts for: a tie is enough to keep it."""


class HanamikojiGreedy:
    """Plays by `looks`; ties go to the first action in the order of the rules."""

    def __init__(self, seed: int) -> None:
        del seed  # nothing is left to chance

    def decide(self, seen: Seen) -> str:
        """The action with the best worst case."""
        view = seen.view
        assert isinstance(view, HanamikojiState)
        return max(view.legal_actions(), key=lambda action: _worst(view, seen.seat, action))

    def close(self) -> None:
        """Holds nothing."""


def looks(lead: int, hand: int, placed: int, markers: str, seat: Seat) -> float:
    """How a view looks: charm, for each geisha as far as she seems won.

    `lead` is what `seat` has at the geisha more than the other, `hand` what it holds, and `placed` all cards that it
    knows to be at the geisha or out of play. The more of her items are still to come, the less a lead says.
    """
    total = 0.0
    for ahead, held, gone, charm, marker in zip(leads(lead), counts(hand), counts(placed), CHARM, markers, strict=True):
        kept = 0.0 if marker == scoring.NEUTRAL else KEPT if marker == str(seat) else -KEPT
        total += charm * tanh((ahead + HELD * held + kept) / sqrt(charm - gone + 0.3))
    return total


def own(pair: tuple[Cards, Cards], seat: Seat) -> int:
    """One seat's known cards of a pair of multisets."""
    return from_pack(pair[seat])


def lead_of(view: HanamikojiState, seat: Seat) -> int:
    """What `seat` sees that it has at the geisha more than the other seat, its own secret included."""
    return own(view.rows, seat) - own(view.rows, 1 - seat) + own(view.secrets, seat)


def placed_of(view: HanamikojiState, seat: Seat) -> int:
    """All cards that `seat` knows to be at the geisha or out of play."""
    return own(view.rows, 0) + own(view.rows, 1) + own(view.secrets, seat) + own(view.trade_offs, seat)


def _worst(view: HanamikojiState, seat: Seat, action: str) -> float:
    lead, hand, placed = lead_of(view, seat), own(view.hands, seat), placed_of(view, seat)
    if view.offer:
        offered, taken = hand_of(view.offer[1:]), hand_of(action[1:])
        return looks(lead + 2 * taken - offered, hand, placed + offered, view.markers, seat)
    move = read(action)
    return min(
        looks(lead + change, hand - move.cards, placed + move.cards, view.markers, seat) for change in move.changes
    )
