"""The service's own work on games at intervals: it ends games whose time is over, sends seeds, and tidies.

Each process does all of it. docs/spec/log.md, "Timeouts". A timeout is an append like any other: of several keepers
that try it, exactly one succeeds, and a move that was written first makes it fail. So keepers need no lease and no
leader.

The service sends the `seed` that a held seat owes, from the entropy that it has drawn for it, so nobody has to be
asked by a letter. The process that has appended the entry before it sends it at once; each process looks for what
others have left. The entropy is kept with the seat's `open` or `join`, until its `seed` is on record.

Tidying removes offers that nobody has opened, rows that have expired, notices to channels that were removed, messages
of games that ended long ago, and tokens, mails and invitations of play by mail. A process that finds nothing of the
others only reads. If several processes find the same, it is removed once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from hkoji import referee
from hkoji.errors import ClockError, ConflictError, HkojiError, NotFoundError, StorageError
from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY
from hkoji.game.clock import Way, format_time, parse_time
from hkoji.game.course import Course
from hkoji.game.entry_kinds import Invite
from hkoji.game.entry_kinds.time import LapseReason
from hkoji.game.submission import draft_entry
from hkoji.log.mail_claim import NO_MAIL
from hkoji.log.private_key import PrivateKey, Signer
from hkoji.rules.events import SEATS, Seat
from hkoji_server.log import log
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.loaded_games import TRIES, LoadedGames, undecided, write_own
from hkoji_server.service.games.talk import KEPT, WRITTEN
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime, about
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Removed
from hkoji_server.store.mail_tables import HeldEntropy
from hkoji_server.store.mail_values import SPENT_DAYS
from hkoji_server.store.time_contract import StaleDecisionError

KEEPER_PACE: Final = 20.0
"""The seconds between two looks for games whose time is over, on average."""
SEED_PACE: Final = 5.0
"""The seconds between two looks for seeds that are owed, on average."""
TIDY_PACE: Final = 450.0
"""The seconds between two tidyings, on average."""
_MOST_OVERDUE: Final = 50
"""How many games are looked at together."""
_MOST_TOGETHER: Final = 100
"""The entropy of how many seats is looked at together."""
_MOST_REMOVED: Final = 200
"""How many offers are removed in one transaction, for which moves may have to wait."""
_PAUSE: Final = 0.1
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
            # An entry that came in time and is not in the log yet has until then to get there.
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
    while True:
        await pause(about(KEEPER_PACE))
        try:
            await keeper.look()
        except HkojiError as error:
            log.warning("could not look for games whose time is over", reason=str(error))


class HeldSeeds:
    """Sends what held seats owe before the first card."""

    def __init__(self, store: Store, held: LoadedGames, games: Games, sources: ClockAndEntropy) -> None:
        self._store = store
        self._held = held
        self._games = games
        self._sources = sources

    async def look(self) -> int:
        """Sends each `seed` that is owed now, and returns how many this process has sent.

        Raises `ClockError` and `StorageError`: then it has not looked at all of them.
        """
        sent, after = 0, ("", "")
        while found := await self._store.held_entropy(after, _MOST_TOGETHER):
            for each in found:
                sent += await self._send(each)
            after = found[-1].game, found[-1].name
        return sent

    async def send(self, game: str) -> int:
        """Sends the `seed` that is owed in a game, and returns how many this process has sent.

        Raises `ClockError` and `StorageError`.
        """
        found = await self._store.held_entropy((game, ""), len(SEATS))
        return sum([await self._send(each) for each in found if each.game == game])

    async def _send(self, kept: HeldEntropy) -> bool:
        try:
            held = await self._held.current(kept.game)
        except NotFoundError:
            return False
        course = held.refereed.course
        seat = course.setup.seat_of(kept.name)
        if seat is None or course.setup.entropy[seat] is not None or course.finished:
            await self._store.forget_entropy(kept.game, kept.name)
            return False
        if course.seed_seat != seat or (key := await self._key(course, seat)) is None:
            return False
        body = entry_kinds.Seed(kept.entropy, NO_MAIL)
        entry = draft_entry(course, body, by=kept.name, at=self._sources.at(), seen=held.refereed.at)
        try:
            await self._games.submit(kept.game, entry.sign(key))
        except ClockError:
            raise
        except ConflictError:  # another process was faster
            return False
        except HkojiError as error:
            log.error("could not send the seed of a held seat", game=kept.game, reason=str(error))
            return False
        await self._store.forget_entropy(kept.game, kept.name)
        return True

    async def _key(self, course: Course, seat: Seat) -> PrivateKey | None:
        held_key = course.setup.held_key(seat)
        kept = None if held_key is None else await self._store.held_key(held_key.gateway.key.text)
        return None if kept is None else PrivateKey.from_openssh(kept.private.encode())


async def send_seeds_at_intervals(seeds: HeldSeeds, due: asyncio.Queue[str]) -> None:
    """Looks at intervals, and at once into the games that are `due`, until it is cancelled."""
    time = asyncio.get_running_loop().time
    until = time() + about(SEED_PACE)
    while True:
        game = None
        with suppress(TimeoutError):
            game = await asyncio.wait_for(due.get(), max(0, until - time()))
        try:
            if game is not None:
                await seeds.send(game)
            if time() >= until:
                until = time() + about(SEED_PACE)
                await seeds.look()
        except HkojiError as error:
            log.warning("could not look for seeds that held seats owe", reason=str(error))


async def remove_in_steps(store: Store, now: str, offered_before: str) -> Removed:
    """Removes offers made before a time that nobody has opened, and what has expired, and returns how many of each."""
    total = Removed()
    while True:
        removed = await store.remove_expired(now, offered_before, _MOST_REMOVED)
        total = Removed(*map(sum, zip(total, removed, strict=True)))
        if removed.offers < _MOST_REMOVED:
            return total
        await asyncio.sleep(_PAUSE)


async def _remove_all(remove: Callable[[], Awaitable[int]]) -> None:
    while await remove() >= _MOST_REMOVED:
        await asyncio.sleep(_PAUSE)


async def tidy_at_intervals(
    store: Store, sources: ClockAndEntropy, offer_lifetime: int, mail_keep_days: int | None = None
) -> None:
    """Tidies until it is cancelled. Without `mail_keep_days` nobody plays by mail.

    Mails are kept as evidence for `mail_keep_days` after the end of their game.
    """
    at = sources.at
    while True:
        await asyncio.sleep(about(TIDY_PACE, 1 / 3))
        try:
            removed = await remove_in_steps(store, at(), at(-offer_lifetime))
            # A first message comes at the latest `WRITTEN` after the end.
            talk = partial(store.remove_talk, at(-KEPT), at(WRITTEN - KEPT), _MOST_REMOVED)
            await _remove_all(talk)
            await store.remove_stray_notices()
            if mail_keep_days is not None:
                spent, ended = at(-SPENT_DAYS * DAY), at(-mail_keep_days * DAY)
                mail = partial(store.remove_old_mail, at(), spent_before=spent, ended_before=ended, most=_MOST_REMOVED)
                await _remove_all(mail)
        except HkojiError as error:
            log.warning("could not tidy", reason=str(error))
        else:
            if removed.offers:
                log.info("removed offers that were not opened", offers=removed.offers)
