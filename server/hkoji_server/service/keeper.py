"""The keeper ends games whose time is over, offers that have expired, and invitations that nobody can accept any more.

Each process has one. docs/spec/log.md, "Timeouts". A timeout is an append like any other: of several keepers that try
it, exactly one succeeds, and a move that was written first makes it fail. So keepers need no lease and no leader.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Final

from hkoji import referee
from hkoji.errors import ClockError, ConflictError, HkojiError, StorageError
from hkoji.game.clock import Way, format_time, parse_time
from hkoji.game.course import Course
from hkoji.game.entry_kinds import Invite
from hkoji.game.entry_kinds.time import LapseReason
from hkoji.log.private_key import Signer
from hkoji_server.log import log
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.service.decision import TRIES, undecided, write_own
from hkoji_server.service.loaded_games import LoadedGames
from hkoji_server.service.service_time import ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.time_contract import StaleDecisionError

KEEPER_PACE: Final = 20.0
"""The seconds between two looks, on average."""
_SPREAD: Final = 0.25
_MOST_OVERDUE: Final = 50
"""How many games are looked at together."""
_PUT_OFF: Final = 3600.0
"""For how many seconds this process leaves a game alone that it could not end."""

_PUT_OFF_BRIEFLY: Final = 60.0
"""The same if the store has failed, perhaps only now."""


class Keeper:
    """Ends games `slack` seconds after their deadline, those with a deadline of one of the `ways`.

    A game is ended only if entries that come the way of its deadline have been taken after that: so nobody loses
    because one process was away. `failed` is called for each game that could not be ended.
    """

    def __init__(
        self,
        store: Store,
        held: LoadedGames,
        time: ServiceTime,
        sources: ClockAndEntropy,
        signer: Signer,
        *,
        slack: int,
        ways: Sequence[Way] = tuple(Way),
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._held = held
        self._time = time
        self._sources = sources
        self._signer = signer
        self._slack = slack
        self._ways = ways
        self._failed = failed
        self._put_off: dict[str, float] = {}
        self._store_failed = False
        """Whether the store has failed for one game of this look."""

    async def look(self) -> int:
        """Ends all games whose time is over, and returns how many this process has ended.

        Raises `ClockError` and `StorageError`: then it has not looked at all games.
        """
        self._store_failed = False
        return sum([await self._look(way) for way in self._ways])

    async def _look(self, way: Way) -> int:
        ended = 0
        while True:
            at = await self._time.now()
            # What came in time and is not in the log yet has until then to get there.
            before = min(format_time(parse_time(at) - self._slack), await self._time.drained())
            before = await self._time.taken_until(way, before)
            elapsed = self._sources.elapsed()
            self._put_off = {game: until for game, until in self._put_off.items() if until > elapsed}
            limit = _MOST_OVERDUE + len(self._put_off)
            games = await self._store.overdue(way, before, limit)
            for game in games:
                if game not in self._put_off:
                    ended += await self._end_or_put_off(game, way, before)
            # A game that is not over any more is not found again; each of the others has been put off.
            if len(games) < limit:
                return ended

    async def _end_or_put_off(self, game: str, way: Way, before: str) -> bool:
        try:
            return await self._end(game, way, before)
        except ClockError:
            raise
        except Exception as error:  # whatever it is, other games must not wait for it
            pause = _PUT_OFF
            if isinstance(error, StorageError):
                if self._store_failed:  # then it is not the game
                    raise
                self._store_failed, pause = True, _PUT_OFF_BRIEFLY
            self._put_off[game] = self._sources.elapsed() + pause
            self._failed()
            reason = str(error) if isinstance(error, HkojiError) else type(error).__name__
            log.error("could not end a game whose time is over", game=game, reason=reason)
            return False

    async def _end(self, game: str, way: Way, before: str) -> bool:
        """Ends a game whose deadline of that way is before that time, or corrects it.

        Or one that invites a key that has been revoked. Returns whether this process has ended it.
        """
        for _ in range(TRIES):
            held = await self._held.read(game)
            if held.way is not way:  # a move has come meanwhile; `before` says nothing about the other way
                return False
            at, outages = await self._time.time_of_record(), self._time.outages
            course = held.refereed.course
            due = held.due(outages)
            # A move, a gift or an outage may have moved it on, perhaps to a time that has only just passed.
            over = due is not None and due < before and due == held.deadline
            try:
                if not over and await self._invites_a_revoked_key(course):
                    accepted = referee.lapse(held.refereed, LapseReason.DECLINED, signer=self._signer, at=at)
                elif not over:
                    await self._store.set_deadline(game, course.head, held.deadline, due)
                    self._held.keep(held._replace(deadline=due))
                    return False
                elif course.joinable:
                    accepted = referee.lapse(held.refereed, LapseReason.EXPIRED, signer=self._signer, at=at)
                else:
                    accepted = referee.timeout(
                        held.refereed, signer=self._signer, at=at, gifts=held.gifts, outages=outages
                    )
                await write_own(self._store, self._held, held, accepted, outages)
            except (ConflictError, StaleDecisionError):
                await self._time.read_outages()
            else:
                log.info("ended a game", game=game, because=accepted.lines[0].entry.kind)
                return True
        raise undecided()

    async def _invites_a_revoked_key(self, course: Course) -> bool:
        """Returns whether a game waits for a player to join with a key that has been revoked, so that nobody can."""
        invite = course.setup.invite
        if not course.joinable or not isinstance(invite, Invite) or invite.key is None:
            return False
        retired = await self._store.retired(invite.key.text)
        return retired is not None and retired.revoked


async def keep_at_intervals(keeper: Keeper, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """Looks until it is cancelled."""
    # Processes that were started together do not look together.
    chance = Random()  # noqa: S311 # no secret
    while True:
        await pause(KEEPER_PACE * chance.uniform(1 - _SPREAD, 1 + _SPREAD))
        try:
            await keeper.look()
        except HkojiError as error:
            log.warning("could not look for games whose time is over", reason=str(error))
