"""Damages one byte of logs, signatures, receipts and keys, a million times, and counts the undetected cases.

    python -m tests.lab.damage.measure --ways 1 --places 50 --pieces 2000      a sample, in a minute
    python -m tests.lab.damage.measure --jobs 2 --shell 300                    all of it

Logs: every game among the test vectors, and some that end in other ways. At each place of each log, --ways of five
sorts of damage: a bit flipped, a byte replaced, inserted, deleted, or exchanged with the next; --places takes only that
many places of a log. A damaged log goes through the reading and the audit of `hkoji audit FILE`, with the expected
keys. It must not hold; exactly the entries before the damage must hold; nobody may be accused; and nothing may raise.
Signatures that remain undamaged in the log are checked once per log; for one damage in a hundred all signatures are
checked again, and the outcome must be the same.

Single pieces: a signature, a receipt, a view, a key, a file of keys and a private key file, with all possible damages
or --pieces of each. A receipt is JSON, and a file of keys has spaces: damages that leave the meaning of such a file
unchanged are counted apart, and not among the damages tried.

--mail flips 10,000 bits (or --mail N) in logs of games in which the service holds keys. Each goes to `hkoji audit` and
to docs/spec/audit.sh: neither may exit with 0, and they must agree.

--shell N gives N of the damaged logs to docs/spec/audit.sh, which must agree with `hkoji audit` on step and entry.
Exits with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from itertools import groupby, islice
from pathlib import Path
from typing import Final, NamedTuple

from tests.lab.damage.pieces import (
    SAME,
    SORTS,
    Auditor,
    Damage,
    Sound,
    all_damages,
    complaint,
    flips,
    pieces,
    some_damages,
    sound_logs,
    undetected,
)
from tests.lab.two_audits.damaged_logs import Case
from tests.lab.two_audits.measure import compare
from tests.support.shell_audit import missing_tools

_CHUNK: Final = 400
_PLAINLY: Final = 100
_SHOWN: Final = 20


class Task(NamedTuple):
    """Some places of a log."""

    log: int
    places: range
    ways: int
    seed: int


class Told(NamedTuple):
    """The results of a task: counts by sort of damage and outcome; faults; one damage for the shell."""

    task: Task
    counts: Counter[tuple[str, str]]
    plain: int
    wrong: list[str]
    sample: Damage


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", type=int, default=3, choices=range(1, len(SORTS) + 1))
    parser.add_argument("--places", type=int, help="of each log; all by default")
    parser.add_argument("--pieces", type=int, help="damages of each piece; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="processes for the logs")
    parser.add_argument(
        "--shell", type=int, default=0, metavar="N", help="also give this many damaged logs to the script"
    )
    parser.add_argument("--mail", type=int, nargs="?", const=10_000, metavar="N", help="flip bits in logs of held keys")
    given = parser.parse_args()
    if given.mail is not None:
        sys.exit(_mail(given.mail, given.seed, given.jobs))
    if given.shell and (missing := missing_tools()):
        sys.exit(missing)
    started = time.monotonic()
    tried, wrong, samples = _logs(given)
    in_pieces, more = _pieces(given.pieces, given.seed)
    wrong += more
    agreed = _shell(samples, given.shell, given.seed, wrong)
    for line in wrong[:_SHOWN]:
        print(line)
    if given.shell:
        print(f"{agreed} of {given.shell} damaged logs: the script says the same")
    total = tried + in_pieces
    print(f"{total:,} damages in {time.monotonic() - started:.0f} s, {len(wrong)} not detected properly")
    sys.exit(bool(wrong))


def _mail(tries: int, seed: int, jobs: int) -> int:
    """Flips bits in logs of held keys, and returns the exit code."""
    if missing := missing_tools():
        sys.exit(missing)
    started = time.monotonic()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for each in undetected(_counted(islice(flips(random.Random(seed)), tries)), Path(folder), max(jobs, 2)):
            wrong += 1
            print(f"{each.name}: the script exits with {each.script}, hkoji with {each.hkoji}", flush=True)
    print(f"{tries:,} flipped bits in {time.monotonic() - started:.0f} s, {wrong} not detected by both")
    return int(wrong > 0)


def _counted(tried: Iterable[tuple[Sound, Damage]]) -> Iterator[tuple[Sound, Damage]]:
    """Those `tried`; prints how many have been taken, because all take more than an hour."""
    for number, each in enumerate(tried):
        if number % 1000 == 0:
            print(f"{number:,} flipped bits begun", flush=True)
        yield each


def _logs(given: argparse.Namespace) -> tuple[int, list[str], list[tuple[int, Damage]]]:
    counts: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    samples: list[tuple[int, Damage]] = []
    plain = 0
    with ProcessPoolExecutor(given.jobs) as pool:
        for number, results in groupby(pool.map(_work, list(_tasks(given))), key=lambda told: told.task.log):
            before = counts.total()
            for told in results:
                counts += told.counts
                wrong += told.wrong
                plain += told.plain
                samples.append((told.task.log, told.sample))
            log = sound_logs()[number]
            print(f"{log.name}, {len(log.data)} bytes: {counts.total() - before:,} damages", flush=True)
    _table(counts)
    print(f"{counts.total():,} damaged logs, {plain} of them audited with every signature checked again")
    return counts.total(), wrong, samples


def _tasks(given: argparse.Namespace) -> Iterator[Task]:
    rng = random.Random(given.seed)
    for number, log in enumerate(sound_logs()):
        if given.places:
            for place in sorted(rng.sample(range(len(log.data)), min(given.places, len(log.data)))):
                yield Task(number, range(place, place + 1), given.ways, rng.getrandbits(64))
            continue
        for start in range(0, len(log.data), _CHUNK):
            places = range(start, min(start + _CHUNK, len(log.data)))
            yield Task(number, places, given.ways, rng.getrandbits(64))


@cache
def _auditor(number: int) -> Auditor:
    return Auditor(sound_logs()[number])


def _work(task: Task) -> Told:
    auditor = _auditor(task.log)
    rng = random.Random(task.seed)
    damages = list(some_damages(auditor.log.data, task.places, task.ways, rng))
    counts: Counter[tuple[str, str]] = Counter()
    wrong = []
    plain = 0
    for damage in damages:
        word, reason = auditor.complaint(damage)
        counts[word, damage.sort] += 1
        if not rng.randrange(_PLAINLY):
            plain += 1
            if auditor.complaint(damage, plain=True) != (word, reason):
                reason = reason or "the audit that checks every signature differs"
        if reason:
            wrong.append(f"{auditor.log.name}, {damage}: {reason}")
    sample = rng.choice(damages) if damages else Damage("byte", task.places.start, 0)
    return Told(task, counts, plain, wrong, sample)


def _table(counts: Counter[tuple[str, str]]) -> None:
    print(f"{'':16}" + "".join(f"{sort:>11}" for sort in SORTS))
    for word in sorted({word for word, _ in counts}):
        print(f"{word:16}" + "".join(f"{counts[word, sort]:11,}" for sort in SORTS))


def _pieces(most: int | None, seed: int) -> tuple[int, list[str]]:
    tried = 0
    wrong = []
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for piece in pieces(Path(folder)):
            counts: Counter[str] = Counter()
            damages = list(all_damages(piece.data))
            for damage in rng.sample(damages, min(most, len(damages))) if most else damages:
                word, reason = complaint(piece, damage.of(piece.data))
                counts[word] += 1
                if reason:
                    wrong.append(f"{piece.name}, {damage}: {reason}")
            same = counts.pop(SAME, 0)
            tried += counts.total()
            words = ", ".join(f"{count:,} {word}" for word, count in sorted(counts.items()))
            apart = f" (and {same:,} that say the same)" if same else ""
            print(f"{piece.name}, {len(piece.data)} bytes: {words}{apart}", flush=True)
    return tried, wrong


def _shell(samples: list[tuple[int, Damage]], most: int, seed: int, wrong: list[str]) -> int:
    rng = random.Random(seed)
    chosen = rng.sample(samples, min(most, len(samples)))
    logs = [(sound_logs()[number], damage) for number, damage in chosen]
    cases = [Case(f"{log.name}, {damage}", damage.of(log.data), log.pins) for log, damage in logs]
    agreed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for _, case, script, hkoji in compare(cases, Path(folder), pool):
            if script.agrees(hkoji) and script.found:
                agreed += 1
            else:
                wrong.append(f"{case.name}: the script says {script}, hkoji says {hkoji}")
    return agreed


if __name__ == "__main__":
    main()
