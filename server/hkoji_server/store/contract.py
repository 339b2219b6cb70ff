"""What the service needs of a store: values in and out, and the promises that every backend keeps.

- A write has returned means that it is on disk: it survives a crash of the process, the system and the power.
- `append` is compare-and-swap on (game, seq, head): of two racing writes for one place exactly one succeeds, and all
  of a write happens or none of it.
- A read that begins after a write has returned sees it, in every process.
- Hints may be lost, late, doubled or wrong. Who waits for something looks for itself from time to time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from hkoji.game.openings import Opening
from hkoji.log.line import Line, StoredLine


@dataclass(frozen=True, slots=True)
class Player:
    """A registered player: name, public key text, time, and the signed statement that made it so."""

    name: str
    key: str
    registered: str
    text: str
    sig: str


@dataclass(frozen=True, slots=True)
class RetiredKey:
    """A key that was the player's until `at`. One that was only replaced still counts in games that name it; one that
    is `revoked` counts nowhere.

    `text` is what was signed: by the key itself (`sig`), and if another took its place by that one (`new_sig`). If the
    host has revoked it, nothing was.
    """

    key: str
    name: str
    at: str
    revoked: bool
    text: str | None = None
    sig: str | None = None
    new_sig: str | None = None


class GameSummary(NamedTuple):
    """A game as lists show it. It repeats what the log says, for queries; the log is the truth.

    A named tuple, because lists are made of many.
    """

    game: str
    ruleset: str
    """The ruleset object, as canonical text."""
    status: str
    host: str | None
    guest: str | None
    invite: str | None
    seq: int
    head: str
    round: int
    actor: int | None
    to_move: str | None
    """Who owes the next entry, or is invited to join; None if nobody known does."""
    created: str
    updated: str
    reason: str | None = None
    winner: int | None = None


@dataclass(frozen=True, slots=True)
class NewGame:
    """A game to be: its first line, the player who may open it, and the committed seed."""

    summary: GameSummary
    line: Line
    seed: str
    offered_to: str


@dataclass(frozen=True, slots=True)
class Append:
    """Lines to follow the entry numbered `seq` with that `head`, the openings to keep, and the summary after them.

    `outline` says whether they change status, names or result: most moves do not. `key` is the author's: nothing is
    appended if it has been revoked.
    """

    game: str
    seq: int
    head: str
    lines: tuple[Line, ...]
    openings: tuple[Opening, ...]
    summary: GameSummary
    outline: bool
    key: str = ""


Decide = Callable[[], Append]
"""Says what is to be appended, or raises. It takes its time, and says the same when it is asked again."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What the service keeps to itself until the log reveals it."""

    seed: str
    offered_to: str
    openings: tuple[Opening, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Lines of a game, and its secrets at the same moment."""

    lines: tuple[Line, ...]
    secrets: Secrets


@dataclass(frozen=True, slots=True)
class Query:
    """Which games to list, newest first. `player` is in either seat or invited; `after` is the last one's cursor."""

    status: str | None = None
    player: str | None = None
    waiting: bool = False
    prefix: str | None = None
    after: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class GamePlace:
    """How far a game has come, and when it came there."""

    seq: int
    updated: str
    over: bool


@dataclass(frozen=True, slots=True)
class Hint:
    """That there may be something new: in `game`, which is on the lists of `players`. Without a game: anywhere."""

    game: str | None = None
    players: tuple[str, ...] = ()


ANYWHERE: Final = Hint()

Notice = Callable[[Hint], None]
"""What is told of hints. It returns at once, and raises nothing."""


def hint_of(append: Append) -> Hint:
    """The hint that an append gives."""
    summary = append.summary
    return Hint(append.game, tuple(name for name in (summary.host, summary.guest, summary.invite) if name))


class Store(Protocol):
    """All is awaited; writes are durable when they return."""

    async def verify_ready(self) -> None:
        """Reads and writes a little. Raises `StorageError` if that fails, or the schema is not this program's."""

    async def identity(self) -> tuple[str, str] | None:
        """The service's OpenSSH private key text and its origin; None in a new store."""

    async def add_identity(self, key: str, origin: str) -> tuple[str, str]:
        """Keeps key and origin unless there are some. Returns those that are kept now."""

    async def set_origin(self, origin: str) -> None:
        """Changes the origin."""

    async def player(self, name: str) -> Player | None:
        """A registered player."""

    async def add_player(self, player: Player) -> Player | None:
        """Registers. Returns the player that holds the name or the key already, or None if it is done.

        Raises `RevokedError` or `ExistsError` for a key that was somebody's before.
        """

    async def retired(self, key: str) -> RetiredKey | None:
        """What became of a key that was a player's and is no more."""

    async def retired_of(self, name: str) -> tuple[RetiredKey, ...]:
        """The keys that a player had before, in order of time; a revoked one may still be the last they had."""

    async def replace_key(self, player: Player, retired: RetiredKey) -> None:
        """Gives a registered player the key of `player` in place of the `retired` one, and ends all their logins.

        All or nothing: raises `ForbiddenError` if the retired key is not the one that counts, `RevokedError` if it has
        been revoked, `ExistsError` if the new one is or was anybody's.
        """

    async def revoke_key(self, retired: RetiredKey) -> None:
        """Makes a player's key, the last one or an earlier, count nowhere, and ends all their logins.

        Done already, nothing is done. Raises `ForbiddenError` if it never was that player's.
        """

    async def allow_recovery(self, name: str, digest: str, expires: str) -> None:
        """Keeps the digest of a code, in place of an earlier one."""

    async def recover(self, player: Player, digest: str, now: str) -> None:
        """Gives a player whose key is revoked the key of `player`, and uses the code up.

        All or nothing: raises `ForbiddenError` if there is no such code that is still good, or their key is not
        revoked, `ExistsError` if the new one is or was anybody's.
        """

    async def add_challenge(self, digest: str, expires: str) -> None:
        """Keeps a login challenge by its digest."""

    async def take_challenge(self, digest: str, now: str) -> bool:
        """Uses a challenge up. False if there is none that is still good."""

    async def add_token(self, digest: str, name: str, expires: str, now: str, key: str = "") -> None:
        """Keeps a login token by its digest, and forgets those that have expired.

        `key` is the one that has logged in: nothing is kept, and `RevokedError` or `ForbiddenError` raised, if it no
        longer counts, even if that was only decided meanwhile.
        """

    async def drop_token(self, digest: str) -> None:
        """Forgets a token."""

    async def token(self, digest: str, now: str) -> str | None:
        """Whose token it is, if it is still good."""

    async def add_game(self, new: NewGame) -> None:
        """Keeps a new game."""

    async def append(self, append: Append | Decide) -> None:
        """Appends, or raises `RevokedError`, or `ConflictError` with the current head and changes nothing.

        What is still to be decided is decided in a thread of the store's, while nothing is locked; an error there is
        raised here.
        """

    async def head(self, game: str) -> tuple[int, str] | None:
        """The last entry's number and head."""

    async def summary(self, game: str) -> GameSummary | None:
        """A game's summary."""

    async def lines(self, game: str, after: int = -1) -> tuple[Line, ...]:
        """A game's lines with receipts, from the one after number `after` on."""

    async def written(self, game: str, after: int = -1) -> tuple[StoredLine, ...]:
        """The same lines as they were written, for those who only pass them on."""

    async def history(self, game: str, after: int = -1) -> History | None:
        """A game's lines after number `after` and its secrets, of one moment."""

    async def games(self, query: Query) -> tuple[GameSummary, ...]:
        """Games that match, newest first. Games that have not been opened are in no list."""

    async def heads(self, games: Collection[str]) -> Mapping[str, int]:
        """The numbers of the last entries of those `games` that there are. For a few hundred at once."""

    async def places(self, player: str, since: str, limit: int) -> Mapping[str, GamePlace]:
        """Where a player's listed games stand that are not over, or have ended at the time `since` or later.

        At most `limit` of them, those that were created last. The player is in either seat or invited.
        """

    def listen(self, notice: Notice) -> Callable[[], None]:
        """Gives hints to `notice`, in the running loop, until the function that is returned is called.

        What this process writes is told as soon as it is durable; of others' writes the store tells what it can.
        """
