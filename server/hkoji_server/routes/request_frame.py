"""The frame of every request: its number, the headers that every answer has, a line in the log, and the answer 500.

The line has method, path, status, milliseconds and number. It has no query, header, body, name, code of a link or token
of a letter.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from time import perf_counter
from typing import Final

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hkoji_server.log import CLIENT_LEFT, REFUSED, log
from hkoji_server.routes.invitation_page import INVITATION_PATH
from hkoji_server.routes.mail_stop import STOP_PREFIX
from hkoji_server.routes.problems import answer

NUMBER: Final = b"x-request-id"
TIME: Final = b"hkoji-time"
"""The header with the time by the clock of the service. Servers before it may write `Date` by theirs."""
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_HTTPS_ONLY: Final = (b"strict-transport-security", b"max-age=31536000")
_LINKS: Final = INVITATION_PATH.partition("{")[0]
_UNSTORED: Final = (b"cache-control", b"no-store")


class RequestFrame:
    """ASGI middleware around everything except `ProxyHeadersMiddleware`.

    `time` returns the time of an answer, in the form of the log. `secure` means that players use https; the answers
    then instruct browsers to use nothing else. `logged` means that each request has a line in the log.
    """

    def __init__(self, app: ASGIApp, time: Callable[[], str], *, secure: bool, logged: bool) -> None:
        self._app = app
        self._time = time
        self._logged = logged
        self._headers = (*_HEADERS, _HTTPS_ONLY) if secure else _HEADERS
        # Request numbers must differ but need not be secret, so the system is not asked for randomness each time. They
        # do not come from the service's own randomness, because tests replace it. A client can neither choose them nor
        # count requests by them.
        self._draw = Random().getrandbits  # noqa: S311

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = f"{self._draw(64):016x}"
        structlog.contextvars.bind_contextvars(request=number)
        began = perf_counter()
        status = 0

        async def complete(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = (NUMBER, number.encode()), (TIME, self._time().encode())
                headers = [*message["headers"], *self._headers, *own]
                for name, _ in message["headers"]:
                    if name == b"cache-control":
                        break
                else:
                    headers.append(_UNSTORED)
                message = {**message, "headers": headers}
            await send(message)

        try:
            await self._app(scope, receive, complete)
            status = status or without_answer(scope)
        except Exception:
            if not status:
                text = "the service failed; nothing acknowledged is lost"
                await answer(500, "internal", text, "try again later", {})(scope, receive, send)
            raise  # the HTTP server logs it
        finally:
            if self._logged:
                took = round((perf_counter() - began) * 1000, 1)
                log.info("request", method=scope["method"], path=_logged(scope["path"]), status=status or 500, ms=took)


def without_answer(scope: Scope) -> int:
    """Returns the status of a request that the application has not answered, because its body did not come whole."""
    status: int = scope.get("state", {}).get(REFUSED, CLIENT_LEFT)
    return status


def _logged(path: str) -> str:
    # A program that has escaped the # of a link sends its code as a part of the path.
    # Whoever has the address that stops letters can stop them.
    return next((f"{each}..." for each in (_LINKS, STOP_PREFIX) if path.startswith(each)), path)
