"""Builds tests/data/hanamikoji.perft: from some positions, how many ways there are to go on for so many decisions.

    python -m scripts.build_perft           write the file
    python -m scripts.build_perft --check   fail if it is not what this writes

It uses nothing of hkoji: the naive referee counts. Positions that come about in several ways are counted once and
remembered, or the longer counts would take hours.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from tests.support import naive_hanamikoji as naive

FILE: Final = Path(__file__).parents[1] / "tests" / "data" / "hanamikoji.perft"
HEAD: Final = """\
# A position; then for 1, 2, 3 … decisions the number of ways to make them, up to the end of the round at most.
# A position is who starts (host or guest), the deal (seat 0 / seat 1 / draws in turn / the card removed), and the
# decisions made so far. Draws are made when they are due and are no decisions. Built by scripts/build_perft.py.
"""
END: Final = 12
ONES: Final = "host =ABCDEF/ABCDEF/GGDEFFGG/G"
COPIES: Final = "host =FGGGGG/DDDEEE/FFFABCAB/C"
PAIRS: Final = "guest =AABBCC/DDEEFF/GFGDEGFG/G"
POSITIONS: Final[dict[str, dict[str, int]]] = {
    "One of each in both hands: the first player has 7 + 21 + 35 + 105 = 168 actions.": {ONES: 4},
    "Most copies in one hand: few different actions.": {COPIES: 6},
    "The guest starts.": {PAIRS: 4},
    "An offer waits, with three answers, with two, with one.": {
        f"{ONES} 3ABC": 4,
        f"{ONES} 4ABCG": 4,
        f"{COPIES} 3GGG": 6,
        f"{COPIES} 4FGFG": 6,
    },
    "Half a round is over.": {
        f"{ONES} 1A 1G 2BC 2EF": END,
        f"{ONES} 3ABC-A 3EFG-E 4DEFG-DE 4BCDE-DE": END,
        f"{PAIRS} 4DEFG-DE 4ABCF-CF 3EFG-G 3ABC-B": END,
    },
    "The end of a round; the last action is no choice, and yet it is taken.": {
        f"{ONES} 1A 1G 2BC 2EF 3DEF-E 3ABC-B": END,
        f"{ONES} 4ABCD-AB 4ABCD-AB 3EFG-E 3EFG-E 2DF 2EF": END,
        f"{ONES} 4ABCD-AB 4ABCD-AB 3EFG-E 3EFG-E 2DF 2EF 1G": END,
    },
}
"""For each title, positions and how many decisions to count."""


def game_at(position: str) -> naive.Table:
    """The game after a position's decisions and, if one is due, the draw."""
    starter, dealt, *tokens = position.split(" ")
    game = naive.new_game(["host", "guest"].index(starter))
    naive.deal(game, *dealt.removeprefix("=").split("/"))
    naive.draw(game)
    for token in tokens:
        for move in re.findall(r"^[^-]+|-.+", token):
            if move not in naive.moves(game):
                raise ValueError(f"{move} is not legal in {position}")
            play(game, move)
    return game


def play(game: naive.Table, move: str) -> None:
    """A decision, and the draw for the next one."""
    naive.decide(game, move)
    if game["offer"] is None and not naive.round_is_over(game):
        naive.draw(game)


Memo = dict[tuple[int, str], int]


def count(game: naive.Table, depth: int, memo: Memo) -> int:
    """How many sequences of `depth` decisions there are."""
    if naive.round_is_over(game):
        return 0
    moves = naive.moves(game)
    if depth == 1:
        return len(moves)
    total = 0
    for move in moves:
        after = naive.copy_of(game)
        play(after, move)
        key = (depth - 1, key_of(after))
        if key not in memo:
            memo[key] = count(after, depth - 1, memo)
        total += memo[key]
    return total


def key_of(game: naive.Table) -> str:
    """All that the decisions to come depend on."""
    hands = ["".join(sorted(hand)) for hand in game["hands"]]
    return f"{hands} {game['unused']} {game['turn']} {game['offer']} {''.join(game['deck'])}"


def line(position: str, depths: int) -> str:
    """A position and its counts."""
    memo: Memo = {}
    game, counts = game_at(position), []
    for depth in range(1, depths + 1):
        counts.append(count(game, depth, memo))
        if counts[-1] == 0:
            counts.pop()
            break
    return f"{position} ; {' '.join(str(number) for number in counts)}\n"


def build() -> str:
    """The file's contents."""
    parts = [HEAD]
    for title, positions in POSITIONS.items():
        parts.append(f"\n# {title}\n")
        parts.extend(line(position, depths) for position, depths in positions.items())
    return "".join(parts)


def main(arguments: list[str]) -> int:
    """Writes the file, or compares it."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = build()
    if not arguments:
        FILE.write_text(text)
        return 0
    if FILE.is_file() and FILE.read_text() == text:
        return 0
    print(f"{FILE.name} is not what scripts/build_perft.py writes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
