"""The board of Geisha's Road: the circle with the geisha, lanterns, both tableaus with their influence, hand.

The module is longer than most: the table and the sentences say the same of a position, and are read side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from hkoji.game.position import Position
from hkoji.game.replay import Step
from hkoji.messages.text import all_of, plural, tell
from hkoji.rules.cards import UNKNOWN, Cards
from hkoji.rules.events import SEATS, Seat
from hkoji.rules.geishas_road.actions import BITS, CODES, COLOURS, COMPETITION, INTRIGUE, NAMES, PACK, pairs
from hkoji.rules.geishas_road.position import MIDDLE, leads, prestige
from hkoji.rules.geishas_road.road import TEAHOUSES
from hkoji.rules.geishas_road.ruleset import GeishasRoadState
from hkoji.rules.protocol import Due
from hkoji.show.board import SIDE, Board, Choice, Look

_COLUMN: Final = 10
_ROOM: Final = 9
"""Width for the guests of a teahouse, all five of them."""
_PAINT: Final = dict(zip(COLOURS, ("red", "yellow", "cyan", "green", "bold"), strict=True))
HELP: Final = {
    "R": tell("1 card, played at once"),
    "I": tell("2 face down: 1 kept for the end"),
    "G": tell("3 shown: they play 1, you 2"),
    "C": tell("2 pairs shown: they play one"),
}
"""The meaning of each action, in a few words."""
_PLAYED: Final = {
    "R": tell("a reveal"),
    "I": tell("an intrigue"),
    "G": tell("a gift"),
    "C": tell("a competition"),
}
_INTRODUCTION: Final = tell(
    """\
Geisha's Road. Five geisha, A to E, walk round five teahouses; each has the
cards 1 to 4. A card that you play moves its geisha forward by its number.
Each time she stops exactly at home, a lantern with points is hung up for her.
At the end of a round, the player with the higher sum of a geisha's cards gets
her points and her marker. More points win the round; two rounds win the game.
In a round you have four turns. In each turn you draw a card and take one of
these actions, each of them once:
  R reveal       one card, open, on your side
  I intrigue     two face down: the first counts at the end, the second is out
  G gift         you show three cards; the other plays one, you the other two
  C competition  you show two pairs; the other plays one pair, you one
