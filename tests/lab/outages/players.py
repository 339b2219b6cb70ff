"""Players who go on with their games whatever happens to the service, and observers who ask for signed heads.

The answers that they got are compared with logs, outages and heads, by plain SQL and the naive clock.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64
from hkoji.log.public_key import PublicKey, parse_public_key
from tests.support.load import got
from tests.support.timed_logs import Stored, TimedEntry, archive_faults, clock_faults, later, outage_faults
from tests.support.wired_tables import Seated, WiredTable, Wires, told_faults

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


MARGIN = 120
"""How many seconds before a head an entry may be dated that it does not know."""


def judged(kept: Stored, tables: Iterable[WiredTable], heads: Iterable[ShownHead], server: str) -> Iterator[str]:
    """The faults found. `server` is the service's key."""
    for table in tables:
        entries = kept.games.get(table.game, [])
        for fault in (*told_faults(table, entries), *clock_faults(entries, kept.outages, table.gifts)):
            yield f"{table.game}: {fault}"
    key = parse_public_key(server)
    for head in heads:
        yield from head_faults(kept.games, head, key)
    yield from outage_faults(kept)
    yield from archive_faults(kept.games, server)


def head_faults(games: dict[str, list[TimedEntry]], shown: ShownHead, key: PublicKey) -> Iterator[str]:
    """Entries that contradict a signed head."""
    sshsig.verify(decode_base64(shown.sig, "signature"), key, sshsig.HEAD, f"{shown.text}\n".encode(), "server")
    head = json.loads(shown.text)
    entries: Sequence[TimedEntry] = games.get(head["game"], [])
    seq, at = head["seq"], head["at"]
    if seq >= len(entries) or entries[seq].head != head["head"]:
        yield f"{head['game']}: the head of entry {seq} is not that of the log"
        return
    for entry in entries[seq + 1 :]:
        if entry.at < later(at, -MARGIN):
            yield f"{head['game']}: entry {entry.seq} of {entry.at} contradicts the head of entry {seq} at {at}"
    if entries[seq + 1 : seq + 2] and entries[seq + 1].kind == "credit":
        yield f"{head['game']}: a credit follows entry {seq}, which was a head"
