"""The endpoints of clocks: statements about games, what clocks show, outages, signed heads. docs/spec/http.md, "Games".

`…/head` is a plain endpoint: players who wait ask for it again and again.
"""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope

from hkoji.log.line import format_signed
from hkoji_server.routes import answer_json, models
from hkoji_server.routes.plain import Parameter, PlainEndpoint
from hkoji_server.routes.players import NO_STORE, logged_in
from hkoji_server.routes.problems import problem_responses
from hkoji_server.service.games.statements import GameStatements
from hkoji_server.service.games.views import SignedHeads
from hkoji_server.service.players.players import Players
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.contract import Store

HEAD_PATH: Final = "/v1/games/{game}/head"

_GAME: Final = Parameter[str]("path", "game", models.GameId, "")


class HeadEndpoint(PlainEndpoint):
    """The last entry of a game, by the service's signature."""

    def __init__(self, heads: SignedHeads) -> None:
        self._heads = heads

    async def answer(self, scope: Scope, receive: Receive) -> Response:  # noqa: ARG002 # a GET has no body
        """Returns the signed head."""
        signed = await self._heads.head(_GAME.read(scope["path_params"]))
        shown = format_signed(signed.statement.text, signed.sig)
        return Response(shown, media_type="application/json", headers=NO_STORE)


def make_head_endpoints(heads: SignedHeads) -> dict[str, ASGIApp]:
    """Returns the endpoint over this use case, by its path."""
    return {HEAD_PATH: HeadEndpoint(heads)}


def make_clocks_router(
    players: Players, statements: GameStatements, store: Store, sources: ClockAndEntropy, *, slack: int
) -> APIRouter:
    """Returns the endpoints over these use cases."""
    router = APIRouter(prefix="/v1", tags=["games"])
    me = Annotated[str, Depends(logged_in(players))]

    @router.post(
        "/games/{game}/statements",
        status_code=201,
        response_model=models.StatedModel,
        responses={
            200: {"model": models.StatedModel, "description": "The same statement again"},
            **problem_responses(400, 403, 404, 409, 422),
        },
    )
    async def state(game: models.GameId, request: models.StatementRequest) -> Any:
        """Keeps a signed statement about the last entry. The second wish to call a game off ends it."""
        if request.kind == "give":
            assert request.seconds is not None
            stated = await statements.give(game, request.head, request.name, request.seconds, request.sig)
        else:
            stated = await statements.annul(game, request.head, request.name, request.sig)
        return Response(answer_json.stated_bytes(stated), 201 if stated.fresh else 200, media_type="application/json")

    @router.delete(
        "/games/{game}/statements/annul", status_code=204, responses=problem_responses(400, 401, 403, 404, 409)
    )
    async def withdraw(game: models.GameId, player: me) -> None:
        """Forgets the caller's wish to call the game off. Whoever has its signature can use it until the head moves."""
        await statements.withdraw(game, player)

    @router.get("/games/{game}/clock", response_model=models.ClockModel, responses=problem_responses(400, 404))
    async def clock(game: models.GameId) -> Any:
        """The agreement of a game, and what its clocks show."""
        return JSONResponse(answer_json.clock_json(await statements.clock(game), sources.at(-slack)), headers=NO_STORE)

    @router.get("/outages", response_model=models.OutagesModel, tags=["service"])
    async def outages() -> Any:
        """All times in which the service took no entries."""
        found = [outage.to_json() for outage in sorted(await store.outages())]
        return JSONResponse({"outages": found}, headers=NO_STORE)

    return router
