"""A position of Geisha's Road as one observer knows it: where the cards are, what can be done, who wins a round.

Hands and face-down cards may be unknown here; the road, the tableaus and all that follows from them are public, so
answers and orders are the same for every observer. `ruleset` says how each event changes a position.

Markers are text of five characters, one a colour: `0` or `1` on that seat's side, `.` in the middle. Influence is
counted in halves, so that a marker's half point is a whole number.

Source: rulebook (2021), "Gameplay" and "Round End". A `NamedTuple` because a position is made for every event of a
replay.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol, Self

from hkoji.errors import UnknownHandError
from hkoji.rules.cards import UNKNOWN, Cards, hide_others
from hkoji.rules.events import Outcome, Seat
from hkoji.rules.geishas_road.actions import BITS, CODES, COLOURS, NUMBERS, PACK, SIZES, actions, parse
from hkoji.rules.geishas_road.road import Road, answers
from hkoji.rules.protocol import Due, Json, Ruleset

MIDDLE: Final = "."
START: Final = MIDDLE * len(COLOURS)
ROUNDS_TO_WIN: Final = 2

_SUMS: Final = tuple(2 * sum(n for n in NUMBERS if subset >> (n - 1) & 1) for subset in range(16))


def influence(tableau: Cards, markers: str, seat: Seat) -> tuple[int, ...]:
    """A seat's influence on each geisha, in half points, from the known cards of its tableau and its markers."""
    side = str(seat)
    return tuple(_SUMS[tableau >> 4 * n & 15] + (marker == side) for n, marker in enumerate(markers))


def move_markers(markers: str, tableaus: tuple[Cards, Cards]) -> str:
    """The markers after a round: more influence wins the geisha and moves her marker, a tie leaves it.

    A tie is possible only while the marker is in the middle: whole points never make up for a half point.
    """
    won = leads(influence(tableaus[0], markers, 0), influence(tableaus[1], markers, 1))
    return "".join(marker if side == MIDDLE else side for marker, side in zip(markers, won, strict=True))


def free(markers: str) -> tuple[str, ...]:
    """The colours whose marker is in the middle."""
    return tuple(colour for colour, marker in zip(COLOURS, markers, strict=True) if marker == MIDDLE)


def mark(markers: str, colour: str, seat: Seat) -> str:
    """The markers, with the one of `colour` moved to a seat's side."""
    at = COLOURS.index(colour)
    return f"{markers[:at]}{seat}{markers[at + 1 :]}"


def prestige(lanterns: tuple[int, ...], won: str, seat: Seat) -> int:
    """A seat's prestige: the lanterns of the geisha it has won, `won` being the markers after they moved."""
    return sum(points for points, side in zip(lanterns, won, strict=True) if side == str(seat))


def leads(host: tuple[int, ...], guest: tuple[int, ...]) -> str:
    """The seat with more influence on each geisha: `0`, `1`, or `.` for a tie."""
    return "".join("0" if a > b else "1" if b > a else MIDDLE for a, b in zip(host, guest, strict=True))


def winner(lanterns: tuple[int, ...], won: str, first: Seat) -> Seat:
    """The winner of a round: more prestige, then more markers after they moved, then its starting player `first`."""
    host, guest = ((prestige(lanterns, won, seat), won.count(str(seat))) for seat in (0, 1))
    if host == guest:
        return first
    return 0 if host > guest else 1


_X: Final = PACK.unknown


class GeishasRoadOptions(Ruleset, Protocol):
    """The ruleset, with the options that the rules ask for."""

    @property
    def starting_markers(self) -> str:
        """How the first two markers are placed: `choose` or `random`."""


