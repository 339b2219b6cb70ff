"""Measures how strong the bots are, and how long they think: the figures of docs/bots.md.

    python -m scripts.bench.bots                              every pair of `PAIRS` at both games, 1000 deals each
    python -m scripts.bench.bots --deals 100 --jobs 2         fewer, by two processes
    python -m scripts.bench.bots --pair search greedy --game geishas-road
    python -m scripts.bench.bots --markers 4000               how often a round's starter wins each geisha

Matches are the arena's: every deal is played twice with the seats exchanged, and the same seed gives the same games.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from typing import Final

from hkoji.arena.match import play
from hkoji.arena.plan import MatchPlan
from hkoji.arena.results import MatchTally
from hkoji.bots.hanamikoji.judgement import HanamikojiJudgement
from hkoji.bots.hanamikoji.model import ALL_CARDS, KINDS, HanamikojiSide, hand_of, leads, play_out
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.actions import CHARM, PACK
from hkoji.rules.hanamikoji.ruleset import DRAWS, HAND, Hanamikoji
from hkoji.rules.protocol import Ruleset

GAMES: Final[dict[str, Ruleset]] = {"hanamikoji": Hanamikoji(), "geishas-road": GeishasRoad()}
PAIRS: Final = (
    ("greedy", "random"),
    ("search:easy", "greedy"),
    ("search:normal", "greedy"),
    ("search", "greedy"),
    ("search", "search:easy"),
    ("search", "search:normal"),
)
SEED: Final = "measure"


def main() -> None:
    """Prints a row of a table as soon as its match has been played."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deals", type=int, default=1000, help="deals of each match; each makes two games")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--game", choices=sorted(GAMES), action="append", help="only this game")
    parser.add_argument("--pair", nargs=2, action="append", metavar="BOT", help="only these two bots")
    parser.add_argument(
        "--markers", type=int, metavar="ROUNDS", help="measure how often the starter wins each geisha instead"
    )
    options = parser.parse_args()
    if options.markers:
        print_markers(options.markers)
        return
    print("| game | bots | games | score | 95 % by games | 95 % by deals | ms, p95 of the first | of the second |")
    print("|---|---|---|---|---|---|---|---|")
    for game in options.game or GAMES:
        for one, other in options.pair or PAIRS:
            print(row(MatchPlan((one, other), GAMES[game], options.deals, options.seed), options.jobs), flush=True)


def row(plan: MatchPlan, jobs: int) -> str:
    """A match as a row: the score is the first bot's."""
    tally = MatchTally()
    for played in play(plan, jobs=jobs):
        tally.add(played)
    figures = tally.figures()
    first, second = figures.sides
    times = [f"{side.median or 0:.1f}, {side.p95 or 0:.1f}" for side in (first, second)]
    deals = first.by_deals
    by_deals = f"{deals.low:.1%} to {deals.high:.1%}" if deals else ""
    return (
        f"| {plan.ruleset.name} | {plan.bots[0]} against {plan.bots[1]} | {figures.games} | {first.score:.1%} "
        f"| {first.by_games.low:.1%} to {first.by_games.high:.1%} | {by_deals} | {times[0]} | {times[1]} |"
    )


def print_markers(rounds: int) -> None:
    """By charm: how often a round's starter has more of a geisha's items at the end, and how often the other player."""
    more: Counter[int] = Counter()
    less: Counter[int] = Counter()
    for number in range(rounds):
        for charm, ahead in zip(CHARM, _leads(number), strict=True):
            more[charm] += ahead > 0
            less[charm] += ahead < 0
    for charm in sorted(set(CHARM)):
        times = rounds * CHARM.count(charm)
        print(f"charm {charm}: starter {more[charm] / times:.3f}, other {less[charm] / times:.3f}")


def _leads(number: int) -> tuple[int, ...]:
    """The starter's leads at the end of a first round that both sides play by their quick judgement."""
    deck = [hand_of(kind) for _, kind in PACK.deck()]
    random.Random(f"{SEED}/{number}").shuffle(deck)
    sides = [HanamikojiSide(sum(deck[at : at + HAND]), 0, 0, ALL_CARDS) for at in (0, HAND)]
    judges = HanamikojiJudgement(CHARM, [0] * KINDS), HanamikojiJudgement(CHARM, [0] * KINDS)
    return leads(play_out((sides[0], sides[1]), 0, deck[2 * HAND : 2 * HAND + DRAWS], 0, judges))


if __name__ == "__main__":
    main()
