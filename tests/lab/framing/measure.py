"""Checks that files of evidence, put together or damaged at random from a seed, convict no honest party.

    python -m tests.lab.framing.measure 2000 1

Half of the files are put together by a player who has everything that the honest service and both players have signed
in two games, and keys of his own (tests/support/framing.py). A quarter are honest files with a line or a byte changed.
A quarter are files that convict the service, changed in the same way: no change may make them name anybody else. Each
file is audited with the right keys from outside, and without any. Prints every file that names an innocent party, and
the numbers by sort and verdict; exits with 1 if there was such a file.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import format_evidence
from hkoji.game import entry_kinds
from tests.support.adversary import follow
from tests.support.damaged_files import damage
from tests.support.forgery import every_pin
from tests.support.framed_files import frame
from tests.support.framing import Story, evidence, head_of, innocents, shown, stories


class Tried(NamedTuple):
    """A file, its sort, and whether it may name the service."""

    sort: str
    told: Story
    text: str
    guilty: bool


def main() -> None:
    """Tries, and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", type=int)
    parser.add_argument("seed", type=int)
    given = parser.parse_args()
    started = time.monotonic()
    verdicts: Counter[str] = Counter()
    framed = 0
    for number, tried in zip(range(given.files), files(random.Random(given.seed)), strict=False):
        named = {name for known in (every_pin(tried.told.table), {}) for name in accused(tried.text, known)}
        wronged = named & innocents(tried.told, guilty_service=tried.guilty)
        verdicts[f"{tried.sort}: {'somebody is named' if named else 'nobody is named'}"] += 1
        if wronged:
            framed += 1
            print(f"file {number}, {tried.sort}: names {', '.join(sorted(wronged))}\n{tried.text}")
    for word, count in sorted(verdicts.items()):
        print(f"{count:8} {word}")
    print(f"{given.files} files in {time.monotonic() - started:.0f} s, {framed} of them name an innocent party")
    sys.exit(framed > 0)


def accused(text: str, known: object) -> set[str]:
    """Everybody whom the findings name."""
    findings = audit_file(text, known).findings  # type: ignore[arg-type] # pins, or none
    return {name for finding in findings if finding.signer for name in finding.signer.split(" and ")}


def files(rng: random.Random) -> Iterator[Tried]:
    """Files of all sorts in turn, without end."""
    while True:
        pair = rng.choice(stories())
        told = pair[0]
        yield Tried("put together", told, frame(rng, pair), False)
        honest = evidence(
            told,
            rng.choice([0, 1, None]),
            refused=(rng.choice(told.table.lines), rng.choice(told.views), rng.choice(told.heads)),
        )
        yield Tried("honest and damaged", told, damage(format_evidence(honest), rng), False)
        yield Tried("put together", told, frame(rng, pair), False)
        before = rng.choice(told.table.lines[4:])
        lie = follow(told.table.server, before, entry_kinds.Timeout(rng.randrange(2)))
        late = head_of(told.table, before.entry.seq, after=1_000_000)
        false = honest._replace(refused=(lie, shown(told.table, 0, head="ab" * 32), late, *honest.refused))
        yield Tried("convicting and damaged", told, damage(format_evidence(false), rng), True)


if __name__ == "__main__":
    main()
