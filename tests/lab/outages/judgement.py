"""Judges logs, outages and signed heads by plain SQL, the naive clock, and what the players were told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64
from hkoji.log.public_key import PublicKey, parse_public_key
from tests.lab.outages.players import ShownHead
from tests.support.timed_logs import Stored, TimedEntry, archive_faults, clock_faults, later, outage_faults
from tests.support.wired_tables import WiredTable, told_faults

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
