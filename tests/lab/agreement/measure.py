"""Checks that all readers agree on submissions with wrong content that are properly signed.

    python -m tests.lab.agreement.measure --positions 20 --seed 1
    python -m tests.lab.agreement.measure --positions 300 --logs 300 --seed 1 --tries 400

At random places of random games of every ruleset, valid submissions are changed (changes.py). An entry that the referee
accepts goes to the audit, both players, a spectator and clients, and is played on to its end: they have to agree. A
refusal must change nothing and reveal no cards. Then finished logs are changed: if the audit accepts one, it must
accept each beginning of it, and the referee must accept each entry. Prints every difference; exits with 1 if there is
one.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter

from hkoji.audit.log_audit import audit
from tests.lab.agreement.changes import NEW, STRANGER, finished, mutant, position, retold, sort_of
from tests.lab.agreement.readers import assert_agreed, offered, play_on, refereed
from tests.toy import register


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--positions", type=int, default=20, help="places in games")
    parser.add_argument("--tries", type=int, default=100, help="changed submissions at each")
    parser.add_argument("--looks", type=int, default=8, help="how many of those accepted at a place go to all readers")
    parser.add_argument("--logs", type=int, default=20, help="finished games that are changed, 20 times each")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    register()
    started = time.process_time()
    counts: Counter[str] = Counter()
    for number in range(given.positions):
        try:
            at_a_place(random.Random(f"{given.seed} place {number}"), given.tries, given.looks, counts)
        except Exception:  # any exception is a difference, and the other positions must still be tried
            _differs(counts, f"place {number}")
    for number in range(given.logs):
        try:
            in_a_log(random.Random(f"{given.seed} log {number}"), counts)
        except Exception:  # as above
            _differs(counts, f"log {number}")
    for what, count in counts.items():
        print(f"{count:9,} {what}")
    print(f"{time.process_time() - started:.0f} s of processor time")
    sys.exit(counts["differ"] > 0)


def at_a_place(rng: random.Random, tries: int, looks: int, counts: Counter[str]) -> None:
    """Changed submissions at one place of one game."""
    table = position(rng)
    assert_agreed(table)
    taken = {}
    for _ in range(tries):
        did, submission = mutant(rng, table)
        counts["changed submissions"] += 1
        if submission is None:
            counts["of them that no entry can express"] += 1
            continue
        after = offered(table, submission, (*NEW, STRANGER))
        counts["of them refused" if after is None else "of them taken"] += 1
        if after is not None:
            taken[sort_of(did, submission, table)] = after
    rare = [sort for sort in taken if "?" not in sort]
    for after in (taken[sort] for sort in (*sorted(taken.keys() - rare), *rng.sample(rare, min(looks, len(rare))))):
        assert_agreed(after, table)
        counts["of those read by all"] += 1
        if rng.random() < 0.3:
            assert_agreed(play_on(after, rng))
            counts["of those played on"] += 1


def in_a_log(rng: random.Random, counts: Counter[str]) -> None:
    """One finished log, and twenty changed versions of it."""
    table = finished(rng)
    assert_agreed(table)
    assert refereed(table.text.encode()) == []
    for _ in range(20):
        log, done = retold(rng, table)
        counts["logs told otherwise"] += 1
        result = audit(log)
        if not result.ok or not result.finished:
            counts["of them the audit refuses"] += 1
            continue
        counts["of them compared with the referee"] += 1
        assert (wrong := refereed(log)) == [], (done, wrong)


def _differs(counts: Counter[str], where: str) -> None:
    counts["differ"] += 1
    print(f"--- {where}")
    traceback.print_exc(limit=-5, file=sys.stdout)


if __name__ == "__main__":
    main()