RA3 reveals A3; -B2 answers with B2; >C4A1 is an order. Type ? to see what can
be typed."""
)


class GeishasRoadBoard(Board):
    """A position of Geisha's Road."""

    game = "Geisha's Road"
    introduction: ClassVar = _INTRODUCTION

    def __init__(self, position: Position, look: Look) -> None:
        super().__init__(position, look)
        state = position.course.state
        assert isinstance(state, GeishasRoadState)
        self.state: Final = state
        self.names: Final = dict(zip(NAMES, map(look.say, NAMES.values()), strict=True))

    # --- words ------------------------------------------------------------------------------------------------

    def where(self) -> str:
        """The round of at most three."""
        if not self.state.round:
            return self.said("before the first round")
        return self.said("round {number} of {limit}", number=self.state.round, limit=3)

    def task(self) -> str:
        """An action, an answer, an order or a choice."""
        match self.state.due:
            case Due.ANSWER:
                if self.state.proposal[0] == COMPETITION:
                    return self.said("take one of the pairs {cards}", cards=_spread(self.state.proposal))
                return self.said("take a card from the gift {cards}", cards=_spread(self.state.proposal))
            case Due.ORDER:
                return self.said("say which of {cards} to play first", cards=all_of(PACK.split(self.state.left)))
            case Due.PICK:
                return self.said("choose who starts") if self.state.round > 1 else self.said("choose a marker")
        return self.said("choose an action")

    def decision_line(self, seat: Seat, action: str) -> str:
        """Any decision."""
        match action[0]:
            case "-":
                cards = _spaced(action[1:])
                return self.by(
                    seat, "you took {cards}   {move}", "{name} took {cards}   {move}", cards=cards, move=action
                )
            case ">":
                first, second = PACK.split(action[1:])
                return self.by(
                    seat,
                    "you played {first} then {second}   {move}",
                    "{name} played {first} then {second}   {move}",
                    first=first,
                    second=second,
                    move=action,
                )
            case "!":
                return self.by(
                    seat,
                    "you chose the marker of {colour}   {move}",
                    "{name} chose the marker of {colour}   {move}",
                    colour=action[1],
                    move=action,
                )
            case "^":
                return self._told_starter(seat, int(action[1]), action)
        what = self.say(_PLAYED[action[0]])
        if action.endswith("XX"):
            return self.by(seat, "you played {what}   {move}", "{name} played {what}   {move}", what=what, move=action)
        return self.by(
            seat,
            "you played {what} of {cards}   {move}",
            "{name} played {what} of {cards}   {move}",
            what=what,
            cards=_spread(action),
            move=action,
        )

    def _told_starter(self, seat: Seat, starter: Seat, action: str) -> str:
        if seat == starter:
            return self.by(seat, "you chose to start   {move}", "{name} chose to start   {move}", move=action)
        other = self.name(starter)
        if self.is_me(starter):
            return self.said("{name} chose that you start   {move}", name=self.name(seat), move=action)
        return self.by(
            seat,
            "you chose that {other} starts   {move}",
            "{name} chose that {other} starts   {move}",
            other=other,
            move=action,
        )

    def reveal_line(self, seat: Seat, cards: str) -> str:
        """The card that an intrigue kept."""
        return self.by(
            seat,
            "you revealed the intrigue {card}   {move}",
            "{name} revealed the intrigue {card}   {move}",
            card=cards,
            move=f"?{cards}",
        )

    def score_line(self, step: Step) -> str:
        """Prestige, markers and rounds of both sides, after the round that has just been scored."""
        # The next round may have been dealt in the same step: what has been scored is still in the state before it.
        steps = self.position.replay.steps
        before = steps[step.entry.seq - 1].course.state
        for event in step.events:
            before = before.apply(event)
            if before.due in (Due.DEAL, Due.OVER):
                break
        assert isinstance(before, GeishasRoadState)
        stands = (
            self.say(
                plural(
                    "{name} {prestige} prestige and {n} marker",
                    "{name} {prestige} prestige and {n} markers",
                    before.markers.count(str(seat)),
                    name=self.name(seat),
                    prestige=prestige(before.road.lanterns, before.markers, seat),
                )
            )
            for seat in (1 - self.me, self.me)
        )
        assert before.loser is not None
        return self.by(
            1 - before.loser,
            "round {number}: {sides}; you win",
            "round {number}: {sides}; {name} wins",
            number=before.round,
            sides=", ".join(stands),
        )

    # --- the table --------------------------------------------------------------------------------------------

    def table(self) -> Iterator[str]:
        """The colours with both sides, the circle, then actions, deck, proposal and hand."""
        state, other = self.state, 1 - self.me
        yield self._row("", COLOURS, self.said("prestige rounds"))
        yield self.rule()
        yield self._cards_row(other)
        yield self._influence_row(other)
        yield self._markers_row()
        yield self._influence_row(self.me)
        yield self._cards_row(self.me)
        yield self.rule()
        yield self._row(self.said("lanterns"), map(self._lantern, range(TEAHOUSES)))
        yield self._row(self.said("to go home"), map(self._way, range(TEAHOUSES)))
        yield from self._circle()
        yield self.rule()
        used = [[bool(mask & BITS[code]) for code in CODES] for mask in state.used]
        yield from self.action_rows([self._actions(seat) for seat in SEATS], used)
        if state.deck:
            deck = PACK.split(state.deck)
            left = self.say(plural("{n} card to draw", "{n} cards to draw", len(deck)))
            if UNKNOWN not in deck:
                left = self.say(
                    plural("{n} card to draw: {cards}", "{n} cards to draw: {cards}", len(deck), cards=" ".join(deck))
                )
            yield f"{self.said('deck'):{SIDE}}{left}"
        if state.proposal:
            yield self.paint(f"{self.said('on offer'):{SIDE}}{_spread(state.proposal)}", "bold")
        if state.left:
            left = self.said("{cards}, to be played in either order", cards=_spaced(state.left))
            yield self.paint(f"{self.said('left'):{SIDE}}{left}", "bold")
        yield from self.hands(self._painted)

    def _row(self, label: str, cells: Iterable[str], tail: str = "") -> str:
        painted = "".join(map(self.paint, [text.center(_COLUMN) for text in cells], _PAINT.values()))
        return f"{label:{SIDE}}{painted}{tail}"

    def _cards_row(self, seat: Seat) -> str:
        tableau = self.state.tableaus[seat]
        cells = (" ".join(name[1] for name in _cards(tableau) if name[0] == colour) for colour in COLOURS)
        won = leads(self.state.influence(0), self.state.influence(1))
        points = prestige(self.state.road.lanterns, won, seat)
        return self._row(self.label(seat), cells, f"{points:^8} {self.state.wins[seat]:^6}")

    def _influence_row(self, seat: Seat) -> str:
        return self._row(self.said("  influence"), (written_halves(each) for each in self.state.influence(seat)))

    def _markers_row(self) -> str:
        arrows = {str(1 - self.me): "▲", str(self.me): "▼", MIDDLE: "·"}
        return self._row(self.said("marker"), (arrows[marker] for marker in self.state.markers))

    def _lantern(self, colour: int) -> str:
        points, homes = self.state.road.lanterns[colour], self.state.road.homes[colour]
        if homes > 1:
            return self.said("{points} (twice)", points=points)
        return str(points) if homes else "-"

    def _way(self, colour: int) -> str:
        place = self.state.road.places[colour]
        return str(TEAHOUSES - place) if place else self.said("at home")

    def _circle(self) -> Iterator[str]:
        """The five teahouses clockwise from the top, each with the geisha who stand there; beside them the lanterns."""
        light, dark = (self._lights(lanterns) for lanterns in (self.state.road.light, self.state.road.dark))
        a, b, c, d, e = (self._teahouse(n) for n in range(TEAHOUSES))
        light, dark = (
            self.said("next light {lanterns}", lanterns=light),
            self.said("next dark  {lanterns}", lanterns=dark),
        )
        yield f"{self.said('clockwise'):{SIDE}}{'':14}↗  {a}↘{'':14}{light}"
        yield f"{'':{SIDE}}{'':7}{e}{'':10}{b}{'':3}{dark}"
        yield f"{'':{SIDE}}{'':11}↖  {d}←  {c}↙"

    def _teahouse(self, number: int) -> str:
        here = self.state.road.guests(number)
        guests = " ".join(self.paint(colour, "bold", _PAINT[colour]) for colour in here) or "·"
        room = _ROOM - max(2 * len(here) - 1, 1)
        return f"{self.paint(f'{COLOURS[number]}⌂', 'dim')} {guests}{' ' * room}"

    def _painted(self, cards: str) -> str:
        return " ".join(self.paint(card, "bold", _PAINT.get(card[0], "dim")) for card in PACK.split(cards))

    def _actions(self, seat: Seat) -> list[str]:
        """Letters and names, with the cards of the intrigue by it, as far as they are known.

        `?A3` is the card that an intrigue kept and that was revealed.
        """
        beside = {INTRIGUE: self._face_down(seat)}
        return [f"{code} {name}{beside.get(code, '')}" for code, name in self.names.items()]

    def _face_down(self, seat: Seat) -> str:
        kept, discarded = (PACK.decode(cards[seat]) for cards in (self.state.intrigues, self.state.discards))
        if self.turned_up[seat]:
            kept = f"?{self.turned_up[seat]}"
        if discarded in ("", UNKNOWN):
            return f" {kept}" if self.turned_up[seat] else ""
        return f" {self.said('{kept} out {discarded}', kept=kept, discarded=discarded)}"

    def decisions(self) -> Iterator[Choice]:
        """Every answer, order or choice, or an example of each action that is left.

        Words replace the signs that have a meaning in a shell: `order` for `>`, `marker` for `!`, `start` for `^`.
        """
        legal = self.position.legal
        match self.state.due:
            case Due.ANSWER:
                for answer in legal:
                    yield Choice(self.said("take {cards}", cards=_spaced(answer[1:])), answer)
            case Due.ORDER:
                for order in legal:
                    first, second = PACK.split(order[1:])
                    yield Choice(self.said("{card} first", card=first), f"order {first} {second}")
            case Due.PICK if self.state.round > 1:
                for seat in (self.me, 1 - self.me):
                    word = "host" if seat == 0 else "guest"
                    yield Choice(self.by(seat, "you start", "{name} starts"), f"start {word}")
            case Due.PICK:
                for pick in legal:
                    worth = self.said("half an influence point with {colour}", colour=pick[1])
                    yield Choice(self.said("marker {colour}", colour=pick[1]), f"marker {pick[1]}", worth)
            case _:
                for code, name in self.names.items():
                    example = next((action for action in legal if action[0] == code), None)
                    if example:
                        yield Choice(f"{code} {name}", example, self.say(HELP[code]))

    # --- the sentences -----------------------------------------------------------------------------------------------

    def sentences(self) -> Iterator[str]:
        """Colour by colour, then lanterns, actions, proposal and hand."""
        state, other = self.state, 1 - self.me
        won = leads(state.influence(0), state.influence(1))
        for number, colour in enumerate(COLOURS):
            place = state.road.places[number]
            stands = self.said("{steps} from home", steps=TEAHOUSES - place) if place else self.said("at home")
            if state.markers[number] == MIDDLE:
                marker = self.said("marker in the middle")
            else:
                marker = self.by(int(state.markers[number]), "marker with you", "marker with {name}")
            sides = "; ".join(
                self.said(
                    "{name} {cards}, influence {points}",
                    name=self.name(seat),
                    cards=self._held(seat, colour),
                    points=written_halves(state.influence(seat)[number]),
                )
                for seat in (self.me, other)
            )
            yield self.said(
                "Geisha {colour}: {place}, lanterns {lanterns}, {marker}; {sides}.",
                colour=colour,
                place=stands,
                lanterns=self._lantern(number),
                marker=marker,
                sides=sides,
            )
        for seat in (other, self.me):
            points = prestige(state.road.lanterns, won, seat)
            yield self.said(
                "{name}: prestige so far {prestige}, rounds won {rounds}.",
                name=f"{self.name(seat)[:1].upper()}{self.name(seat)[1:]}",
                prestige=points,
                rounds=state.wins[seat],
            )
        lights = self._lights(state.road.light), self._lights(state.road.dark)
        yield self.said("Next lanterns: light {light}; dark {dark}.", light=lights[0], dark=lights[1])
        for seat in (other, self.me):
            left = [f"{code} {self.names[code]}" for code in CODES if not state.used[seat] & BITS[code]]
            yield self.actions_left(seat, left)
            kept = 0 if self.turned_up[seat] else state.intrigues[seat]
            for what, cards in ((tell("kept"), kept), (tell("discarded"), state.discards[seat])):
                if cards:
                    yield self.face_down(seat, what, PACK.decode(cards))
            if self.turned_up[seat]:
                yield self.revealed(seat, NAMES[INTRIGUE], self.turned_up[seat])
        if state.proposal:
            yield self.said("On offer: {cards}.", cards=_spread(state.proposal))
        if state.left:
            yield self.said("Left, to be played in either order: {cards}.", cards=_spaced(state.left))
        yield from self.hands_in_sentences(_spaced)

    def _lights(self, lanterns: tuple[int, ...]) -> str:
        return " ".join(str(points) for points in lanterns) or self.said("none")

    def _held(self, seat: Seat, colour: str) -> str:
        cards = [name for name in _cards(self.state.tableaus[seat]) if name[0] == colour]
        return " ".join(cards) or self.said("nothing")


def _cards(cards: Cards) -> tuple[str, ...]:
    return PACK.split(PACK.decode(cards))


def _spaced(cards: str) -> str:
    return " ".join(PACK.split(cards))


def _spread(action: str) -> str:
    """The cards of an action for reading."""
    if action[0] == COMPETITION:
        return " / ".join(" ".join(pair) for pair in pairs(action))
    return _spaced(action[1:])


def written_halves(number: int) -> str:
    """Half points as people write them: `5½`."""
    whole, half = divmod(number, 2)
    return f"{whole or ('' if half else 0)}{'½' * half}"
