"""What the boards of all games share: title, names, whose turn it is, what has happened lately, what to type.

A board reads a position and nothing else; it can show only what the position's owner knows. One module a game
subclasses `Board` with its table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import ClassVar, Final

from hkoji.cli import cards
from hkoji.cli.language import _, _by, translate
from hkoji.cli.output import TextStyle
from hkoji.client import Position
from hkoji.game.course import Course, Stage
from hkoji.game.replay import Step
from hkoji.messages.text import tell
from hkoji.rules.events import DECISIONS, Close, Event, Outcome, Reveal, Seat
from hkoji.rules.protocol import Due
from hkoji.show.decks import Deck

WIDTH: Final = 78
SIDE: Final = 13
"""The width of the labels on the left."""
_NAME: Final = 20
_NEWS: Final = 6
_REASONS: Final = {
    "resign": tell("by resignation"),
    "timeout": tell("on time"),
    "cancel": tell("cancelled"),
}

Choice = tuple[str, str, str]
"""Something that can be done: in a word, what to type, and what that does."""


class Board(ABC):
    """A position as text of at most 78 columns."""

    game: ClassVar[str]
    """The game's name for people."""
    reasons: ClassVar[Mapping[str, str]]
    """For each of the ruleset's reasons the words that end `alice wins …`."""

    def __init__(self, position: Position, style: TextStyle) -> None:
        self.position: Final = position
        self.course: Final[Course] = position.course
        self.style: Final = style
        self.deck: Final[Deck] = cards.deck_for(position.course.setup.ruleset.name)
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
        """What the actor has to do, after a `to` or in the infinitive: `answer 3BCC`."""

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
        if self.is_me(seat):
            return _("you")
        name = self.course.setup.names[seat] or (_("the host") if seat == 0 else _("nobody yet"))
        return name if len(name) <= _NAME else f"{name[: _NAME - 1]}~"

    def is_me(self, seat: Seat) -> bool:
        """Whether that seat is this player's."""
        return self.you and seat == self.me

    def by(self, seat: Seat, you: str, they: str, **values: object) -> str:
        """A message about a seat: `you` to the player who sits there, to others `they`, with the `{name}`."""
        return _by(self.is_me(seat), you, they, name=self.name(seat), **values)

    def shown(self, names: Iterable[str]) -> str:
        """Cards for reading: spelled out where no table is drawn."""
        return (cards.spelled if self.style.plain else cards.symbols)(self.deck, names)

    def noted(self, notation: str) -> str:
        """What has happened in notation, in the names of the deck."""
        return self.deck.write(notation)

    def to_type(self, action: str) -> str:
        """The command for an action."""
        return f"hkoji move {self.position.short} {cards.typed(self.deck, action)}"

    def label(self, seat: Seat) -> str:
        """A player's name as the label of a row."""
        return f"{self.name(seat)[: SIDE - 1]:{SIDE}}"

    def title(self) -> list[str]:
        """Which game this is, whose it is and where it stands: in one line if there is room."""
        game = f"{self.game} {self.course.setup.game[:8]}"
        line = f"{game}   {self.players()}   {self.where()}"
        return [line] if len(line) <= WIDTH else [f"{game}   {self.where()}", *wrap(self.players(), WIDTH)]

    def players(self) -> str:
        """Both names in full, and who sits where."""
        host, guest = self.course.setup.names
        nobody = _("nobody yet")
        return _("{host} (host) and {guest} (guest)", host=host or nobody, guest=guest or nobody)

    def turn(self) -> str:
        """What the game waits for."""
        course = self.course
        if course.finished:
            outcome = course.outcome
            assert outcome is not None
            return self._ending(outcome)
        if course.stage is Stage.JOIN:
            invite = course.setup.invite
            if invite:
                return _("The game waits for {name} to join.", name=invite.name)
            return _("The game waits for someone to join.")
        if course.state.due is Due.DEAL and course.state.round:
            return _("Round {number} is over.", number=course.state.round)
        if course.actor is None:
            return _("The game waits for its service.")
        if course.stage is not Stage.PLAY:
            return self.by(
                course.actor,
                "The game begins as soon as you reveal your entropy.",
                "The game begins as soon as {name} reveals their entropy.",
            )
        return self.by(course.actor, "It is your turn.", "It is {name}'s turn to {task}.", task=self.task())

    def _ending(self, outcome: Outcome) -> str:
        reason = translate({**_REASONS, **self.reasons}.get(outcome.reason, outcome.reason))
        if outcome.winner is not None:
            return self.by(
                outcome.winner,
                "The game is over: you win {reason}.",
                "The game is over: {name} wins {reason}.",
                reason=reason,
            )
        if outcome.reason in _REASONS:
            return _("The game is over: no winner, {reason}.", reason=reason)
        return _("The game is over: a shared win, {reason}.", reason=reason)

    def actions_left(self, seat: Seat, actions: Iterable[str]) -> str:
        """A sentence on the actions that a seat has not taken."""
        left = ", ".join(actions) or _("none")
        return self.by(seat, "Actions left for you: {actions}.", "Actions left for {name}: {actions}.", actions=left)

    def face_down(self, seat: Seat, what: str, shown: str) -> str:
        """A sentence on cards that lie face down and are known."""
        return self.by(
            seat,
            "Face down for you: {what} {cards}.",
            "Face down for {name}: {what} {cards}.",
            what=translate(what),
            cards=shown,
        )

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
            result = f"#{event.outcome.winner} resign"
            return self.by(
                1 - event.outcome.winner, "you gave up   {result}", "{name} gave up   {result}", result=result
            )
        return ""

    # --- the board --------------------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The drawn board."""
        yield from (self.style.paint(line, "bold") for line in self.title())
        yield ""
        yield from self.table()
        news = [part for line in self.news() for part in wrap(line, WIDTH - SIDE, subsequent_indent="  ")]
        if news:
            yield ""
            yield from (f"{_('lately') if n == 0 else '':{SIDE}}{line}" for n, line in enumerate(news))
        yield ""
        yield self.style.paint(self.turn(), "bold", *(["green"] if self.position.legal else []))
        choices = tuple(self.choices())
        typed = max((len(command) for _what, command, _then in choices), default=0)
        for what, command, then in choices:
            line = f"  {f'{what}  ':{SIDE + 2}}{command:{typed}}"
            yield f"{line}  {then}" if len(line) + len(then) + 2 <= WIDTH else line

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
            yield _("look back"), f"hkoji replay {game}", _("the whole game in notation")
            yield _("check it"), f"hkoji audit {game}", _("every signature, card and move")
            yield _("keep it"), f"hkoji export {game}", _("for anyone to check")
        elif self.you and not self.position.legal:
            yield _("wait"), f"hkoji wait {game}", ""
        elif self.position.legal:
            yield from self.decisions()

    # --- linear -----------------------------------------------------------------------------------------------

    def plain(self) -> Iterator[str]:
        """The same as sentences, one a line."""
        yield f"{self.game} {self.course.setup.game[:8]}, {self.players()}, {self.where()}."
        yield from self.sentences()
        for line in self.news():
            yield _("Lately: {news}.", news=" ".join(line.split()))
        yield self.turn()
        for what, command, then in self.choices():
            if then:
                yield _("To {choice}, type: {command} ({result}).", choice=what, command=command, result=then)
            else:
                yield _("To {choice}, type: {command}.", choice=what, command=command)
