"""The service sends the `seed` that a held seat owes, from the entropy that it has drawn for it.

Nobody has to be asked for that, so no letter is needed, and none could hold it up. The process that has appended what
makes it due sends it at once; each process that has a keeper looks for what others have left. Of several that send the
same entry, one succeeds. The draft of the seat's `open` or `join` has the entropy until
its `seed` is on record.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from random import Random
from typing import Final

from hkoji.errors import ClockError, ConflictError, HkojiError, NotFoundError
from hkoji.game import entry_kinds
from hkoji.game.commitments import entropy_commit
from hkoji.game.course import Course
from hkoji.game.held_keys import NO_MAIL
from hkoji.game.submission import draft_entry
from hkoji.log.private_key import PrivateKey
from hkoji.rules.events import Seat
from hkoji_server.log import log
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.service.games import Games
from hkoji_server.service.loaded_games import LoadedGames
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import MailDraft

SEED_PACE: Final = 5.0
"""The seconds between two looks, on average."""
_SPREAD: Final = 0.25
_MOST_DRAFTS: Final = 100
"""How many drafts are looked at together."""


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
        while drafts := await self._store.drafts_with_entropy(after, _MOST_DRAFTS):
            for draft in drafts:
                sent += await self._send(draft)
            after = drafts[-1].game, drafts[-1].source
        return sent

    async def send(self, game: str) -> int:
        """Sends the `seed` that is owed in a game, and returns how many this process has sent.

        Raises `ClockError` and `StorageError`.
        """
        return sum([await self._send(each) for each in await self._store.drafts(game) if each.entropy is not None])

    async def _send(self, draft: MailDraft) -> bool:
        try:
            held = await self._held.current(draft.game)
        except NotFoundError:
            return False
        course = held.refereed.course
        seat = course.setup.seat_of(draft.name)
        assert draft.entropy is not None
        # A draft whose own entry never got into the log has entropy that nobody has committed to.
        if seat is None or course.setup.entropy_commits[seat] != entropy_commit(draft.game, seat, draft.entropy):
            return False
        if course.setup.entropy[seat] is not None or course.finished:
            await self._store.forget_entropy(draft.game, draft.source)
            return False
        if course.seed_seat != seat or (key := await self._key(course, seat)) is None:
            return False
        body = entry_kinds.Seed(draft.entropy, NO_MAIL)
        entry = draft_entry(course, body, by=draft.name, at=self._sources.at(), seen=held.refereed.at)
        try:
            await self._games.submit(draft.game, entry.sign(key))
        except ClockError:
            raise
        except ConflictError:  # another process was faster
            return False
        except HkojiError as error:
            log.error("could not send the seed of a held seat", game=draft.game, reason=str(error))
            return False
        await self._store.forget_entropy(draft.game, draft.source)
        return True

    async def _key(self, course: Course, seat: Seat) -> PrivateKey | None:
        held_key = course.setup.held_key(seat)
        kept = None if held_key is None else await self._store.held_key(held_key.gateway.key.text)
        return None if kept is None else PrivateKey.from_openssh(kept.private.encode())


async def send_seeds_at_intervals(seeds: HeldSeeds, due: asyncio.Queue[str]) -> None:
    """Looks at intervals, and at once into the games that are `due`, until it is cancelled."""
    # Processes that were started together do not look together.
    chance, time = Random(), asyncio.get_running_loop().time  # noqa: S311 # no secret
    until = time() + SEED_PACE * chance.uniform(1 - _SPREAD, 1 + _SPREAD)
    while True:
        game = None
        with suppress(TimeoutError):
            game = await asyncio.wait_for(due.get(), max(0, until - time()))
        try:
            if game is not None:
                await seeds.send(game)
            if time() >= until:
                until = time() + SEED_PACE * chance.uniform(1 - _SPREAD, 1 + _SPREAD)
                await seeds.look()
        except HkojiError as error:
            log.warning("could not look for seeds that held seats owe", reason=str(error))
