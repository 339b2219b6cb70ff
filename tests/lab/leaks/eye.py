"""A viewer of a story in one world, who makes the probes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hkoji.log.private_key import PrivateKey
from hkoji.rules.events import Seat
from tests.lab.leaks.stories import SEATS_OF
from tests.lab.leaks.telling import Person, Telling
from tests.lab.leaks.worlds import Request

FOREIGN: Final = PrivateKey.from_seed(b"nobody's key, to sign badly with")


@dataclass
class Eye:
    """A viewer of a story in one world, at one moment.

    Everything but the hashes is the same in every world of that viewer.
    """

    telling: Telling
    viewer: str
    legal: tuple[str, ...]
    """The viewer's own legal actions; empty when another seat decides."""
    tried: tuple[str, ...]
    """Actions to try: those seen in this game."""
    expired: str
    """A token that has expired."""
    past: str
    """A game that has ended."""

    @property
    def seat(self) -> Seat | None:
        return SEATS_OF[self.viewer]

    @property
    def me(self) -> Person:
        found = {"host": self.telling.host, "guest": self.telling.guest, "outside": self.telling.stranger}
        return found[self.viewer]

    @property
    def game(self) -> str:
        return self.telling.game

    @property
    def token(self) -> str:
        return self.me.token


Probe = Callable[[Eye, random.Random], Request]
