"""Judges the logs of games that ran out of time, by plain SQL, the naive clock, and what the players were told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tests.support.timed_logs import (
    Stored,
    TimedEntry,
    archive_faults,
    clock_faults,
    outage_faults,
)
from tests.support.wired_tables import WiredTable, told_faults


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
