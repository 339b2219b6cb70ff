"""The driver for dfomin/hanamikoji-engine, commit 6216bca: one mutable state; actions are listed and applied."""

from __future__ import annotations

import sys
from importlib import import_module

from scripts.benchmarks.engines.driver import pick, serve


def main(checkout: str) -> None:
    """Plays with the sources in `checkout`."""
    sys.path.insert(0, checkout)
    game, state_type = import_module("hanamikoji.game").Game, import_module("hanamikoji.state").State

    def play() -> int:
        decisions = 0
        state = state_type()
        while not state.is_finished():
            game.apply_action(state, pick(game.get_available_actions(state)))
            decisions += 1
        return decisions

    serve(play)


if __name__ == "__main__":
    main(sys.argv[1])
