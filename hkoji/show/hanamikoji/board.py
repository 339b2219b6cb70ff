"""The board of Hanamikoji: the row of geisha, both sides, favours, actions, hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import ClassVar, Final

from hkoji.game.position import Position
from hkoji.game.replay import Step
from hkoji.messages.text import plural, tell
from hkoji.rules.cards import UNKNOWN, Cards
from hkoji.rules.events import SEATS, Seat
from hkoji.rules.hanamikoji.actions import CHARM, COMPETITION, KINDS, NAMES, NUMBERS, PACK, SECRET, TRADE_OFF, bit
from hkoji.rules.hanamikoji.position import NEUTRAL, charm, geisha
from hkoji.rules.hanamikoji.ruleset import HanamikojiState
from hkoji.rules.protocol import Due
from hkoji.show.board import SIDE, Board, Choice, Look
from hkoji.show.deck import typed

_COLUMN: Final = 6
_COLOURS: Final = ("red", "yellow", "cyan", "green", "bold", "red", "cyan")
HELP: Final = {
    1: tell("1 card face down; it counts"),
    2: tell("2 cards face down; out of play"),
    3: tell("3 shown: they take 1, you 2"),
    4: tell("2 pairs shown: they take one"),
}
"""The meaning of each action, in a few words."""
_PLAYED: Final = {1: tell("a secret"), 2: tell("a trade-off"), 3: tell("a gift"), 4: tell("a competition")}
_INTRODUCTION: Final = tell(
    """\
Hanamikoji. Seven geisha, A to G, have 2 2 2 3 3 4 5 charm, and as many cards.
When a round ends, a geisha favours the player with more cards on their side.
With the favour of 4 geisha, or with 11 charm, you win. Otherwise there is a
new round; a favour stays until the other player has more cards there.
In a round you have four turns. In each turn you draw a card and take one of
these actions, each of them once:
  1 secret       one card face down; it counts when the round ends
  2 trade-off    two cards face down; nobody gets them
  3 gift         you show three cards; the other takes one, two are yours
  4 competition  you show two pairs; the other takes one pair, one is yours
