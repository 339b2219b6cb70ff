"""The board of Hanamikoji: the row of geisha, both sides, favors, actions, hand, news, and what to type.

Reads a position and nothing else; it can show only what the position's owner knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hkoji.cli.output import Style
from hkoji.client import Position
from hkoji.game.course import Course, Stage
from hkoji.rules.events import Act, Answer, Close, Deal, Draw, Event, Reveal, Seat
from hkoji.rules.hanamikoji.actions import CHARM, KINDS, NAMES, NUMBERS, PACK, bit
from hkoji.rules.hanamikoji.scoring import NEUTRAL, charm, geisha
from hkoji.rules.hanamikoji.state import HanamikojiState
from hkoji.rules.protocol import Due

_WIDTH: Final = 78
_SIDE: Final = 13
_COLUMN: Final = 6
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
        """`you`, or a player's name."""
        if self.you and seat == self.me:
            return "you"
        return self.course.setup.names[seat] or ("the host" if seat == 0 else "nobody yet")

    def title(self) -> str:
        """Whose game this is and where it stands."""
        setup = self.course.setup
        host, guest = setup.names
        players = f"{host or 'nobody yet'} (host) and {guest or 'nobody yet'} (guest)"
        where = f"round {self.state.round}" if self.state.round else "before the first round"
        limit = f" of {self.state.ruleset.max_rounds}" if self.state.ruleset.max_rounds and self.state.round else ""
        return f"Hanamikoji {setup.game[:8]}   {players}   {where}{limit}"

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
        """What has happened since this player last decided, in words and notation."""
        events = [event for event in self.position.events if not isinstance(event, Draw | Deal)]
        since = [n for n, event in enumerate(events) if isinstance(event, Act | Answer) and self._mine(event)]
        recent = events[since[-1] + 1 :] if since else events
        if not self.you:
            recent = events[-3:]
        return [line for event in recent[-6:] if (line := self._tell(event))]

    def _mine(self, event: Act | Answer) -> bool:
        return self.you and event.seat == self.me

    def _tell(self, event: Event) -> str:
        match event:
            case Act(seat, action):
                number = int(action[0])
                cards = "" if "X" in action else f" of {_spread(action[1:], number)}"
                return f"{self.name(seat)} played {_a(NAMES[number])}{cards}   {action}"
            case Answer(seat, answer):
                return f"{self.name(seat)} took {' '.join(answer[1:])}   {answer}"
            case Reveal(seat, cards):
                return f"{self.name(seat)} revealed the secret {cards}   ?{cards}"
            case Close(outcome):
                loser = None if outcome.winner is None else self.name(1 - outcome.winner)
                return f"{loser} gave up   #{outcome.winner} resign" if outcome.reason == "resign" else ""
            case _:
                return ""

    # --- the board --------------------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The drawn board."""
        style, state = self.style, self.state
        other = 1 - self.me
        yield style.paint(self.title(), "bold")
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
        yield style.paint(self.turn(), "bold", *(["green"] if self._my_turn() else []))
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
        used = self.state.used[seat]
        words = []
        for number in NUMBERS:
            gone = used & bit(number)
            word = f"{number} {NAMES[number]}"
            words.append(self.style.paint(f"({word})", "dim") if gone else f" {word} ")
        down = []
        if self.state.secrets[seat]:
            down.append(f"secret {PACK.decode(self.state.secrets[seat])}")
        if self.state.trade_offs[seat]:
            down.append(f"trade-off {PACK.decode(self.state.trade_offs[seat])}")
        beneath = f"   {', '.join(down)} face down" if down else ""
        return f"{self.name(seat)[: _SIDE - 1]:{_SIDE}}{''.join(words)}{beneath}"

    def _cards(self, cards: str) -> str:
        return " ".join(
            self.style.paint(card, "bold", _COLOURS[KINDS.index(card)]) if card in KINDS else card for card in cards
        )

    def _my_turn(self) -> bool:
        return bool(self.position.legal)

    def _choices(self) -> Iterator[str]:
        if not self._my_turn():
            if self.course.stage is Stage.OVER:
                game = self.course.setup.game[:8]
                yield f"  hkoji replay {game}    hkoji audit {game}    hkoji export {game} > game.jsonl"
            elif self.you:
                yield f"  hkoji wait {self.course.setup.game[:8]}"
            return
        game = self.course.setup.game[:8]
        if self.state.due is Due.ANSWER:
            for answer in self.position.legal:
                yield f"  take {' '.join(answer[1:]):{_SIDE - 6}}hkoji move {game} {answer}"
            return
        for number in NUMBERS:
            examples = [action for action in self.position.legal if action[0] == str(number)]
            if examples:
                command = f"hkoji move {game} {examples[0]}"
                yield f"  {number} {NAMES[number]:12}{command:30}{_HELP[number]}"

    # --- linear -----------------------------------------------------------------------------------------------

    def plain(self) -> Iterator[str]:
        """The same as sentences, one a line."""
        state = self.state
        yield self.title() + "."
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
        yield from (" ".join(line.split()) for line in self._choices())


def _spread(cards: str, number: int) -> str:
    return f"{' '.join(cards[:2])} / {' '.join(cards[2:])}" if number == 4 else " ".join(cards)


def _a(word: str) -> str:
    return f"a {word}"
