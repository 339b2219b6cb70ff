"""Plain ASGI endpoints, for the addresses of nearly all requests, the router in front of them, and reading of requests.

Through FastAPI's router and dependencies a view takes several times the processor time. A test compares the endpoints
with what FastAPI makes of what they declare for the API's page.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Final, Generic, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from hkoji.errors import HkojiError
from hkoji_server.routes import models
from hkoji_server.routes.problems import http_problem, problem, validation_problem
from hkoji_server.routes.service import UseCases
from hkoji_server.service.players.players import Players

T = TypeVar("T")

INVITATION_PATH: Final = "/i/{game}"
"""The address of the page of a link."""
STOP_PREFIX: Final = "/v1/mail/stop/"
"""How the addresses begin that stop letters. A token follows."""
BEARER: Final = HTTPBearer(auto_error=False, description="A token of POST /v1/login")

_TAG: Final = r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")'
_TAGS: Final = re.compile(rf"[ \t,]*(?:{_TAG}[ \t]*(?:,[ \t,]*|$))+")
_EACH_TAG: Final = re.compile(_TAG)


class PlainRoutes:
    """Passes each request to the endpoint of its address, or to `default` if it has none.

    A path is an address that may have one parameter, such as `/v1/games/{game}/log`. One regular expression finds the
    endpoint; Starlette's router tries one after the other, and builds a new scope for each request.
    """

    def __init__(self, endpoints: Iterable[PlainEndpoint], default: ASGIApp) -> None:
        self._default = default
        self.paths: list[str] = []
        self._endpoints: dict[int, tuple[PlainEndpoint, str | None]] = {}
        patterns = []
        groups = 0
        for endpoint in endpoints:
            self.paths.append(endpoint.path)
            start, _, rest = endpoint.path.partition("{")
            name, _, end = rest.partition("}")
            # The empty group at the end is the last one that matches: its number says which path it is.
            groups += 2 if name else 1
            patterns.append(f"{re.escape(start)}([^/]+){re.escape(end)}()" if name else f"{re.escape(start)}()")
            self._endpoints[groups] = endpoint, name or None
        self._match = re.compile(f"(?:{'|'.join(patterns)})$").match  # Starlette accepts a newline at the end too

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = self._match(scope["path"]) if scope["type"] == "http" else None
        if match is None:
            await self._default(scope, receive, send)
            return
        assert match.lastindex is not None
        endpoint, name = self._endpoints[match.lastindex]
        scope["path_params"] = {name: match[match.lastindex - 1]} if name else {}
        await endpoint(scope, receive, send)


class Parameter(inspect.Parameter, Generic[T]):
    """A parameter of a request, with or without a default: in the query or in the path.

    `annotation` is a type with its limits, as FastAPI takes it. FastAPI documents the parameter as one of a function.
    """

    def __init__(self, name: str, annotation: Any, *default: T) -> None:  # Any: a type
        super().__init__(name, self.KEYWORD_ONLY, default=default[0] if default else self.empty, annotation=annotation)
        self._validate = TypeAdapter(annotation).validator.validate_python

    def read(self, given: Mapping[str, str]) -> T:
        """Returns the validated value. Raises `RequestValidationError`, in the form that FastAPI gives it."""
        text = given.get(self.name)
        if text is None:
            default: T = self.default
            return default
        try:
            value: T = self._validate(text)
        except ValidationError as error:
            first, part = error.errors(include_url=False)[0], "path" if self.default is self.empty else "query"
            raise RequestValidationError([{**first, "loc": (part, self.name, *first["loc"])}]) from None
        return value


GAME: Final = Parameter[str]("game", models.GameId)
LOGIN: Final = inspect.Parameter("_", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[Any, Depends(BEARER)])
"""The login in a header, for the API's page. `read_login` reads it."""


