"""The authors who may append an entry to a game, and when. docs/spec/log.md, "Who may append"."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, Protocol

from hkoji.errors import ForbiddenError, IllegalError, NotYourTurnError
from hkoji.game.setup import Setup
from hkoji.log.entry import SERVER_NAME, Entry
from hkoji.messages.text import tell
from hkoji.rules.events import Seat


class Author(Enum):
    """The author who may write an entry of a kind, and when."""

    SERVICE = auto()
    """The service, when it owes an entry of this kind."""
    SERVICE_ANY_TURN = auto()
    """The service, while a seat owes the next entry."""
    SERVICE_WHILE_OPEN = auto()
    """The service, while the game waits for a guest."""
    SERVICE_AFTER_PLAY = auto()
    """The service, directly after a `seed` or `move`, while a clock runs."""
    SERVICE_AFTER_END = auto()
    """The service, after an end that left the seed sealed."""
    NEWCOMER = auto()
    """A player who has no seat yet."""
    ACTOR = auto()
    """The seat that owes the next entry."""
    SEAT = auto()
    """Either seat, at any time."""


_BY_PLAYERS: Final = (Author.NEWCOMER, Author.ACTOR, Author.SEAT)


class AppendPlace(Protocol):
    """The end of a log, as far as it decides who may append."""

    @property
    def setup(self) -> Setup:
        """The players."""

    @property
    def actor(self) -> Seat | None:
        """The seat that owes the next entry; None if no seat does."""

    @property
    def joinable(self) -> bool:
        """Whether the game waits for a guest."""

    @property
    def sealed(self) -> bool:
        """Whether the game has ended and its seed is still sealed."""

    @property
    def creditable(self) -> bool:
        """Whether the last entry is a `seed` or `move` for which a clock runs."""

    def server_owes(self) -> str | None:
        """The kind of entry that the service owes now, or None."""

    def waits_for(self) -> str:
        """The entry that the log waits for, for people."""


def verify_author(place: AppendPlace, entry: Entry, author: Author) -> None:
    """Checks that the author of `entry`, whose kind `author` may write, may append it at `place`.

    Raises `ForbiddenError`, `IllegalError` or `NotYourTurnError`.
    """
    by_server = entry.by == SERVER_NAME
    if by_server == (author in _BY_PLAYERS):
        raise ForbiddenError(tell("{by} may not write an entry of the kind {kind}", kind=entry.kind, by=entry.by))
    owed = place.server_owes()
    if by_server:
        if entry.kind != owed and not _service_may(place, author, owed):
            raise IllegalError(tell("the service owes no {kind} now", kind=entry.kind))
        return
    if owed is not None:
        raise NotYourTurnError(tell("the service owes the {owed} first", owed=owed), actor=None)
    if author is Author.NEWCOMER:
        return
    setup = place.setup
    seat = setup.require_seat(entry.by)
    if author is Author.SEAT:
        return
    actor = place.actor
    if actor is None:
        raise NotYourTurnError(tell("the game waits for a {due}", due=place.waits_for()), actor=None)
    if seat != actor:
        name = setup.names[actor]
        raise NotYourTurnError(
            tell("it is not the turn of {by}: the game waits for {name}", by=entry.by, name=name), actor=actor
        )


def _service_may(place: AppendPlace, author: Author, owed: str | None) -> bool:
    match author:
        case Author.SERVICE_ANY_TURN:
            return place.actor is not None and owed is None
        case Author.SERVICE_WHILE_OPEN:
            return place.joinable
        case Author.SERVICE_AFTER_PLAY:
            return place.creditable
        case Author.SERVICE_AFTER_END:
            return place.sealed
        case _:
            return False
