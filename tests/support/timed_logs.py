"""The logs of a service's database, read with plain SQL, and what must be true of their times.

The times are judged by the naive clock of tests/lab/machine, which shares no code with the project.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.lab.machine.naive_time import NaiveClock, to_moment, to_number
from tests.support.forked import run_forked
from tests.support.ledger import connected

PLAYED = ("seed", "move")
_FORM = "%Y-%m-%dT%H:%M:%SZ"


class Spell(NamedTuple):
    """A row of the table of outages."""

    begin: str
    until: str
    way: str


class TimedEntry(NamedTuple):
    """An entry as it is stored. `at` is its time of record, that of its receipt."""

    seq: int
    head: str
    kind: str
    by: str
    at: str
    body: Any  # Any: JSON
    line: str
    """The line of an export."""


class Given(NamedTuple):
    """A gift of time that a player has sent; `taken` says whether the service has acknowledged it."""

    head: str
    seconds: int
    taken: bool


class Stored(NamedTuple):
    """The contents of a database: the games, and the outages in order."""

    games: dict[str, list[TimedEntry]]
    outages: list[Spell]


def stored(where: Path | str) -> Stored:
    """Reads an SQLite file, or the PostgreSQL database at a URL."""
    columns = "game, seq, text, sig, receipt, receipt_sig"
    games: dict[str, list[TimedEntry]] = {}
    file = f"file:{where}?mode=ro"
    with closing(connected(where) if isinstance(where, str) else sqlite3.connect(file, uri=True)) as database:
        rows = database.execute(f"SELECT {columns} FROM entry ORDER BY game, seq").fetchall()
        for game, *row in rows:
            games.setdefault(game, []).append(_entry(*row))
        found = database.execute('SELECT "from", until, way FROM outage ORDER BY "from"').fetchall()
    return Stored(games, [Spell(*each) for each in found])


def _entry(seq: int, text: str, sig: bytes, receipt: str, receipt_sig: bytes) -> TimedEntry:
    signed = {"sig": base64.b64encode(bytes(receipt_sig)).decode(), "text": receipt}
    line = {"entry": text, "receipt": signed, "sig": base64.b64encode(bytes(sig)).decode()}
    entry = json.loads(text)
    return TimedEntry(
        seq,
        sha256(f"{text}\n".encode()).hexdigest(),
        entry["kind"],
        entry["by"],
        json.loads(receipt)["at"],
        entry["body"],
        json.dumps(line, sort_keys=True, separators=(",", ":")),
    )


def later(time: str, seconds: int) -> str:
    """The time so many seconds after a time of the log."""
    return to_moment(to_number(time) + seconds).strftime(_FORM)


def clock_faults(
    entries: Sequence[TimedEntry], outages: Sequence[Spell], gifts: Sequence[Given] = (), slack: int = 0
) -> Iterator[str]:
    """Faults in the times of one game: by its own log, the table of outages, and the gifts that were sent.

    No seed or move is late. Its credit has the largest gift that was acknowledged for it, or a larger one that was
    sent, and exactly the outages of its time. A timeout is over `slack` seconds after the deadline, with all of these.
    """
    control = entries[0].body["agreement"]["clock"]
    if control is None or "join" not in (entry.kind for entry in entries):
        return
    clock = NaiveClock(**control)
    seats = {entry.by: seat for seat, kind in enumerate(("open", "join")) for entry in entries if entry.kind == kind}
    for place, entry in enumerate(entries):
        if entry.seq < 2:
            continue
        owes = _owes(entries[place + 1 :], seats)
        if entry.kind == "credit":
            continue
        heads = [entries[place - 1].head]
        if entries[place - 1].kind == "credit":
            heads.append(entries[place - 2].head)
        taken = max((gift.seconds for gift in gifts if gift.taken and gift.head in heads), default=0)
        if entry.kind in PLAYED:
            lost = _within(clock, _helping(outages, entries, entry.by), entry.at)
            found = entries[place + 1].body if entries[place + 1 : place + 2] and _credits(entries, place) else {}
            gift, named = found.get("gift"), _named(found)
            given = gift["seconds"] if gift else 0
            if given < taken or (given and not any(each.seconds == given for each in gifts if each.head in heads)):
                yield f"entry {entry.seq} was credited {given} s, and {taken} s were given and acknowledged"
            if named != lost:
                yield f"entry {entry.seq} was credited the outages {named}, and it had {lost}"
            if clock.take(entry.kind, seats[entry.by], entry.at, given + _seconds(clock, named), owes):
                yield f"entry {entry.seq} is late"
        elif entry.kind == "timeout":
            if entry.at <= clock.deadline():
                yield f"the timeout of {entry.at} is not after {clock.deadline()}, the deadline of the log"
            loser = next(name for name, seat in seats.items() if seat == entry.body["seat"])
            helping = _helping(outages, entries, loser)
            if around := [each for each in helping if each.begin <= entry.at < each.until]:
                yield f"the timeout of {entry.at} came while its seat could not answer: {around}"
            credits = taken + _seconds(clock, _within(clock, helping, entry.at))
            due = clock.deadline(credits)
            if entry.at <= later(due, slack):
                yield f"the timeout of {entry.at} is not {slack} s after {due}, with {credits} s more"
            clock.take(entry.kind, None, entry.at, 0, None)
        else:
            clock.take(entry.kind, seats.get(entry.by), entry.at, 0, owes)


def _credits(entries: Sequence[TimedEntry], place: int) -> bool:
    return entries[place + 1].kind == "credit"


def _owes(following: Iterable[TimedEntry], seats: Mapping[str, int]) -> int | None:
    """The seat that owes an entry, by what follows; in a game that goes on, nobody knows it."""
    for entry in following:
        if entry.kind in PLAYED:
            return seats[entry.by]
        if entry.kind == "timeout":
            seat: int = entry.body["seat"]
            return seat
        if entry.kind in ("resign", "end", "annul"):
            return None
    return None


def _within(clock: NaiveClock, outages: Sequence[Spell], at: str) -> list[Spell]:
    since = to_moment(clock.since).strftime(_FORM)
    cut = [each._replace(begin=max(since, each.begin)) for each in outages if each.until <= at]
    return [each for each in cut if each.begin < each.until]


def _named(body: Any) -> list[Spell]:  # Any: JSON
    return [Spell(each["from"], each["until"], each["way"]) for each in body.get("outages", [])]


def _helping(outages: Iterable[Spell], entries: Iterable[TimedEntry], name: str) -> list[Spell]:
    """The outages of the way that is open to a player: by mail if each of their entries came so."""
    way = "mail" if all("mail" in each.body for each in entries if each.by == name) else "http"
    return [each for each in outages if each.way == way]


def _seconds(clock: NaiveClock, outages: Iterable[Spell]) -> int:
    return sum(clock.counted(to_number(each.begin), to_number(each.until)) for each in outages)


def outage_faults(kept: Stored) -> Iterator[str]:
    """Faults in the outages: a time of record within one, or one that logs and table do not both have.

    Only an entry that came the way of an outage contradicts it. A credit may name the part in its turn.
    """
    for way in ("http", "mail"):
        ordered = [each for each in kept.outages if each.way == way]
        for before, after in pairwise(ordered):
            if after.begin <= before.until:
                yield f"the outages {before} and {after} touch"
    for game, entries in kept.games.items():
        for entry in entries:
            for outage in (each for each in kept.outages if each.way == _came(entry)):
                if outage.begin <= entry.at < outage.until:
                    yield f"{game}: entry {entry.seq} of {entry.at} lies in the outage {outage}"
            if entry.kind in ("credit", "annul"):
                strange = [each for each in _named(entry.body) if not any(_part(each, of) for of in kept.outages)]
                if strange:
                    yield f"{game}: entry {entry.seq} names outages that nobody has recorded: {strange}"


def _came(entry: TimedEntry) -> str | None:
    """The way on which an entry came; None if nobody sent it: those of the service, and the seeds that it sends."""
    if entry.by == "server":
        return None
    mail = entry.body.get("mail")
    if mail is None:
        return "http"
    return None if mail["grade"] == "none" else "mail"


def _part(one: Spell, of: Spell) -> bool:
    """Whether an outage is another one, or the last part of it."""
    return of.begin <= one.begin and (one.until, one.way) == (of.until, of.way)


def archive_faults(games: Mapping[str, Sequence[TimedEntry]], server: str) -> Iterator[str]:
    """The complaint of `hkoji audit` about all logs together, with the service's key `server`, if there is one."""
    with tempfile.TemporaryDirectory() as name:
        folder, keys = Path(name) / "logs", Path(name) / "keys.txt"
        folder.mkdir()
        keys.write_text(f"server {server}\n")
        for game, entries in games.items():
            (folder / f"{game}.jsonl").write_text("".join(f"{entry.line}\n" for entry in entries))
        words = ["audit", str(folder), "--keys", str(keys), "--jobs", "1", "--plain"]
        done = run_forked(words, env={**os.environ, "HKOJI_HOME": str(Path(name) / "home")})
    if done.returncode:
        yield f"hkoji audit ended with {done.returncode}: {done.stdout[-2000:]} {done.stderr[-500:]}"