class PlainEndpoint(ABC):
    """An ASGI endpoint for one method of an address. It answers other methods with 405.

    The API's page shows the docstring of the subclass, its `name` and `parameters`, and the answers of `declared`.
    """

    path: ClassVar[str]
    method: ClassVar[str] = "GET"
    name: ClassVar[str]
    parameters: ClassVar[tuple[inspect.Parameter, ...]]
    declared: ClassVar[dict[str, Any]]  # Any: FastAPI's own type

    def __init__(self, cases: UseCases) -> None:
        self._cases = cases

    @classmethod
    def document(cls, router: APIRouter) -> None:
        """Adds the endpoint in FastAPI's form, for the API's page only: it is never called there."""

        def shown(**_: object) -> None: ...

        shown.__name__, shown.__doc__ = cls.name, cls.__doc__
        shown.__signature__ = inspect.Signature(cls.parameters)  # type: ignore[attr-defined] # FastAPI reads it
        router.add_api_route(cls.path, shown, methods=[cls.method], **cls.declared)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request; errors become problem documents."""
        response: Response
        if scope["method"] != self.method:
            response = http_problem(HTTPException(405, headers={"Allow": self.method}))
        else:
            try:
                response = await self.answer(scope, receive)
            except HkojiError as error:
                response = problem(error)
            except RequestValidationError as error:
                response = validation_problem(error)
        await response(scope, receive, send)

    @abstractmethod
    async def answer(self, scope: Scope, receive: Receive) -> Response:
        """Returns the answer. Raises `HkojiError` and `RequestValidationError`."""


def tagged_answer(scope: Scope, tag: str, body: str | bytes, media_type: str) -> Response:
    """Returns the answer with `body` and the ETag `tag`, or 304 if the client has named this tag."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
    if names_tag(scope, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def names_tag(scope: Scope, tag: str) -> bool:
    """Returns whether the request's `If-None-Match` names `tag`, as RFC 9110 compares it: a weak tag counts too.

    A field that is not well-formed names no tag.
    """
    lines = [value for name, value in scope["headers"] if name == b"if-none-match"]
    if not lines:
        return False
    known = b",".join(lines).decode("latin-1").strip(" \t")
    return known == "*" or (_TAGS.fullmatch(known) is not None and tag in _EACH_TAG.findall(known))


def logged_in(cases: UseCases) -> Callable[..., Awaitable[str]]:
    """Returns the dependency that gives the name of the player who is logged in."""

    async def authenticate(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]) -> str:
        return await cases.players.authenticate(credentials.credentials if credentials else None)

    return authenticate


async def read_login(players: Players, scope: Scope) -> str:
    """Returns the name of the player who is logged in. Raises `LoginError`.

    It is called before any parameter is read: a request without a login learns nothing else.
    """
    scheme, token = get_authorization_scheme_param(read_header(scope, b"authorization"))
    return await players.authenticate(token if scheme.lower() == "bearer" else None)


def wants_page(accept: str) -> bool:
    """Returns whether a request with this `Accept` comes from a browser."""
    return "text/html" in accept


def client_address(scope: Scope) -> str | None:
    """Returns the address of the client; behind a trusted proxy, the one that the proxy names."""
    client = scope.get("client")
    return client[0] if client else None


def read_query(scope: Scope) -> dict[str, str]:
    """Returns the parameters of the request's query."""
    text = scope["query_string"]
    return parse_query(text.decode("latin-1")) if text else {}


def parse_query(text: str) -> dict[str, str]:
    """Returns the parameters of a query. If one is given twice, the last counts.

    A query without escapes is split here, in a fifth of the time that `parse_qsl` takes. A test compares both.
    """
    if "%" in text or "+" in text:
        return dict(parse_qsl(text, keep_blank_values=True))
    given = {}
    for part in text.split("&"):
        name, _, value = part.partition("=")
        given[name] = value
    return given


def read_header(scope: Scope, wanted: bytes) -> str | None:
    """Returns the value of the first header of that name."""
    for name, value in scope["headers"]:
        if name == wanted:
            text: str = value.decode("latin-1")
            return text
    return None
