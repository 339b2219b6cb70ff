"""Builds tests/data/*.perft: for some positions, the number of ways to go on for so many decisions.

    python -m scripts.build.perft           write the files
    python -m scripts.build.perft --check   fail if the files differ

It uses nothing of hkoji: the naive referees count. Positions reached in several ways are counted once and cached,
because the longer counts would otherwise take hours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scripts.build.golden import main
from tests.support import naive_geishas_road, naive_hanamikoji
from tests.support.naive import Naive, Table

FOLDER: Final = Path(__file__).parents[2] / "tests" / "data"
HEAD: Final = """\
# A position; then for 1, 2, 3 … decisions the number of ways to make them, up to the end of the round at most.
# A position is who starts (host or guest), the deal ({places}), and the
# decisions made so far. Draws are made when they are due and are no decisions. Built by scripts/build/perft.py.
"""
END: Final = 99
Positions = dict[str, dict[str, int]]
"""For each title, positions and the number of decisions to count; `END` is more than a round has."""

_ONES: Final = "host =ABCDEF/ABCDEF/GGDEFFGG/G"
_COPIES: Final = "host =FGGGGG/DDDEEE/FFFABCAB/C"
_PAIRS: Final = "guest =AABBCC/DDEEFF/GFGDEGFG/G"
HANAMIKOJI: Final[Positions] = {
    "One of each in both hands: the first player has 7 + 21 + 35 + 105 = 168 actions.": {_ONES: 4},
    "Most copies in one hand: few different actions.": {_COPIES: 6},
    "The guest starts.": {_PAIRS: 4},
    "An offer waits, with three answers, with two, with one.": {
        f"{_ONES} 3ABC": 4,
        f"{_ONES} 4ABCG": 4,
        f"{_COPIES} 3GGG": 6,
        f"{_COPIES} 4FGFG": 6,
    },
    "Half a round is over.": {
        f"{_ONES} 1A 1G 2BC 2EF": END,
        f"{_ONES} 3ABC-A 3EFG-E 4DEFG-DE 4BCDE-DE": END,
        f"{_PAIRS} 4DEFG-DE 4ABCF-CF 3EFG-G 3ABC-B": END,
    },
    "The end of a round; the last action is no choice, and yet it is taken.": {
        f"{_ONES} 1A 1G 2BC 2EF 3DEF-E 3ABC-B": END,
        f"{_ONES} 4ABCD-AB 4ABCD-AB 3EFG-E 3EFG-E 2DF 2EF": END,
        f"{_ONES} 4ABCD-AB 4ABCD-AB 3EFG-E 3EFG-E 2DF 2EF 1G": END,
    },
}

_MIXED: Final = "host =A1B1B4C1D1D2/A2A4B3D4E3E4/C3D3E1C2E2C4B2A3"
_CHOSEN: Final = f"{_MIXED} !A !B"
_LATE: Final = f"{_CHOSEN} IA1B4 RB3 GC1C3D2-C1 GD3D4E3-D4 RD1 IC4A4"
_EVEN: Final = "guest =A1B1C1D1E1A2/B2C2D2E2A3B3/C3D3E3A4B4C4D4E4"
GEISHAS_ROAD: Final[Positions] = {
    "Five markers, then four, then 7 + 42 + 35 + 105 = 189 actions.": {_MIXED: 3, _EVEN: 3},
    "The markers are chosen.": {_CHOSEN: 2, f"{_EVEN} !E !D": 2},
    "An offer waits: three answers to a gift; a competition of which neither pair has an order, one has, both have.": {
        f"{_CHOSEN} GA1B1C1": 3,
        f"{_CHOSEN} CA1B1C1D1": 3,
        f"{_CHOSEN} RB4 RD4 CA1C1D1D2": 3,
        f"{_LATE} CB1B2E1E2": END,
    },
    "An order is due.": {f"{_LATE} CB1B2E1E2-B2B1": END, f"{_LATE} CB1B2E1E2-B1B2": END},
    "Half a round is over.": {
        f"{_CHOSEN} IA1B4 RB3 GC1C3D2-C1 GD3D4E3-D4": END,
        f"{_EVEN} !A !B CB2C2D2E2-B2C2 CA1B1C1D1-A1B1 IA3B3 IA2E1": END,
    },
    "The end of a round; the last action is no choice, and yet it is taken.": {
        _LATE: END,
        f"{_CHOSEN} CA1B1C1D1-A1B1 CA2A4B3D4-A2A4 GB4C3D2-B4 GC2D3E3-C2 IE1E2 IC4E4": END,
        f"{_CHOSEN} CA1B1C1D1-A1B1 CA2A4B3D4-A2A4 GB4C3D2-B4 GC2D3E3-C2 IE1E2 IC4E4 RB2": END,
    },
}


@dataclass(frozen=True)
class Counted:
    """The counts for one game."""

    naive: Naive
    places: str
    positions: Positions
    key: Callable[[Table], str]
    """Everything on which the later decisions depend."""


def hanamikoji_key(game: Table) -> str:
    """Hands, actions, offer and draws; the cards already played have no effect on what is legal."""
    hands = ["".join(sorted(hand)) for hand in game["hands"]]
    return f"{hands} {game['unused']} {game['turn']} {game['offer']} {''.join(game['deck'])}"


def geishas_road_key(game: Table) -> str:
    """As in Hanamikoji, plus the markers to be chosen, and the road, on which it depends whether the order of two cards
    matters."""
    picks = [game[key] for key in ("to_pick_marker", "to_pick_starter", "markers", "left")]
    road = [game[key] for key in ("walked", "homecomings", "light", "dark")]
    return f"{hanamikoji_key(game)} {picks} {road}"


FILES: Final = {
    "hanamikoji.perft": Counted(
        naive_hanamikoji, "seat 0 / seat 1 / draws in turn / the card removed", HANAMIKOJI, hanamikoji_key
    ),
    "geishas-road.perft": Counted(
        naive_geishas_road, "seat 0 / seat 1 / draws in turn", GEISHAS_ROAD, geishas_road_key
    ),
}


class Counter:
    """Counts from one position; caches the counts."""

    def __init__(self, counted: Counted) -> None:
        self.naive, self.key = counted.naive, counted.key
        self.memo: dict[tuple[int, str], int] = {}

    def game_at(self, position: str) -> Table:
        """The game after a position's decisions and, if one is due, the draw."""
        starter, dealt, *tokens = position.split(" ")
        game = self.naive.new_game(["host", "guest"].index(starter))
        self.naive.deal(game, *dealt.removeprefix("=").split("/"))
        self.draw(game)
        for token in tokens:
            for move in re.findall(r"^[^->]+|[->][^->]+", token):
                if move not in self.naive.moves(game):
                    raise ValueError(f"{move} is not legal in {position}")
                self.play(game, move)
        return game

    def draw(self, game: Table) -> None:
        """Makes the draw, if one is due."""
        if self.naive.draw_is_due(game):
            self.naive.draw(game)

    def play(self, game: Table, move: str) -> None:
        """Makes a decision, and the draw for the next one."""
        self.naive.decide(game, move)
        self.draw(game)

    def count(self, game: Table, depth: int) -> int:
        """The number of sequences of `depth` decisions."""
        if self.naive.round_is_over(game):
            return 0
        moves = self.naive.moves(game)
        if depth == 1:
            return len(moves)
        total = 0
        for move in moves:
            after = self.naive.copy_of(game)
            self.play(after, move)
            key = (depth - 1, self.key(after))
            if key not in self.memo:
                self.memo[key] = self.count(after, depth - 1)
            total += self.memo[key]
        return total


def line(counted: Counted, position: str, depths: int) -> str:
    """A position and its counts."""
    counter = Counter(counted)
    game, counts = counter.game_at(position), []
    for depth in range(1, depths + 1):
        number = counter.count(game, depth)
        if number == 0:
            break
        counts.append(number)
    return f"{position} ; {' '.join(str(number) for number in counts)}\n"


def build() -> dict[str, str]:
    """The files' contents, by name."""
    files = {}
    for name, counted in FILES.items():
        parts = [HEAD.format(places=counted.places)]
        for title, positions in counted.positions.items():
            parts.append(f"\n# {title}\n")
            parts.extend(line(counted, position, depths) for position, depths in positions.items())
        files[name] = "".join(parts)
    return files


if __name__ == "__main__":
    main("perft", FOLDER, build)
