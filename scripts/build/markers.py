"""Builds tests/data/hanamikoji.markers: the winner for each of the 3^7 positions of the favour markers.

    python -m scripts.build.markers           write the file
    python -m scripts.build.markers --check   fail if the file differs

It uses nothing of hkoji: the scoring is that of the naive referee, written from the rulebooks.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

from scripts.build.golden import main
from tests.support.naive_hanamikoji import CHARM, at_the_limit, favours, goal

FOLDER: Final = Path(__file__).parents[2] / "tests" / "data"
HEAD: Final = """\
# Where the favour markers of A to G are (0 host, 1 guest, . middle); charm of host and guest; geisha of host and guest;
# the winning goal that is reached (- none, else winner and goal); and where none is, who wins at the round limit with
# the tie-break geisha and with the tie-break charm (= shared). Built by scripts/build/markers.py.
"""


def line(sides: tuple[int | None, ...]) -> str:
    """One position."""
    markers = dict(zip(CHARM, sides, strict=True))
    host, guest = favours(markers, 0), favours(markers, 1)
    shown = "".join("." if side is None else str(side) for side in sides)
    totals = f"{sum(host):2} {sum(guest):2}  {len(host)} {len(guest)}"
    reached = goal(markers)
    if reached is not None:
        reason, winner = reached
        return f"{shown}  {totals}  {winner} {reason}\n"
    limits = [at_the_limit(markers, tiebreak) for tiebreak in ("geisha", "charm")]
    return f"{shown}  {totals}  -  {' '.join('=' if winner is None else str(winner) for winner in limits)}\n"


def build() -> dict[str, str]:
    """The file's name and contents."""
    lines = (line(sides) for sides in itertools.product((None, 0, 1), repeat=7))
    return {"hanamikoji.markers": HEAD + "".join(lines)}


if __name__ == "__main__":
    main("markers", FOLDER, build)