3BCC offers B, C and C; -C takes the C. Type ? to see what can be typed."""
)


class HanamikojiBoard(Board):
    """A position of Hanamikoji."""

    game = "Hanamikoji"
    introduction: ClassVar = _INTRODUCTION

    def __init__(self, position: Position, look: Look) -> None:
        super().__init__(position, look)
        state = position.course.state
        assert isinstance(state, HanamikojiState)
        self.state: Final = state
        self.names: Final = dict(zip(NAMES, map(look.say, NAMES.values()), strict=True))
        self.symbols: Final = dict(zip(KINDS, map(look.deck.symbol, KINDS), strict=True))

    # --- words ------------------------------------------------------------------------------------------------

    def where(self) -> str:
        """The round, and the limit if there is one."""
        if not self.state.round:
            return self.said("before the first round")
        number, limit = self.state.round, self.state.ruleset.max_rounds
        return (
            self.said("round {number} of {limit}", number=number, limit=limit)
            if limit
            else self.said("round {number}", number=number)
        )

    def task(self) -> str:
        """An answer or an action."""
        if self.state.due is Due.ANSWER:
            proposal = self.state.proposal
            if proposal[0] == str(COMPETITION):
                return self.said("take one of the pairs {cards}", cards=self._spread(proposal))
            return self.said("take a card from the gift {cards}", cards=self._spread(proposal))
        return self.said("choose an action")

    def decision_line(self, seat: Seat, action: str) -> str:
        """An action or an answer."""
        move = self.deck.write(action)
        if action.startswith("-"):
            cards = self.shown(action[1:])
            return self.by(seat, "you took {cards}   {move}", "{name} took {cards}   {move}", cards=cards, move=move)
        what = self.say(_PLAYED[int(action[0])])
        if "X" in action:
            return self.by(seat, "you played {what}   {move}", "{name} played {what}   {move}", what=what, move=move)
        return self.by(
            seat,
            "you played {what} of {cards}   {move}",
            "{name} played {what} of {cards}   {move}",
            what=what,
            cards=self._spread(action),
            move=move,
        )

    def reveal_line(self, seat: Seat, cards: str) -> str:
        """A secret."""
        return self.by(
            seat,
            "you revealed the secret {card}   {move}",
            "{name} revealed the secret {card}   {move}",
            card=self.shown(cards),
            move=self.deck.write(f"?{cards}"),
        )

    def score_line(self, step: Step) -> str:
        """Geisha and charm on both sides."""
        state = step.course.state
        assert isinstance(state, HanamikojiState)
        number = state.round if state.due in (Due.OVER, Due.DEAL) else state.round - 1
        stands = (
            self.said(
                "{name} {geisha} geisha and {charm} charm",
                name=self.name(seat),
                geisha=geisha(state.markers, seat),
                charm=charm(state.markers, seat),
            )
            for seat in (1 - self.me, self.me)
        )
        return self.said("round {number}: {sides}", number=number, sides=", ".join(stands))

    # --- the table --------------------------------------------------------------------------------------------

    def table(self) -> Iterator[str]:
        """The row of geisha with both sides, then actions, deck, proposal and hand."""
        state, other = self.state, 1 - self.me
        head = self._cells([f"{self.symbols[kind]}{points}" for kind, points in zip(KINDS, CHARM, strict=True)])
        yield f"{'':{SIDE}}{head}   {self.said('geisha charm')}"
        yield self.rule()
        yield self._row(other)
        yield self._favors()
        yield self._row(self.me)
        yield self.rule()
        used = [[bool(mask & bit(number)) for number in NUMBERS] for mask in state.used]
        yield from self.action_rows([self._actions(seat) for seat in SEATS], used)
        if state.deck:
            yield f"{self.said('deck'):{SIDE}}{self._deck()}"
        if state.proposal:
            yield self.paint(f"{self.said('on offer'):{SIDE}}{self._spread(state.proposal)}", "bold")
        yield from self.hands(self._cards)

    def _deck(self) -> str:
        deck, aside = self.state.deck, PACK.decode(self.state.aside)
        if UNKNOWN in deck + aside:
            return self.say(
                plural("{n} card to draw, 1 removed unseen", "{n} cards to draw, 1 removed unseen", len(deck))
            )
        return self.say(
            plural(
                "{n} card to draw: {cards}, {aside} removed",
                "{n} cards to draw: {cards}, {aside} removed",
                len(deck),
                cards=self.shown(deck),
                aside=self.shown(aside),
            )
        )

    def _row(self, seat: Seat) -> str:
        counts = PACK.counts(self.state.rows[seat])
        cells = self._cells([self.symbols[kind] * n for kind, n in zip(KINDS, counts, strict=False)])
        totals = f"   {geisha(self.state.markers, seat):^6} {charm(self.state.markers, seat):^5}"
        return f"{self.label(seat)}{cells}{totals}"

    def _cells(self, texts: list[str]) -> str:
        return "".join(map(self.paint, [text.center(_COLUMN) for text in texts], _COLOURS))

    def _favors(self) -> str:
        arrows = {str(1 - self.me): "▲".center(_COLUMN), str(self.me): "▼".center(_COLUMN)}
        shown = {side: self.paint(arrow, "bold") for side, arrow in arrows.items()}
        shown[NEUTRAL] = "·".center(_COLUMN)
        return f"{self.said('favour'):{SIDE}}{''.join([shown[marker] for marker in self.state.markers])}"

    def _actions(self, seat: Seat) -> list[str]:
        """Numbers and names, with the cards known to lie face down by them; `?G` is a revealed secret."""
        state = self.state
        beside = {SECRET: self._face_down(state.secrets[seat]), TRADE_OFF: self._face_down(state.trade_offs[seat])}
        if self.turned_up[seat]:
            beside[SECRET] = f" {self.deck.write(f'?{self.turned_up[seat]}')}"
        return [f"{number} {name}{beside.get(number, '')}" for number, name in self.names.items()]

    def _face_down(self, cards: Cards) -> str:
        return f" {self.deck.write(PACK.decode(cards))}" if 0 < cards < PACK.unknown else ""

    def _cards(self, cards: str) -> str:
        colours = [_COLOURS[KINDS.index(card)] for card in cards]
        return " ".join(map(self.paint, [self.symbols[card] for card in cards], repeat("bold"), colours))

    def _spread(self, action: str) -> str:
        """The cards of an action, a competition's in two pairs."""
        if action[0] == str(COMPETITION):
            return f"{self.shown(action[1:3])} / {self.shown(action[3:])}"
        return self.shown(action[1:])

    def decisions(self) -> Iterator[Choice]:
        """Every answer, or an example of each action that is left."""
        legal = self.position.legal
        if self.state.due is Due.ANSWER:
            for answer in legal:
                yield Choice(self.said("take {cards}", cards=self.shown(answer[1:])), self._typed(answer))
            return
        for number, name in self.names.items():
            example = next((action for action in legal if action[0] == str(number)), None)
            if example:
                yield Choice(f"{number} {name}", self._typed(example), self.say(HELP[number]))

    def _typed(self, action: str) -> str:
        return typed(self.deck, action, self.say)

    # --- the sentences -----------------------------------------------------------------------------------------------

    def sentences(self) -> Iterator[str]:
        """Geisha by geisha, then actions, proposal and hand."""
        state = self.state
        for kind, points, marker, mine, theirs in zip(
            KINDS,
            CHARM,
            state.markers,
            PACK.counts(state.rows[self.me]),
            PACK.counts(state.rows[1 - self.me]),
            strict=False,
        ):
            favour = (
                self.said("favours nobody")
                if marker == NEUTRAL
                else self.by(int(marker), "favours you", "favours {name}")
            )
            yield self.said(
                "Geisha {kind}, charm {points}: {me} {mine}, {other} {theirs}; {favour}.",
                kind=self.shown(kind),
                points=points,
                me=self.name(self.me),
                mine=mine,
                other=self.name(1 - self.me),
                theirs=theirs,
                favour=favour,
            )
        for seat in (1 - self.me, self.me):
            left = [f"{n} {self.names[n]}" for n in NUMBERS if not state.used[seat] & bit(n)]
            yield self.actions_left(seat, left)
            for number, cards in ((SECRET, state.secrets[seat]), (TRADE_OFF, state.trade_offs[seat])):
                if cards:
                    yield self.face_down(seat, NAMES[number], self._whole(PACK.decode(cards)))
            if self.turned_up[seat]:
                yield self.revealed(seat, NAMES[SECRET], self.shown(self.turned_up[seat]))
        if state.proposal:
            yield self.said("On offer: {cards}.", cards=self._spread(state.proposal))
        yield from self.hands_in_sentences(self.shown)

    def _whole(self, cards: str) -> str:
        """Cards as one word where they are letters."""
        return cards if self.deck.write(cards) == cards else self.shown(cards)
