"""`greedy` at Hanamikoji: the action after which its own view looks best, the opponent answering to its harm.

It looks no further than that answer, guesses no hidden card, and weighs geisha by their charm. It is the yardstick for
stronger bots, so it is kept plain.
"""

from __future__ import annotations

from typing import Final

from hkoji.bots.hanamikoji.model import from_pack, hand_of, leads, read
from hkoji.bots.protocol import Seen
from hkoji.rules.cards import Cards
from hkoji.rules.events import Seat
from hkoji.rules.hanamikoji import scoring
from hkoji.rules.hanamikoji.actions import CHARM
from hkoji.rules.hanamikoji.state import HanamikojiState

CARD: Final = 0.1
"""What a card more at a geisha counts for, as a share of her charm, beside the favor itself."""


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


def looks(lead: int, markers: str, seat: Seat) -> float:
    """How a view looks: the charm that `seat` would have the other player's less, were the round to end now.

    `lead` is what `seat` has at the geisha more than the other. Cards more than are needed count a little too.
    """
    total = 0.0
    for ahead, charm, marker in zip(leads(lead), CHARM, markers, strict=True):
        kept = 0 if marker == scoring.NEUTRAL else 1 if marker == str(seat) else -1
        favor = 1 if ahead > 0 else -1 if ahead < 0 else kept
        total += charm * (favor + CARD * ahead)
    return total


def own(pair: tuple[Cards, Cards], seat: Seat) -> int:
    """One seat's known cards of a pair of multisets."""
    return from_pack(pair[seat])


def lead_of(view: HanamikojiState, seat: Seat) -> int:
    """What `seat` sees that it has at the geisha more than the other seat, its own secret included."""
    return own(view.rows, seat) - own(view.rows, 1 - seat) + own(view.secrets, seat)


def _worst(view: HanamikojiState, seat: Seat, action: str) -> float:
    lead = lead_of(view, seat)
    if view.offer:
        offered, taken = hand_of(view.offer[1:]), hand_of(action[1:])
        return looks(lead + 2 * taken - offered, view.markers, seat)
    return min(looks(lead + change, view.markers, seat) for change in read(action).changes)
