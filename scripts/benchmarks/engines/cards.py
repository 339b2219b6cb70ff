"""RLCard: card games in Python with encoded observations; a state is made for the player at every step."""

from __future__ import annotations

import sys

from scripts.benchmarks.engines.driver import pick, serve


def main(game: str) -> None:
    """Plays the environment of that name with its default options."""
    import rlcard  # type: ignore[import-not-found, unused-ignore]

    environment = rlcard.make(game)

    def play() -> int:
        decisions = 0
        state, _ = environment.reset()
        while not environment.is_over():
            state, _ = environment.step(pick(list(state["legal_actions"])))
            decisions += 1
        return decisions

    serve(play)


if __name__ == "__main__":
    main(sys.argv[1])
