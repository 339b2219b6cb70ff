"""`greedy` at Hanamikoji: chooses the action after which its view looks best, given the opponent's worst answer.

It looks no further than that answer, guesses no hidden card, and weights geisha by their charm. Stronger bots are
measured against it, so it stays simple.
"""

from __future__ import annotations

from typing import Final

from hkoji.bots.hanamikoji.model import from_pack, hand_of, leads, read
from hkoji.bots.protocol import Bot, Seen
from hkoji.rules.cards import Cards
from hkoji.rules.events import Seat
from hkoji.rules.hanamikoji import position
from hkoji.rules.hanamikoji.actions import CHARM
from hkoji.rules.hanamikoji.ruleset import HanamikojiState

CARD: Final = 0.1
"""The value of one more card at a geisha, in addition to her favour, as a share of her charm."""


class HanamikojiGreedy(Bot):
    """Plays by `looks`; ties go to the first action in the order of the rules."""

    def __init__(self, seed: int) -> None:
        del seed  # this bot uses no chance

    def decide(self, seen: Seen) -> str:
        """Returns the action with the best worst case."""
        view = seen.view
        assert isinstance(view, HanamikojiState)
        return max(view.legal_actions(), key=lambda action: _worst(view, seen.seat, action))


def looks(lead: int, markers: str, seat: Seat) -> float:
    """Rates a view: the charm of `seat` less that of the other player if the round ended now.

    `lead` is the cards of `seat` at the geisha less the other's. Cards beyond those needed count a little too.
    """
    total = 0.0
    for ahead, charm, marker in zip(leads(lead), CHARM, markers, strict=True):
        kept = 0 if marker == position.NEUTRAL else 1 if marker == str(seat) else -1
        favour = 1 if ahead > 0 else -1 if ahead < 0 else kept
        total += charm * (favour + CARD * ahead)
    return total


def own(pair: tuple[Cards, Cards], seat: Seat) -> int:
    """Returns one seat's known cards of a pair of multisets."""
    return from_pack(pair[seat])


def lead_of(view: HanamikojiState, seat: Seat) -> int:
    """Returns the lead of `seat` as that seat sees it, its own secret included."""
    return own(view.rows, seat) - own(view.rows, 1 - seat) + own(view.secrets, seat)


def _worst(view: HanamikojiState, seat: Seat, action: str) -> float:
    lead = lead_of(view, seat)
    if view.proposal:
        offered, taken = hand_of(view.proposal[1:]), hand_of(action[1:])
        return looks(lead + 2 * taken - offered, view.markers, seat)
    return min(looks(lead + change, view.markers, seat) for change in read(action).changes)
