"""Cuts the power: replays SQLite's writes under the real service, and checks the states that a disk may be left in.

    python -m tests.lab.power_cuts.measure --images 2000                 a sample, in a minute
    python -m tests.lab.power_cuts.measure --images 100000 --jobs 2      all of it
    python -m tests.lab.power_cuts.measure --planted NORMAL              with a setting that loses moves: must report it

A record is made by the real application and store in this process, under several players at once. A layer between
SQLite and the system (tests/support/sqlite_files.py) records every write, sync, truncation, creation and deletion of
the database's files, and for each answer the place in that record at which it began to go out. A record has a first
start, clean stops and starts, checkpoints, and a service that was never stopped; every second record continues from an
image of the one before.

An image is a point of a record, and a possible state of the disk then: all that was synced, and of the rest nothing,
all, some, or sectors of it, in any order (disk.py). The real store is opened on each image. Everything acknowledged by
that point must be there, to the byte; the rest must consist of complete transactions: entries, openings, secrets and
summaries that belong together. For one image in --deep, SQLite's own integrity check runs, every game is read and
refereed anew, and an entry that was sent later is appended.

Exits with 1 if anything was lost, incomplete or unreadable; with --planted, if nothing was.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from hkoji_server.log import configure_logging
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.game_values import Append
from hkoji_server.store.sqlite import durable
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji import referee
from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from tests.lab.power_cuts.disk import CHOICES, Disk, Recorder, write_folder
from tests.lab.power_cuts.within import Within
from tests.support.ledger import Dump, Fact, Ledger, dumped, gone_into_log, half_done, lost
from tests.support.load import Pair, busy
from tests.support.service_in_process import Clock, drawn
from tests.support.sqlite_files import Call, watched
from tests.support.times import now

_FILE: Final = "hkoji.sqlite3"
_SHOWN: Final = 20
_PAIRS: Final = 5


class Record(NamedTuple):
    """The recorded operations, the files at its start, what was acknowledged where, and the contents at its end."""

    start: dict[str, bytes]
    log: list[Call]
    facts: list[Fact]
    sent: set[str]
    final: Dump
    seen: set[tuple[Any, ...]]
    """Games as found in images without a fault: game, summary, which entries, which openings."""


class Told(NamedTuple):
    """The results of images: how many by kind, and the faults."""

    counts: Counter[str]
    wrong: list[str]


@contextmanager
def planted(synchronous: str | None) -> Iterator[None]:
    """Lets the store run with another `synchronous`, without its knowledge."""
    if synchronous is None:
        yield
        return
    level = {"OFF": 0, "NORMAL": 1}[synchronous]
    with patch.dict(durable.PRAGMAS, {"synchronous": level}):
        yield


def record(folder: Path, start: Record | None, steps: int, seed: int, files: dict[str, bytes] | None = None) -> Record:
    """Makes a record of about `steps` requests. With `start`, it continues from `files`, an image of that record."""
    rng = random.Random(seed)
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    before = dict(files) if files else {_FILE: b""}
    if files:
        write_folder(data, files)
    recorder = Recorder()
    ledger = Ledger(sent=set(start.sent) if start else set())
    ledger.add(fact._replace(since=0) for fact in (start.facts if start else ()))
    clock = Clock()
    with watched(recorder):
        for life in range(3):
            sources = ClockAndEntropy(clock, drawn(f"{seed} {life}"))
            service = Within(data, sources, lambda: recorder.position)
            service.start()
            pairs = [
                Pair(seed * 1000 + life * 100 + number, service, ledger, random.Random(rng.getrandbits(64)), longest=16)
                for number in range(_PAIRS)
            ]
            _let_play(pairs, steps // 3)
            if life < 2:
                service.stop()
    # The last life ends in the middle: what is still open is closed, unrecorded.
    log = list(recorder.log)
    final = dumped(data / _FILE)
    service.stop()
    shutil.rmtree(data)
    return Record(before, log, ledger.facts, set(ledger.sent), final, set())


def _let_play(pairs: list[Pair], steps: int) -> None:
    left = iter(range(steps))
    lock = threading.Lock()
    failures: list[Exception] = []

    def stop(_: Pair) -> bool:
        with lock:
            return bool(failures) or next(left, None) is None

    for thread in busy(pairs, stop, lambda _, error: failures.append(error)):
        thread.join()
    if failures:
        raise failures[0]


def cut(record: Record, images: int, seed: int, folder: Path, deep: int) -> Told:
    """Makes `images` images of a record, and checks each."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    disk = Disk(record.start)
    uncertain = []
    for place, call in enumerate(record.log, 1):
        disk.apply(call)
        if disk.uncertain:
            uncertain.append(place)
    places = sorted(rng.choice(uncertain) for _ in range(images))
    disk = Disk(record.start)
    done = 0
    facts = sorted(record.facts, key=lambda fact: fact.since)
    for place in places:
        for call in record.log[done:place]:
            disk.apply(call)
        done = place
        choice = rng.choice(CHOICES)
        counts[choice] += 1
        known = [fact for fact in facts if fact.since <= place]
        write_folder(folder, disk.image(rng, choice))
        for complaint in look(folder / _FILE, record, known, thorough=not rng.randrange(deep)):
            wrong.append(f"after write {place} of {len(record.log)}, {choice}: {complaint}")
            break
    return Told(counts, wrong)


