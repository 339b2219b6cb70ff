"""Whether positions and copies of sealed games tell nothing: statistics over many deals.

    python -m tests.lab.sealed.uniform --deals 20000

The card at each position is what both orders make of the deck. It must be as often each card, also if one of the two
players always has the same order. Of several cards of a kind, the copy that is played first must be as often each copy,
however many of them the player holds. A figure over 5 is wrong: it says how many standard deviations the chi-square of
a table is above its mean.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Mapping
from math import sqrt
from typing import Any, Final

from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.sealed.cards import card_points
from hkoji.sealed.seal import Seal

CARDS: Final = card_points("hanamikoji", Hanamikoji.pack).cards
FIXED: Final = {"nobody": (), "the host": (0,), "the guest": (1,)}
MOST: Final = 5.0


def deviation(counts: Mapping[Any, int], cells: int, expected: float) -> float:  # Any: cells of any sort
    """How many standard deviations chi-square is above its mean, for cells of which each is expected so often."""
    chi = sum((found - expected) ** 2 / expected for found in counts.values())
    chi += (cells - len(counts)) * expected
    return (chi - cells) / sqrt(2 * cells)


def positions(deals: int, fixed: tuple[int, ...], rng: random.Random) -> float:
    """The figure of cards by position; the seats `fixed` have the same order in all deals."""
    size, counts = len(CARDS), Counter[tuple[int, int]]()
    kept = {seat: order(rng, seat) for seat in fixed}
    for _ in range(deals):
        host, guest = (kept.get(seat) or order(rng, seat) for seat in (0, 1))
        counts.update((position, host[index]) for position, index in enumerate(guest))
    return deviation(counts, size * size, deals / size)


def order(rng: random.Random, seat: int) -> list[int]:
    """The order of a lock with fresh secrets."""
    seal = Seal(rng.randbytes(32), rng.randbytes(16).hex(), seat)
    prev, entropy, salt = (rng.randbytes(32).hex() for _ in range(3))
    return seal.lock_order(len(CARDS), 1, prev, entropy, salt)


def copies(deals: int, rng: random.Random) -> dict[int, float]:
    """The figure of the first copy of a kind that is played, by the number of copies that are held."""
    counts: dict[int, Counter[str]] = {held: Counter() for held in range(1, 6)}
    kind = [card for card in CARDS if card[0] == "G"]
    for _ in range(deals):
        seal = Seal(rng.randbytes(32), rng.randbytes(16).hex(), 0)
        hand = [card for card in rng.sample(CARDS, 7) if card[0] == "G"]
        if hand:
            counts[len(hand)][seal.copies(hand, 1, rng.randbytes(32))[0]] += 1
    found = {held: (sum(each.values()), each) for held, each in counts.items() if sum(each.values()) >= 100}
    return {held: deviation(each, len(kind), total / len(kind)) for held, (total, each) in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--deals", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng, wrong = random.Random(given.seed), 0
    for name, fixed in FIXED.items():
        figure = positions(given.deals, fixed, rng)
        wrong += figure > MOST
        print(f"{given.deals:9,} deals, {name} has one order for all: {figure:+.2f}")
    for held, figure in copies(given.deals, rng).items():
        wrong += figure > MOST
        print(f"{given.deals:9,} hands, the first copy of {held}: {figure:+.2f}")
    print(f"{wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