class GeishasRoadPosition(NamedTuple):
    """A position. Pairs are by seat; multisets are numbers of `actions.PACK`; no card is in two places."""

    ruleset: GeishasRoadOptions
    round: int
    first: Seat | None
    """The seat that starts the current round, or before the first deal the first round.

    None until it has been decided, by chance or by the loser of the round before.
    """
    due: Due
    actor: Seat | None
    hands: tuple[Cards, Cards]
    used: tuple[int, int]
    """Actions taken this round, a bit each."""
    tableaus: tuple[Cards, Cards]
    """Cards played, on each side."""
    intrigues: tuple[Cards, Cards]
    """The intrigue's card that was kept, face down until the round's end; then it is in the tableau."""
    discards: tuple[Cards, Cards]
    """The intrigue's card that was discarded."""
    proposal: str
    """The gift or competition that waits for an answer; else empty."""
    left: str
    """The two cards of an answered proposal of which the order is due; else empty."""
    deck: str
    """The cards to be drawn, in order."""
    road: Road
    markers: str
    """A character for each colour, as above."""
    counted: str
    """The markers with which the current round was scored; empty until it has been scored."""
    revealed: int
    """Seats whose intrigue has been revealed this round, a bit each."""
    wins: tuple[int, int]
    """Rounds won."""
    loser: Seat | None
    """The loser of the round before; None in the first one."""
    outcome: Outcome | None

    # --- what can be done -----------------------------------------------------------------------------------------

    def legal_actions(self) -> tuple[str, ...]:
        """The decisions open to the actor, canonical and sorted; empty when no decision is due.

        Raises `UnknownHandError` when an action is due from a hand that is not fully known here. Everything else
        depends on public things only.
        """
        match self.due:
            case Due.ACT:
                assert self.actor is not None
                hand = self.hands[self.actor]
                if hand >= _X:
                    raise UnknownHandError(self.actor)
                return actions(hand, self.used[self.actor])
            case Due.ANSWER:
                return answers(self.proposal, self.road)
            case Due.ORDER:
                return tuple(f">{a}{b}" for a, b in self.road.orders(self._left()))
            case Due.PICK:
                return self._picks()
        return ()

    def shape(self) -> tuple[str, ...]:
        """The form of a legal decision now, `?` for each character of a card: public, whatever the hand."""
        if self.due is not Due.ACT:
            return self.legal_actions()
        assert self.actor is not None
        return tuple(code + "??" * SIZES[code] for code in CODES if not self.used[self.actor] & BITS[code])

    def parse_action(self, text: str) -> str:
        """Lenient text to canonical notation. Raises `NotationError`; does not check legality."""
        return parse(text, due=self.due)

    def due_reveals(self) -> tuple[Seat, ...]:
        """The seats whose intrigue must be revealed now, the starting player's first."""
        if self.due is not Due.REVEAL:
            return ()
        first = self.first or 0
        return tuple(seat for seat in (first, 1 - first) if not self.revealed & (1 << seat))

    def influence(self, seat: Seat) -> tuple[int, ...]:
        """A seat's influence on each geisha in half points; in a scored round, with the markers before they moved."""
        return influence(self.tableaus[seat], self.counted or self.markers, seat)

    def _picks(self) -> tuple[str, ...]:
        return ("^0", "^1") if self.round > 1 else tuple(f"!{colour}" for colour in free(self.markers))

    def _left(self) -> tuple[str, str]:
        first, second = PACK.split(self.left)
        return first, second

    # --- what others know -----------------------------------------------------------------------------------------

    def project(self, seat: Seat | None) -> Self:
        """The position as `seat` (None: a spectator) knows it: hands, face-down cards and the deck of others are X.

        The kept card of a revealed intrigue is shown, even while the other seat's kept card is still face down.
        """
        intrigues = tuple(
            cards if owner == seat or self.revealed & (1 << owner) else PACK.hide(cards)
            for owner, cards in enumerate(self.intrigues)
        )
        return self._replace(
            hands=hide_others(PACK, self.hands, seat),
            intrigues=(intrigues[0], intrigues[1]),
            discards=hide_others(PACK, self.discards, seat),
            deck=UNKNOWN * PACK.count(PACK.encode(self.deck)),
        )

    def to_json(self) -> dict[str, Json]:
        """The position as plain data; equal positions give equal data.

        Cards are text, lists of two are by seat, lists of five by colour. `used` holds action letters, `markers` 0, 1
        or null; `places` steps from home, `homes` homecomings and `lanterns` prestige of each geisha this round;
        `light` and `dark` the lanterns that are left; `influence` is in half points.
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
            "used": [[code for code in CODES if mask & BITS[code]] for mask in self.used],
            "tableaus": [PACK.decode(c) for c in self.tableaus],
            "intrigues": [PACK.decode(c) for c in self.intrigues],
            "revealed": [bool(self.revealed & (1 << seat)) for seat in (0, 1)],
            "discards": [PACK.decode(c) for c in self.discards],
            "offer": self.proposal or None,
            "left": self.left or None,
            "deck": self.deck,
            "places": list(self.road.places),
            "homes": list(self.road.homes),
            "lanterns": list(self.road.lanterns),
            "light": list(self.road.light),
            "dark": list(self.road.dark),
            "markers": [None if m == MIDDLE else int(m) for m in self.markers],
            "influence": [list(self.influence(seat)) for seat in (0, 1)],
            "wins": list(self.wins),
            "loser": self.loser,
            "outcome": outcome,
        }
