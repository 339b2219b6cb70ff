"""`random`: chooses a kind of action at random, then an action of that kind.

Otherwise competitions, which are the most numerous, would crowd out the other kinds.
"""

from __future__ import annotations

import random

from hkoji.bots.protocol import Seen


class RandomBot:
    """Plays at random; the same seed gives the same play."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def decide(self, seen: Seen) -> str:
        """Returns a random legal action."""
        actions = seen.view.legal_actions()
        kind = self._random.choice(sorted({action[0] for action in actions}))
        return self._random.choice([action for action in actions if action[0] == kind])

    def close(self) -> None:
        """Does nothing: the bot holds no resources."""
