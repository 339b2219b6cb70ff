"""A position of Hanamikoji as one observer knows it: where the cards are, what can be done, who wins.

A hand, a row, a face-down card is a multiset that may hold unknown cards, so the same code referees (all known), shows
a player's view and a spectator's. `ruleset` says how each event changes a position.

Markers are text of seven characters, one a geisha in the order of the row: `0` or `1` on that seat's side, `.` in
the middle.

Source: rulebooks, "Sequence of play", "Scoring" and "End of the game"; the optional round limit with its two
tie-breaks. A `NamedTuple` rather than a dataclass because a position is made for every event of a replay, and a frozen
dataclass of this size takes four times as long to make.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple, Protocol, Self

from hkoji.errors import UnknownHandError
from hkoji.rules.cards import UNKNOWN, Cards, hide_others
from hkoji.rules.events import Outcome, Seat
from hkoji.rules.hanamikoji.actions import CHARM, NUMBERS, PACK, actions, answers, bit, parse
from hkoji.rules.protocol import Due, Json, Ruleset

NEUTRAL: Final = "."
START: Final = NEUTRAL * 7

CHARM_TO_WIN: Final = 11
GEISHA_TO_WIN: Final = 4


def move_markers(markers: str, host_row: Cards, guest_row: Cards) -> str:
    """The markers after a round: strictly more items move a marker; a tie, or no item, leaves it where it is."""
    return "".join(
        "0" if host > guest else "1" if guest > host else marker
        for marker, host, guest in zip(markers, PACK.counts(host_row), PACK.counts(guest_row), strict=False)
    )


@cache
def charm(markers: str, seat: Seat) -> int:
    """Charm points on a seat's side."""
    return sum(points for marker, points in zip(markers, CHARM, strict=True) if marker == str(seat))


@cache
def geisha(markers: str, seat: Seat) -> int:
    """The number of geisha that favour a seat."""
    return markers.count(str(seat))


@cache
def winner(markers: str) -> Outcome | None:
    """The outcome by a winning goal. If each player has one, charm comes before geisha, as the rulebooks say."""
    for seat in (0, 1):
        if charm(markers, seat) >= CHARM_TO_WIN:
            return Outcome("charm", seat)
    for seat in (0, 1):
        if geisha(markers, seat) >= GEISHA_TO_WIN:
            return Outcome("geisha", seat)
    return None


@cache
def limit(markers: str, tiebreak: str) -> Outcome:
    """The outcome at the round limit: `geisha` (geisha, then charm) or `charm` (charm, then the highest geisha)."""
    if tiebreak == "geisha":
        ranks = [(geisha(markers, seat), charm(markers, seat)) for seat in (0, 1)]
        return Outcome("limit", _higher(ranks[0], ranks[1]))
    boards = [
        (
            charm(markers, seat),
            *sorted((c for m, c in zip(markers, CHARM, strict=True) if m == str(seat)), reverse=True),
        )
        for seat in (0, 1)
    ]
    return Outcome("limit", _higher(boards[0], boards[1]))


def _higher(host: tuple[int, ...], guest: tuple[int, ...]) -> Seat | None:
    return None if host == guest else 0 if host > guest else 1


_X: Final = PACK.unknown


class HanamikojiOptions(Ruleset, Protocol):
    """The ruleset, with the options that the rules ask for."""

    @property
    def max_rounds(self) -> int:
        """The limit of rounds; 0 for none."""

    @property
    def tiebreak(self) -> str:
        """The tie-break at the limit: `geisha` or `charm`."""


