"""The requests that everybody makes again and again, a view and a log, on a road of their own past the router.

It takes them in the form that clients give them; whatever is written otherwise goes to the router as ever, which has
the documentation and answers by the same functions (docs/spec/http.md has the contract).
"""

from __future__ import annotations

import re
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hkoji.errors import HkojiError
from hkoji.log.line import format_stored
from hkoji_server.routes import models
from hkoji_server.routes.players import NO_STORE
from hkoji_server.routes.problems import problem
from hkoji_server.service.games import Games
from hkoji_server.service.players import Players

JSON_LINES: Final = "application/jsonl"
MOST_AFTER: Final = 2**31
_PATH: Final = re.compile(r"/v1/games/([0-9a-f]{32})/(view|log)")
_QUERY: Final = re.compile(rb"(?:after=(-1|0|[1-9][0-9]{0,8}))?")
_TOKEN: Final = re.compile(rb"Bearer ([0-9a-f]+)")


class Reads:
    """The two answers over the use cases."""

    def __init__(self, players: Players, games: Games) -> None:
        self._games = games
        self.whose = players.whose

    async def view(self, game: str, player: str, after: int) -> Response:
        """The game as `player` sees it, and the log's lines after entry number `after`."""
        shown, lines = await self._games.view(game, player, after, models.view_bytes)
        if lines:
            place = shown.rindex(b"]}")
            added = ",".join(map(format_stored, lines)).encode("ascii")
            shown = b"".join((shown[:place], added, shown[place:]))
        return Response(shown, media_type="application/json", headers=NO_STORE)

    async def log(self, game: str, after: int, known: str | None) -> tuple[Response, bool]:
        """The log's lines after entry number `after`, and whether there are any. `known` is the client's `ETag`."""
        head, lines = await self._games.log(game, after)
        return log_answer(head, "".join(f"{format_stored(each)}\n" for each in lines), known), bool(lines)


def log_answer(head: str, text: str, known: str | None) -> Response:
    """Lines of a log whose head is `head`."""
    headers = {"ETag": f'"{head}"', "Cache-Control": "no-cache"}
    if known == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(text, media_type=JSON_LINES, headers=headers)


class ReadsRoad:
    """ASGI middleware: answers `GET /v1/games/{game}/view` and `…/log` itself with the application's `state.reads`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] == "http" and scope["method"] == "GET" and (found := _PATH.fullmatch(scope["path"])):
            query = _QUERY.fullmatch(scope["query_string"])
            if query and (response := await _answer(scope, found[1], found[2], int(query[1] or -1))):
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def _answer(scope: Scope, game: str, what: str, after: int) -> Response | None:
    """The answer; None if the router has to look at the request."""
    reads: Reads = scope["app"].state.reads
    token: bytes | None = None
    known: str | None = None
    for name, value in scope["headers"]:
        if name == b"authorization":
            if token is not None:
                return None
            token = value
        elif name == b"if-none-match":
            if known is not None:
                return None
            known = value.decode("latin-1")
    try:
        if what == "log":
            return (await reads.log(game, after, known))[0]
        bearer = _TOKEN.fullmatch(token) if token else None
        if bearer is None:
            return None
        return await reads.view(game, await reads.whose(bearer[1].decode()), after)
    except HkojiError as error:
        return problem(error)
