"""Geisha's Road in a few lines, and how its moves are offered and typed in a mail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from hkoji.messages.text import Speaker, all_of, tell
from hkoji.rules.cards import UNKNOWN, Cards
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road.actions import (
    BITS,
    CODES,
    COLOURS,
    COMPETITION,
    GIFT,
    INTRIGUE,
    NAMES,
    PACK,
    REVEAL,
    pairs,
)
from hkoji.rules.geishas_road.position import MIDDLE
from hkoji.rules.geishas_road.road import TEAHOUSES
from hkoji.rules.geishas_road.ruleset import GeishasRoadState
from hkoji.rules.protocol import Due, Ruleset
from hkoji.show.board import Board
from hkoji.show.brief import STARTS, WHO_STARTS, Brief, spread_over
from hkoji.show.geishas_road.board import written_halves

_MARKERS: Final = {
    "choose": tell(
        "At the beginning each player takes the marker of one geisha, worth half a point of influence with her."
    ),
    "random": tell(
        "At the beginning chance gives each player the marker of one geisha, worth half a point of influence with her."
    ),
}


class GeishasRoadBrief(Brief):
    """A position of Geisha's Road in a few lines."""

    about: ClassVar = tell(
        "Geisha's Road is a card game for two. Five geisha, A to E, walk round five teahouses; a card that is played "
        "moves its geisha forward. Each time she stops exactly at home, she collects points; when the round ends, they "
        "go to the player with more influence on her. In a round each player has four turns, and takes four "
        "different actions; in two of them the other player chooses first. The player who wins two rounds wins the "
        "game."
    )

    heading: ClassVar = tell("On the table, with the influence of each side (a marker counts \u00bd):")

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        state = board.course.state
        assert isinstance(state, GeishasRoadState)
        self.state: Final = state

    @classmethod
    def options(cls, ruleset: Ruleset, say: Speaker) -> Iterator[str]:
        """The player who starts, and how the first markers are given."""
        options = ruleset.to_json()
        yield say(WHO_STARTS[str(options["first"])])
        yield say(_MARKERS[str(options["markers"])])

    @classmethod
    def terms(cls, ruleset: Ruleset) -> str:
        """`The host starts; each player chooses a first marker`."""
        options = ruleset.to_json()
        first = STARTS[str(options["first"])]
        if options["markers"] == "choose":
            return tell("{starts}; each player chooses a first marker", starts=first)
        return tell("{starts}; chance gives each player a first marker", starts=first)

    def table(self) -> Iterator[str]:
        """The colours at which something has happened: influence, cards, way home, lanterns, marker."""
        state, other = self.state, 1 - self.me
        for number, colour in enumerate(COLOURS):
            place, lantern = state.road.places[number], state.road.lanterns[number]
            marker = state.markers[number]
            sides = [self._side(seat, number) for seat in (other, self.me)]
            if not (place or lantern or any(sides) or marker != MIDDLE):
                continue
            facts = [
                ", ".join(filter(None, sides)),
                self.said("{steps} from home", steps=TEAHOUSES - place) if place else self.said("at home"),
            ]
            if lantern:
                facts.append(self.said("prestige {points}", points=lantern))
            if marker != MIDDLE:
                facts.append(self.by(int(marker), "marker with you", "marker with {name}"))
            yield f"{colour}   {'; '.join(filter(None, facts))}"

    def _side(self, seat: Seat, colour: int) -> str:
        cards = [name for name in _cards(self.state.tableaus[seat]) if name[0] == COLOURS[colour]]
        if not cards:
            return ""
        points = written_halves(self.state.influence(seat)[colour])
        return f"{self.board.name(seat)} {' '.join(cards)} ({points})"

    def standing(self) -> Iterator[str]:
        """The rounds won, and the lanterns that come next."""
        wins, road = self.state.wins, self.state.road
        if any(wins):
            yield self.said(
                "Rounds won: you {mine}, {name} {theirs}.",
                mine=wins[self.me],
                name=self.board.name(1 - self.me),
                theirs=wins[1 - self.me],
            )
        if self.state.round and self.state.due is not Due.OVER:
            light, dark = (str(each[0]) if each else self.said("none") for each in (road.light, road.dark))
            if light == dark:
                yield self.said("The next geisha to come home gets {light} prestige.", light=light)
                return
            yield self.said(
                "The next geisha to come home gets {light} prestige, or {dark} if it is her second time.",
                light=light,
                dark=dark,
            )

    def offer(self) -> Iterator[str]:
        """The offer of the other player, the two cards to play in either order, or what a marker is worth."""
        offer, left, name = self.state.proposal, self.state.left, self.board.name(1 - self.me)
        if any(move[0] == "!" for move in self.position.legal):
            yield self.said(
                "First each of you takes one geisha's marker (A to E), worth half a point of influence with her."
            )
        if offer and offer[0] == GIFT:
            cards = " ".join(PACK.split(offer[1:]))
            yield self.said("{name} offers you {cards}: you play one, {name} the other two.", name=name, cards=cards)
        elif offer:
            yield self.said(
                "{name} offers you {cards}: you play one pair, {name} the other.", name=name, cards=_or(offer)
            )
        if left:
            yield self.said("{cards} are yours: say which one you play first.", cards=all_of(PACK.split(left)))

    def hand(self) -> Iterator[str]:
        """The hand, and what lies face down."""
        state = self.state
        if state.round:
            held = " ".join(_cards(state.hands[self.me]))
            yield self.said("You hold {cards}.", cards=held) if held else self.said("You hold no cards.")
        kept, out = (" ".join(_cards(lying[self.me])) for lying in (state.intrigues, state.discards))
        if kept:
            yield self.said("Your intrigue: {kept} counts at the end, {out} is out.", kept=kept, out=out)
        elif out:
            yield self.said("Out of the game by your intrigue: {out}.", out=out)

    def left(self) -> Iterator[str]:
        """The actions left to both, of the other player as letters."""
        mine, theirs = (
            [code for code in CODES if not self.state.used[seat] & BITS[code]] for seat in (self.me, 1 - self.me)
        )
        yield self.said(
            "Actions left: {mine} ({name}: {theirs}).",
            mine=", ".join(f"{code} {self.say(NAMES[code])}" for code in mine) or self.said("none"),
            name=self.board.name(1 - self.me),
            theirs=", ".join(theirs) or self.said("none"),
        )

    def ask(self, action: str) -> str:
        """The move in words."""
        sign, rest = action[0], action[1:]
        if sign == "!":
            return self.said("To choose the marker of {colour}, write:", colour=rest)
        if sign == "^":
            return self.by(int(rest), "To start this round yourself, write:", "To let {name} start this round, write:")
        cards = PACK.split(rest)
        if sign == REVEAL:
            return self.said("To reveal {card}, write:", card=rest)
        if sign == GIFT:
            return self.said("To offer {cards} as a gift, write:", cards=" ".join(cards))
        if sign == COMPETITION:
            return self.said("To offer the pairs {cards}, write:", cards=_or(action))
        if len(cards) == 1:
            return self.said("To play {card} from the gift, write:", card=rest)
        first, second = cards
        if sign == INTRIGUE:
            return self.said("To keep {kept} face down and put {out} out of the game, write:", kept=first, out=second)
        return self.said("To play {first} first, then {second}, write:", first=first, second=second)

    def phrase(self, action: str) -> str:
        """`B4 revealed`, `A3 played first, then D4`."""
        sign, rest = action[0], action[1:]
        if sign == "!":
            return self.said("the marker of {colour}", colour=rest)
        if sign == "^":
            return self.by(int(rest), "you start this round", "{name} starts this round")
        if sign == COMPETITION:
            return self.said("the pairs {cards} offered", cards=_or(action))
        cards = PACK.split(rest)
        if sign == REVEAL:
            return self.said("{card} revealed", card=rest)
        if sign == GIFT:
            return self.said("{cards} offered as a gift", cards=" ".join(cards))
        if len(cards) == 1:
            return self.said("{card} played from the gift", card=rest)
        first, second = cards
        if sign == INTRIGUE:
            return self.said("{kept} kept face down, {out} out of the game", kept=first, out=second)
        return self.said("{first} played first, then {second}", first=first, second=second)

    def typed(self, action: str) -> str:
        """`ra3`, `ib2c1`, `ca1b2/c3d4`, `take b2a1`, `order c4a1`, `marker a`, `start host`."""
        sign, cards = action[0], action[1:].lower()
        match sign:
            case "-":
                return self.said("take {typed}", typed=cards)
            case ">":
                return self.said("order {typed}", typed=cards)
            case "!":
                return self.said("marker {typed}", typed=cards)
            case "^":
                return self.said("start host") if cards == "0" else self.said("start guest")
        return f"c{cards[:4]}/{cards[4:]}" if sign == COMPETITION else action.lower()

    def examples(self) -> Sequence[str]:
        """Every answer, order or choice, or one move of each action that is left."""
        legal, number = self.position.legal, self.position.course.seq
        if self.state.due is not Due.ACT:
            return legal
        groups = ([move for move in legal if move[0] == code] for code in CODES)
        return [spread_over(group, number) for group in groups if group]


def _cards(cards: Cards) -> tuple[str, ...]:
    return PACK.split(PACK.decode(cards))


def _or(proposal: str) -> str:
    assert UNKNOWN not in proposal
    first, second = (" ".join(pair) for pair in pairs(proposal))
    return tell("{first} and {second}", first=first, second=second)
