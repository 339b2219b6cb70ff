"""The driver for jano-wol/hanamikoji, commit 19ea486: a training environment that copies each player's view."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from scripts.benchmarks.engines.driver import pick, serve


class _Agent:
    """Counts its decisions."""

    def __init__(self) -> None:
        self.decisions = 0

    def act(self, view: Any) -> Any:
        """One of the moves listed in the view."""
        self.decisions += 1
        return pick(view[1].moves)


def main(checkout: str) -> None:
    """Plays with the sources in `checkout`."""
    sys.path.insert(0, checkout)
    agent = _Agent()
    game = import_module("hanamikoji.env.game").GameEnv({"first": agent, "second": agent})

    def play() -> int:
        agent.decisions = 0
        game.card_play_init(game.get_new_round_play_data())
        while not game.winner:
            game.step()
        game.reset()
        return agent.decisions

    serve(play)


if __name__ == "__main__":
    main(sys.argv[1])
