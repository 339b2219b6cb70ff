"""How often players of sealed games have to come back, by simulation: with deposits of both, of one, and of nobody.

A *visit* is a run of entries by one player. A visit in which nobody decides anything is made by a program alone. A
visit is *split* if a person has to come twice where once would do in another game: to answer, and again to act when the
other's program has given the card.

    python -m tests.lab.sealed.visits --games 150

Where both deposit, at most 0.35 visits in a round may be split. The group of these games has no secrets, which makes
them a hundred times as fast.
"""

from __future__ import annotations

import argparse
import sys
from itertools import groupby
from typing import Final, NamedTuple

from hkoji.log.line import SERVER_NAME
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.sealed_table import SealedTable
from tests.support.stub_group import stub_group

RULESETS: Final[tuple[Ruleset, ...]] = (
    Hanamikoji(),
    Hanamikoji("guest"),
    Hanamikoji("random", 3),
    GeishasRoad(),
    GeishasRoad("guest", "random"),
    GeishasRoad("random", "random"),
)
DEPOSITS: Final = ((True, True), (True, False), (False, False))
MOST_SPLIT: Final = 0.35
"""Where both players deposit: the most split visits in a round."""


class Visits(NamedTuple):
    """Sums over games: rounds, visits in a game without releases, those that are added, and of these by programs."""

    rounds: int = 0
    base: int = 0
    added: int = 0
    alone: int = 0

    @property
    def split(self) -> float:
        """The added visits of persons in a round."""
        return (self.added - self.alone) / self.rounds

    def plus(self, other: Visits) -> Visits:
        """The sum of two."""
        return Visits(*(left + right for left, right in zip(self, other, strict=True)))


def of_game(table: SealedTable) -> Visits:
    """The visits of a finished game."""
    entries = [(line.entry.by, line.entry.kind) for line in table.lines if line.entry.by != SERVER_NAME]
    runs = [[kind for _, kind in group] for _, group in groupby(entries, key=lambda each: each[0])]
    decided = [by for by, kind in entries if kind != "release"]
    base = sum(1 for _ in groupby(decided))
    alone = sum({*run} == {"release"} for run in runs)
    return Visits(table.course.state.round, base, len(runs) - base, alone)


def simulate(ruleset: Ruleset, deposit: tuple[bool, bool], games: int, seed: int = 0) -> Visits:
    """The visits of so many random games."""
    total = Visits()
    with stub_group():
        for number in range(games):
            table = SealedTable(ruleset, seed * 1_000_003 + number, deposit=deposit)
            table.play()
            total = total.plus(of_game(table))
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--games", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wrong = 0
    for ruleset in RULESETS:
        for deposit in DEPOSITS:
            found = simulate(ruleset, deposit, given.games, given.seed)
            wrong += all(deposit) and found.split > MOST_SPLIT
            base, added, alone = (each / found.rounds for each in found[1:])
            options = " ".join(str(each) for key, each in sorted(ruleset.to_json().items()) if key != "version")
            who = {2: "both", 1: "one", 0: "nobody"}[sum(deposit)]
            print(
                f"{options:36} {who:6} deposit: {found.rounds:4} rounds, {base:5.2f} visits, {added:.2f} added, "
                f"{alone:.2f} by a program alone, {found.split:.2f} split",
                flush=True,
            )
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
