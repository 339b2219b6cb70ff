"""Flipped bits in logs of games in which the service holds keys, for `hkoji audit` and the shell audit."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tests.lab.damage.single_bytes import Damage, Sound, sound_logs
from tests.lab.two_audits.damaged_logs import Case
from tests.lab.two_audits.measure import compare

_AT_A_TIME = 200


@cache
def held_logs() -> tuple[Sound, ...]:
    """The logs with held keys among the sound ones; of long ones also the beginning, which is read faster."""
    found = [log for log in sound_logs() if '\\"gateway\\":' in log.data.decode()]
    short = [
        Sound(f"{log.name}, begun", b"".join(log.data.splitlines(keepends=True)[:6]), log.pins)
        for log in found
        if "delegated" not in log.name
    ]
    return (*found, *short)


def flips(rng: random.Random) -> Iterator[tuple[Sound, Damage]]:
    """One bit after another, each of one log, at any place."""
    while True:
        log = rng.choice(held_logs())
        place = rng.randrange(len(log.data))
        yield log, Damage("bit", place, log.data[place] ^ (1 << rng.randrange(8)))


class Undetected(NamedTuple):
    """A flipped bit that an audit lets pass, or on which the two differ."""

    name: str
    script: int
    hkoji: int


def undetected(tried: Iterable[tuple[Sound, Damage]], folder: Path, jobs: int) -> Iterator[Undetected]:
    """The flipped bits of those `tried` for which one of the audits exits with 0, or the two differ."""
    left = iter(tried)
    with ThreadPoolExecutor(jobs) as pool:
        while chosen := list(islice(left, _AT_A_TIME)):
            cases = [Case(f"{log.name}, {damage}", damage.of(log.data), log.pins) for log, damage in chosen]
            for _, case, script, hkoji in compare(cases, folder, pool):
                if not (script.exit and hkoji.exit and script.agrees(hkoji)):
                    yield Undetected(case.name, script.exit, hkoji.exit)
