"""A game's view, its log and its entries, as plain endpoints. docs/spec/http.md, "Games"."""

from __future__ import annotations

from typing import Final

from fastapi import Response
from starlette.types import ASGIApp, Receive, Scope

from hkoji.errors import ClockError, GameOverError, NotYourTurnError, StorageError, TimeOverError
from hkoji.game.submission import parse_submission
from hkoji.log.game_statements import SignedHead
from hkoji.log.line import format_stored
from hkoji_server.routes import answer_json, models
from hkoji_server.routes.event_streams import LongPoll
from hkoji_server.routes.plain import Parameter, PlainEndpoint, read_login, read_query, tagged_answer
from hkoji_server.routes.players import NO_STORE
from hkoji_server.routes.problems import problem
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.statements import GameStatements
from hkoji_server.service.games.views import GameViews, SignedHeads
from hkoji_server.service.games.waiting_hub import WaitingHub
from hkoji_server.service.players.players import Players
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.contract import Store

JSON_LINES: Final = "application/jsonl"
ONLY_REPEATS: Final = "hkoji.only-repeats"
"""Key in the scope of a request that is refused unless its entry was accepted before. The value is the refusal."""

VIEW_PATH: Final = "/v1/games/{game}/view"
LOG_PATH: Final = "/v1/games/{game}/log"
ENTRIES_PATH: Final = "/v1/games/{game}/entries"

_GAME: Final = Parameter[str]("path", "game", models.GameId, "")
_AFTER: Final = Parameter("query", "after", models.After, -1)
_CLOCK: Final = Parameter("query", "clock", models.WithClock, False)
_WAIT: Final = Parameter("query", "wait", models.Wait, 0)


class ViewEndpoint(PlainEndpoint):
    """The game as the caller sees it: own cards, signed, the log's new lines, and on request what the clocks show.

    With the clock a caller who waits for somebody else gets a signed head, which they would ask for next.
    """

    def __init__(
        self,
        players: Players,
        views: GameViews,
        statements: GameStatements,
        heads: SignedHeads,
        sources: ClockAndEntropy,
        slack: int,
    ) -> None:
        self._players = players
        self._views = views
        self._statements = statements
        self._heads = heads
        self._sources = sources
        self._slack = slack

    async def answer(self, scope: Scope, receive: Receive) -> Response:  # noqa: ARG002 # a GET has no body
        """Returns the view with the lines after entry number `after`."""
        player = await read_login(self._players, scope)
        query = read_query(scope)
        game, after, timed = _GAME.read(scope["path_params"]), _AFTER.read(query), _CLOCK.read(query)
        body, lines = await self._views.view(game, player, after, answer_json.view_bytes)
        # If an entry comes between the two reads, the clock names a later head than the view.
        clock = await self._statements.clock(game) if timed else None
        waits = clock is not None and clock.deadline is not None and clock.to_move != player
        head = await self._head(game) if waits else None
        shown = answer_json.view_with(body, lines, clock, self._sources.at(-self._slack), head)
        return Response(shown, media_type="application/json", headers=NO_STORE)

    async def _head(self, game: str) -> SignedHead | None:
        try:
            return await self._heads.head(game)
        except (ClockError, StorageError):  # the caller still gets the view, and is told why when asking for the head
            return None


class LogEndpoint(PlainEndpoint):
    """The public log as JSON lines. Its `ETag` is the game's head."""

    def __init__(self, views: GameViews, hub: WaitingHub) -> None:
        self._views = views
        self._hub = hub

    async def answer(self, scope: Scope, receive: Receive) -> Response:  # noqa: ARG002 # a GET has no body
        """Returns the lines after entry number `after`; if there are none, waits `wait` seconds for some."""
        query = read_query(scope)
        game, after, wait = _GAME.read(scope["path_params"]), _AFTER.read(query), _WAIT.read(query)
        head, lines = await self._views.log(game, after)
        answer = tagged_answer(scope, head, "".join(f"{format_stored(each)}\n" for each in lines), JSON_LINES)
        if lines or not wait:
            return answer
        return LongPoll(
            self._hub,
            game,
            after,
            wait,
            lambda head, text: tagged_answer(scope, head, text, JSON_LINES) if head else answer,
        )


class EntriesEndpoint(PlainEndpoint):
    """Appends a signed entry to the game, or refuses it with the reason. Expects the complete body in one message."""

    method = "POST"

    def __init__(self, games: Games, store: Store) -> None:
        self._games = games
        self._store = store

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        """Returns the receipt, and all lines that the submission added to the log."""
        game = _GAME.read(scope["path_params"])
        message = await receive()
        try:
            submission = parse_submission(message.get("body", b""))
            lines, fresh = await self._games.submit(game, submission, refused=scope.get(ONLY_REPEATS))
        except (NotYourTurnError, GameOverError, TimeOverError) as error:
            return problem(error, last=await self._store.head(game))
        return Response(answer_json.submitted_bytes(lines), 201 if fresh else 200, media_type="application/json")


def make_log_endpoints(
    players: Players,
    games: Games,
    views: GameViews,
    statements: GameStatements,
    heads: SignedHeads,
    hub: WaitingHub,
    store: Store,
    sources: ClockAndEntropy,
    *,
    slack: int,
) -> dict[str, ASGIApp]:
    """Returns the endpoints over these use cases, by their paths."""
    return {
        VIEW_PATH: ViewEndpoint(players, views, statements, heads, sources, slack),
        LOG_PATH: LogEndpoint(views, hub),
        ENTRIES_PATH: EntriesEndpoint(games, store),
    }