def look(path: Path, record: Record, known: list[Fact], *, thorough: bool) -> Iterator[str]:
    """The faults of an image."""
    try:
        store = SqliteStore(path)
    except HkojiError as error:
        yield f"it does not open: {error}"
        return
    try:
        dump = dumped(path)
        yield from lost(dump, known)
        yield from _halves(dump, record)
        if thorough:
            yield from _thorough(store, path, dump)
    except (HkojiError, sqlite3.Error) as error:
        yield f"it cannot be read: {error}"
    finally:
        store.close()


def _halves(dump: Dump, record: Record) -> Iterator[str]:
    """Finds all differences from a prefix of the final contents that ends between two transactions."""
    whole = True
    for table in ("entry", "opening", "secret", "statement"):
        for key, row in dump[table].items() - record.final[table].items():
            if table == "statement" and key not in record.final[table] and gone_into_log(record.final, key, row):
                continue
            whole = False
            yield f"{table} {key} is not what was written"
    places: dict[str, list[object]] = {key[0]: [row] for key, row in dump["game"].items()}
    for table in ("entry", "opening", "statement"):
        for game, *place in dump[table]:
            places.setdefault(game, []).append(tuple(place))
    # A game that equals one in an image already checked need not be checked again.
    standing = {(game, *found) for game, found in places.items()}
    if whole and len(places) == len(dump["game"]) == len(dump["secret"]) and standing <= record.seen:
        return
    numbers = Counter(key[0] for key in dump["entry"])
    for game, number in numbers.items():
        following = record.final["entry"].get((game, number))
        if following is not None and '"by":"server"' in following[0]:
            whole = False
            yield f"{game} stops at entry {number - 1}, in the middle of a transaction"
    for complaint in half_done(dump, record.sent.__contains__):
        whole = False
        yield complaint
    if whole:
        record.seen.update(standing)


