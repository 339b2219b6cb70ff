"""The driver for WillDinauer/Hanamikoji-Game, commit f4aa018: a training environment that checks nothing.

Its actions are places in the hand, from a table made beforehand, so two copies of a card count as two; its state is
the live one. It asks for Gym, of which only the name of a base class is used, and for Matplotlib, which plots
nothing here: the one is Gymnasium, the other empty.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from scripts.benchmarks.engines.driver import pick, serve


def main(checkout: str) -> None:
    """Plays with the sources in `checkout`."""
    sys.modules["gym"] = import_module("gymnasium")
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.ticker"):
        sys.modules[name] = ModuleType(name)
    sys.path.insert(0, checkout)
    tables: Any = import_module("utils")
    agent: Any = import_module("RandomAgent").RandomAgent
    environment = import_module("HanamikojiEnvironment").HanamikojiEnvironment(agent(0), agent(1))
    listed, table = tables.get_possible_actions, tables.precompute_possibilities()

    def play() -> int:
        decisions = 0
        state, over = environment.reset(), False
        while not over:
            state, _, over, _ = environment.step(pick(listed(state, table, state["active"])))
            decisions += 1
        return decisions

    serve(play)


if __name__ == "__main__":
    main(sys.argv[1])
