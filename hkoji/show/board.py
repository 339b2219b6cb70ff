"""The base of the boards of all games: title, names, whose turn it is, the news, what can be typed.

A board reads a position and nothing else, so it can show only what the position's owner knows. Each game subclasses
`Board` with its table. Language, names of the cards and colours are arguments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap
from typing import ClassVar, Final, NamedTuple, TypeAlias

from hkoji.game.course import Course, Stage
from hkoji.game.position import Position
from hkoji.game.replay import Step
from hkoji.game.result_text import closing_body, result_text, unplayed_text
from hkoji.messages.text import Speaker, Text, tell
from hkoji.rules.cards import Cards
from hkoji.rules.events import DECISIONS, SEATS, Close, Deal, Event, Reveal, Seat
from hkoji.rules.protocol import Due
from hkoji.show.deck import STANDARD, Deck, spelled, symbols
from hkoji.show.scene import Scene

WIDTH: Final = 78
SIDE: Final = 13
"""The width of the labels on the left."""
_NAME: Final = 20
_NEWS: Final = 6

Paint: TypeAlias = Callable[..., str]
"""Returns a text in named styles: `paint("A", "bold", "red")`. Styles are bold, dim, red, green, yellow and cyan."""


def unpainted(text: str, *_styles: str) -> str:
    """Returns the text without any style."""
    return text


class Look(NamedTuple):
    """How a reader sees a board: language, names of the cards, styles; with `plain` as sentences only.

    `notes` are sentences on what a position does not have: the clock, and who has asked to call the game off.
    """

    say: Speaker = str
    deck: Deck = STANDARD
    paint: Paint = unpainted
    plain: bool = False
    notes: tuple[str, ...] = ()


class Choice(NamedTuple):
    """A decision that the reader can type: its name, the text to type, and its result in a few words or empty."""

    name: str
    typed: str
    result: str = ""


class Board(ABC):
    """A position in words, as text of at most 78 columns."""

    game: ClassVar[str]
    """The game's name for people."""
    introduction: ClassVar[str] = ""
    """The rules in about ten lines for a first game; empty if the game has none."""

    def __init__(self, position: Position, look: Look) -> None:
        self.position: Final = position
        self.course: Final[Course] = position.course
        self.say: Final[Speaker] = look.say
        self.deck: Final[Deck] = look.deck
        self.paint: Final[Paint] = look.paint
        self.plain: Final = look.plain
        self.notes: Final = look.notes
        self.me: Final[Seat] = position.seat if position.seat is not None else 0
        self.turned_up: Final = turned_up(position.events)
        self.you: Final = position.seat is not None and not position.studied

    @property
    def dealt(self) -> bool:
        """Whether there is a table to look at: not of a game that has ended before its first round."""
        return not self.course.finished or self.course.state.round > 0

    def text(self, choices: Sequence[Choice]) -> str:
        """Returns the board, or sentences if the look is plain; `choices` stand at its end."""
        parts = self._sentences(choices) if self.plain else self._lines(choices)
        return "\n".join(line.rstrip() for line in parts) + "\n"

    def scene(self, title: str) -> Scene:
        """Returns the position as it can be drawn, with its news and whose turn it is."""
        host, guest = self.course.setup.names
        return Scene(
            state=self.course.state,
            names=(host or self.said("the host"), guest or self.said("nobody yet")),
            near=self.me,
            title=title,
            news=tuple(" · ".join(line.split("   ")) for line in self.news()),
            turn=self.turn(),
            turned_up=self.turned_up,
            translate=self.say,
            symbol=self.deck.symbol,
        )

    def choices(self) -> tuple[Choice, ...]:
        """Returns what this player can decide now, with the bare notation or words as the text to type."""
        return tuple(self.decisions()) if self.position.legal else ()

    # --- what a game adds -------------------------------------------------------------------------------------

    @abstractmethod
    def where(self) -> str:
        """Where the game stands, in a few words: `round 1 of 3`."""

    @abstractmethod
    def task(self) -> str:
        """The duty of the actor, after a `to` or in the infinitive: `take a card from the gift B C C`."""

    @abstractmethod
    def decision_line(self, seat: Seat, action: str) -> str:
        """A decision in words and notation."""

    @abstractmethod
    def reveal_line(self, seat: Seat, cards: str) -> str:
        """A reveal in words and notation."""

    @abstractmethod
    def score_line(self, step: Step) -> str:
        """The score after the round that the entry `step` has ended."""

    @abstractmethod
    def table(self) -> Iterator[str]:
        """The drawn table, from its head to the hands."""

    @abstractmethod
    def sentences(self) -> Iterator[str]:
        """The table as sentences, one a line."""

    @abstractmethod
    def decisions(self) -> Iterator[Choice]:
        """The decisions that this player can make now."""

    # --- words ------------------------------------------------------------------------------------------------

    def name(self, seat: Seat) -> str:
        """`you`, or a player's name, cut to the width that a line has for it."""
        if self.is_me(seat):
            return self.said("you")
        name = self.course.setup.names[seat] or (self.said("the host") if seat == 0 else self.said("nobody yet"))
        return name if len(name) <= _NAME else f"{name[: _NAME - 1]}~"

    def is_me(self, seat: Seat) -> bool:
        """Whether that seat is this player's."""
        return self.you and seat == self.me

    def said(self, template: str, /, **values: object) -> str:
        """A message in the reader's language."""
        return self.say(Text(template, values))

    def by(self, seat: Seat, you: str, they: str, **values: object) -> str:
        """A message about a seat: `you` to the player who sits there, to others `they`, with the `{name}`."""
        return self.say(Text(you if self.is_me(seat) else they, {"name": self.name(seat), **values}))

    def shown(self, names: Iterable[str]) -> str:
        """Cards for reading: spelled out where no table is drawn."""
        return spelled(self.deck, names, self.say) if self.plain else symbols(self.deck, names)

    def label(self, seat: Seat) -> str:
        """A player's name as the label of a row."""
        return f"{self.name(seat)[: SIDE - 1]:{SIDE}}"

    def title(self) -> list[str]:
        """The game, its players and its state, in one line if there is room."""
        game = f"{self.game} {self.course.setup.game[:8]}"
        line = f"{game}   {self.players()}   {self.where()}"
        return [line] if len(line) <= WIDTH else [f"{game}   {self.where()}", *wrap(self.players(), WIDTH)]

    def players(self) -> str:
        """Both names in full, and who sits where."""
        host, guest = self.course.setup.names
        nobody = self.said("nobody yet")
        return self.said("{host} (host) and {guest} (guest)", host=host or nobody, guest=guest or nobody)

    def turn(self) -> str:
        """A sentence on the event that the game waits for."""
        course = self.course
        if course.finished:
            outcome = course.outcome
            assert outcome is not None
            closed = closing_body(step.body for step in self.position.replay.steps)
            unplayed = unplayed_text(course, closed, course.setup.names[self.me] if self.you else None)
            if unplayed is not None:
                return self.say(unplayed)
            winner, reasons = outcome.winner, course.setup.ruleset.reasons
            if winner is None:
                result = result_text(outcome, reasons, None, closed=closed)
            else:
                result = result_text(outcome, reasons, self.name(winner), you=self.is_me(winner))
            return self.said("The game is over: {result}.", result=result)
        if course.stage is Stage.JOIN:
            if self.position.invited:
                return self.said("It is your turn: {host} invites you to join this game.", host=course.setup.names[0])
            if course.setup.invited:
                return self.said("The game waits for {name} to join.", name=course.setup.invited)
            if course.setup.link:
                return self.said("The game waits for whoever has its link to join.")
            return self.said("The game waits for someone to join.")
        if course.debtor is not None:
            return self._release_owed(course.debtor)
        if course.state.due is Due.DEAL and course.state.round:
            return self.said("Round {number} is over.", number=course.state.round)
        if course.actor is None:
            return self.said("The game waits for its service.")
        if course.stage is not Stage.PLAY:
            return self.by(
                course.actor,
                "The game begins as soon as you take part in the shuffle.",
                "The game begins as soon as {name} takes part in the shuffle.",
            )
        return self.by(course.actor, "It is your turn.", "It is {name}'s turn to {task}.", task=self.task())

    def _release_owed(self, seat: Seat) -> str:
        """A sentence on the release that a seat owes in a sealed game."""
        if self.course.state.due is Due.REVEAL:
            return self.by(
                seat,
                "The round ends when your program turns up your face-down card that counts.",
                "The round ends when {name}'s program turns up the face-down card that counts.",
            )
        other = self.name(1 - seat)
        if self.is_me(seat):
            return self.said("Your program owes {name} a card.", name=other)
        if self.is_me(1 - seat):
            return self.said("{name}'s program must give you a card.", name=self.name(seat))
        return self.said("{name}'s program must give {other} a card.", name=self.name(seat), other=other)

    def actions_left(self, seat: Seat, actions: Iterable[str]) -> str:
        """A sentence on the actions that a seat has not taken."""
        left = ", ".join(actions) or self.said("none")
        return self.by(seat, "Actions left for you: {actions}.", "Actions left for {name}: {actions}.", actions=left)

    def face_down(self, seat: Seat, what: str, shown: str) -> str:
        """A sentence on cards that lie face down and are known."""
        return self.by(
            seat,
            "Face down for you: {what} {cards}.",
            "Face down for {name}: {what} {cards}.",
            what=self.say(what),
            cards=shown,
        )

    def revealed(self, seat: Seat, what: str, card: str) -> str:
        """A sentence on a card that was turned up in this round, and counts."""
        return self.by(
            seat,
            "Revealed by you: {what} {card}.",
            "Revealed by {name}: {what} {card}.",
            what=self.say(what),
            card=card,
        )

    def action_rows(self, actions: Sequence[Sequence[str]], used: Sequence[Sequence[bool]]) -> Iterator[str]:
        """The rows of both seats' actions, the reader's below: actions in columns, used ones in brackets.

        Both arguments are by seat, and have for each action its text and whether it is used.
        """
        for seat in (1 - self.me, self.me):
            cells = []
            for word, beside, is_used in zip(actions[seat], actions[1 - seat], used[seat], strict=True):
                shown = self.paint(f"({word})", "dim") if is_used else f" {word} "
                cells.append(shown + " " * max(0, len(beside) - len(word)))
            yield f"{self.label(seat)}{' '.join(cells)}"

    def hands(self, written: Callable[[str], str]) -> Iterator[str]:
        """The rows of the reader's own hand, or for a spectator of the hands that the log has revealed."""
        state, pack = self.course.state, self.course.state.ruleset.pack
        for seat in (self.me,) if self.you else SEATS:
            hand = state.hands[seat]
            if hand > 0 and (self.you or hand < pack.unknown):
                label = self.said("your hand") if self.you else self.said("{name} holds", name=self.name(seat)[:7])
                yield f"{label:{SIDE}}{self._hand(hand, written)}"

    def hands_in_sentences(self, written: Callable[[str], str]) -> Iterator[str]:
        """The same hands as sentences."""
        state, pack = self.course.state, self.course.state.ruleset.pack
        if self.you and state.round:
            cards = self._hand(state.hands[self.me], written) or self.said("empty")
            yield self.said("Your hand: {cards}.", cards=cards)
        for seat in () if self.you else SEATS:
            if 0 < state.hands[seat] < pack.unknown:
                held = written(pack.decode(state.hands[seat]))
                yield self.said("{name} holds: {cards}.", name=self.name(seat), cards=held)

    def _hand(self, hand: Cards, written: Callable[[str], str]) -> str:
        """A hand as `written`; of one that its player cannot read here, as in a sealed game, a sign for each card."""
        pack = self.course.state.ruleset.pack
        return written(pack.decode(hand)) if hand < pack.unknown else " ".join(pack.split(pack.decode(hand)))

    def news(self) -> list[str]:
        """The events since this player last decided, in words and notation; if there are none, their own decision.

        For a spectator, the last three events.
        """
        lines: list[str] = []
        own = 0
        for step in self.position.replay.steps:
            lines.extend(line for event in step.events if (line := self.event_line(event)))
            if any(isinstance(event, Reveal) for event in step.events):
                lines.append(self.score_line(step))
            if self.you and any(isinstance(event, DECISIONS) and event.seat == self.me for event in step.events):
                own = len(lines)
        if not self.you:
            return lines[-3:]
        return (lines[own:] or lines[max(own - 1, 0) :])[-_NEWS:]

    def event_line(self, event: Event) -> str:
        """An event of the rules in words, three spaces and notation; empty for one that is no news."""
        if isinstance(event, DECISIONS):
            return self.decision_line(event.seat, event.action)
        if isinstance(event, Reveal):
            return self.reveal_line(event.seat, event.cards)
        if isinstance(event, Close) and event.outcome.winner is not None:
            loser, reason = 1 - event.outcome.winner, event.outcome.reason
            result = f"#{event.outcome.winner} {reason}"
            if reason == "resign":
                return self.by(loser, "you gave up   {result}", "{name} gave up   {result}", result=result)
            if reason == "timeout":
                return self.by(loser, "you lost on time   {result}", "{name} lost on time   {result}", result=result)
        return ""

    # --- the board --------------------------------------------------------------------------------------------

    def _lines(self, choices: Sequence[Choice]) -> list[str]:
        lines = [self.paint(line, "bold") for line in self.title()]
        if self.dealt:
            lines += ["", *self.table()]
        news = [part for line in self.news() for part in wrap(line, WIDTH - SIDE, subsequent_indent="  ")]
        if news:
            lines += ["", *(f"{self.said('lately') if n == 0 else '':{SIDE}}{line}" for n, line in enumerate(news))]
        lines += ["", self.paint(self.turn(), "bold", *(["green"] if self.position.legal else []))]
        for note in self.notes:
            lines += wrap(note, WIDTH)
        width = max((len(choice.typed) for choice in choices), default=0)
        for choice in choices:
            line = f"  {f'{choice.name}  ':{SIDE + 2}}{choice.typed:{width}}"
            fits = len(line) + len(choice.result) + 2 <= WIDTH
            lines.append(f"{line}  {choice.result}" if fits else line)
        return lines

    def rule(self) -> str:
        """A line across."""
        return self.paint("─" * WIDTH, "dim")

    # --- the sentences ----------------------------------------------------------------------------------------

    def _sentences(self, choices: Sequence[Choice]) -> Iterator[str]:
        yield f"{self.game} {self.course.setup.game[:8]}, {self.players()}, {self.where()}."
        if self.dealt:
            yield from self.sentences()
        for line in self.news():
            yield self.said("Lately: {news}.", news=" ".join(line.split()))
        yield self.turn()
        yield from self.notes
        for name, command, result in choices:
            if result:
                message = tell("To {choice}, type: {command} ({result}).", choice=name, command=command, result=result)
            else:
                message = tell("To {choice}, type: {command}.", choice=name, command=command)
            yield self.say(message)


def turned_up(events: Iterable[Event]) -> tuple[str, str]:
    """The card that each seat has turned up since the last deal; empty for a seat that has not."""
    shown = ["", ""]
    for event in events:
        if isinstance(event, Deal):
            shown = ["", ""]
        elif isinstance(event, Reveal):
            shown[event.seat] = event.cards
    return shown[0], shown[1]
