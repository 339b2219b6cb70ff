"""The players of the laboratory: they let time run out, in every way in which something may be in flight."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from hkoji.game.agreement import Agreement, TimeControl
from tests.lab.timeouts.service import SLACK
from tests.support.times import log_time
from tests.support.wired_tables import Seated, WiredTable, Wires

CLOCKS: Final = (
    TimeControl(2, 0, 0, 0),
    TimeControl(3, 0, 0, 0),
    TimeControl(1, 2, 0, 2),
    TimeControl(0, 3, 1, 5),
    TimeControl(1, 1, 1, 3),
)
STORIES: Final = ("nobody moves", "some moves", "late moves", "gifts", "gifts and late moves")
_OFFERS: Final = ("never opened", "never joined", "joined late")
_POLL: Final = 0.4
_PATIENCE: Final = 150.0


@dataclass
class Pace:
    """How many games are still to be begun, with which stories."""

    left: int
    stories: tuple[str, ...] = STORIES
    offers: float = 0.3
    """How many games there are beside them, in proportion, that nobody joins in time."""
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class Pair:
    """Two players who play one game after another. `tables` are all of their games, with what they were told."""

    wires: Wires
    players: tuple[Seated, Seated]
    seed_of: Callable[[str], str]
    rng: random.Random
    tables: list[WiredTable] = field(default_factory=list)
    offers: list[WiredTable] = field(default_factory=list)

    async def play(self, pace: Pace) -> None:
        """Plays until no game is left."""
        while pace.left > 0:
            if self.rng.random() < pace.offers / (1 + pace.offers):
                await self._let_expire(pace)
            else:
                pace.left -= 1
                await self._let_time_run_out(pace)

    def _table(self) -> WiredTable:
        return WiredTable(self.wires, self.players, self.seed_of, self.rng)

    async def _let_time_run_out(self, pace: Pace) -> None:
        rng, table, story = self.rng, self._table(), self.rng.choice(pace.stories)
        pace.counts[f"story: {story}"] += 1
        assert await table.offer(Agreement(rng.choice(CLOCKS)))
        await table.go_on()
        await table.go_on()
        self.tables.append(table)
        if story != "nobody moves":
            for _ in range(rng.choice((1, 2, 2, 3, 4, 6))):
                # An entry that had to be sent again may be answered with the timeout that has come after it.
                if table.finished or not await table.go_on():
                    break
        while not table.finished and story not in ("nobody moves", "some moves"):
            began = table.refereed.course.seq
            if "gifts" in story:
                await self._give_late(table, pace)
            if "late" in story:
                await self._move_late(table, pace)
            await table.read()
            if table.refereed.course.seq == began or rng.random() < 0.5:
                break
        await self._see_the_end(table)

    async def _give_late(self, table: WiredTable, pace: Pace) -> None:
        for seconds in sorted(self.rng.sample((1, 2, 3, 4), self.rng.choice((1, 1, 2)))):
            await self._until(table.due, self.rng.uniform(-0.4, 1.1))
            taken = await table.give(seconds)
            pace.counts["gifts acknowledged" if taken else "gifts refused"] += 1

    async def _move_late(self, table: WiredTable, pace: Pace) -> None:
        submission = table.next_entry()
        await self._until(table.due, self.rng.uniform(-0.3, SLACK + 2.5))
        taken = await table.send(submission)
        pace.counts["moves in flight taken" if taken else "moves in flight refused"] += 1

    async def _until(self, due: str | None, seconds: float) -> None:
        assert due is not None
        moment = datetime.fromisoformat(due) + timedelta(seconds=seconds)
        await asyncio.sleep(max(0.0, (moment - datetime.now(UTC)).total_seconds()))

    async def _see_the_end(self, table: WiredTable) -> None:
        end = time.monotonic() + _PATIENCE
        while not table.finished and time.monotonic() < end:
            await asyncio.sleep(_POLL)
            await table.read()

    async def _let_expire(self, pace: Pace) -> None:
        rng, table, sort = self.rng, self._table(), self.rng.choice(_OFFERS)
        pace.counts[f"offer: {sort}"] += 1
        expires = log_time(datetime.now(UTC) + timedelta(seconds=rng.randint(2, 4)))
        if not await table.offer(Agreement(rng.choice(CLOCKS), expires)) or sort == "never opened":
            return
        await table.go_on()
        self.offers.append(table)
        if sort == "joined late":
            submission = table.next_entry()
            await self._until(expires, rng.uniform(-0.3, SLACK + 2.5))
            taken = await table.send(submission)
            pace.counts["joins in flight taken" if taken else "joins in flight refused"] += 1
        await self._see_the_end(table)