class HanamikojiPosition(NamedTuple):
    """A position. Pairs are by seat; multisets are numbers of `actions.PACK`; no card is in two places."""

    ruleset: HanamikojiOptions
    round: int
    first: Seat | None
    """The seat that starts the current round, or before the first deal the first round; None until chance decides."""
    due: Due
    actor: Seat | None
    hands: tuple[Cards, Cards]
    used: tuple[int, int]
    """Actions taken this round, a bit each."""
    rows: tuple[Cards, Cards]
    """Cards at the geisha, on each side."""
    secrets: tuple[Cards, Cards]
    """The face-down secret until it is revealed; then it is in the row."""
    trade_offs: tuple[Cards, Cards]
    proposal: str
    """The gift or competition that waits for an answer; else empty."""
    deck: str
    """The cards to be drawn, in order."""
    aside: Cards
    """The card removed from the round."""
    markers: str
    """A character for each geisha, as above."""
    revealed: int
    """Seats whose secret has been revealed this round, a bit each."""
    outcome: Outcome | None

    # --- what can be done -----------------------------------------------------------------------------------------

    def legal_actions(self) -> tuple[str, ...]:
        """The decisions open to the actor, canonical and sorted; empty when no decision is due.

        Raises `UnknownHandError` when an action is due from a hand that is not fully known here. An answer depends on
        open cards only and is always known.
        """
        if self.due is Due.ACT:
            seat = self.actor
            assert seat is not None
            hand = self.hands[seat]
            if hand >= _X:
                raise UnknownHandError(seat)
            return actions(hand, self.used[seat])
        return answers(self.proposal) if self.due is Due.ANSWER else ()

    def shape(self) -> tuple[str, ...]:
        """The form of a legal decision now, `?` for a card: public, whatever the hand."""
        if self.due is Due.ACT:
            assert self.actor is not None
            return tuple(f"{n}{'?' * n}" for n in NUMBERS if not self.used[self.actor] & bit(n))
        return answers(self.proposal) if self.due is Due.ANSWER else ()

    def parse_action(self, text: str) -> str:
        """Lenient text to canonical notation. Raises `NotationError`; does not check legality."""
        return parse(text, proposal=self.proposal)

    def due_reveals(self) -> tuple[Seat, ...]:
        """The seats whose secret must be revealed now, the starting player's first."""
        if self.due is not Due.REVEAL:
            return ()
        first = self.first or 0
        return tuple(seat for seat in (first, 1 - first) if not self.revealed & (1 << seat))

    @property
    def wins(self) -> None:
        """None: a round of Hanamikoji has no winner, it moves markers."""

    # --- what others know -----------------------------------------------------------------------------------------

    def project(self, seat: Seat | None) -> Self:
        """The position as `seat` (None: a spectator) knows it: hands, face-down cards and the deck of others are X."""
        return self._replace(
            hands=hide_others(PACK, self.hands, seat),
            secrets=hide_others(PACK, self.secrets, seat),
            trade_offs=hide_others(PACK, self.trade_offs, seat),
            deck=UNKNOWN * len(self.deck),
            aside=PACK.hide(self.aside),
        )

    def to_json(self) -> dict[str, Json]:
        """The position as plain data; equal positions give equal data.

        Cards are text, lists of two are by seat, lists of seven by geisha.
        `used` holds action numbers, `markers` 0, 1 or null, `charm` and `geisha` the totals on each side.
        """
        outcome: Json = None
        if self.outcome is not None:
            outcome = {"reason": self.outcome.reason, "winner": self.outcome.winner}
        return {
            "ruleset": self.ruleset.to_json(),
            "round": self.round,
            "first": self.first,
            "due": self.due.value,
            "actor": self.actor,
            "hands": [PACK.decode(c) for c in self.hands],
            "used": [[n for n in NUMBERS if mask & bit(n)] for mask in self.used],
            "rows": [PACK.decode(c) for c in self.rows],
            "secrets": [PACK.decode(c) for c in self.secrets],
            "trade_offs": [PACK.decode(c) for c in self.trade_offs],
            "offer": self.proposal or None,
            "deck": self.deck,
            "removed": PACK.decode(self.aside),
            "markers": [None if m == NEUTRAL else int(m) for m in self.markers],
            "charm": [charm(self.markers, seat) for seat in (0, 1)],
            "geisha": [geisha(self.markers, seat) for seat in (0, 1)],
            "outcome": outcome,
        }
