"""The API's document: what FastAPI derives from the routes, made to say what is really answered.

FastAPI would document its own validation errors; here they are problem documents like all others, with status 400.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from hkoji_server.routes import models
from hkoji_server.routes.problems import MEDIA_TYPE, problem_responses

_REF: Final = "#/components/schemas/{model}"
_FOREIGN: Final = ("HTTPValidationError", "ValidationError")
_FREE: Final = ("/healthz", "/readyz")
_UNSTORED: Final = ("/healthz", "/v1/service")

Document = dict[str, Any]  # Any: JSON


def install(app: FastAPI) -> None:
    """Makes `app` serve this document."""

    def document() -> Document:
        if app.openapi_schema is None:
            app.openapi_schema = _build(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign] # FastAPI's own way of changing it


def _build(app: FastAPI) -> Document:
    document: Document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas = document["components"]["schemas"]
    for name in _FOREIGN:
        schemas.pop(name, None)
    _, made = models_json_schema([(models.SubmissionModel, "validation")], ref_template=_REF)
    schemas.update(made["$defs"])
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _correct(operation, takes_body=method == "post", stored=path not in _UNSTORED, free=path in _FREE)
    return document


def _correct(operation: Document, *, takes_body: bool, stored: bool, free: bool) -> None:
    answers: Document = operation["responses"]
    if MEDIA_TYPE not in answers.get("422", {}).get("content", {MEDIA_TYPE: {}}):
        del answers["422"]
    wanted = [*((413, 415) if takes_body else ()), *(() if free else (429,)), *((503,) if stored else ())]
    for status, answer in problem_responses(*wanted).items():
        answers.setdefault(str(status), {name: answer[name] for name in ("description", "content")})
    for answer in answers.values():
        content = answer.get("content", {})
        if MEDIA_TYPE in content:
            content.pop("application/json", None)
    operation["responses"] = dict(sorted(answers.items()))
