"""The lists of games: all games and the caller's as plain endpoints, and finished games in the order of their end.

docs/spec/http.md, "Games" and "Finished games".
"""

from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Response
from starlette.types import Receive, Scope

from hkoji import wire
from hkoji.errors import InvalidError
from hkoji.messages.text import tell
from hkoji_server.routes import answer_json, models
from hkoji_server.routes.plain import LOGIN, Parameter, PlainEndpoint, read_header, read_login, read_query
from hkoji_server.routes.problems import answering
from hkoji_server.routes.service import UseCases
from hkoji_server.store import game_values
from hkoji_server.store.game_lists import cursor_of

Limit = Annotated[int, Query(ge=1, le=200)]


_STATUS: Final = Parameter[str | None]("status", models.Status | None, None)
_PLAYER: Final = Parameter[str | None]("player", models.Name | None, None)
_PREFIX: Final = Parameter("prefix", Annotated[str | None, Query(pattern="^[0-9a-f]{4,32}$")], None)
_WAITING: Final = Parameter("waiting", bool, False)
_LIMIT: Final = Parameter("limit", Limit, 50)
_ORDER: Final = Parameter(
    "order",
    Annotated[Literal["deadline"] | None, Query(description="The earliest deadline first; only of waiting games")],
    None,
)
_JOINABLE: Final = Parameter(
    "joinable",
    Annotated[
        bool,
        Query(description="Only games that the caller can join; without a login those that invite nobody by name"),
    ],
    False,
)
_RULESET: Final = Parameter(
    "ruleset",
    Annotated[str | None, Query(pattern="^[a-z0-9][a-z0-9-]{0,31}$", description="The name of the ruleset")],
    None,
)
_RATED: Final = Parameter(
    "rated", Annotated[bool | None, Query(description="Whether the game counts for ratings")], None
)
_CLOCK: Final = Parameter[game_values.Speed | None](
    "clock",
    Annotated[
        game_values.Speed | None,
        Query(description="No clock; or by `move` and `bank` together: under a day, up to 31 days, more"),
    ],
    None,
)
_CURSOR: Final = Parameter(
    "after",
    Annotated[
        str | None, Query(pattern="^[0-9TZ:-]{20}~[0-9a-f]{32}(~[012])?$", description="`next` of the page before")
    ],
    None,
)


class ListEndpoint(PlainEndpoint):
    """A page of a list."""

    declared = answering(wire.GamesModel, 200, 400, 401)

    async def answer(self, scope: Scope, receive: Receive) -> Response:  # noqa: ARG002 # a GET has no body
        """Returns the games that the request's query asks for."""
        query = await self.read(scope)
        found = await self._cases.store.games(query)
        cursor = cursor_of(query, found[-1]) if len(found) == query.limit else None
        late = self._cases.late()
        return Response(answer_json.games_bytes(found, cursor, late), media_type="application/json")

    @abstractmethod
    async def read(self, scope: Scope) -> game_values.Query:
        """Returns which games to list. Its parameters are read in the order in which they are documented."""


class AllGamesEndpoint(ListEndpoint):
    """Games, newest first; with `player` those that go on, then invitations, then those that are over."""

    path = "/v1/games"
    name = "list_games"
    parameters = (
        *(_STATUS, _PLAYER, _PREFIX, _LIMIT, _CURSOR, _JOINABLE, _RULESET, _RATED, _CLOCK),
        LOGIN.replace(default=None),
    )

    async def read(self, scope: Scope) -> game_values.Query:
        """Returns which games to list. Raises `InvalidError`, and `LoginError` for a login that is not valid."""
        given = read_query(scope)
        query = game_values.Query(
            status=_STATUS.read(given),
            player=_PLAYER.read(given),
            prefix=_PREFIX.read(given),
            limit=_LIMIT.read(given),
            after=_CURSOR.read(given),
        )
        wanted = game_values.OpenFilter(
            joinable=_JOINABLE.read(given),
            ruleset=_RULESET.read(given),
            rated=_RATED.read(given),
            speed=_CLOCK.read(given),
        )
        if wanted == game_values.OpenFilter():
            return query
        if query.status != "open" or query.player or query.prefix:
            raise InvalidError(tell("these filters are for the list of all open games: add status=open and no name"))
        if wanted.joinable and read_header(scope, b"authorization") is not None:
            wanted = wanted._replace(joiner=await read_login(self._cases.players, scope))
        return replace(query, wanted=wanted)


class OwnGamesEndpoint(ListEndpoint):
    """The caller's games that go on, then invitations, then those that are over; each newest first.

    With `waiting` only those that wait for the caller's entry or for the caller to join.
    """

    path = "/v1/me/games"
    name = "my_games"
    parameters = (LOGIN, _WAITING, _STATUS, _PREFIX, _ORDER, _LIMIT, _CURSOR)

    async def read(self, scope: Scope) -> game_values.Query:
        """Returns which games to list. Raises `LoginError` and `InvalidError`."""
        player = await read_login(self._cases.players, scope)
        given = read_query(scope)
        query = game_values.Query(
            player=player,
            waiting=_WAITING.read(given),
            status=_STATUS.read(given),
            prefix=_PREFIX.read(given),
            by_deadline=_ORDER.read(given) is not None,
            limit=_LIMIT.read(given),
            after=_CURSOR.read(given),
            own=True,
        )
        if query.by_deadline and not (query.waiting and query.status is None):
            raise InvalidError(tell("only games that wait for you are listed by their deadlines: add waiting=true"))
        if query.by_deadline and query.prefix is not None:
            raise InvalidError(tell("a list by deadlines takes no prefix"))
        return query


_PLACE: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z~[0-9a-f]{32}$"

Place = Annotated[
    str | None, Query(pattern=_PLACE, description="`last` of an answer, or `ended` and `game` of any game, joined by ~")
]


def make_finished_router(cases: UseCases) -> APIRouter:
    """Returns the endpoint over this use case."""
    router = APIRouter(prefix="/v1", tags=["games"])

    @router.get("/finished", **answering(wire.FinishedPageModel, 200, 400))
    async def list_finished(after: Place = None, limit: Limit = 50) -> Response:
        """All games that are over, in the order of their end, each once; also those that ended without a result.

        A game is listed two to three minutes after its end. Later ends stand behind all that is listed now.
        """
        page = await cases.views.finished(after, limit)
        shown = answer_json.finished_bytes(
            page.games, more=page.more, last=page.last, before=page.before, late=cases.late()
        )
        return Response(shown, media_type="application/json")

    return router
