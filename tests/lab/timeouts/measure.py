"""Lets the time of games run out on a service that is killed every 0.3 s, and judges the logs.

    python -m tests.lab.timeouts.measure 200                 two minutes
    python -m tests.lab.timeouts.measure 200 --postgres      on its own PostgreSQL server
    python -m tests.lab.timeouts.measure 60 --planted "gifts do not move the deadline"      must find it

A real service with two workers has clocks of a few seconds. Every 0.3 s a worker is killed with SIGKILL, or the whole
service, which then starts again at once, or so late that this is an outage; now and then it is left alone for some
seconds. Pairs of players begin games and stop moving. Around each deadline they give each other time, and send moves
and joins that may come in time or late; each request is sent again until it is answered. Other offers expire because
nobody joins, or are never opened.

In the end the database is read with plain SQL. Each game has one `timeout` and one `end`, and each expired offer one
`lapse`. By a naive clock (tests/lab/machine/naive_time.py) each `timeout` is later than the slack after the deadline,
with all gifts that were acknowledged and all outages, and no move is late. Each entry that was taken stands in its log,
and none that was refused. `hkoji audit` accepts all logs together. Exits with 1 if anything was wrong.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import uvloop

from tests.lab.timeouts.planted import PLANTED
from tests.lab.timeouts.players import STORIES, Pace, Pair
from tests.lab.timeouts.service import NARROW, SLACK, KilledService, Waits
from tests.support.timed_laboratory import Done, Wanted, main, seated, seeds
from tests.support.timed_logs import (
    Stored,
    TimedEntry,
    archive_faults,
    clock_faults,
    outage_faults,
    stored,
)
from tests.support.wired_tables import WiredTable, Wires, told_faults

_PAIRS: Final = 40
_MANY: Final = 100
"""The pairs of players, and those for a thousand games."""
_THOUSAND: Final = 1000
_PATIENCE: Final = 120.0
"""The seconds after which a player gives up to ask."""
_STAGGER: Final = 0.1
"""The seconds between the first requests of two pairs, so that games do not all end together."""


class Plan(NamedTuple):
    """The work to do. With only one story there are no offers beside the games, and the service is not killed."""

    games: int
    pairs: int = _PAIRS
    fault: str | None = None
    stories: tuple[str, ...] = STORIES
    waits: Waits = Waits()
    seed: int = 1
    kills: int | None = None
    """After how many kills the service is left alone; None for never."""


def run_out(folder: Path, plan: Plan, database: str | None = None) -> Done:
    """Lets the time of games run out, and judges."""
    rng = random.Random(plan.seed)
    data = folder / "data"
    service = KilledService(data, database, plan.fault, rng.getrandbits(32), plan.waits)
    try:
        where = database or data / "hkoji.sqlite3"
        seed_of = seeds(where)
        server = service.ask("GET", "/v1/service").json["key"]
        players = [seated(service, number, rng) for number in range(min(plan.pairs, plan.games))]
        made = [Pair(Wires(service.ports, _PATIENCE), each, seed_of, random.Random(rng.random())) for each in players]
        pace = Pace(plan.games, plan.stories, 0.3 if len(plan.stories) > 1 else 0)
        if len(plan.stories) > 1:
            service.begin_to_kill(plan.kills)
        began = time.monotonic()
        uvloop.run(_play(made, pace))
        pace.counts["seconds"] = round(time.monotonic() - began)
        service.leave_alone()
    finally:
        service.stop()
    kept = stored(where)
    tables = [table for pair in made for table in pair.tables]
    offers = [table for pair in made for table in pair.offers]
    counts = sum((pair.wires.counts for pair in made), pace.counts + service.counts)
    counts["outages"] = len(kept.outages)
    kinds = Counter(entry.kind for entries in kept.games.values() for entry in entries)
    counts.update({f"kind {kind}": count for kind, count in kinds.items()})
    return Done(counts, list(judged(kept, tables, offers, server, SLACK)))


async def _play(pairs: list[Pair], pace: Pace) -> None:
    async def play(number: int, pair: Pair) -> None:
        await asyncio.sleep(number * _STAGGER)
        try:
            await pair.play(pace)
        finally:
            pair.wires.close()

    await asyncio.gather(*(play(number, pair) for number, pair in enumerate(pairs)))


def measured(folder: Path, wanted: Wanted, database: str | None) -> Done:
    """Does what the command line says: all stories with kills, or the story that shows a planted fault."""
    plan = Plan(wanted.size, _MANY if wanted.size >= _THOUSAND else _PAIRS, seed=wanted.seed)
    if wanted.fault:
        stories = (PLANTED[wanted.fault].shown_by,)
        plan = plan._replace(fault=wanted.fault, stories=stories, waits=NARROW)
    return run_out(folder, plan, database)


if __name__ == "__main__":
    sys.exit(main(measured, __doc__, "games", PLANTED, "how many run out of time"))


def judged(
    kept: Stored, tables: Iterable[WiredTable], offers: Iterable[WiredTable], server: str, slack: int
) -> Iterator[str]:
    """The faults found. `tables` are games that were joined, `offers` those that expired or were joined late."""
    games, others = list(tables), list(offers)
    joinable = {id(table) for table in games}
    for table in (*games, *others):
        entries = kept.games.get(table.game, [])
        faults = list(told_faults(table, entries))
        joined = id(table) in joinable or any(entry.kind == "join" for entry in entries)
        faults += _timed_out(entries) if joined else _expired(entries)
        faults += clock_faults(entries, kept.outages, table.gifts, slack)
        yield from (f"{table.game}: {fault}" for fault in faults)
    known = {table.game for table in (*games, *others)}
    for game, entries in kept.games.items():
        if game not in known and len(entries) != 1:
            yield f"{game}: nobody knows this game"
    yield from outage_faults(kept)
    yield from archive_faults(kept.games, server)


def _timed_out(entries: Sequence[TimedEntry]) -> Iterator[str]:
    """One `timeout` and one `end`, the last two entries."""
    kinds = [entry.kind for entry in entries]
    if (kinds.count("timeout"), kinds.count("end"), kinds[-2:]) != (1, 1, ["timeout", "end"]):
        yield f"it does not end by one timeout: {kinds}"
    elif entries[-1].body["result"] != {"reason": "timeout", "winner": 1 - entries[-2].body["seat"]}:
        yield f"its result is {entries[-1].body['result']}"


def _expired(entries: Sequence[TimedEntry]) -> Iterator[str]:
    """One `lapse` after the offer has expired, and one `end`."""
    kinds = [entry.kind for entry in entries]
    if kinds != ["offer", "open", "lapse", "end"]:
        yield f"it does not end by one lapse: {kinds}"
        return
    expires, lapse = entries[0].body["agreement"]["expires"], entries[2]
    if lapse.body != {"reason": "expired"} or lapse.at <= expires:
        yield f"it lapsed at {lapse.at}, and was to expire at {expires}: {lapse.body}"
