"""The driver for felixbauckholt/hanamikoji, commit bbc3218: named tuples of multisets, a view for each player.

The engine calls its players and lists no actions; its own random player draws an action and then its cards, which is
cheaper than a list of all, and that is what plays here.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from scripts.benchmarks.engines.driver import serve


def main(checkout: str) -> None:
    """Plays with the sources in `checkout`."""
    sys.path.insert(0, checkout)
    play_game: Any = import_module("engine").play_game
    random_player: Any = import_module("basic_players").RobertRandom
    decisions = 0

    def counted(name: str) -> Any:
        decide = getattr(random_player, name)

        def count(*arguments: Any) -> Any:
            nonlocal decisions
            decisions += 1
            return decide(*arguments)

        return count

    names = ("choose_move", "react_move3", "react_move4")
    player = type("Counted", (random_player,), {name: counted(name) for name in names})

    def play() -> int:
        nonlocal decisions
        decisions = 0
        play_game("first", player, "second", player)
        return decisions

    serve(play)


if __name__ == "__main__":
    main(sys.argv[1])
