"""What anybody may read of a game, and what only its players may. docs/spec/http.md, "Games"."""

from __future__ import annotations

from collections.abc import Callable

from hkoji import referee
from hkoji.errors import NotFoundError
from hkoji.game.course import Course, Stage
from hkoji.log import sshsig
from hkoji.log.line import StoredLine
from hkoji.log.private_key import Signer
from hkoji.messages.text import tell
from hkoji.rules.protocol import State
from hkoji_server.service.loaded_games import LoadedGames
from hkoji_server.service.view_cache import OwnView, ViewCache
from hkoji_server.store.contract import GameSummary, Store


class GameViews:
    """Use cases that read games. `signer` is the service's key; views of at most `cached` games are kept in memory."""

    def __init__(self, store: Store, held: LoadedGames, signer: Signer, *, cached: int) -> None:
        self._store = store
        self._held = held
        self._signer = signer
        self._views = ViewCache(cached)

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
            self._views.keep(game, head, player, body)
        return body, (await self._store.written(game, after))[: seq - after] if after < seq else ()

    def _own_view(self, refereed: referee.RefereedGame, player: str) -> OwnView:
        course = refereed.course
        seat = course.setup.require_seat(player, hint=tell("anyone may see its public log"))
        view = referee.view(refereed, seat)
        state = _visible_state(course, seat)
        decides = course.stage is Stage.PLAY and course.actor == seat
        return OwnView(
            view=view,
            sig=self._signer.sign(sshsig.VIEW, view.message),
            course=course,
            state=state,
            legal=state.legal_actions() if decides else (),
            openings=referee.own_openings(refereed, seat),
        )


def _visible_state(course: Course, seat: int | None) -> State:
    return course.state if course.stage is Stage.OVER else course.state.project(seat)