def _thorough(store: SqliteStore, path: Path, dump: Dump) -> Iterator[str]:
    connection = sqlite3.connect(path)
    try:
        for (said,) in connection.execute("PRAGMA integrity_check"):
            if said != "ok":
                yield f"integrity check: {said}"
        for row in connection.execute("PRAGMA foreign_key_check"):
            yield f"foreign keys: {row}"
    finally:
        connection.close()
    for (game,) in dump["game"]:
        history = asyncio.run(store.history(game))
        summary = asyncio.run(store.summary(game))
        if history is None or summary is None:
            yield f"{game} has no history"
            continue
        refereed = referee.resume(history.lines, history.secrets.seed, history.secrets.openings)
        course = refereed.course
        named = course.setup.names[course.actor] if course.actor is not None else None
        if (summary.actor, summary.round, summary.status) != (course.actor, course.state.round, course.status):
            yield f"the summary of {game} is not that of its log"
        if summary.to_move != named:
            yield f"{game} waits for {summary.to_move}, and its log for {named}"
        gifts = [
            entry_kinds.GivenTime(each.head, each.seconds, b"")
            for each in asyncio.run(store.statements(game))
            if each.seconds is not None
        ]
        due = referee.deadline(refereed, gifts=gifts)
        if summary.deadline != due:
            yield f"the deadline of {game} is {summary.deadline}, and by its log and its gifts {due}"
        if course.server_owes():
            yield f"the server owes an entry in {game}"
    if dump["game"]:
        game = sorted(dump["game"])[0][0]
        summary = asyncio.run(store.summary(game))
        assert summary is not None
        append = Append(
            game, summary.seq, summary.head, (), (), summary,
            outline=True, at=now(), outages=len(asyncio.run(store.outages())), deadline=summary.deadline,
        )  # fmt: skip
        asyncio.run(store.append(append))


def _task(given: tuple[int, int, int, int, str | None]) -> tuple[int, int, Told, list[str]]:
    """Makes two records, the second from an image of the first, and checks images of each."""
    seed, images, steps, deep, synchronous = given
    configure_logging("error")
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
    try:
        with planted(synchronous):
            first = record(folder, None, steps, seed)
            told = cut(first, images // 2, seed, folder / "image", deep)
            notes = [_note(first)]
            if told.wrong:
                return len(first.log), len(first.facts), told, notes
            rng = random.Random(seed)
            place = rng.randrange(len(first.log) // 2, len(first.log))
            disk = Disk(first.start)
            for call in first.log[:place]:
                disk.apply(call)
            known = [fact for fact in first.facts if fact.since <= place]
            files = disk.image(rng, "sectors")
            second = record(folder, first._replace(facts=known), steps, seed + 1, files)
            more = cut(second, images - images // 2, seed + 1, folder / "image", deep)
            notes.append(_note(second))
        return (
            len(first.log) + len(second.log),
            len(first.facts) + len(second.facts),
            Told(told.counts + more.counts, told.wrong + more.wrong),
            notes,
        )
    finally:
        shutil.rmtree(folder)


def _note(record: Record) -> str:
    calls = Counter(f"{call.what} {call.name.removeprefix(_FILE) or 'database'}" for call in record.log)
    return ", ".join(f"{count} {name}" for name, count in sorted(calls.items()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--each", type=int, default=2000, help="images of each pair of records")
    parser.add_argument("--steps", type=int, default=600, help="requests of a record; three of four have a third")
    parser.add_argument("--deep", type=int, default=20, help="one image in this many is checked thoroughly")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--planted", choices=("NORMAL", "OFF"), help="run the store with this `synchronous`")
    given = parser.parse_args()
    configure_logging("error")
    started = time.monotonic()
    sizes = [min(given.each, given.images - begun) for begun in range(0, given.images, given.each)]
    tasks = [
        (given.seed * 1_000_000 + number * 2, size, given.steps // (3 if number % 4 else 1), given.deep, given.planted)
        for number, size in enumerate(sizes)
    ]
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    writes = told = 0
    with ProcessPoolExecutor(given.jobs) as pool:
        for more_writes, more_told, found, notes in pool.map(_task, tasks):
            writes += more_writes
            told += more_told
            counts += found.counts
            wrong += found.wrong
            print("\n".join(notes), flush=True)
    for line in wrong[:_SHOWN]:
        print(line)
    for choice in CHOICES:
        print(f"{choice:12} {counts[choice]:8,}")
    print(
        f"{counts.total():,} images of {2 * len(tasks)} records ({writes:,} calls, {told:,} facts acknowledged) "
        f"in {time.monotonic() - started:.0f} s: {len(wrong):,} with something lost, incomplete or unreadable"
    )
    sys.exit(not wrong if given.planted else bool(wrong))


if __name__ == "__main__":
    main()
