"""What the players of a game may know of each other's letters: whether they arrive, and whether they are locked.

Only the two players are told. Nobody learns an address, or who has stopped their letters.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from hkoji_server.service.held_games import HeldGames
from hkoji_server.service.service_time import ServiceTime
from hkoji_server.store.contract import Store

LetterFault = Literal["not arriving", "locked"]
"""`locked`: the owner of the mailbox has said that it was somebody else."""


class LetterState(NamedTuple):
    """Letters to a player do not arrive, or are locked, since a time."""

    name: str
    why: LetterFault
    since: str


class LetterStates:
    """Use cases of players of a game in which the service signs for somebody."""

    def __init__(self, store: Store, held: HeldGames, time: ServiceTime) -> None:
        self._store = store
        self._held = held
        self._time = time

    async def of(self, game: str, player: str) -> tuple[LetterState, ...]:
        """Returns what is wrong with letters to the players of a game, for one of them.

        Raises `NotFoundError`, and `ForbiddenError` for everybody else.
        """
        setup = (await self._held.current(game)).refereed.course.setup
        setup.require_seat(player)
        now = await self._time.now()
        found: list[LetterState] = []
        for seat, name in enumerate(setup.names):
            if name is None or not setup.held(seat):
                continue
            box = await self._store.mailbox_of(name, now)
            if box is not None and box.state == "locked":
                found.append(LetterState(name, "locked", box.since))
            elif box is not None and box.paused is not None:
                found.append(LetterState(name, "not arriving", box.paused))
        return tuple(found)
