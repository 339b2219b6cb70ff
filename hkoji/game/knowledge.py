"""The knowledge of an observer beyond the public log: nothing, one seat's cards, or everything.

A replay asks its knowledge for three things: the cards of a deal, the card of a draw, and the hidden cards of a move.
The answers have `X` for each card that the observer cannot see. This is the only difference between the referee's, a
player's and a spectator's replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hkoji.errors import NotationError, NotShownError, TrustError
from hkoji.game.commitments import Opening
from hkoji.game.dealer import Dealer
from hkoji.messages.text import tell
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import Deal, Seat
from hkoji.rules.protocol import Ruleset, State

Openings = Mapping[int, tuple[Opening, ...]]
"""Openings of a game by the seq of their move, in commitment order."""


class Knowledge:
    """The questions that a replay asks an observer, with the answers of one who knows no cards but opened ones."""

    openings: Openings
    seed: str | None
    """The dealer's seed, if known: 64 hex digits."""

    def deal(self, ruleset: Ruleset, dealer: Dealer | None, round_number: int) -> Deal:  # noqa: ARG002
        """Returns the cards of a round. `dealer` is None unless the observer knows all inputs of the dealer."""
        return ruleset.deal((UNKNOWN,) * ruleset.pack.size)

    def draw(self, state: State, seat: Seat, index: int) -> str:  # noqa: ARG002
        """Returns the card of draw number `index` (from 0) of `seat` in the current round."""
        return UNKNOWN

    def complete(self, ruleset: Ruleset, seat: Seat, seq: int, action: str) -> str:  # noqa: ARG002
        """Returns a move's action with the hidden cards that the observer knows."""
        if seq not in self.openings:
            return action
        return ruleset.complete(action, tuple(opening.cards for opening in self.openings[seq]))


@dataclass(frozen=True)
class SpectatorKnowledge(Knowledge):
    """Knowledge of the public log only, perhaps with `openings` of moves that have been published since."""

    openings: Openings = field(default_factory=dict)
    seed: None = None


@dataclass(frozen=True)
class SeatKnowledge(Knowledge):
    """Knowledge of one seat's cards: for each round, `dealt` has the seat's deal and then its draws, in order.

    `openings` are those of the seat's own moves.
    """

    seat: Seat
    dealt: tuple[tuple[str, ...], ...]
    openings: Openings = field(default_factory=dict)
    seed: None = None

    def deal(self, ruleset: Ruleset, dealer: Dealer | None, round_number: int) -> Deal:  # noqa: ARG002
        """Returns a deal with the seat's own hand. Raises `NotShownError` if the service has not shown it."""
        blank = ruleset.deal((UNKNOWN,) * ruleset.pack.size)
        hands = list(blank.hands)
        size = len(hands[self.seat])
        hands[self.seat] = "".join(self._cards(round_number, 0, size))
        return Deal((hands[0], hands[1]), blank.rest, blank.aside)

    def draw(self, state: State, seat: Seat, index: int) -> str:
        """Returns the seat's own card, or an unknown one for the other seat.

        Raises `NotShownError` if the service has not shown the card.
        """
        if seat != self.seat:
            return UNKNOWN
        hand = len(state.ruleset.deal((UNKNOWN,) * state.ruleset.pack.size).hands[seat])
        return self._cards(state.round, hand + index, 1)[0]

    def complete(self, ruleset: Ruleset, seat: Seat, seq: int, action: str) -> str:
        """Fills in the seat's own cards. Raises `NotShownError` if the opening of such a move is missing."""
        groups = len(ruleset.hidden(action))
        if seat != self.seat or not groups:
            return action
        # A part of them may be known because it has been published since.
        if len(self.openings.get(seq, ())) < groups:
            raise NotShownError(
                tell("the opening of your own move at entry {seq} is missing", seq=seq),
                hint=tell(
                    "nothing was accepted; restore the game's secrets.json from a backup, or ask the operator of the "
                    "service, which has the opening too and has not sent it"
                ),
            )
        return super().complete(ruleset, seat, seq, action)

    def _cards(self, round_number: int, start: int, count: int) -> tuple[str, ...]:
        cards = self.dealt[round_number - 1][start : start + count] if round_number <= len(self.dealt) else ()
        if len(cards) != count:
            raise NotShownError(
                tell("the service has not shown all your cards of round {round_number}", round_number=round_number),
                hint=tell("nothing was accepted; try again, or ask the operator of the service"),
            )
        return cards


@dataclass(frozen=True)
class FullKnowledge(Knowledge):
    """Knowledge of the seed and every opening: that of the referee, and of anyone once a game has ended."""

    seed: str
    openings: Openings

    def deal(self, ruleset: Ruleset, dealer: Dealer | None, round_number: int) -> Deal:  # noqa: ARG002
        """Returns the cards as they were dealt."""
        if dealer is None:
            raise TrustError(tell("the deal needs both players' entropy"))
        return dealer.deal(round_number)

    def draw(self, state: State, seat: Seat, index: int) -> str:  # noqa: ARG002
        """Returns the top card of the deck."""
        return state.deck[: state.ruleset.pack.width]

    def complete(self, ruleset: Ruleset, seat: Seat, seq: int, action: str) -> str:
        """Fills in the cards of the openings. Raises `NotationError` if one is missing."""
        if not ruleset.hidden(action):
            return action
        if seq not in self.openings:
            raise NotationError(action, tell("the opening of entry {seq} is missing", seq=seq))
        return super().complete(ruleset, seat, seq, action)
