"""Games in memory, with everything that an append is compared with: head, deadline, gifts of time.

A game is *held* here while it is kept in memory; that has nothing to do with held keys. A held game may be behind:
another process may have appended, or kept a gift. The store's compare-and-swap notices that, and the game is read
again. So nothing here needs a lock, and any number of processes may hold the same game.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import NamedTuple

from hkoji import referee
from hkoji.errors import NotFoundError
from hkoji.game.clock import Outage, Way
from hkoji.game.course import Course
from hkoji.game.entry_kinds import GivenTime
from hkoji.log.canonical import decode_base64
from hkoji.messages.text import tell
from hkoji_server.store.contract import Store
from hkoji_server.store.time_contract import KeptStatement


class LoadedGame(NamedTuple):
    """A game as this process last saw it.

    `deadline` is that of its row, with its `way`. `statements` are those kept about its last entry, or about one before
    it whose gifts still count.
    """

    refereed: referee.RefereedGame
    deadline: str | None
    statements: tuple[KeptStatement, ...] = ()
    way: Way = Way.HTTP

    @property
    def given(self) -> tuple[KeptStatement, ...]:
        """The gifts for the entry that is due, from the opponent of the seat that owes it, as they are kept."""
        course = self.refereed.course
        if not self.statements or course.actor is None:
            return ()
        giver = course.setup.names[1 - course.actor]
        return tuple(each for each in self.statements if each.kind == "give" and each.name == giver)

    @property
    def gifts(self) -> tuple[GivenTime, ...]:
        """The gifts for the entry that is due, as the log has them."""
        return tuple(
            GivenTime(each.head, each.seconds, decode_base64(each.sig, "signature"), each.claim)
            for each in self.given
            if each.seconds is not None
        )

    @property
    def wishes(self) -> tuple[KeptStatement, ...]:
        """The wishes to call the game off after its last entry."""
        head = self.refereed.course.head
        return tuple(each for each in self.statements if each.kind == "annul" and each.head == head)

    def counting(self, outages: tuple[Outage, ...], at: str) -> tuple[Outage, ...]:
        """Returns those `outages` that may count for an entry that is decided at `at`.

        They are all known ones, in the order in which they ended.
        """
        clock = self.refereed.course.clock
        since = at if clock is None else min(clock.pace.since, at)
        first = len(outages)
        while first and outages[first - 1].until > since:
            first -= 1
        return outages[first:]

    def due(self, outages: tuple[Outage, ...]) -> str | None:
        """Returns until when the entry that is due can come, or a guest can join; None if no time runs."""
        refereed = self.refereed
        return referee.deadline(refereed, gifts=self.gifts, outages=self.counting(outages, refereed.at))


def hold(
    refereed: referee.RefereedGame,
    deadline: str | None,
    statements: Collection[KeptStatement] = (),
    way: Way = Way.HTTP,
) -> LoadedGame:
    """Returns a game with those of the `statements` that still count."""
    if not statements:
        return LoadedGame(refereed, deadline, (), way)
    heads = valid_heads(refereed)
    return LoadedGame(refereed, deadline, tuple(each for each in statements if each.head in heads), way)


def way_of_deadline(course: Course, invited: Way) -> Way:
    """Returns the way of a game's deadline: the one open to the seat that owes the next entry.

    Before a player has joined it is `invited`, the way open to the player who is invited.
    """
    return invited if course.actor is None else course.setup.way(course.actor)


def valid_heads(refereed: referee.RefereedGame) -> tuple[str, ...]:
    """Returns the heads about which a statement still counts; of a finished game, none."""
    course = refereed.course
    if course.finished:
        return ()
    # A gift outlasts a change of keys. The wish to call a game off does not; it names the last entry.
    return (*course.clock.heads, course.head) if course.clock is not None else (course.head,)


class LoadedGames:
    """At most `most` games, those that were used last."""

    def __init__(self, store: Store, most: int) -> None:
        self._store = store
        self._most = most
        self._games: OrderedDict[str, LoadedGame] = OrderedDict()

    async def recall(self, game: str) -> tuple[LoadedGame, bool]:
        """Returns a game as this process last saw it, and whether it has just been read. Raises `NotFoundError`."""
        held = self._games.get(game)
        if held is not None:
            self._games.move_to_end(game)
            return held, False
        return await self._read(game), True

    async def current(self, game: str) -> LoadedGame:
        """Returns a game whose log is as the store has it now."""
        held, current = await self.recall(game)
        course = held.refereed.course
        if current or await self._store.head(game) == (course.seq, course.head):
            return held
        return await self.refresh(held)

    async def at_head(self, game: str, head: str) -> LoadedGame:
        """Returns a game at `head`, which the store has just returned, or later."""
        held, current = await self.recall(game)
        return held if current or held.refereed.course.head == head else await self.refresh(held)

    async def read(self, game: str) -> LoadedGame:
        """Returns a game of which everything is as the store has it now. Raises `NotFoundError`."""
        held, current = await self.recall(game)
        return held if current else await self.refresh(held)

    async def refresh(self, held: LoadedGame) -> LoadedGame:
        """Returns a game with everything that the store has now. Raises `NotFoundError`."""
        refereed = held.refereed
        game = refereed.course.setup.game
        history = await self._store.history(game, refereed.course.seq)
        if history is None:
            self.forget(game)
            raise NotFoundError(tell("game"), game)
        if history.lines:
            refereed = referee.catch_up(refereed, history.lines, history.secrets.openings)
        return self.keep(hold(refereed, history.deadline, history.statements, history.way))

    async def remove_void(self, game: str) -> int:
        """Removes the statements about a game that count no more. Returns how many there were."""
        # Read before the game: an entry that has passed never becomes the last one again.
        kept = await self._store.statements(game)
        try:
            heads = valid_heads((await self.read(game)).refereed)
        except NotFoundError:
            return 0
        gone = [each for each in kept if each.head not in heads]
        return sum([await self._store.remove_statement(game, each.head, each.kind, each.name) for each in gone])

    async def _read(self, game: str) -> LoadedGame:
        history = await self._store.history(game)
        if history is None:
            raise NotFoundError(tell("game"), game)
        refereed = referee.resume(history.lines, history.secrets.seed, history.secrets.openings)
        return self.keep(hold(refereed, history.deadline, history.statements, history.way))

    def keep(self, held: LoadedGame) -> LoadedGame:
        """Holds a game unless a later entry of it is held, and returns it."""
        game = held.refereed.course.setup.game
        before = self._games.get(game)
        if before is None or before.refereed.course.seq <= held.refereed.course.seq:
            self._games[game] = held
        self._games.move_to_end(game)
        while len(self._games) > self._most:
            self._games.popitem(last=False)
        return held

    def forget(self, game: str) -> None:
        """Forgets a game that the store does not have."""
        self._games.pop(game, None)
