"""OpenSpiel: C++ games driven from Python. Chance is drawn from the outcomes that the game lists, by the caller.

The drawing is what costs least: OpenSpiel's own examples use `numpy.random.choice`, which `--numpy` does here too.
"""

from __future__ import annotations

import sys

from scripts.benchmarks.engines.driver import chance, pick, serve


def main(game: str, numpy_chance: bool) -> None:
    """Plays the game of that short name with its default parameters."""
    import numpy  # type: ignore[import-not-found, unused-ignore]
    import pyspiel  # type: ignore[import-not-found, unused-ignore]

    loaded = pyspiel.load_game(game)

    def play() -> int:
        decisions = 0
        state = loaded.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                actions, weights = zip(*state.chance_outcomes(), strict=True)
                if numpy_chance:
                    state.apply_action(numpy.random.choice(actions, p=weights))
                else:
                    state.apply_action(chance.choices(actions, weights)[0])
            else:
                state.apply_action(pick(state.legal_actions()))
                decisions += 1
        return decisions

    serve(play)


if __name__ == "__main__":
    main(sys.argv[1], "--numpy" in sys.argv)
