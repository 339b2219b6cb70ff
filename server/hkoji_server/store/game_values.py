"""The values with which the store takes and gives games: summaries, lines to append, queries for lists, and hints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from hkoji.game.clock import Way
from hkoji.game.commitments import Opening
from hkoji.game.dealer import SERVER_V1
from hkoji.game.sealed_parts import GivePart
from hkoji.log.line import Line
from hkoji_server.store.closing import Closing
from hkoji_server.store.tables import KeptStatement


class Removed(NamedTuple):
    """How many offers, logins, login challenges and codes were removed."""

    offers: int = 0
    logins: int = 0
    challenges: int = 0
    codes: int = 0


NOBODY: Final = "{}"
"""The `by_mail` of a game in which all seats have signed with own keys."""


class GameSummary(NamedTuple):
    """A game as lists show it. It repeats facts of the log for queries; where the two differ, the log is right.

    A named tuple, because a list has many of them.
    """

    game: str
    ruleset: str
    """The ruleset object, as canonical text."""
    agreement: str
    """The agreement of the offer, as canonical text."""
    status: str
    host: str | None
    guest: str | None
    invite: str | None
    seq: int
    head: str
    round: int
    actor: int | None
    to_move: str | None
    """The player who owes the next entry or is invited to join; None if that is no particular player."""
    created: str
    updated: str
    reason: str | None = None
    winner: int | None = None
    deadline: str | None = None
    """The last second in which the entry that is due, or a guest, can come; None if no time is running.

    After an outage it may be too early, and never too late.
    """
    link: str | None = None
    """The key of the link by which the game was opened, as long as nobody has joined. Then it is in no public list."""
    by_mail: str = NOBODY
    """The players for whom the service has signed, with the grades of their seats: an object by name, as canonical
    text."""
    dealer: str = SERVER_V1
    """The name of the dealer."""


class OfferQuota(NamedTuple):
    """How many offers a player may ask for after the time `since`, and how many one who registered after it may."""

    since: str
    most: int
    most_of_new: int


@dataclass(frozen=True, slots=True)
class NewGame:
    """A game to add: its first line, the player who may open it, and the committed seed; a sealed game has none.

    It was decided at the time `at`, with so many `outages`. With a `quota` the player's offers are counted.
    """

    summary: GameSummary
    line: Line
    seed: str | None
    offered_to: str
    at: str
    outages: int
    quota: OfferQuota | None = None


@dataclass(frozen=True, slots=True)
class NewNotice:
    """Something of which `player` is told, not before that time: an event at entry `seq` of a game.

    Of a message `seq` is its number. One with the same game, number, event and channel takes the place of an earlier
    one that has not been sent.
    """

    game: str
    seq: int
    event: str
    player: str
    not_before: str


MOST_OPEN: Final = 20
"""How many open games a player may host: games that nobody has joined yet."""
MOST_INVITATIONS: Final = 3
"""How many of a host's open games may invite the same player."""


@dataclass(frozen=True, slots=True)
class Append:
    """Lines that follow entry number `seq` with the head `head`, the openings to keep, and the summary after them.

    `deposits` are draws to keep, and `given` those kept before that are deleted, by round and position.

    They were decided at the time `at`, with so many `outages`, and with that `deadline` of the game. `at` is the T of
    the first line. `way` is the way of the game's deadline after them, and `way_before` the one in its row, which stays
    if no time runs. `outline` says whether the lines change status, names, grades or result. Most moves do not. `opens`
    says whether they open the game; then nothing is appended if its host has `MOST_OPEN` open games or
    `MOST_INVITATIONS` of the same player, or if `invited_key`, the one that they invite, is held and has been revoked.
    `key` is the author's key; nothing is appended if it has been revoked. The `notices` are written with the lines.
    `closing` closes the mail that has led to this: nothing is appended unless it is still to be processed, and then
    `at` may be as old as the mail.
    """

    game: str
    seq: int
    head: str
    lines: tuple[Line, ...]
    openings: tuple[Opening, ...]
    summary: GameSummary
    outline: bool
    at: str
    outages: int
    deadline: str | None
    way: Way = Way.HTTP
    way_before: Way = Way.HTTP
    opens: bool = False
    invited_key: str = ""
    key: str = ""
    notices: tuple[NewNotice, ...] = ()
    closing: Closing | None = None
    deposits: tuple[GivePart, ...] = ()
    given: tuple[tuple[int, int], ...] = ()


Decide = Callable[[], Append]
"""Returns what to append, or raises. It may take long, and another call returns the same."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """The parts of a game that the service keeps secret until the log reveals them."""

    seed: str | None
    offered_to: str
    openings: tuple[Opening, ...]
    deposits: tuple[GivePart, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """Lines of a game, and its secrets, of the same moment; its deadline with its way, and the statements about it.

    The deadline is of the same moment or an earlier one, and the statements are of the same or a later one. So an
    append with this deadline was decided with every gift that changed it.
    """

    lines: tuple[Line, ...]
    secrets: Secrets
    deadline: str | None
    statements: tuple[KeptStatement, ...]
    way: Way = Way.HTTP


Speed = Literal["none", "fast", "days", "slow"]
"""How fast a game is, by the time for its first turn: no clock, under a day, up to 31 days, more."""


class OpenFilter(NamedTuple):
    """Which open games to list.

    If `joinable`, the ones that `joiner` can join: not the player's own, not those that invite somebody else, and not
    those of players whom the player has blocked. Without a name, those that invite nobody.
    """

    joinable: bool = False
    joiner: str | None = None
    ruleset: str | None = None
    """The name of the ruleset."""
    rated: bool | None = None
    speed: Speed | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """Which games to list.

    `player` is in either seat or invited; `waiting` leaves only the games whose next entry the player owes. The games
    of a player that go on come first, then invitations, then finished games. Within these, as in all other lists, the
    newest game is first; with `by_deadline`, which is for waiting games, the one with the earliest deadline, and those
    without one are last. Games that were opened by link and that nobody has joined are only in their host's `own` list.
    `after` is the cursor of the page before (`game_lists.cursor_of`). `wanted` is only for the list of all open games.
    """

    status: str | None = None
    player: str | None = None
    waiting: bool = False
    prefix: str | None = None
    after: str | None = None
    limit: int = 50
    by_deadline: bool = False
    own: bool = False
    """Whether `player` asks."""
    wanted: OpenFilter | None = None


class FinishedGame(NamedTuple):
    """A game that is over, and when it ended."""

    ended: str
    summary: GameSummary


@dataclass(frozen=True, slots=True)
class GamePlace:
    """The number of a game's last entry, when it was appended, and whether the game is over."""

    seq: int
    updated: str
    over: bool


@dataclass(frozen=True, slots=True)
class Hint:
    """Something may be new in `game`, which is on the lists of `players`; if it is `anywhere`, in any game.

    With `waits` a notice may be due, or a mail may wait to be processed.
    """

    game: str | None = None
    players: tuple[str, ...] = ()
    anywhere: bool = False
    waits: bool = False


ANYWHERE: Final = Hint(anywhere=True, waits=True)
WAITS: Final = Hint(waits=True)

OnHint = Callable[[Hint], None]
"""A function that is called with each hint. It returns at once, and raises nothing."""
