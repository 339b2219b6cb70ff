"""The board of Hanamikoji: the row of geisha, both sides, favors, actions, hand, news, and what to type.

Reads a position and nothing else; it can show only what the position's owner knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hkoji.cli.output import Style
from hkoji.client import Position
from hkoji.game.course import Course, Stage
from hkoji.game.replay import Step
from hkoji.rules.events import Act, Answer, Close, Event, Reveal, Seat
from hkoji.rules.hanamikoji.actions import CHARM, KINDS, NAMES, NUMBERS, PACK, SECRET, TRADE_OFF, bit
from hkoji.rules.hanamikoji.scoring import NEUTRAL, charm, geisha
from hkoji.rules.hanamikoji.state import HanamikojiState
from hkoji.rules.protocol import Due

_WIDTH: Final = 78
_SIDE: Final = 13
_COLUMN: Final = 6
_NAME: Final = 20
_NEWS: Final = 6
_COLOURS: Final = ("red", "yellow", "cyan", "green", "bold", "red", "cyan")
_REASONS: Final = {
    "charm": "with 11 charm or more",
    "geisha": "with 4 geisha or more",
    "limit": "at the round limit",
    "resign": "by resignation",
    "timeout": "on time",
    "cancel": "cancelled",
}
_HELP: Final = {
    1: "1 card face down; it counts",
    2: "2 cards face down; out of play",
    3: "3 shown: they take 1, you 2",
    4: "2 pairs shown: they take one",
}


def draw(position: Position, style: Style) -> str:
    """The board as text of at most 78 columns."""
    state = position.course.state
    assert isinstance(state, HanamikojiState)
    board = _Board(position, state, style)
    parts = board.plain() if style.plain else board.lines()
    return "\n".join(line.rstrip() for line in parts) + "\n"


class _Board:
    def __init__(self, position: Position, state: HanamikojiState, style: Style) -> None:
        self.position = position
        self.course: Course = position.course
        self.state = state
        self.style = style
        self.me: Seat = position.seat if position.seat is not None else 0
        self.you = position.seat is not None

    # --- words ------------------------------------------------------------------------------------------------

    def name(self, seat: Seat) -> str:
        """`you`, or a player's name, cut where it would not fit into a line."""
        if self.you and seat == self.me:
            return "you"
        name = self.course.setup.names[seat] or ("the host" if seat == 0 else "nobody yet")
        return name if len(name) <= _NAME else f"{name[: _NAME - 1]}~"

    def title(self) -> list[str]:
        """Whose game this is and where it stands, in one line or two."""
        setup = self.course.setup
        host, guest = setup.names
        players = f"{host or 'nobody yet'} (host) and {guest or 'nobody yet'} (guest)"
        where = f"round {self.state.round}" if self.state.round else "before the first round"
        limit = f" of {self.state.ruleset.max_rounds}" if self.state.ruleset.max_rounds and self.state.round else ""
        line = f"Hanamikoji {setup.game[:8]}   {players}   {where}{limit}"
        return [line] if len(line) <= _WIDTH else [f"Hanamikoji {setup.game[:8]}   {where}{limit}", players]

    def turn(self) -> str:
        """What the game waits for."""
        course = self.course
        if course.stage is Stage.OVER:
            outcome = course.outcome
            assert outcome is not None
            reason = _REASONS.get(outcome.reason, outcome.reason)
            if outcome.winner is None:
                return f"The game is over: {'a shared win' if outcome.reason == 'limit' else 'no winner'}, {reason}."
            who = self.name(outcome.winner)
            return f"The game is over: {who} {'win' if who == 'you' else 'wins'} {reason}."
        if course.stage is Stage.JOIN:
            invite = course.setup.invite
            return f"The game waits for {invite.name if invite else 'someone'} to join."
        if course.actor is None:
            return "The game waits for its service."
        who = self.name(course.actor)
        if course.stage is not Stage.PLAY:
            return f"The game begins as soon as {who} {'reveal your' if who == 'you' else 'reveals their'} entropy."
        what = f"answer {self.state.offer}" if self.state.due is Due.ANSWER else "choose an action"
        return "It is your turn." if who == "you" else f"It is {who}'s turn to {what}."

    def news(self) -> list[str]:
        """What has happened since this player last decided, in words and notation; if nothing, their own decision."""
        told: list[str] = []
        own = 0
        for step in self.position.replay.steps:
            told.extend(line for event in step.events if (line := self._tell(event)))
            if step.entry.kind == "reveal":
                told.append(self._scored(step))
            if self.you and any(isinstance(event, Act | Answer) and event.seat == self.me for event in step.events):
                own = len(told)
        if not self.you:
            return told[-3:]
        return (told[own:] or told[max(own - 1, 0) :])[-_NEWS:]

    def _tell(self, event: Event) -> str:
        match event:
            case Act(seat, action):
                number = int(action[0])
                cards = "" if "X" in action else f" of {_spread(action[1:], number)}"
                return f"{self.name(seat)} played a {NAMES[number]}{cards}   {action}"
            case Answer(seat, answer):
                return f"{self.name(seat)} took {' '.join(answer[1:])}   {answer}"
            case Reveal(seat, cards):
                return f"{self.name(seat)} revealed the secret {cards}   ?{cards}"
            case Close(outcome):
                loser = None if outcome.winner is None else self.name(1 - outcome.winner)
                return f"{loser} gave up   #{outcome.winner} resign" if outcome.reason == "resign" else ""
            case _:
                return ""

    def _scored(self, step: Step) -> str:
        """How things stand after a round."""
        state = step.course.state
        assert isinstance(state, HanamikojiState)
        number = state.round if state.due is Due.OVER else state.round - 1
        stands = (
            f"{self.name(seat)} {geisha(state.markers, seat)} geisha and {charm(state.markers, seat)} charm"
            for seat in (1 - self.me, self.me)
        )
        return f"round {number}: {', '.join(stands)}"

    # --- the board --------------------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The drawn board."""
        style, state = self.style, self.state
        other = 1 - self.me
        yield from (style.paint(line, "bold") for line in self.title())
        yield ""
        head = "".join(
            style.paint(f"{kind}{points}".center(_COLUMN), colour)
            for kind, points, colour in zip(KINDS, CHARM, _COLOURS, strict=True)
        )
        yield f"{'':{_SIDE}}{head}   geisha charm"
        yield self._rule()
        yield self._row(other)
        yield self._favors()
        yield self._row(self.me)
        yield self._rule()
        for seat in (other, self.me):
            yield self._actions(seat)
        if state.deck:
            yield f"{'deck':{_SIDE}}{len(state.deck)} cards to draw, 1 removed unseen"
        if state.offer:
            yield style.paint(f"{'on offer':{_SIDE}}{_spread(state.offer[1:], int(state.offer[0]))}", "bold")
        yield from self._hands()
        news = self.news()
        if news:
            yield ""
            yield from (f"{'lately' if n == 0 else '':{_SIDE}}{line}" for n, line in enumerate(news))
        yield ""
        yield style.paint(self.turn(), "bold", *(["green"] if self.position.legal else []))
        yield from self._choices()

    def _hands(self) -> Iterator[str]:
        """The own hand; for a spectator the hands that the log has revealed."""
        for seat in (self.me,) if self.you else (0, 1):
            hand = self.state.hands[seat]
            if self.state.round and (self.you or 0 < hand < PACK.unknown):
                label = "your hand" if self.you else f"{self.name(seat)[:7]} holds"
                yield f"{label:{_SIDE}}{self._cards(PACK.decode(hand))}"

    def _rule(self) -> str:
        return self.style.paint("─" * _WIDTH, "dim")

    def _row(self, seat: Seat) -> str:
        counts = PACK.counts(self.state.rows[seat])
        cells = "".join(
            self.style.paint((kind * n).center(_COLUMN), colour)
            for kind, n, colour in zip(KINDS, counts, _COLOURS, strict=False)
        )
        totals = f"   {geisha(self.state.markers, seat):^6} {charm(self.state.markers, seat):^5}"
        return f"{self.name(seat)[: _SIDE - 1]:{_SIDE}}{cells}{totals}"

    def _favors(self) -> str:
        arrows = {str(1 - self.me): "▲", str(self.me): "▼", NEUTRAL: "·"}
        cells = "".join(
            self.style.paint(arrows[marker].center(_COLUMN), *(() if marker == NEUTRAL else ("bold",)))
            for marker in self.state.markers
        )
        return f"{'favor':{_SIDE}}{cells}"

    def _actions(self, seat: Seat) -> str:
        """All four actions, those used in brackets; beside them what lies face down and is known."""
        down = {SECRET: self.state.secrets[seat], TRADE_OFF: self.state.trade_offs[seat]}
        words = []
        for number in NUMBERS:
            cards = down.get(number, 0)
            known = f" {PACK.decode(cards)}" if 0 < cards < PACK.unknown else ""
            word = f"{number} {NAMES[number]}{known}"
            words.append(self.style.paint(f"({word})", "dim") if self.state.used[seat] & bit(number) else f" {word} ")
        return f"{self.name(seat)[: _SIDE - 1]:{_SIDE}}{' '.join(words)}"

    def _cards(self, cards: str) -> str:
        return " ".join(
            self.style.paint(card, "bold", _COLOURS[KINDS.index(card)]) if card in KINDS else card for card in cards
        )

    def _choices(self) -> Iterator[str]:
        for what, command, then in self._commands():
            yield f"  {what:{_SIDE + 2}}{command:28}  {then}"

    def _commands(self) -> Iterator[tuple[str, str, str]]:
        """What can be done now: in a word, what to type, and what that does."""
        game = self.position.short
        if self.course.stage is Stage.OVER:
            yield "look back", f"hkoji replay {game}", "the whole game in notation"
            yield "check it", f"hkoji audit {game}", "every signature, card and move"
            yield "keep it", f"hkoji export {game}", "for anyone to check"
        elif self.you and not self.position.legal:
            yield "wait", f"hkoji wait {game}", ""
        elif self.position.legal and self.state.due is Due.ANSWER:
            for answer in self.position.legal:
                yield f"take {' '.join(answer[1:])}", f"hkoji move {game} {answer}", ""
        elif self.position.legal:
            for number in NUMBERS:
                example = next((action for action in self.position.legal if action[0] == str(number)), None)
                if example:
                    yield f"{number} {NAMES[number]}", f"hkoji move {game} {example}", _HELP[number]

    # --- linear -----------------------------------------------------------------------------------------------

    def plain(self) -> Iterator[str]:
        """The same as sentences, one a line."""
        state = self.state
        yield f"{', '.join(self.title())}."
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
        for line in self.news():
            yield f"Lately: {' '.join(line.split())}."
        yield self.turn()
        for what, command, then in self._commands():
            yield f"To {what}, type: {command}{f' ({then})' if then else ''}."


def _spread(cards: str, number: int) -> str:
    return f"{' '.join(cards[:2])} / {' '.join(cards[2:])}" if number == 4 else " ".join(cards)
