"""Geisha's Road with its options: the `Ruleset` that the rest of the project sees.

Options: who starts the first round, and whether the first two markers are chosen or drawn at random (the rulebook
suggests drawing them in a first game).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from hkoji.errors import IllegalError, MalformedError, NotationError, NotUnderstoodError
from hkoji.messages.text import tell
from hkoji.rules.cards import UNKNOWN, Pack
from hkoji.rules.events import Deal, Seat
from hkoji.rules.geishas_road import actions, state
from hkoji.rules.protocol import Hidden, Json

NAME: Final = "geishas-road"
VERSION: Final = 1
FIRST: Final[dict[str, Seat | None]] = {"host": 0, "guest": 1, "random": None}
MARKERS: Final = ("choose", "random")


@dataclass(frozen=True, slots=True)
class GeishasRoad:
    """`first` is `host`, `guest` or `random`; `starting_markers` is `choose` or `random`.

    Raises `IllegalError` for options that the game does not have.
    """

    first: str = "host"
    starting_markers: str = "choose"

    name: ClassVar[str] = NAME
    pack: ClassVar[Pack] = actions.PACK
    action_names: ClassVar[Mapping[str, str]] = actions.NAMES
    markers: ClassVar[tuple[str, ...]] = tuple(actions.COLOURS)
    reasons: ClassVar[Mapping[str, str]] = {"rounds": tell("with two rounds")}
    most_turns: ClassVar[int] = 18
    """Eight actions; two more for each of the four proposals, if its items are played in an order that is chosen; and
    the choice of two markers before the first round, or of who starts.
    """
    most_rounds: ClassVar[int | None] = 3

    def __post_init__(self) -> None:
        if self.first not in FIRST:
            raise IllegalError(tell("the first player is one of {names}", names=", ".join(FIRST)))
        if self.starting_markers not in MARKERS:
            raise IllegalError(tell("the first markers are one of {names}", names=", ".join(MARKERS)))

    def initial(self) -> state.GeishasRoadState:
        """The state before any event."""
        return state.initial(self, FIRST[self.first])

    def to_json(self) -> dict[str, Json]:
        """The `ruleset` object of the log: every option is always present."""
        return {"first": self.first, "markers": self.starting_markers, "name": NAME, "version": VERSION}

    @classmethod
    def from_json(cls, options: dict[str, Json]) -> GeishasRoad:
        """Reads `to_json`. Raises `NotUnderstoodError` for another version or option, else `MalformedError`."""
        version = options.get("version")
        if type(version) is int and version != VERSION:
            raise NotUnderstoodError(tell("{name} version", name=NAME), str(version))
        for key in options:
            if key not in ("first", "markers", "name", "version"):
                raise NotUnderstoodError(tell("{name} option", name=NAME), key)
        if type(version) is not int:
            raise MalformedError(tell("ruleset"), tell("its version is not a number"))
        first, markers = options.get("first"), options.get("markers")
        if not isinstance(first, str) or not isinstance(markers, str):
            raise MalformedError(tell("ruleset"), tell("first and markers are not both text"))
        try:
            return cls(first, markers)
        except IllegalError as error:
            raise MalformedError(tell("ruleset"), error.message) from error

    def deal(self, order: tuple[str, ...]) -> Deal:
        """A shuffled deck as a deal: six cards for each seat, then the draws; none is removed."""
        return Deal(("".join(order[:6]), "".join(order[6:12])), "".join(order[12:20]))

    def chance(self) -> tuple[str, ...]:
        """The choices of public chance before the first deal."""
        first = ("first",) if FIRST[self.first] is None else ()
        return (*first, "markers") if self.starting_markers == "random" else first

    def public(self, action: str) -> str:
        """An action as the opponent sees it."""
        return actions.public(action)

    def hidden(self, action: str) -> tuple[Hidden, ...]:
        """The kept card of an intrigue, which counts at scoring, and the discarded one, which is opened after the game.

        Raises `NotationError` for an intrigue without exactly two cards.
        """
        if action[:1] != actions.INTRIGUE:
            return ()
        cards = self.pack.split(action[1:])
        if len(cards) != actions.SIZES[actions.INTRIGUE]:
            raise NotationError(action, "an intrigue has two cards")
        return (Hidden(cards[0], True), Hidden(cards[1], False))

    def complete(self, action: str, cards: tuple[str, ...]) -> str:
        """`IXX` with its cards. Raises `NotationError` if they do not fit."""
        groups = self.hidden(action)
        if not groups and not cards:
            return action
        if len(groups) != len(cards) or action != self.public(action) or UNKNOWN in cards:
            raise NotationError(action, tell("it has no such hidden cards"))
        if any(len(self.pack.split(card)) != 1 for card in cards):
            raise NotationError(action, tell("each of its hidden groups is one card"))
        completed = action[0] + "".join(cards)
        actions.read(completed)
        return completed
