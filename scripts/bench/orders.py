"""Measures Geisha's Road: how often the order of two cards has to be decided, and how often the turn changes hands.

    python -m scripts.bench.orders                         each bot against itself
    python -m scripts.bench.orders --bots random --games 5000 --seed 2

docs/rules/geishas-road.md defines the counts and has the results. Games are those of the arena: the same seed gives the
same figures.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Final

from hkoji.arena.plan import TABLES, MatchPlan
from hkoji.arena.referees import RulesReferee
from hkoji.bots.protocol import Watcher
from hkoji.bots.registry import make_bot
from hkoji.rules.events import SEATS
from hkoji.rules.geishas_road.ruleset import GeishasRoad, GeishasRoadState
from hkoji.rules.protocol import Due

BOTS: Final = ("random", "greedy")


def play(plan: MatchPlan, deal: int, table: str, counts: Counter[str]) -> None:
    """Plays one game and counts."""
    terms, seed = plan.deal(deal)
    dealer = terms.dealer("", plan.ruleset, seed, (None, None))
    assert dealer is not None
    referee = RulesReferee(plan.ruleset, dealer)
    bots = [make_bot(plan.bots[seat], plan.bot_seed(deal, table, seat)) for seat in SEATS]
    watchers = [Watcher(plan.ruleset, seat) for seat in SEATS]
    happened = referee.begin()
    owed: int | None = None
    while True:
        for watcher in watchers:
            watcher.watch(happened)
        state = referee.state
        assert isinstance(state, GeishasRoadState)
        if state.actor is None:
            break
        changed = owed is not None and owed != state.actor
        counts["hand-overs in all"] += changed
        # Only within a round: not before its first action, because a player may have chosen who makes that.
        counts["hand-overs"] += changed and state.used != (0, 0)
        owed = state.actor
        action = bots[state.actor].decide(watchers[state.actor].seen)
        count(state, action, counts)
        happened = referee.decide(action)
    counts["games"] += 1
    counts["rounds"] += state.round
    for bot in bots:
        bot.close()


def count(state: GeishasRoadState, action: str, counts: Counter[str]) -> None:
    """Counts a decision."""
    counts["decisions"] += 1
    match state.due:
        case Due.ANSWER:
            legal = state.legal_actions()
            counts["gifts" if state.proposal[0] == "G" else "competitions"] += 1
            first, second = action[1:3], action[3:5]
            counts["answered pairs"] += bool(second) and f"-{second}{first}" in legal
            counts["competitions with such a pair"] += state.proposal[0] == "C" and len(legal) > 2
        case Due.ORDER:
            counts["orders"] += 1


def report(name: str, counts: Counter[str]) -> None:
    """Prints the results."""
    proposals = counts["gifts"] + counts["competitions"]
    rounds = counts["rounds"]
    print(f"{name}: {counts['games']:,} games, {rounds:,} rounds, {proposals:,} proposals")
    lines = {
        "proposals after which an order is decided": (counts["orders"], proposals),
        "answers to a competition with both orders open": (counts["answered pairs"], counts["competitions"]),
        "competitions with such a pair": (counts["competitions with such a pair"], counts["competitions"]),
    }
    for what, (number, of) in lines.items():
        rate = f"one in {of / number:.1f}" if number else "never"
        print(f"  {what:48} {number:8,} of {of:9,}   {rate}, {number / of:.2%}")
    for what, number in (
        ("decisions a round, picks included", counts["decisions"]),
        ("hand-overs in a round, from its first action on", counts["hand-overs"]),
        ("hand-overs a round in all", counts["hand-overs in all"]),
    ):
        print(f"  {what:48} {number / rounds:8.2f}")


def main() -> None:
    """Plays and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bots", nargs="+", default=BOTS, help="each plays against itself")
    parser.add_argument("--games", type=int, default=1000, help="how many games each")
    parser.add_argument("--seed", default="1", help="any text")
    options = parser.parse_args()
    for name in options.bots:
        plan = MatchPlan((name, name), GeishasRoad("random"), (options.games + 1) // 2, options.seed)
        counts = Counter[str]()
        for number in range(options.games):
            play(plan, 1 + number // 2, TABLES[number % 2], counts)
        report(name, counts)


if __name__ == "__main__":
    main()
