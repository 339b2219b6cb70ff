"""Answers that wait for entries: the long poll of a log, and streams of events. docs/spec/http.md, "Waiting".

They show a reader only what the log or a list of games shows the same reader. FastAPI's own event streams would start
two tasks and a timer for each of thousands of clients. So only its wire format is used, and one task notices that a
client has gone.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query
from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hkoji.errors import HkojiError, MalformedError
from hkoji.messages.text import tell
from hkoji_server.routes import models
from hkoji_server.routes.plain import client_address, logged_in
from hkoji_server.routes.problems import problem, problem_responses
from hkoji_server.routes.service import UseCases
from hkoji_server.service.games.followers import GameFollower, PlayerFollower, StreamFollower, parse_cursor
from hkoji_server.service.games.waiting_hub import News, Waiter, WaitingHub

LONGEST_WAIT: Final = 60
"""The longest that a long poll takes, in seconds."""
LONGEST_STREAM: Final = 3600
"""The longest that a stream lasts, in seconds. Then its reader connects again, and the login is checked again."""
KEEP_ALIVE: Final = 15.0
_RETRY: Final = 2000
_MOST_AFTER: Final = 2**31
_NUMBER: Final = re.compile(r"-1|0|[1-9][0-9]{0,9}")
_ALIVE: Final = b":\n\n"
_FIELDS: Final = {"X-Accel-Buffering": "no"}

LastEventId = Annotated[str | None, Header(description="The `id` of the last event that was read")]
Lasting = Annotated[int, Query(ge=0, le=LONGEST_STREAM, description="End the stream after so many seconds")]


class LongPoll(Response):
    """The lines after entry number `after` of a game, as soon as there are any; no lines after `wait` seconds.

    `answer` makes the response from the text of the lines and the new head, which is None without lines.
    """

    def __init__(
        self, hub: WaitingHub, game: str, after: int, wait: int, answer: Callable[[str | None, str], Response]
    ) -> None:
        super().__init__()
        self._hub = hub
        self._waiter = Waiter({game: after})
        self._wait = min(wait, LONGEST_WAIT)
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Waits, then answers."""
        try:
            self._hub.join(self._waiter, client_address(scope))
        except HkojiError as error:
            await problem(error)(scope, receive, send)
            return
        with _until_gone(self._hub, self._waiter, receive):
            news = await self._hub.news(self._waiter, asyncio.get_running_loop().time() + self._wait)
            if self._waiter.left:
                return
        answer = self._answer(news[-1].written.head if news else None, "".join(f"{each.text}\n" for each in news))
        await answer(scope, receive, send)


class EventStream(EventSourceResponse):
    """The events of a follower: first those not sent yet, then new ones, for at most `wait` seconds.

    An event `end` announces that the service ends the stream. A client that connects again misses nothing.
    """

    def __init__(self, hub: WaitingHub, follower: StreamFollower, wait: int) -> None:
        super().__init__(iter(()), headers=_FIELDS)
        self._hub = hub
        self._follower = follower
        self._wait = wait

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends events until the reader has gone, the time is over, or the service stops."""
        follower, end = self._follower, asyncio.get_running_loop().time() + self._wait

        async def write(data: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        try:
            self._hub.join(follower, client_address(scope))
        except HkojiError as error:
            await problem(error)(scope, receive, send)
            return
        with _until_gone(self._hub, follower, receive):
            try:
                await follower.begin()
            except HkojiError as error:
                await problem(error)(scope, receive, send)
                return
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await write(format_sse_event(id=follower.position(), retry=_RETRY))
            async for news in follower.backlog():
                await write(self._frames(news))
            while not follower.left:
                left = end - asyncio.get_running_loop().time()
                if self._hub.stopped or left <= 0:
                    reason = "stopping" if self._hub.stopped else "time"
                    await write(format_sse_event(event="end", data_str=f'{{"reason":"{reason}"}}'), more=False)
                    return
                news = await self._hub.news(follower, end - left + min(left, KEEP_ALIVE))
                if news:
                    await write(self._frames(news))
                elif left > KEEP_ALIVE and not (follower.left or self._hub.stopped):
                    await write(_ALIVE)

    def _frames(self, news: tuple[News, ...]) -> bytes:
        position = self._follower.position
        return b"".join(format_sse_event(data_str=each.text, event="entry", id=position(each)) for each in news)


@contextmanager
def _until_gone(hub: WaitingHub, waiter: Waiter, receive: Receive) -> Iterator[None]:
    """Removes a waiter from the hub when its connection is closed, and at the end of the block."""

    async def notice() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        hub.leave(waiter)

    noticing = asyncio.get_running_loop().create_task(notice())
    try:
        yield
    finally:
        noticing.cancel()
        hub.leave(waiter)


_EVENT: Final = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": ["entry", "end"]},
        "data": {
            "type": "string",
            "description": "For `entry` a line of the log; for `end` the reason why the stream ends",
        },
        "id": {"type": "string", "description": "The position; send it as `Last-Event-ID` to continue from there"},
        "retry": {"type": "integer"},
    },
}
_EVENTS: Final[dict[int | str, dict[str, Any]]] = {  # Any: FastAPI's own type
    200: {"content": {"text/event-stream": {"itemSchema": _EVENT}}, "description": "Server-sent events"}
}


def make_events_router(cases: UseCases) -> APIRouter:
    """Returns the endpoints of the streams."""
    router = APIRouter(prefix="/v1")
    me = Annotated[str, Depends(logged_in(cases))]

    @router.get(
        "/games/{game}/events",
        response_class=Response,
        responses={**_EVENTS, **problem_responses(400, 404, 409)},
        tags=["games"],
    )
    async def game_events(
        game: models.GameId, after: models.After = -1, wait: Lasting = LONGEST_STREAM, last_event_id: LastEventId = None
    ) -> Response:
        """The entries of a game after number `after`, then new ones as they come."""
        if last_event_id:
            after = _parse_number(last_event_id)
        return EventStream(cases.hub, GameFollower(game, after, cases.store), wait)

    @router.get(
        "/events", response_class=Response, responses={**_EVENTS, **problem_responses(400, 401)}, tags=["games"]
    )
    async def own_events(player: me, wait: Lasting = LONGEST_STREAM, last_event_id: LastEventId = None) -> Response:
        """New entries of all the caller's games as they come, from now on or from `Last-Event-ID` on."""
        cursor = parse_cursor(last_event_id) if last_event_id else None
        return EventStream(cases.hub, PlayerFollower(player, cursor, cases.hub, cases.store, cases.sources), wait)

    return router


def _parse_number(text: str) -> int:
    """Returns the number of an entry from the id of an event of one game. Raises `MalformedError`."""
    if not _NUMBER.fullmatch(text) or int(text) > _MOST_AFTER:
        raise MalformedError("Last-Event-ID", tell("this service has not sent such an id"))
    return int(text)
