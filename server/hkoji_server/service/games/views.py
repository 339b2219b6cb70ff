"""Reading games: the public log and position, the views of players, the list of finished games, signed heads.

docs/spec/http.md, "Games" and "Finished games"; docs/spec/log.md, "Signed heads".

Views are cached, each for one head of its game. Processes need not inform each other: a view is served only for the
head that the store has just returned, and one for an earlier head counts as missing.

An append that was decided first may be committed last. So the list of finished games ends before the time from which
on something may still be written: later ends stand behind everything that is in it now, and a reader who continues at
the last place that they have seen misses nothing. Likewise a signed head says that no later entry has a time of record
more than 120 seconds before its time; so `ServiceTime.drained` returns that time before the head is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from hkoji import referee
from hkoji.errors import NotFoundError
from hkoji.game.clock import format_time, parse_time
from hkoji.game.commitments import Opening
from hkoji.game.course import Course, Stage
from hkoji.log import sshsig
from hkoji.log.game_statements import SignedHead, make_head
from hkoji.log.line import StoredLine
from hkoji.log.private_key import Signer
from hkoji.log.statement import View
from hkoji.messages.text import tell
from hkoji.rules.protocol import State
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.time.service_time import LATEST, ClockAndEntropy, ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import FinishedGame, GameSummary

T = TypeVar("T")

VALID: Final = 10.0
"""How many seconds a signature is shown again."""


@dataclass(frozen=True, slots=True)
class OwnView:
    """A game as a seat sees it: the signed statement of its cards, its position, and its openings."""

    view: View
    sig: bytes
    course: Course
    state: State
    legal: tuple[str, ...]
    openings: tuple[Opening, ...]


class HeadCache(Generic[T]):
    """Keeps what was made of the `most` games that were requested last, each game at one head only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[str, dict[str | None, T]]] = OrderedDict()

    def get(self, game: str, head: str, viewer: str | None = None) -> T | None:
        """Returns what was made for `viewer` of a game at `head`."""
        kept = self._kept.get(game)
        if kept is None or kept[0] != head:
            return None
        self._kept.move_to_end(game)
        return kept[1].get(viewer)

    def keep(self, game: str, head: str, made: T, viewer: str | None = None) -> None:
        """Keeps what was made, and forgets what was made of the game at another head."""
        kept = self._kept.get(game)
        if kept is None or kept[0] != head:
            kept = self._kept[game] = (head, {})
        kept[1][viewer] = made
        self._kept.move_to_end(game)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


class FinishedPage(NamedTuple):
    """A page of the list. `last` is the place of its last game, or the one after which it begins; None at the start.

    `more` says whether there may be another page now. Every game that ended before the time `before` can be listed.
    """

    games: tuple[FinishedGame, ...]
    last: str | None
    more: bool
    before: str


class GameViews:
    """Use cases that read games. `signer` is the service's key.

    Views and signed heads of at most `cached` games are kept in memory.
    """

    def __init__(
        self,
        store: Store,
        held: LoadedGames,
        time: ServiceTime,
        sources: ClockAndEntropy,
        signer: Signer,
        *,
        cached: int,
    ) -> None:
        self._store = store
        self._held = held
        self._time = time
        self._sources = sources
        self._signer = signer
        self._views = HeadCache[bytes](cached)
        self._heads = HeadCache[tuple[float, SignedHead]](cached)

    async def summary(self, game: str) -> GameSummary:
        """Returns a game's summary. Raises `NotFoundError`."""
        summary = await self._store.summary(game)
        if summary is None:
            raise NotFoundError(tell("game"), game)
        return summary

    async def spectate(self, game: str) -> tuple[GameSummary, State]:
        """Returns a game as a spectator sees it; when it is over, with everything that its log has revealed.

        Summary and position are of one moment. Raises `NotFoundError`.
        """
        summary = await self.summary(game)
        course = (await self._held.recall(game))[0].refereed.course
        while course.head != summary.head:  # moved on meanwhile, here or in another process
            course = (await self._held.current(game)).refereed.course
            summary = await self.summary(game)
        return summary, _visible_state(course, None)

    async def log(self, game: str, after: int) -> tuple[str, tuple[StoredLine, ...]]:
        """Returns the head and the lines after entry number `after`. Raises `NotFoundError`."""
        while True:
            lines = await self._store.written(game, after)
            if lines:
                return lines[-1].head, lines
            head = await self._store.head(game)
            if head is None:
                raise NotFoundError(tell("game"), game)
            if head[0] <= after:  # else an entry came between the two reads
                return head[1], ()

    async def view(
        self, game: str, player: str, after: int, encode: Callable[[OwnView], bytes]
    ) -> tuple[bytes, tuple[StoredLine, ...]]:
        """Returns what `player` may see of their game, as bytes made by `encode`, and the lines after number `after`.

        The bytes are cached for one head. The lines end where the view does. Raises `NotFoundError`, and
        `ForbiddenError` if the player does not play in the game.
        """
        at = await self._store.head(game)
        if at is None:
            raise NotFoundError(tell("game"), game)
        seq, head = at
        body = self._views.get(game, head, player)
        if body is None:
            refereed = (await self._held.at_head(game, head)).refereed
            seq, head = refereed.course.seq, refereed.course.head
            body = encode(self._own_view(refereed, player))
            self._views.keep(game, head, body, player)
        return body, (await self._store.written(game, after))[: seq - after] if after < seq else ()

    def _own_view(self, refereed: referee.RefereedGame, player: str) -> OwnView:
        course = refereed.course
        seat = course.setup.require_seat(player, hint=tell("anyone may see its public log"))
        view = referee.view(refereed, seat)
        state = _visible_state(course, seat)
        # Of a sealed game the service knows no cards, and so no legal moves.
        decides = course.stage is Stage.PLAY and course.actor == seat and course.sealed is None
        return OwnView(
            view=view,
            sig=self._signer.sign(sshsig.VIEW, view.message),
            course=course,
            state=state,
            legal=state.legal_actions() if decides else (),
            openings=referee.own_openings(refereed, seat),
        )

    async def finished(self, after: str | None, limit: int) -> FinishedPage:
        """Returns at most `limit` games that are over, after a place. Raises `ClockError` and `StorageError`.

        A place is the time of an end and the game, joined by `~`; None is the start.
        """
        # Before the read: then all that ended before this time is written.
        before = format_time(parse_time(await self._time.drained()) - LATEST)
        ended, _, game = (after or "").partition("~")  # without a place, what stands before every place
        games = await self._store.finished(before, (ended, game), limit)
        last = f"{games[-1].ended}~{games[-1].summary.game}" if games else after
        return FinishedPage(games, last, len(games) == limit, before)

    async def head(self, game: str) -> SignedHead:
        """Returns the signed head of a game. Raises `NotFoundError`, `ClockError`, `StorageError`."""
        at = await self._time.drained()
        found = await self._store.head(game)
        if found is None:
            raise NotFoundError(tell("game"), game)
        seq, head = found
        elapsed = self._sources.elapsed()
        kept = self._heads.get(game, head)
        # A signature from a moment ago of the same head is still true.
        if kept is not None and elapsed - kept[0] < VALID:
            return kept[1]
        statement = make_head(at=at, game=game, head=head, seq=seq)
        signed = SignedHead(statement, self._signer.sign(sshsig.HEAD, statement.message))
        self._heads.keep(game, head, (elapsed, signed))
        return signed


def _visible_state(course: Course, seat: int | None) -> State:
    return course.state if course.stage is Stage.OVER else course.state.project(seat)
