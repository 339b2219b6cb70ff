"""The addresses of the pages: docs/spec/http.md, "Pages".

They are routes of Starlette, not of the API: they take no JSON, and the API's document does not have them.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hkoji import __version__
from hkoji.errors import IllegalError, NotFoundError
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.study.stops import ALL, GUEST, HOST, SPECTATOR, Eyes
from hkoji_server.routes.service import UseCases
from hkoji_server.web.game_page import look
from hkoji_server.web.rendering import Reader, html, reader_of, rendered, unchanged
from hkoji_server.web.static_files import PATH as STATIC_PATH
from hkoji_server.web.static_files import send_static

_ID: Final = re.compile("[0-9a-f]{32}")
_NUMBER: Final = re.compile("0|[1-9][0-9]{0,8}")
_SIDES: Final[dict[str | None, Seat | None]] = {None: None, "host": 0, "guest": 1}
_EYES: Final[dict[str | None, Eyes]] = {None: SPECTATOR, "host": HOST, "guest": GUEST, "all": ALL}


class Pages:
    """The pages over these use cases."""

    def __init__(self, cases: UseCases) -> None:
        self._cases = cases

    def routes(self) -> list[Route]:
        """Returns the route of each page, and that of the files that pages load."""
        return [
            Route("/g/{game}", self.game, methods=["GET"]),
            Route(STATIC_PATH, send_static, methods=["GET"]),
        ]

    async def game(self, request: Request) -> Response:
        """The page of a game: as it stands, or with `at` as it stood after that entry."""
        reader, game = reader_of(request), request.path_params["game"]
        if not _ID.fullmatch(game):
            raise NotFoundError(tell("game"), game)
        given = request.query_params
        head, stored = await self._cases.views.log(game, -1)
        last = len(stored) - 1
        at, side, eyes = given.get("at"), given.get("side"), given.get("eyes")
        if (at is not None and not (_NUMBER.fullmatch(at) and int(at) <= last)) or side not in _SIDES:
            return self._no_such_entry(request, reader, game, last)
        seq = last if at is None else int(at)
        if eyes not in _EYES:
            return self._no_such_entry(request, reader, game, last)
        tag = "-".join(
            (__version__, stored[seq].head, str(at), str(eyes), str(side), reader.language, str(reader.named))
        )
        if (answer := unchanged(request, tag)) is not None:
            return answer
        lines = tuple(each.read() for each in stored)
        seen = look(lines, reader.say, at=seq, near=_SIDES[side], eyes=_EYES[eyes])
        over = seen.position.course.finished
        if eyes is not None and not over and at is None:
            raise IllegalError(tell("this game is not over: nobody's cards can be shown"))
        body = rendered(
            "game.html",
            reader,
            page="game",
            seen=seen,
            course=seen.position.course,
            rounds=[*seen.rounds()],
            game=game,
            seq=seq,
            last=last if at is None else seq,
            head=head if at is None else stored[seq].head,
            at=at,
            side=side,
            eyes=eyes,
        )
        return html(request, body, tag=tag)

    def _no_such_entry(self, request: Request, reader: Reader, game: str, last: int) -> Response:
        links = [(reader.link(f"/g/{game}"), "game.last")]
        text = reader.say(tell("the game has no such entry or side; its last entry is {last}", last=last))
        body = rendered("error.html", reader, page="error", text=text, hint="", links=links)
        return html(request, body, 404)
