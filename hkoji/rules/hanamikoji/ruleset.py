"""Hanamikoji with its options: the `Ruleset` that the rest of the project sees.

Options of all editions: who starts the first round, a limit of rounds (0 for none) and the tie-break at the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from hkoji.errors import IllegalError, MalformedError, NotationError, NotUnderstoodError
from hkoji.messages.text import tell
from hkoji.rules.cards import UNKNOWN, Pack
from hkoji.rules.events import Deal, Seat
from hkoji.rules.hanamikoji import actions, state
from hkoji.rules.protocol import Hidden, Json

NAME: Final = "hanamikoji"
VERSION: Final = 1
FIRST: Final[dict[str, Seat | None]] = {"host": 0, "guest": 1, "random": None}
TIEBREAKS: Final = ("geisha", "charm")
MOST_ROUNDS: Final = 99


@dataclass(frozen=True, slots=True)
class Hanamikoji:
    """`first` is `host`, `guest` or `random`; `max_rounds` 0 for no limit; `tiebreak` counts only with a limit.

    Raises `IllegalError` for options that no edition has.
    """

    first: str = "host"
    max_rounds: int = 0
    tiebreak: str = "geisha"

    name: ClassVar[str] = NAME
    pack: ClassVar[Pack] = actions.PACK
    action_names: ClassVar[Mapping[str, str]] = {str(number): name for number, name in actions.NAMES.items()}
    markers: ClassVar[tuple[str, ...]] = ()
    reasons: ClassVar[Mapping[str, str]] = {
        "charm": tell("by charm"),
        "geisha": tell("by geisha"),
        "limit": tell("at the round limit"),
    }
    most_turns: ClassVar[int] = 9
    """Eight actions, each together with the answer to the one before, and the answer to the last."""

    def __post_init__(self) -> None:
        if self.first not in FIRST:
            raise IllegalError(tell("the first player is one of {names}", names=", ".join(FIRST)))
        if not 0 <= self.max_rounds <= MOST_ROUNDS:
            raise IllegalError(tell("the round limit is 1 to {most_rounds}, or 0 for none", most_rounds=MOST_ROUNDS))
        if self.tiebreak not in TIEBREAKS:
            raise IllegalError(tell("the tie-break is one of {names}", names=", ".join(TIEBREAKS)))
        if self.max_rounds == 0 and self.tiebreak != TIEBREAKS[0]:
            raise IllegalError(tell("a tie-break needs a limit of rounds"), hint=tell("add `--max-rounds 3`"))

    @property
    def most_rounds(self) -> int | None:
        """The limit of rounds; None if there is none."""
        return self.max_rounds or None

    def initial(self) -> state.HanamikojiState:
        """The state before any event."""
        return state.initial(self, FIRST[self.first])

    def to_json(self) -> dict[str, Json]:
        """The `ruleset` object of the log: every option is always present."""
        return {
            "first": self.first,
            "max_rounds": self.max_rounds,
            "name": NAME,
            "tiebreak": self.tiebreak,
            "version": VERSION,
        }

    @classmethod
    def from_json(cls, options: dict[str, Json]) -> Hanamikoji:
        """Reads `to_json`. Raises `NotUnderstoodError` for another version or option, else `MalformedError`."""
        version = options.get("version")
        if type(version) is int and version != VERSION:
            raise NotUnderstoodError(tell("{name} version", name=NAME), str(version))
        known = {"first", "max_rounds", "name", "tiebreak", "version"}
        for key in options:
            if key not in known:
                raise NotUnderstoodError(tell("{name} option", name=NAME), key)
        if type(version) is not int:
            raise MalformedError(tell("ruleset"), tell("its version is not a number"))
        first, limit, tiebreak = options.get("first"), options.get("max_rounds"), options.get("tiebreak")
        if not isinstance(first, str) or not isinstance(tiebreak, str) or type(limit) is not int:
            raise MalformedError(tell("ruleset"), tell("first or tiebreak is not text, or max_rounds is not a number"))
        try:
            return cls(first, limit, tiebreak)
        except IllegalError as error:
            raise MalformedError(tell("ruleset"), error.message) from error

    def deal(self, order: tuple[str, ...]) -> Deal:
        """A shuffled deck as a deal: the top card is removed, then six cards for each seat, then the draws."""
        return Deal(("".join(order[1:7]), "".join(order[7:13])), "".join(order[13:21]), order[0])

    def chance(self) -> tuple[str, ...]:
        """The choices of public chance before the first deal."""
        return ("first",) if FIRST[self.first] is None else ()

    def public(self, action: str) -> str:
        """An action as the opponent sees it."""
        return actions.public(action)

    def hidden(self, action: str) -> tuple[Hidden, ...]:
        """A secret's card counts at scoring; a trade-off's two cards are opened together after the game."""
        if action[:1] in ("1", "2"):
            return (Hidden(action[1:], action[0] == "1"),)
        return ()

    def complete(self, action: str, cards: tuple[str, ...]) -> str:
        """`1X` or `2XX` with its cards; the result is canonical. Raises `NotationError` if they do not fit."""
        groups = self.hidden(action)
        if not groups and not cards:
            return action
        if len(groups) != len(cards) or UNKNOWN in cards[0]:
            raise NotationError(action, tell("it has no such hidden cards"))
        completed = action[0] + cards[0]
        actions.read(completed)
        if action != self.public(completed):  # `2X` with two cards: an observer who sees only the X could not read it
            raise NotationError(action, tell("it has no such hidden cards"))
        return completed
