"""Taking a signed entry: the one request that every move makes, on a road of its own past the router.

The router's matching and dependencies cost more than the referee's checks (docs/spec/http.md has the contract, the
router its documentation). Whatever this road does not take goes to the router as ever.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hkoji.errors import GameOverError, HkojiError, NotYourTurnError, TooManyError
from hkoji.game.submission import parse_submission
from hkoji_server.routes import models
from hkoji_server.routes.problems import problem
from hkoji_server.service.games import Games


class Submit(Protocol):
    """Game id and body to the answer."""

    async def __call__(self, game: str, body: bytes, refused: TooManyError | None = None) -> Response:
        """If `refused`, only an entry that was accepted before gets another answer than that."""


ONLY_REPEATS: Final = "hkoji.only-repeats"
"""In the scope of a request that is refused unless its entry was accepted before: the refusal."""
ENTRIES: Final = re.compile(r"/v1/games/([0-9a-f]{32})/entries")


def make_submit(games: Games) -> Submit:
    """The endpoint over the use cases."""

    async def submit(game: str, body: bytes, refused: TooManyError | None = None) -> Response:
        try:
            lines, fresh = await games.submit(game, parse_submission(body), refused=refused)
        except (NotYourTurnError, GameOverError) as error:
            return problem(error, place=await games.head(game))
        except HkojiError as error:
            return problem(error)
        return Response(models.submitted_bytes(lines), 201 if fresh else 200, media_type="application/json")

    return submit


class EntriesRoad:
    """ASGI middleware: answers `POST /v1/games/{game}/entries` itself with the application's `state.submit`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request, whose body comes whole in one message."""
        if scope["type"] == "http" and scope["method"] == "POST" and (found := ENTRIES.fullmatch(scope["path"])):
            submit: Submit = scope["app"].state.submit
            message = await receive()
            response = await submit(found[1], message.get("body", b""), scope.get(ONLY_REPEATS))
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)
