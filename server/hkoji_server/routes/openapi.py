"""The API's OpenAPI document: the routes of FastAPI and the plain routes, with all answers that they give.

FastAPI would document its own validation errors; here they are problem documents like all others, with status 400.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.models import Schema
from fastapi.openapi.utils import get_openapi
from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import is_typeddict

from hkoji import wire
from hkoji_server.routes.game_lists import AllGamesEndpoint, OwnGamesEndpoint
from hkoji_server.routes.games import EntriesEndpoint, HeadEndpoint, LogEndpoint, ViewEndpoint
from hkoji_server.routes.plain import tagged_answer
from hkoji_server.routes.problems import MEDIA_TYPE, REFERENCE, problem_responses

_FOREIGN: Final = ("HTTPValidationError", "ValidationError")
_FREE: Final = ("/healthz", "/readyz")
_UNSTORED: Final = ("/healthz", "/v1/service", "/v1/service/proof")
PLAIN_ENDPOINTS: Final = (
    ViewEndpoint,
    LogEndpoint,
    EntriesEndpoint,
    AllGamesEndpoint,
    OwnGamesEndpoint,
    HeadEndpoint,
)

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
    document["components"]["schemas"] = dict(sorted({**_forms(), **schemas}.items()))
    document["paths"] = dict(sorted(document["paths"].items()))
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _correct(operation, takes_body=method in ("post", "put"), stored=path not in _UNSTORED, free=path in _FREE)
    return document


@cache  # Pydantic reads the docstrings of each form in its source
def _forms() -> Document:
    """Returns the schemas of the forms of answers."""
    forms = [each for each in vars(wire).values() if is_typeddict(each)]
    for form in forms:
        with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))(form)
    _, made = TypeAdapter.json_schemas(
        [(form, "serialization", TypeAdapter(form)) for form in forms], ref_template=REFERENCE
    )
    found = {
        name: Schema(**each).model_dump(mode="json", by_alias=True, exclude_none=True)
        for name, each in made["$defs"].items()
    }
    for form in (wire.FinishedModel, wire.SpectatorModel):  # Pydantic reads the texts of a class's own fields only
        found[form.__name__]["properties"] |= found["SummaryModel"]["properties"]
    return found


def plain_routes() -> APIRouter:
    """Returns the plain routes in FastAPI's form, for the document only."""
    router = APIRouter(tags=["games"])
    for endpoint in PLAIN_ENDPOINTS:
        endpoint.document(router)
    return router


def _correct(operation: Document, *, takes_body: bool, stored: bool, free: bool) -> None:
    answers: Document = operation["responses"]
    if MEDIA_TYPE not in answers.get("422", {}).get("content", {MEDIA_TYPE: {}}):
        del answers["422"]
    wanted = [*((413, 415) if takes_body else ()), *(() if free else (429,)), *((503,) if stored else ())]
    for status, answer in problem_responses(*wanted).items():
        answers.setdefault(str(status), {name: answer[name] for name in ("description", "content")})
    operation["responses"] = dict(sorted(answers.items()))
