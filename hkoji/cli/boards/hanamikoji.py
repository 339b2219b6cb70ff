"""The board of Hanamikoji: the row of geisha, both sides, favors, actions, hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from hkoji.cli.boards.board import SIDE, Board, Choice
from hkoji.cli.output import Style
from hkoji.client import Position
from hkoji.game.replay import Step
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import Seat
from hkoji.rules.hanamikoji.actions import CHARM, KINDS, NAMES, NUMBERS, PACK, SECRET, TRADE_OFF, bit
from hkoji.rules.hanamikoji.scoring import NEUTRAL, charm, geisha
from hkoji.rules.hanamikoji.state import HanamikojiState
from hkoji.rules.protocol import Due

_COLUMN: Final = 6
_COLOURS: Final = ("red", "yellow", "cyan", "green", "bold", "red", "cyan")
_HELP: Final = {
    1: "1 card face down; it counts",
    2: "2 cards face down; out of play",
    3: "3 shown: they take 1, you 2",
    4: "2 pairs shown: they take one",
}


class HanamikojiBoard(Board):
    """A position of Hanamikoji."""

    game = "Hanamikoji"
    reasons: ClassVar = {
        "charm": "with 11 charm or more",
        "geisha": "with 4 geisha or more",
        "limit": "at the round limit",
    }

    def __init__(self, position: Position, style: Style) -> None:
        super().__init__(position, style)
        state = position.course.state
        assert isinstance(state, HanamikojiState)
        self.state: Final = state

    # --- words ------------------------------------------------------------------------------------------------

    def where(self) -> str:
        """The round, and the limit if there is one."""
        if not self.state.round:
            return "before the first round"
        limit = self.state.ruleset.max_rounds
        return f"round {self.state.round} of {limit}" if limit else f"round {self.state.round}"

    def task(self) -> str:
        """An answer or an action."""
        return f"answer {self.state.offer}" if self.state.due is Due.ANSWER else "choose an action"

    def told(self, seat: Seat, action: str) -> str:
        """An action or an answer."""
        if action.startswith("-"):
            return f"{self.name(seat)} took {' '.join(action[1:])}   {action}"
        number = int(action[0])
        cards = "" if "X" in action else f" of {_spread(action[1:], number)}"
        return f"{self.name(seat)} played a {NAMES[number]}{cards}   {action}"

    def turned_up(self, seat: Seat, cards: str) -> str:
        """A secret."""
        return f"{self.name(seat)} revealed the secret {cards}   ?{cards}"

    def scored(self, step: Step) -> str:
        """Geisha and charm on both sides."""
        state = step.course.state
        assert isinstance(state, HanamikojiState)
        number = state.round if state.due in (Due.OVER, Due.DEAL) else state.round - 1
        stands = (
            f"{self.name(seat)} {geisha(state.markers, seat)} geisha and {charm(state.markers, seat)} charm"
            for seat in (1 - self.me, self.me)
        )
        return f"round {number}: {', '.join(stands)}"

    # --- the table --------------------------------------------------------------------------------------------

    def table(self) -> Iterator[str]:
        """The row of geisha with both sides, then actions, deck, offer and hand."""
        style, state = self.style, self.state
        other = 1 - self.me
        head = "".join(
            style.paint(f"{kind}{points}".center(_COLUMN), colour)
            for kind, points, colour in zip(KINDS, CHARM, _COLOURS, strict=True)
        )
        yield f"{'':{SIDE}}{head}   geisha charm"
        yield self.rule()
        yield self._row(other)
        yield self._favors()
        yield self._row(self.me)
        yield self.rule()
        for seat in (other, self.me):
            yield self._actions(seat)
        if state.deck:
            yield f"{'deck':{SIDE}}{self._deck()}"
        if state.offer:
            yield style.paint(f"{'on offer':{SIDE}}{_spread(state.offer[1:], int(state.offer[0]))}", "bold")
        yield from self._hands()

    def _deck(self) -> str:
        deck, aside = self.state.deck, PACK.decode(self.state.aside)
        if UNKNOWN in deck + aside:
            return f"{len(deck)} cards to draw, 1 removed unseen"
        return f"{len(deck)} cards to draw: {' '.join(deck)}, {aside} removed"

    def _hands(self) -> Iterator[str]:
        """The own hand; for a spectator the hands that the log has revealed."""
        for seat in (self.me,) if self.you else (0, 1):
            hand = self.state.hands[seat]
            if hand > 0 and (self.you or hand < PACK.unknown):
                label = "your hand" if self.you else f"{self.name(seat)[:7]} holds"
                yield f"{label:{SIDE}}{self._cards(PACK.decode(hand))}"

    def _row(self, seat: Seat) -> str:
        counts = PACK.counts(self.state.rows[seat])
        cells = "".join(
            self.style.paint((kind * n).center(_COLUMN), colour)
            for kind, n, colour in zip(KINDS, counts, _COLOURS, strict=False)
        )
        totals = f"   {geisha(self.state.markers, seat):^6} {charm(self.state.markers, seat):^5}"
        return f"{self.label(seat)}{cells}{totals}"

    def _favors(self) -> str:
        arrows = {str(1 - self.me): "▲", str(self.me): "▼", NEUTRAL: "·"}
        cells = "".join(
            self.style.paint(arrows[marker].center(_COLUMN), *(() if marker == NEUTRAL else ("bold",)))
            for marker in self.state.markers
        )
        return f"{'favor':{SIDE}}{cells}"

    def _actions(self, seat: Seat) -> str:
        """All four actions, those used in brackets; beside them what lies face down and is known."""
        down = {SECRET: self.state.secrets[seat], TRADE_OFF: self.state.trade_offs[seat]}
        words = []
        for number in NUMBERS:
            cards = down.get(number, 0)
            known = f" {PACK.decode(cards)}" if 0 < cards < PACK.unknown else ""
            word = f"{number} {NAMES[number]}{known}"
            words.append(self.style.paint(f"({word})", "dim") if self.state.used[seat] & bit(number) else f" {word} ")
        return f"{self.label(seat)}{' '.join(words)}"

    def _cards(self, cards: str) -> str:
        return " ".join(
            self.style.paint(card, "bold", _COLOURS[KINDS.index(card)]) if card in KINDS else card for card in cards
        )

    def decisions(self) -> Iterator[Choice]:
        """Every answer, or an example of each action that is left."""
        game = self.position.short
        if self.state.due is Due.ANSWER:
            for answer in self.position.legal:
                yield f"take {' '.join(answer[1:])}", f"hkoji move {game} {answer}", ""
            return
        for number in NUMBERS:
            example = next((action for action in self.position.legal if action[0] == str(number)), None)
            if example:
                yield f"{number} {NAMES[number]}", f"hkoji move {game} {example}", _HELP[number]

    # --- linear -----------------------------------------------------------------------------------------------

    def sentences(self) -> Iterator[str]:
        """Geisha by geisha, then actions, offer and hand."""
        state = self.state
        for kind, points, marker, mine, theirs in zip(
            KINDS,
            CHARM,
            state.markers,
            PACK.counts(state.rows[self.me]),
            PACK.counts(state.rows[1 - self.me]),
            strict=False,
        ):
            favor = "nobody" if marker == NEUTRAL else self.name(int(marker))
            yield (
                f"Geisha {kind}, charm {points}: {self.name(self.me)} {mine}, {self.name(1 - self.me)} {theirs}; "
                f"favors {favor}."
            )
        for seat in (1 - self.me, self.me):
            left = [f"{n} {NAMES[n]}" for n in NUMBERS if not state.used[seat] & bit(n)]
            yield f"Actions left for {self.name(seat)}: {', '.join(left) or 'none'}."
            for what, cards in (("secret", state.secrets[seat]), ("trade-off", state.trade_offs[seat])):
                if cards:
                    yield f"Face down for {self.name(seat)}: {what} {PACK.decode(cards)}."
        if state.offer:
            yield f"On offer: {_spread(state.offer[1:], int(state.offer[0]))}."
        if self.you and state.round:
            yield f"Your hand: {' '.join(PACK.decode(state.hands[self.me])) or 'empty'}."
        for seat in () if self.you else (0, 1):
            if 0 < state.hands[seat] < PACK.unknown:
                yield f"{self.name(seat)} holds: {' '.join(PACK.decode(state.hands[seat]))}."


def _spread(cards: str, number: int) -> str:
    return f"{' '.join(cards[:2])} / {' '.join(cards[2:])}" if number == 4 else " ".join(cards)
