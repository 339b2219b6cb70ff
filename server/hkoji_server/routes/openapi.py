"""The API's OpenAPI document: the routes of FastAPI and the plain routes, with all answers that they give.

FastAPI would document its own validation errors; here they are problem documents like all others, with status 400.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from hkoji_server.routes import models
from hkoji_server.routes.game_lists import (
    GAMES_PATH,
    OWN_GAMES_PATH,
    Clock,
    Cursor,
    Joinable,
    Limit,
    Order,
    Prefix,
    Rated,
    RulesetName,
)
from hkoji_server.routes.games import ENTRIES_PATH, HEAD_PATH, JSON_LINES, LOG_PATH, VIEW_PATH
from hkoji_server.routes.plain import tagged_answer
from hkoji_server.routes.players import BEARER
from hkoji_server.routes.problems import MEDIA_TYPE, Problem, problem_responses

_REF: Final = "#/components/schemas/{model}"
_FOREIGN: Final = ("HTTPValidationError", "ValidationError")
_FREE: Final = ("/healthz", "/readyz")
_UNSTORED: Final = ("/healthz", "/v1/service", "/v1/service/proof")
_BEFORE: Final = {
    GAMES_PATH: "/v1/games/{game}",
    OWN_GAMES_PATH: "/v1/games/{game}",
    LOG_PATH: "/v1/games/{game}/recovery",
    ENTRIES_PATH: "/v1/games/{game}/recovery",
    VIEW_PATH: "/v1/games/{game}/events",
    HEAD_PATH: "/v1/games/{game}/clock",
}
"""For each plain route the path before which it stands in the document."""

Document = dict[str, Any]  # Any: JSON


def install(app: FastAPI) -> None:
    """Makes `app` serve this document, which is written once."""

    def document() -> Document:
        if app.openapi_schema is None:
            app.openapi_schema = _build(app)
        return app.openapi_schema

    @cache
    def written() -> tuple[bytes, str]:
        text = json.dumps(document(), ensure_ascii=False, separators=(",", ":")).encode()
        return text, sha256(text).hexdigest()[:32]

    async def answer(request: Request) -> Response:
        text, tag = written()
        return tagged_answer(request.scope, tag, text, "application/json")

    app.openapi = document  # type: ignore[method-assign] # FastAPI's own way of changing it
    app.add_route("/openapi.json", answer, include_in_schema=False)


def _build(app: FastAPI) -> Document:
    document: Document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=[*app.routes, *plain_routes().routes]
    )
    schemas = document["components"]["schemas"]
    for name in _FOREIGN:
        schemas.pop(name, None)
    # A `response_model` for each problem of each route would cost FastAPI half of the time in which a service starts.
    _, made = models_json_schema([(models.SubmissionModel, "validation"), (Problem, "validation")], ref_template=_REF)
    schemas.update(made["$defs"])
    document["paths"] = _in_order(document["paths"])
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _correct(operation, takes_body=method in ("post", "put"), stored=path not in _UNSTORED, free=path in _FREE)
    return document


def _in_order(paths: Document) -> Document:
    """Returns the paths in the order of the document, those of a game together."""
    ordered: Document = {}
    for path in paths:
        if path not in _BEFORE:
            ordered.update({each: paths[each] for each, next_path in _BEFORE.items() if next_path == path})
            ordered[path] = paths[path]
    return ordered


def plain_routes() -> APIRouter:
    """Returns the plain routes in FastAPI's form, for the document only: these functions are never called."""
    router = APIRouter(tags=["games"])

    @router.get(GAMES_PATH, response_model=models.GamesModel, responses=problem_responses(400, 401))
    async def list_games(
        status: models.Status | None = None,
        player: models.Name | None = None,
        prefix: Prefix = None,
        limit: Limit = 50,
        after: Cursor = None,
        joinable: Joinable = False,
        ruleset: RulesetName = None,
        rated: Rated = None,
        clock: Clock = None,
        _: Annotated[Any, Depends(BEARER)] = None,
    ) -> None:
        """Games, newest first; with `player` those that go on, then invitations, then those that are over."""

    @router.get(OWN_GAMES_PATH, response_model=models.GamesModel, responses=problem_responses(400, 401))
    async def my_games(
        _: Annotated[Any, Depends(BEARER)],
        waiting: bool = False,
        status: models.Status | None = None,
        prefix: Prefix = None,
        order: Order = None,
        limit: Limit = 50,
        after: Cursor = None,
    ) -> None:
        """The caller's games that go on, then invitations, then those that are over; each newest first.

        With `waiting` only those that wait for the caller's entry or for the caller to join.
        """

    @router.get(
        LOG_PATH,
        response_class=Response,
        responses={
            200: {"content": {JSON_LINES: {"schema": {"type": "string"}}}, "description": "Lines with receipts"},
            304: {"description": "Nothing since a head of `If-None-Match`"},
            **problem_responses(400, 404),
        },
    )
    async def log(
        game: models.GameId,
        after: models.After = -1,
        wait: models.Wait = 0,
        if_none_match: Annotated[str | None, Header()] = None,
    ) -> None:
        """The public log, as one JSON object a line. Its `ETag` is its head."""

    @router.post(
        ENTRIES_PATH,
        status_code=201,
        response_model=models.SubmittedModel,
        responses={
            200: {"model": models.SubmittedModel, "description": "The same entry again: its first receipt"},
            **problem_responses(400, 403, 404, 409, 422),
        },
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SubmissionModel"}}},
            }
        },
    )
    async def submit(game: models.GameId) -> None:
        """Appends a signed entry to the game, or refuses it with the reason."""

    @router.get(HEAD_PATH, response_model=models.Signed, responses=problem_responses(400, 404))
    async def head(game: models.GameId) -> None:
        """The last entry of a game, by the service's signature in namespace `hkoji.head.v1`."""

    @router.get(VIEW_PATH, response_model=models.ViewModel, responses=problem_responses(400, 401, 403, 404))
    async def view(
        game: models.GameId,
        _: Annotated[Any, Depends(BEARER)],
        after: models.After = -1,
        clock: models.WithClock = False,
    ) -> None:
        """The game as the caller sees it: own cards, signed, and the log's new lines."""

    return router


def _correct(operation: Document, *, takes_body: bool, stored: bool, free: bool) -> None:
    answers: Document = operation["responses"]
    if MEDIA_TYPE not in answers.get("422", {}).get("content", {MEDIA_TYPE: {}}):
        del answers["422"]
    wanted = [*((413, 415) if takes_body else ()), *(() if free else (429,)), *((503,) if stored else ())]
    for status, answer in problem_responses(*wanted).items():
        answers.setdefault(str(status), {name: answer[name] for name in ("description", "content")})
    operation["responses"] = dict(sorted(answers.items()))
