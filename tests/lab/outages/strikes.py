"""Strikes at the two processes of the service: each has a name, and ends with both processes well."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from tests.lab.outages.service import OUTAGE_AFTER, TimedProcess
from tests.lab.outages.simulated_time import ACTIONS, POINTS, SPEED, DatabaseTime, SimulatedTime

HOUR: Final = 3600
_MINUTES: Final = (20, 300)
"""The seconds, in simulated time, for which something stands still."""
_OUTAGE: Final = (OUTAGE_AFTER + 20, OUTAGE_AFTER + 150)
_LONG: Final = 250
_REACHED: Final = 3.0
_LONG_REACHED: Final = 8.0
"""Longer than a player waits for an answer of a process that stands still, before they ask the other one."""
_TO_RECORD: Final = 150
"""The seconds in which a process that goes on can record an outage, also on a machine with much else to do."""
_QUIET: Final = (0.3, 1.0)


class Tormentor:
    """Strikes the two processes of a service. `database` is the clock of PostgreSQL."""

    def __init__(
        self,
        processes: tuple[TimedProcess, TimedProcess],
        simulated: SimulatedTime,
        rng: random.Random,
        database: DatabaseTime | None = None,
    ) -> None:
        self._processes = processes
        self._simulated = simulated
        self._rng = rng
        self._database = database
        self.counts: Counter[str] = Counter()
        self.strikes: dict[str, Callable[[], None]] = {
            "one is killed": self._kill_one,
            "one stands still": self._stop_one,
            "both stand still": self._stop_both,
            "both are killed": self._kill_both,
            "one waits before a transaction": lambda: self._wait("before a transaction"),
            "one waits in a transaction": lambda: self._wait("in a transaction"),
            "one waits before its commit": lambda: self._wait("before a commit"),
            "one waits after its commit": lambda: self._wait("after a commit"),
            "one waits long before an append": lambda: self._wait("before an append", _LONG),
            "one waits long before its commit": lambda: self._wait("before a commit", _LONG),
            "one stops within a transaction, then both": self._stop_within,
            "one stops before its commit, and the other before that": self._stop_after_the_other,
            "one stops while it records": lambda: self._record("stop"),
            "one is killed while it records": lambda: self._record("kill"),
            "one waits while it records": lambda: self._record("wait"),
            "a clock goes wrong by an hour": self._set_clock,
            "a process starts with a wrong clock": self._start_with_wrong_clock,
        }

    def strike(self, name: str) -> None:
        """Strikes, and sees to it that both processes serve again, with the right time."""
        self.counts[name] += 1
        try:
            self.strikes[name]()
        finally:
            self._heal()
        time.sleep(self._rng.uniform(*_QUIET))

    def _heal(self) -> None:
        for process in self._processes:
            self._simulated.set_clock(process.number, 0)
            self._simulated.forget_order(process.number)
            process.go_on()
            if not process.alive:
                process.start()
        for process in self._processes:
            if process.alive:
                process.wait_until_ready()

    def _pass(self, seconds: float) -> None:
        time.sleep(seconds / SPEED)

    def _pair(self) -> tuple[TimedProcess, TimedProcess]:
        one, other = self._rng.sample(self._processes, 2)
        return one, other

    # --- strikes ----------------------------------------------------------------------------------------------------

    def _kill_one(self) -> None:
        self._pair()[0].kill()
        self._pass(self._rng.uniform(0, 60))

    def _stop_one(self) -> None:
        self._pair()[0].stand_still()
        self._pass(self._rng.uniform(*_MINUTES))

    def _stop_both(self) -> None:
        one, other = self._pair()
        one.stand_still()
        self._pass(self._rng.choice((0, 0, 30)))
        other.stand_still()
        self._pass(self._rng.uniform(*self._rng.choice((_MINUTES, _OUTAGE))))
        one.go_on()
        self._pass(self._rng.choice((0, 0, 100)))

    def _kill_both(self) -> None:
        for process in self._pair():
            process.kill()
        self._pass(self._rng.uniform(*_OUTAGE))

    def _wait(self, point: str, seconds: int | None = None) -> None:
        """One process waits at a point, by default one or two minutes, while the other goes on."""
        one = self._pair()[0]
        seconds = seconds or self._rng.choice((50, 130))
        self._simulated.order(one.number, POINTS.index(point), ACTIONS.index("wait"), seconds)
        if self._reached(one):
            self._pass(seconds + 30)

    def _stop_within(self) -> None:
        """One stops before its commit; the other stops too, and goes on first, when that has been an outage."""
        one, other = self._pair()
        point = self._rng.choice(("in a transaction", "before a commit", "before a commit"))
        self._simulated.order(one.number, POINTS.index(point), ACTIONS.index("stop"), 0)
        if not self._reached(one):
            return
        other.stand_still()
        self._pass(self._rng.uniform(*_OUTAGE))
        other.go_on()
        self._pass(_TO_RECORD)
        one.go_on()

    def _stop_after_the_other(self) -> None:
        """The other stands still already when one stops before its commit: nobody notes a later time than its T."""
        one, other = self._pair()
        other.stand_still()
        self._simulated.order(one.number, POINTS.index("before a commit"), ACTIONS.index("stop"), 0)
        if not self._reached(one, _LONG_REACHED):
            return
        self._pass(self._rng.uniform(*_OUTAGE))
        other.go_on()
        self._pass(_TO_RECORD)
        one.go_on()

    def _record(self, action: str) -> None:
        """One stops, ends or waits when it is to record an outage."""
        point = POINTS.index(self._rng.choice(("before recording", "while recording")))
        for process in self._processes:
            process.stand_still()
        self._pass(self._rng.uniform(*_OUTAGE))
        one, other = self._pair()
        self._simulated.order(one.number, point, ACTIONS.index(action), 130)
        one.go_on()
        if self._reached(one):
            self.counts[f"point: {POINTS[point]}"] += 1
        other.go_on()
        self._pass(self._rng.choice((60, 150)))

    def _reached(self, process: TimedProcess, seconds: float = _REACHED) -> bool:
        """Waits until a process has carried out its order. Returns whether it has."""
        end = time.monotonic() + seconds
        while self._simulated.has_order(process.number):
            if time.monotonic() > end:
                self.counts["a point was not reached"] += 1
                return False
            time.sleep(0.005)
        return True

    # --- clocks -----------------------------------------------------------------------------------------------------

    def _clocks(self) -> list[TimedProcess]:
        """The processes that have one clock: on a file all, on PostgreSQL each has its own."""
        return list(self._processes) if self._database is None else [self._pair()[0]]

    def _set_clock(self) -> None:
        offset = self._rng.choice((-HOUR, HOUR))
        for process in self._clocks():
            self._simulated.set_clock(process.number, offset)
        self._pass(self._rng.uniform(*_MINUTES))

    def _start_with_wrong_clock(self) -> None:
        """A process cannot see that its clock was wrong when it started. When it is right again, an hour is lost."""
        offset = self._rng.choice((-HOUR, HOUR))
        processes = self._clocks()
        for process in processes:
            process.kill()
            self._simulated.set_clock(process.number, offset)
            process.start()
        for process in processes:
            process.wait_until_ready()
        self._pass(self._rng.uniform(*_MINUTES))
        for process in self._processes:
            process.kill()
            self._simulated.set_clock(process.number, 0)
        if self._rng.random() < 0.5 and self._database is None:
            # They start before the time that they had noted, and wait for it.
            for process in self._processes:
                process.start()
            for process in self._processes:
                process.wait_until_ready()
            self._pass(self._rng.uniform(*_MINUTES))
            for process in self._processes:
                process.kill()
        self._simulated.leap(HOUR + 600)
        if self._database is not None:
            self._database.leap()
