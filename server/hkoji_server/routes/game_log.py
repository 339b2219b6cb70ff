"""The three plain Starlette routes: a game's view, its log and its entries. docs/spec/http.md, "Games".

Nearly all requests go to these addresses. Their endpoints are ASGI callables: through FastAPI's router and dependencies
a view takes eight times the processor time, without the HTTP server's share. They validate parameters by the types that
routes/openapi.py documents. A test compares them with what FastAPI makes of that documentation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Generic, TypeVar
from urllib.parse import parse_qsl

from fastapi.exceptions import RequestValidationError
from fastapi.security.utils import get_authorization_scheme_param
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from hkoji.errors import GameOverError, HkojiError, NotYourTurnError
from hkoji.game.submission import parse_submission
from hkoji.log.line import format_stored
from hkoji_server.routes import models
from hkoji_server.routes.event_streams import LongPoll
from hkoji_server.routes.players import NO_STORE
from hkoji_server.routes.problems import http_problem, problem, validation_problem
from hkoji_server.service.games import Games
from hkoji_server.service.players import Players
from hkoji_server.service.waiting_hub import WaitingHub
from hkoji_server.store.contract import Store

JSON_LINES: Final = "application/jsonl"
ONLY_REPEATS: Final = "hkoji.only-repeats"
"""Key in the scope of a request that is refused unless its entry was accepted before. The value is the refusal."""

VIEW_PATH: Final = "/v1/games/{game}/view"
LOG_PATH: Final = "/v1/games/{game}/log"
ENTRIES_PATH: Final = "/v1/games/{game}/entries"

T = TypeVar("T")


class Parameter(Generic[T]):
    """A parameter of a request: `part` is path or query, `annotation` a type with its limits, as FastAPI takes it."""

    def __init__(self, part: str, name: str, annotation: Any, default: T | None = None) -> None:  # Any: a type
        self._part = part
        self._name = name
        self._validate = TypeAdapter(annotation).validator.validate_python
        self._default = default

    def read(self, given: Mapping[str, str]) -> T:
        """Returns the validated value. Raises `RequestValidationError`, in the form that FastAPI gives it."""
        text = given.get(self._name)
        if text is None and self._default is not None:
            return self._default
        try:
            value: T = self._validate(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise RequestValidationError([{**first, "loc": (self._part, self._name, *first["loc"])}]) from None
        return value


_GAME: Final = Parameter[str]("path", "game", models.GameId)
_AFTER: Final = Parameter("query", "after", models.After, -1)
_WAIT: Final = Parameter("query", "wait", models.Wait, 0)


class GameEndpoint(ABC):
    """An ASGI endpoint for one method of an address below a game. It answers other methods with 405."""

    method: ClassVar[str] = "GET"

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


class ViewEndpoint(GameEndpoint):
    """The game as the caller sees it: own cards, signed, and the log's new lines."""

    def __init__(self, players: Players, games: Games) -> None:
        self._players = players
        self._games = games

    async def answer(self, scope: Scope, receive: Receive) -> Response:  # noqa: ARG002 # a GET has no body
        """Returns the view with the lines after entry number `after`."""
        # The login is checked before the parameters: a request without one learns nothing else.
        scheme, token = get_authorization_scheme_param(_header(scope, b"authorization"))
        player = await self._players.authenticate(token if scheme.lower() == "bearer" else None)
        game, after = (
            _GAME.read(scope["path_params"]),
            _AFTER.read(parse_query(scope["query_string"].decode("latin-1"))),
        )
        return await view_answer(self._games, game, player, after)


class LogEndpoint(GameEndpoint):
    """The public log as JSON lines. Its `ETag` is the game's head."""

    def __init__(self, games: Games, hub: WaitingHub) -> None:
        self._games = games
        self._hub = hub

    async def answer(self, scope: Scope, receive: Receive) -> Response:  # noqa: ARG002 # a GET has no body
        """Returns the lines after entry number `after`; if there are none, waits `wait` seconds for some."""
        query = parse_query(scope["query_string"].decode("latin-1"))
        game, after, wait = _GAME.read(scope["path_params"]), _AFTER.read(query), _WAIT.read(query)
        known = _header(scope, b"if-none-match")
        head, lines = await self._games.log(game, after)
        answer = log_answer(head, "".join(f"{format_stored(each)}\n" for each in lines), known)
        if lines or not wait:
            return answer
        return LongPoll(
            self._hub, game, after, wait, lambda head, text: log_answer(head, text, known) if head else answer
        )


class EntriesEndpoint(GameEndpoint):
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
        except (NotYourTurnError, GameOverError) as error:
            return problem(error, last=await self._store.head(game))
        return Response(models.submitted_bytes(lines), 201 if fresh else 200, media_type="application/json")


def make_log_routes(players: Players, games: Games, hub: WaitingHub, store: Store) -> list[BaseRoute]:
    """Returns the routes over these use cases, the most frequent first."""
    return [
        Route(VIEW_PATH, ViewEndpoint(players, games)),
        Route(LOG_PATH, LogEndpoint(games, hub)),
        Route(ENTRIES_PATH, EntriesEndpoint(games, store)),
    ]


async def view_answer(games: Games, game: str, player: str, after: int) -> Response:
    """Returns the answer with the game as `player` sees it, and the lines after entry number `after`."""
    body, lines = await games.view(game, player, after, models.view_bytes)
    if lines:
        end = body.rindex(b"]}")  # the end of the empty list `lines`, the last member
        added = ",".join(map(format_stored, lines)).encode("ascii")
        body = b"".join((body[:end], added, body[end:]))
    return Response(body, media_type="application/json", headers=NO_STORE)


def log_answer(head: str, text: str, known: str | None) -> Response:
    """Returns the answer with lines of a log whose head is `head`; `known` is the client's `If-None-Match`."""
    headers = {"ETag": f'"{head}"', "Cache-Control": "no-cache"}
    if known == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(text, media_type=JSON_LINES, headers=headers)


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


def _header(scope: Scope, wanted: bytes) -> str | None:
    """Returns the value of the first header of that name."""
    for name, value in scope["headers"]:
        if name == wanted:
            text: str = value.decode("latin-1")
            return text
    return None
