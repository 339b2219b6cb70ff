"""The part of the store's contract that is about time, for a process that has no tables of a database too.

docs/spec/log.md, "Clock" and "Outages". Times are texts of the log. T is the time of record of an entry.

- *No T lies within an outage of its way.* Nothing is appended while an outage is being recorded, and an outage begins
  after the newest T of an entry that came the same way. An append says with how many outages, of both ways, it was
  decided. If there are more by then, nothing is appended.
- *No append, and no timeout, misses a gift of time.* A gift changes the game's deadline, and each append says with
  which deadline it was decided.
- *Nothing old is written late.* What is appended, added or kept has a time that is at most `OLDEST` seconds old when
  the game's row is held in the transaction. On PostgreSQL the database's clock says so, on SQLite that of the process,
  which tests replace by their own.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, NamedTuple, Protocol

from hkoji.errors import HkojiError
from hkoji.game.clock import Outage, Way
from hkoji.messages.text import tell

OLDEST: Final = 60
"""How many seconds old the time of a decision may be when it is written."""

Clock = Callable[[], datetime]
"""A function that returns the time in UTC."""

UTC_CLOCK: Final[Clock] = partial(datetime.now, UTC)


def latest(at: str) -> datetime:
    """Returns the last moment at which a decision of the time `at` may be written."""
    return datetime.fromisoformat(at) + timedelta(seconds=OLDEST)


class StaleDecisionError(HkojiError):
    """Nothing was written: something other than the head differs from what was decided with, or that was too long ago.

    Another deadline, another outage, another player's annulment of the same head, or a time that is over `OLDEST`
    seconds old. The caller reads all of it again and decides anew.
    """

    code = "stale"

    def __init__(self, game: str | None = None) -> None:
        super().__init__(
            tell("something has changed since this was decided; nothing was written"), hint=tell("try again")
        )
        self.game = game


class Beat(NamedTuple):
    """The newest time at which a process said that it takes entries of some way, and the time of the database.

    `clock` is None if the database has no clock of its own.
    """

    at: str
    clock: str | None


class BeatStore(Protocol):
    """The methods of a store by which a process knows the time in which it can decide."""

    async def drained(self) -> None:
        """Returns when no write that began before the call is under way.

        So what is written after the call is at most `OLDEST` seconds older than the call, by the clock that judges its
        age. Raises `StorageError` if that takes too long.
        """

    async def beat(self, way: Way, at: str) -> Beat:
        """Notes that a process takes entries that come that way at the time `at`, unless a later time is noted.

        Returns what is noted.
        """

    async def clock(self) -> str | None:
        """Returns the time of the database; None if it has no clock of its own."""

    async def last_beat(self, way: Way) -> str | None:
        """Returns the newest time that was noted for that way; None if there is none."""

    async def outages(self) -> tuple[Outage, ...]:
        """Returns all outages of both ways, in the order in which they ended. None is ever changed or removed."""

    async def close_gap(self, way: Way, beat: str | None, now: str) -> Outage | None:
        """Records the outage of a way from `beat`, which `last_beat` has returned, until `now`, and notes `now`.

        The outage begins one second after the newest of `beat`, the T of all entries that came that way, and the ends
        of all its outages. If it would be empty, or nothing was ever noted, none is recorded, and None is returned.
        Appends wait meanwhile. Changes nothing if it raises `StaleDecisionError`: the newest time noted is no longer
        `beat`.
        """
