"""Plays games with plans that are disturbed in every way, and judges each move that a plan has made.

    python -m tests.lab.plans.measure 10000                        ten thousand plans
    python -m tests.lab.plans.measure 3000 --seed 3 --planted "the head is not compared"      must find it

Bob plays from two homes with one key, each with plans of its own; alice and bob also move by hand. Commands are killed
at any request and any write, and at other requests somebody else is faster. Half of the games are Geisha's Road. In
the end each move of a plan must be legal, must be what the plan says at that place by a naive reading of docs/plans.md,
and must not be early; no home may have sent two entries for one place; and a trial with what was seen must play what
was played. Exits with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.lab.plans.judgement import judged
from tests.lab.plans.planted import PLANTED
from tests.lab.plans.story import Story

_RULESETS = (Hanamikoji(), GeishasRoad())


class Done(NamedTuple):
    """The counts, and the complaints."""

    counts: Counter[str]
    wrong: list[str]


def measured(plans: int, *, seed: int = 1, fault: str | None = None) -> Done:
    """Plays games until so many plans have been made, and judges each game."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    while counts["plans"] < plans:
        number = counts["games"]
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            if fault is not None:
                stack.enter_context(PLANTED[fault].plant())
            story = Story(Path(folder), _RULESETS[number % 2], seed * 1_000_003 + number)
            story.play()
            wrong += [f"game {number}: {each}" for each in judged(story)]
        counts += story.counts
        counts["games"] += 1
        counts["plans"] += len(story.plans)
        if fault is not None and any(re.search(PLANTED[fault].found_as, each) for each in wrong):
            break
    return Done(counts, wrong)


def main() -> int:
    """Runs the measurement of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plans", type=int, help="how many plans are made")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--planted", choices=sorted(PLANTED), help="a fault that must be found")
    wanted = parser.parse_args()
    done = measured(wanted.plans, seed=wanted.seed, fault=wanted.planted)
    for name, count in sorted(done.counts.items()):
        print(f"{count:>9,}  {name}")
    for each in done.wrong[:20]:
        print(each)
    print(f"{len(done.wrong)} wrong")
    return int(bool(done.wrong) is (wanted.planted is None))


if __name__ == "__main__":
    sys.exit(main())
