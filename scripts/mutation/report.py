"""What is known of mutants: counts by module and package, the share caught with its interval, and who survived."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from math import sqrt
from typing import Final

from scripts.mutation.mutants import Mutant
from scripts.mutation.tests import JUDGES

OUTCOMES: Final = ("killed", "timeout", "survived", "untested")
CAUGHT: Final = ("killed", "timeout")


def package(path: str) -> str:
    """The folder of a module that `JUDGES` knows."""
    return "/".join(path.split("/")[:2])


def report(chosen: Sequence[Mutant], known: dict[str, tuple[str, str]], given: argparse.Namespace) -> None:
    """Prints what is known of `chosen` and ends the program."""
    judged = [mutant for mutant in chosen if known.get(mutant.name, ("again",))[0] != "again"]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in judged:
        for group in (mutant.path, package(mutant.path), "all"):
            counts[group][known[mutant.name][0]] += 1
    left = [mutant for mutant in judged if known[mutant.name][0] not in CAUGHT]
    left.sort(key=lambda mutant: (mutant.path, mutant.line, mutant.name))
    if given.show:
        for mutant in left:
            print(f"\n{mutant.name} line {mutant.line}, {known[mutant.name][0]}\n{mutant.difference()}")
        print()
    print(f"{'':44}" + "".join(f"{outcome:>10}" for outcome in OUTCOMES) + f"{'caught':>10}")
    for group in (*sorted(each for each in counts if each.endswith(".py")), *JUDGES, "all"):
        if group in counts:
            figures = "".join(f"{counts[group][outcome]:10}" for outcome in OUTCOMES)
            print(f"{group:44}{figures}{_percent(counts[group]):9.1f}%")
    share = _percent(counts["all"])
    low, high = _interval(counts["all"])
    print(f"{len(judged)} of {len(chosen)} judged: {share:.1f} % caught", end="")
    print(f" (95 % of samples like this: {low:.1f} to {high:.1f})" if given.sample is not None else "")
    if given.json:
        given.json.write_text(
            json.dumps(
                {
                    "chosen": len(chosen),
                    "judged": len(judged),
                    "caught_percent": round(share, 2),
                    "modules": {group: dict(found) for group, found in sorted(counts.items())},
                    "survivors": [{**asdict(mutant), "outcome": known[mutant.name][0]} for mutant in left],
                },
                indent=1,
            )
        )
    sys.exit(share < given.threshold)


def _percent(counts: Counter[str]) -> float:
    return 100 * sum(counts[outcome] for outcome in CAUGHT) / max(1, counts.total())


def _interval(counts: Counter[str]) -> tuple[float, float]:
    """Wilson's interval for the share caught."""
    total, z = max(1, counts.total()), 1.96
    share = _percent(counts) / 100
    middle = share + z * z / (2 * total)
    width = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return 100 * (middle - width) / (1 + z * z / total), 100 * (middle + width) / (1 + z * z / total)
