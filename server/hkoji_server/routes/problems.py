"""Errors as problem documents (RFC 9457): the one table from error class to status.

A problem says what failed (`detail`), what to do next (`hint`), and carries the error's public data. It never holds
data that its reader may not see: errors about cards are raised only after the seat's own signature has been verified.
"""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from hkoji import errors, wire
from hkoji.messages.text import dismantle, parts_of, shorten, tell
from hkoji_server.log import log

REFERENCE: Final = "#/components/schemas/{model}"
MEDIA_TYPE: Final = "application/problem+json"

STATUS: Final[dict[type[errors.HkojiError], int]] = {
    errors.InvalidError: 400,
    errors.CommitmentError: 400,
    errors.ProofError: 400,
    errors.LoginError: 401,
    errors.SignatureError: 403,
    errors.ForbiddenError: 403,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.ExistsError: 409,
    errors.NotYourTurnError: 409,
    errors.GameOverError: 409,
    errors.TimeOverError: 409,
    errors.TalkClosedError: 409,
    errors.TooManyChannelsError: 409,
    errors.TooLargeError: 413,
    errors.IllegalError: 422,
    errors.NotDeliveredError: 422,
    errors.TooManyError: 429,
    errors.TooManyGamesError: 429,
    errors.StorageError: 503,
    errors.BusyError: 503,
    errors.ClockError: 503,
}
"""The nearest base class of an error counts."""

_MEMBERS: Final = ("actor", "action", "shape", "seq", "head", "game", "deadline", "retry_after")


_TITLES: Final = {
    400: "Not understood",
    401: "Login required",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported media type",
    422: "Illegal",
    429: "Too many requests",
    500: "Internal error",
    503: "Not available",
}


_EXAMPLES: Final[dict[int, tuple[str, str, dict[str, Any]]]] = {
    400: ("malformed", "malformed entry: the text is not canonical", {}),
    401: ("login-required", "this needs a login", {"hint": "sign a challenge of POST /v1/login/challenge"}),
    403: ("bad-signature", "the signature is not one of alice: it does not verify", {}),
    404: ("not-found", "no game '2714f3b33c7ecb05393f34920c14fec3'", {}),
    409: (
        "conflict",
        "game 2714f3b3 has moved on: its last entry is 7",
        {"game": "2714f3b33c7ecb05393f34920c14fec3", "seq": 7, "head": "9f" * 32},
    ),
    413: ("too-large", "the request is larger than 16384 bytes", {}),
    415: ("unsupported-media-type", "a body is sent as application/json", {}),
    422: (
        "illegal-action",
        "3BBB is not legal: the hand does not have three B cards",
        {"action": "3BBB", "shape": ["1?", "2??", "3???"]},
    ),
    429: ("too-many-requests", "too many requests", {"retry_after": 30}),
    503: ("storage", "the database could not be written; nothing was changed", {"hint": "try again later"}),
}


def answering(form: type | None, status: int, *problems: int, again: str = "") -> dict[str, Any]:  # Any: FastAPI's
    """Returns what a route is declared with that answers with a `form` of `hkoji.wire`, or with one of these problems.

    `again` says when it answers with the form and status 200 instead. A `response_model` for each route would slow
    down the start of a service.
    """
    shown = {} if form is None else {"content": {"application/json": {"schema": reference(form)}}}
    responses: dict[int, dict[str, Any]] = {status: shown}
    if again:
        responses[200] = {"description": again, **shown}
    return {"status_code": status, "responses": responses | problem_responses(*problems)}


def reference(form: type) -> dict[str, str]:
    """Returns what names a form in the API's document."""
    return {"$ref": REFERENCE.format(model=form.__name__)}


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:  # Any: FastAPI's own type
    """Returns the `responses` of a route that may answer with these problems."""
    return {
        status: {
            "description": _TITLES[status],
            "content": {
                MEDIA_TYPE: {"schema": reference(wire.Problem), "example": _content(status, *_EXAMPLES[status])}
            },
        }
        for status in statuses
    }


def _content(status: int, code: str, detail: str, members: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
    title = _TITLES.get(status, "Error")
    return {"type": f"/problems/{code}", "title": title, "status": status, "detail": detail, "code": code, **members}


def problem(error: errors.HkojiError, *, last: tuple[int, str] | None = None) -> JSONResponse:
    """Returns the answer to an error. `last` is number and head of the game's last entry, for errors that lack them."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS or kind is errors.HkojiError)
    members = {name: value for name in _MEMBERS if (value := getattr(error, name, None)) is not None}
    if isinstance(error, errors.CommitmentError):
        members.pop("seq", None)  # there it is the entry's number, not the game's last
    if isinstance(error, errors.NotYourTurnError):
        members["actor"] = error.actor
    if last:
        members["seq"], members["head"] = last
    if status == 503:  # the operator needs the cause; the log names it without its message, which may quote values
        log.error("not available", reason=error.code, cause=_cause(error))
    if parts := parts_of(error):
        members["parts"] = parts
    return answer(status, error.code, str(error), error.hint, members)


def _cause(error: BaseException) -> str:
    """Returns the class of an error's cause, and the database's code for it."""
    cause = error.__cause__
    if cause is None:
        return ""
    original = getattr(cause, "orig", None) or cause
    name = getattr(original, "sqlite_errorname", None) or getattr(original, "sqlstate", None) or ""
    return " ".join((type(cause).__name__, name)).strip()


def answer(status: int, code: str, detail: str, hint: str, members: dict[str, Any]) -> JSONResponse:  # Any: JSON
    """Returns a problem document; `members` are its data beyond the standard ones."""
    content = _content(status, code, detail, {**({"hint": hint} if hint else {}), **members})
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if "retry_after" in members:
        headers["Retry-After"] = str(members["retry_after"])
        if code != errors.ClockError.code:
            # A client over a limit does not keep its connection, which is a limited place too.
            headers["Connection"] = "close"
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def validation_problem(error: RequestValidationError) -> JSONResponse:
    """Returns the answer to parameters or a body that do not have the documented form. It reports the first fault."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    detail = f"{shorten(place)}: {shorten(str(first['msg']), 160)}"
    return answer(400, "invalid", detail, "see /openapi.json for what this takes", {})


def http_problem(error: HTTPException) -> JSONResponse:
    """Returns the answer to an error of the framework, such as an unknown address or a wrong method."""
    codes = {404: "not-found", 405: "method-not-allowed", 400: "invalid"}
    detail = tell("there is nothing at this address") if error.status_code == 404 else str(error.detail)
    members = {"parts": {"detail": parts}} if (parts := dismantle(detail)) else {}
    response = answer(error.status_code, codes.get(error.status_code, "http"), detail, "", members)
    response.headers.update(error.headers or {})
    return response


def install(app: FastAPI) -> None:
    """Makes every expected error of `app` a problem document."""

    @app.exception_handler(errors.HkojiError)
    async def _known(_: Request, error: errors.HkojiError) -> JSONResponse:
        return problem(error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return validation_problem(error)

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        return http_problem(error)

    @app.exception_handler(Exception)
    async def _unforeseen(_: Request, error: Exception) -> JSONResponse:
        # FastAPI would answer here, but `RequestFrame` answers for all routes.
        raise error
