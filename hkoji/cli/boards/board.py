"""What the boards of all games share: title, names, whose turn it is, what has happened lately, what to type.

A board reads a position and nothing else; it can show only what the position's owner knows. One module a game
subclasses `Board` with its table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from hkoji.cli.output import Style
from hkoji.client import Position
from hkoji.game.course import Course, Stage
from hkoji.game.replay import Step
from hkoji.rules.events import DECISIONS, Close, Event, Reveal, Seat
from hkoji.rules.protocol import Due

WIDTH: Final = 78
SIDE: Final = 13
"""The width of the labels on the left."""
_NAME: Final = 20
_NEWS: Final = 6
_REASONS: Final = {
    "resign": "by resignation",
    "timeout": "on time",
    "cancel": "cancelled",
}

Choice = tuple[str, str, str]
"""Something that can be done: in a word, what to type, and what that does."""


class Board(ABC):
    """A position as text of at most 78 columns."""

    game: ClassVar[str]
    """The game's name for people."""
    reasons: ClassVar[Mapping[str, str]]
    """For each of the ruleset's reasons the words that end `alice wins …`."""

    def __init__(self, position: Position, style: Style) -> None:
        self.position: Final = position
        self.course: Final[Course] = position.course
        self.style: Final = style
        self.me: Final[Seat] = position.seat if position.seat is not None else 0
        self.you: Final = position.seat is not None and not position.studied

    def draw(self) -> str:
        """The board, linear if the style asks for it."""
        parts = self.plain() if self.style.plain else self.lines()
        return "\n".join(line.rstrip() for line in parts) + "\n"

    # --- what a game adds -------------------------------------------------------------------------------------

    @abstractmethod
    def where(self) -> str:
        """Where the game stands, in a few words: `round 1 of 3`."""

    @abstractmethod
    def task(self) -> str:
        """What the actor has to do, after a `to`: `answer 3BCC`."""

    @abstractmethod
    def told(self, seat: Seat, action: str) -> str:
        """A decision in words and notation."""

    @abstractmethod
    def turned_up(self, seat: Seat, cards: str) -> str:
        """A reveal in words and notation."""

    @abstractmethod
    def scored(self, step: Step) -> str:
        """How things stand after the round that the entry `step` has scored."""

    @abstractmethod
    def table(self) -> Iterator[str]:
        """The drawn table, from its head to the hands."""

    @abstractmethod
    def sentences(self) -> Iterator[str]:
        """The table as sentences, one a line."""

    @abstractmethod
    def decisions(self) -> Iterator[Choice]:
        """What can be decided now; nothing if no decision is this player's."""

    # --- words ------------------------------------------------------------------------------------------------

    def name(self, seat: Seat) -> str:
        """`you`, or a player's name, cut where it would not fit into a line."""
        if self.you and seat == self.me:
            return "you"
        name = self.course.setup.names[seat] or ("the host" if seat == 0 else "nobody yet")
        return name if len(name) <= _NAME else f"{name[: _NAME - 1]}~"

    def label(self, seat: Seat) -> str:
        """A player's name as the label of a row."""
        return f"{self.name(seat)[: SIDE - 1]:{SIDE}}"

    def title(self) -> list[str]:
        """Whose game this is and where it stands, in one line or two."""
        setup = self.course.setup
        host, guest = setup.names
        players = f"{host or 'nobody yet'} (host) and {guest or 'nobody yet'} (guest)"
        line = f"{self.game} {setup.game[:8]}   {players}   {self.where()}"
        return [line] if len(line) <= WIDTH else [f"{self.game} {setup.game[:8]}   {self.where()}", players]

    def turn(self) -> str:
        """What the game waits for."""
        course = self.course
        if course.finished:
            outcome = course.outcome
            assert outcome is not None
            reason = {**_REASONS, **self.reasons}.get(outcome.reason, outcome.reason)
            if outcome.winner is None:
                return f"The game is over: {'no winner' if outcome.reason in _REASONS else 'a shared win'}, {reason}."
            who = self.name(outcome.winner)
            return f"The game is over: {who} {'win' if who == 'you' else 'wins'} {reason}."
        if course.stage is Stage.JOIN:
            invite = course.setup.invite
            return f"The game waits for {invite.name if invite else 'someone'} to join."
        if course.state.due is Due.DEAL and course.state.round:
            return f"Round {course.state.round} is over."
        if course.actor is None:
            return "The game waits for its service."
        who = self.name(course.actor)
        if course.stage is not Stage.PLAY:
            return f"The game begins as soon as {who} {'reveal your' if who == 'you' else 'reveals their'} entropy."
        return "It is your turn." if who == "you" else f"It is {who}'s turn to {self.task()}."

    def news(self) -> list[str]:
        """What has happened since this player last decided, in words and notation; if nothing, their own decision.

        For anybody else the last three events.
        """
        told: list[str] = []
        own = 0
        for step in self.position.replay.steps:
            told.extend(line for event in step.events if (line := self._tell(event)))
            if step.entry.kind == "reveal":
                told.append(self.scored(step))
            if self.you and any(isinstance(event, DECISIONS) and event.seat == self.me for event in step.events):
                own = len(told)
        if not self.you:
            return told[-3:]
        return (told[own:] or told[max(own - 1, 0) :])[-_NEWS:]

    def _tell(self, event: Event) -> str:
        if isinstance(event, DECISIONS):
            return self.told(event.seat, event.action)
        if isinstance(event, Reveal):
            return self.turned_up(event.seat, event.cards)
        if isinstance(event, Close) and event.outcome.reason == "resign" and event.outcome.winner is not None:
            return f"{self.name(1 - event.outcome.winner)} gave up   #{event.outcome.winner} resign"
        return ""

    # --- the board --------------------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The drawn board."""
        yield from (self.style.paint(line, "bold") for line in self.title())
        yield ""
        yield from self.table()
        news = self.news()
        if news:
            yield ""
            yield from (f"{'lately' if n == 0 else '':{SIDE}}{line}" for n, line in enumerate(news))
        yield ""
        yield self.style.paint(self.turn(), "bold", *(["green"] if self.position.legal else []))
        for what, command, then in self.choices():
            yield f"  {what:{SIDE + 2}}{command:29}  {then}"

    def rule(self) -> str:
        """A line across."""
        return self.style.paint("─" * WIDTH, "dim")

    def choices(self) -> Iterator[Choice]:
        """What can be done now."""
        game = self.position.short
        if self.position.studied:
            return
        if self.style.seated:
            for what, command, then in self.decisions() if self.position.legal else ():
                yield what, command.removeprefix(f"hkoji move {game} "), then
        elif self.course.finished:
            yield "look back", f"hkoji replay {game}", "the whole game in notation"
            yield "check it", f"hkoji audit {game}", "every signature, card and move"
            yield "keep it", f"hkoji export {game}", "for anyone to check"
        elif self.you and not self.position.legal:
            yield "wait", f"hkoji wait {game}", ""
        elif self.position.legal:
            yield from self.decisions()

    # --- linear -----------------------------------------------------------------------------------------------

    def plain(self) -> Iterator[str]:
        """The same as sentences, one a line."""
        yield f"{', '.join(self.title())}."
        yield from self.sentences()
        for line in self.news():
            yield f"Lately: {' '.join(line.split())}."
        yield self.turn()
        for what, command, then in self.choices():
            yield f"To {what}, type: {command}{f' ({then})' if then else ''}."
