"""Checks that logs and files of evidence, put together, damaged or forged from a seed, convict no honest party.

    python -m tests.lab.framing.measure 2000 1
    python -m tests.lab.framing.measure 2000 1 --planted     the audit has a fault; must find it

Of six files two are put together by a player who has everything that the honest service and both players have signed
in two games, and keys of his own (tests/support/framing.py). One is an honest file with a line or a byte changed. One
is a file that convicts the service, changed in the same way: no change may make it name anybody else. Two are of a
game, most often a duplicate game whose seed is unopened, in which bob plays cards that he does not hold and the service
takes them: they may name the service, and bob only once the seed is known. Each file is audited with the right keys
from outside, and without any. Prints every file that names an innocent party, and the numbers by sort and verdict;
exits with 1 if there was such a file. The fault that can be planted is to judge each play by those before it, also
without the seed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import pytest

from hkoji.audit.card_checks import PlayedCards
from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import EvidenceFile, format_evidence
from hkoji.game import entry_kinds
from hkoji.game.course import Stage
from hkoji.log.line import format_log
from tests.support.adversary import follow
from tests.support.false_plays import DEAL, falsely_played
from tests.support.forgery import every_pin
from tests.support.framed_files import damage, frame
from tests.support.framing import Story, evidence, head_of, innocents, shown, stories


class Tried(NamedTuple):
    """A file, its sort, and those whom it may name."""

    sort: str
    told: Story
    text: str
    guilty: tuple[str, ...] = ("bob",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--planted", action="store_true", help="with a fault in the audit, which must be found")
    given = parser.parse_args()
    started = time.monotonic()
    verdicts: Counter[str] = Counter()
    framed = 0
    with planted() if given.planted else nullcontext():
        for number, tried in zip(range(given.files), files(random.Random(given.seed)), strict=False):
            named = {name for known in (every_pin(tried.told.table), {}) for name in accused(tried.text, known)}
            wronged = named & innocents(tried.told, tried.guilty)
            verdicts[f"{tried.sort}: {'somebody is named' if named else 'nobody is named'}"] += 1
            if wronged:
                framed += 1
                print(f"file {number}, {tried.sort}: names {', '.join(sorted(wronged))}\n{tried.text}")
    for word, count in sorted(verdicts.items()):
        print(f"{count:8} {word}")
    print(f"{given.files} files in {time.monotonic() - started:.0f} s, {framed} of them name an innocent party")
    sys.exit((framed > 0) is not given.planted)


@contextmanager
def planted() -> Iterator[None]:
    """Makes the audit judge each play by those before it, as if the seed were always known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlayedCards, "seed_known", True)
        yield


def accused(text: str, known: object) -> set[str]:
    """Everybody whom the findings name."""
    findings = audit_file(text, known).findings  # type: ignore[arg-type] # pins, or none
    return {name for finding in findings if finding.signer for name in finding.signer.split(" and ")}


def files(rng: random.Random) -> Iterator[Tried]:
    """Files of all sorts in turn, without end."""
    while True:
        pair = rng.choice(stories())
        told = pair[0]
        yield Tried("put together", told, frame(rng, pair))
        honest = evidence(
            told,
            rng.choice([0, 1, None]),
            refused=(rng.choice(told.table.lines), rng.choice(told.views), rng.choice(told.heads)),
        )
        yield Tried("honest and damaged", told, damage(format_evidence(honest), rng))
        yield false_game(rng)
        yield Tried("put together", told, frame(rng, pair))
        before = rng.choice(told.table.lines[4:])
        lie = follow(told.table.server, before, entry_kinds.Timeout(rng.randrange(2)))
        late = head_of(told.table, before.entry.seq, after=1_000_000)
        false = honest._replace(refused=(lie, shown(told.table, 0, head="ab" * 32), late, *honest.refused))
        yield Tried("convicting and damaged", told, damage(format_evidence(false), rng), ("bob", "server"))
        yield false_game(rng)


def false_game(rng: random.Random) -> Tried:
    """A log or file of evidence of a game with plays of cards that bob did not hold, whole or cut off anywhere."""
    table = falsely_played(rng.getrandbits(32), deal=rng.choice([DEAL, DEAL, None]), ends=rng.random() < 0.8)
    if table.course.stage is Stage.UNSEAL and rng.random() < 0.25:
        table.unseal()
    if rng.random() < 0.5:
        del table.lines[rng.randrange(5, len(table.lines)) :]
    log = format_log(table.lines, receipts=rng.random() < 0.7)
    told = Story(table, (), (head_of(table),))
    if rng.random() < 0.5:
        log = format_evidence(EvidenceFile(table.game, {}, log, (), (), told.heads if rng.random() < 0.5 else ()))
    known = table.lines[-1].entry.body.get("seed") is not None
    return Tried("played falsely", told, log, ("bob", "server") if known else ("server",))


if __name__ == "__main__":
    main()
