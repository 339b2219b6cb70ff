"""Players who go on with their games whatever happens to the service, and observers who ask for signed heads."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hkoji.game.agreement import DAY, Agreement, TimeControl
from tests.support.load import got
from tests.support.wired_tables import Seated, WiredTable, Wires

_AGREEMENT: Final = Agreement(TimeControl(30 * DAY, 10 * DAY, DAY, 20 * DAY))
_BETWEEN_MOVES: Final = 0.25
_BETWEEN_HEADS: Final = 0.3
_GIFTS: Final = 0.08


class ShownHead(NamedTuple):
    """A signed head."""

    text: str
    sig: str


@dataclass
class Company:
    """Two players who play one game after another until `over`, and observers who ask for heads of their games.

    There is one observer for each process.
    """

    wires: Wires
    observing: tuple[Wires, ...]
    players: tuple[Seated, Seated]
    seed_of: Callable[[str], str]
    rng: random.Random
    over: asyncio.Event = field(default_factory=asyncio.Event)
    tables: list[WiredTable] = field(default_factory=list)
    heads: list[ShownHead] = field(default_factory=list)

    async def play(self) -> None:
        """Plays and observes."""
        try:
            await asyncio.gather(self._play(), *map(self._observe, self.observing))
        finally:
            for wires in (self.wires, *self.observing):
                wires.close()

    async def _play(self) -> None:
        while not self.over.is_set():
            table = WiredTable(self.wires, self.players, self.seed_of, self.rng)
            await table.offer(_AGREEMENT)
            self.tables.append(table)
            while not table.finished and not self.over.is_set():
                if table.due is not None and self.rng.random() < _GIFTS:
                    await table.give(self.rng.randint(1, DAY))
                await table.go_on()
                await asyncio.sleep(self.rng.uniform(0, 2 * _BETWEEN_MOVES))

    async def _observe(self, wires: Wires) -> None:
        while not self.over.is_set():
            await asyncio.sleep(self.rng.uniform(0.5, 1.5) * _BETWEEN_HEADS)
            if self.tables:
                request = got(f"/v1/games/{self.tables[-1].game}/head")
                reply = await wires.once(request)
                if reply is not None and reply.status == 200:
                    shown = json.loads(reply.body)
                    self.heads.append(ShownHead(shown["text"], shown["sig"]))
