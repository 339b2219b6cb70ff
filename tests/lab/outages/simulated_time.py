"""A time that all processes of the laboratory share, and that runs faster than the real one.

It is kept in a file that they map into their memory. Each process of the service has a clock of its own, which the
laboratory can set, and finds there at which point of its work it is to wait, to stop or to end.
"""

from __future__ import annotations

import mmap
import struct
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.support.ledger import connected

SPEED: Final = 90.0
"""How many seconds pass in a real one: two minutes are 1.3 s."""
POINTS: Final = (
    "before a transaction",
    "before an append",
    "in a transaction",
    "before a commit",
    "after a commit",
    "before recording",
    "while recording",
)
ACTIONS: Final = ("wait", "stop", "kill")
_FIELDS: Final = 8
_SIZE: Final = 4096
_REAL, _BEGIN, _LEAP = range(3)
_OFFSET, _ORDER, _POINT, _ACTION, _SECONDS, _DONE = range(6)
_CLOCK: Final = """
CREATE SCHEMA fake;
CREATE TABLE fake.shown (began float8 NOT NULL, shown float8 NOT NULL, leap float8 NOT NULL);
CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS $$
    SELECT to_timestamp(shown + leap + (extract(epoch FROM pg_catalog.clock_timestamp()) - began) * %s) FROM fake.shown
$$;
"""


class SimulatedTime:
    """The shared time in a file. The process that has `made` it lets the time begin now."""

    def __init__(self, path: Path, *, made: bool = False) -> None:
        if made:
            path.write_bytes(bytes(_SIZE))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _SIZE)
        if made:
            self._put(_REAL, time.monotonic())
            self._put(_BEGIN, time.time())

    def _get(self, place: int) -> float:
        value: float = struct.unpack_from("d", self._map, place * 8)[0]
        return value

    def _put(self, place: int, value: float) -> None:
        struct.pack_into("d", self._map, place * 8, value)

    def seconds(self) -> float:
        """The true time, in seconds since 1970."""
        return self._get(_BEGIN) + self._get(_LEAP) + (time.monotonic() - self._get(_REAL)) * SPEED

    def leap(self, seconds: float) -> None:
        """Lets so much time pass at once. No process may run meanwhile."""
        self._put(_LEAP, self._get(_LEAP) + seconds)

    @property
    def leapt(self) -> float:
        """How much time has passed at once, in all."""
        return self._get(_LEAP)

    # --- the processes of the service, by number ------------------------------------------------------------------

    def clock_of(self, number: int) -> datetime:
        """The time that the clock of a process shows."""
        return datetime.fromtimestamp(self.seconds() + self._get(_slot(number) + _OFFSET), UTC)

    def set_clock(self, number: int, offset: float) -> None:
        """Sets the clock of a process to the true time and so many seconds."""
        self._put(_slot(number) + _OFFSET, offset)

    def order(self, number: int, point: int, action: int, seconds: float) -> None:
        """Lets a process wait so many seconds, or stop, or end, when it reaches a point for the next time."""
        slot = _slot(number)
        for field, value in ((_POINT, point), (_ACTION, action), (_SECONDS, seconds)):
            self._put(slot + field, value)
        self._put(slot + _ORDER, self._get(slot + _ORDER) + 1)

    def forget_order(self, number: int) -> None:
        """Lets a process go on at all points."""
        self._put(_slot(number) + _DONE, self._get(_slot(number) + _ORDER))

    def has_order(self, number: int) -> bool:
        """Whether a process has an order that it has not carried out."""
        return self._get(_slot(number) + _DONE) < self._get(_slot(number) + _ORDER)

    def take_order(self, number: int, point: int) -> tuple[int, float] | None:
        """The action and the seconds of an order for this point; it is carried out then."""
        slot = _slot(number)
        if not self.has_order(number) or self._get(slot + _POINT) != point:
            return None
        self.forget_order(number)
        return int(self._get(slot + _ACTION)), self._get(slot + _SECONDS)


def _slot(number: int) -> int:
    return _FIELDS * (1 + number)


class DatabaseTime:
    """Lets the clock of the migrated PostgreSQL database at `url` show the simulated time."""

    def __init__(self, url: str, simulated: SimulatedTime) -> None:
        self._url = url
        self._simulated = simulated
        with connected(url) as server:
            server.execute(_CLOCK % SPEED)
            server.execute("INSERT INTO fake.shown VALUES (%s, %s, 0)", (time.time(), simulated.seconds()))
            ((name,),) = server.execute("SELECT current_database()").fetchall()
            server.execute(f"ALTER DATABASE {name} SET search_path = fake, pg_catalog, public")

    def leap(self) -> None:
        """Lets the database know how much time has passed at once."""
        with connected(self._url) as server:
            server.execute("UPDATE fake.shown SET leap = %s", (self._simulated.leapt,))
