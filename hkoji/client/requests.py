"""Requests to one service: repeated when it asks to wait, and with a login where one is needed.

docs/spec/http.md; docs/spec/log.md, "Client rules". A login signs only a login statement, and only for the origin at
which the player has registered. That origin is the address in use, unless the user has confirmed another one for it. So
nobody can obtain a signature on another text, or a login for another service.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator
from typing import Any, Final, TypeVar

from hkoji.client.answers import SHORT_ANSWER, problem, read_challenge, read_description, read_token
from hkoji.client.events import ServerSentEvent, read_events
from hkoji.client.home import Home
from hkoji.client.identity import Identity
from hkoji.client.moving import another_service
from hkoji.client.pins import Pins
from hkoji.client.transport import MOST_BYTES, TIMEOUT, HttpAnswer, Transport, naming_move
from hkoji.errors import ForbiddenError, HkojiError, LoginError, NetworkError, NotFoundError, TrustError
from hkoji.log.canonical import encode_base64
from hkoji.messages.text import tell

_T = TypeVar("_T")

_GRACE: Final = 10.0
_SILENCE: Final = 45.0
"""A stream of events without a byte for so many seconds is broken: a service sends something every 15."""
_TRIES: Final = 3
_LONGEST_WAIT: Final = 60
"""How often, and for how many seconds in all, the client waits for a service that asks for it."""


REPLACED: Final = tell(
    "if you have changed or recovered your key on another machine, copy its key file from there, and take it up with "
    "`hkoji rekey --key FILE`; if you have not, somebody else has: ask the operator"
)
"""The hint for a player whose key is no longer that of their name."""


def unregistered(url: str) -> LoginError:
    """Returns the error for a service at which the player has to register first."""
    return LoginError(tell("you are not registered at {url}", url=url), hint=f"hkoji register --server {url}")


class ServiceRequests:
    """Sends requests over `transport` for the player of `home`; `identity` is called when a login must be signed.

    Every request can raise `NetworkError`, and the errors that the service's problem documents stand for.
    """

    def __init__(
        self,
        home: Home,
        transport: Transport,
        pins: Pins,
        identity: Callable[[], Identity],
        say: Callable[[str], None],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._home: Final = home
        self._transport: Final = transport
        self._pins: Final = pins
        self._identity = identity
        self._say = say
        self._pause = pause
        self.token: str | None = None
        """The login's token, once it has served."""

    def send(
        self,
        method: str,
        path: str,
        value: Any = None,  # Any: JSON
        token: str | None = None,
        *,
        game: str = "",
        body: bytes | None = None,
        most: int = SHORT_ANSWER,
    ) -> HttpAnswer:
        """Returns the answer, of at most `most` bytes. Raises the error that a refusal stands for."""
        if body is None and (method == "POST" or value is not None):
            body = b"" if value is None else json.dumps(value).encode()
        self._transport.most = most
        with naming_move(self._registered):
            answer = self._patiently(method, path, body, token)
        self.check(answer, game)
        return answer

    def waited(self, path: str, wait: int) -> HttpAnswer:
        """Returns an answer that the service may delay, or its refusal, which the caller handles."""
        self._transport.patience, self._transport.most = wait + _GRACE, MOST_BYTES
        try:
            with naming_move(self._registered):
                return self._transport.request("GET", path)
        finally:
            self._transport.patience = TIMEOUT

    def follow(
        self, path: str, token: str | None = None, place: str | None = None, *, game: str = ""
    ) -> Generator[ServerSentEvent | None, None, None]:
        """Yields a stream's events as they come, from now on or after `place`."""
        with naming_move(self._registered):
            answer, lines = self._transport.follow(path, token, place, _SILENCE)
        self.check(answer, game)
        return read_events(lines)

    def check(self, answer: HttpAnswer, game: str) -> None:
        """Raises the error that a refusal stands for; `TrustError` for what is not found at another service."""
        if answer.status in (200, 201, 204):
            return
        if answer.status == 404:
            self._require_own_service()
        if answer.status == 404 and game:
            raise NotFoundError(tell("game"), game, hint=tell("list games with `hkoji games` or `hkoji games --open`"))
        raise problem(answer)

    def _require_own_service(self) -> None:
        """Raises `TrustError` if another service than the pinned one answers. Call it only for a refusal.

        A service that does not know the player or the game may be one that has taken the place of the right one.
        """
        known = self._pins.server_key
        if known is None:
            return
        self._transport.most = SHORT_ANSWER
        try:
            answer = self._transport.request("GET", "/v1/service")
            if answer.status not in (200, 404):
                return
            shown = read_description(answer).key if answer.status == 200 else None
        except NetworkError:
            return
        except HkojiError:
            shown = None
        if shown != known:
            raise another_service(self._home, self._transport.url, known, shown)

    def with_login(self, call: Callable[[str], _T]) -> _T:
        """Calls with the kept token; logs in by signature when there is none or it has expired."""
        token = self.token or (self._home.token(self._transport.url) if self._pins.origin else None)
        if token is not None:
            try:
                answer = call(token)
            except LoginError:
                pass
            else:
                self.token = token
                return answer
        return call(self.login())

    def login(self) -> str:
        """Logs in by signature. Returns the token, which is kept. Raises `TrustError` for a login at another origin."""
        from hkoji.log import sshsig

        identity, origin = self._identity(), self._pins.origin
        if origin is None:
            raise unregistered(self._transport.url)
        statement = read_challenge(self.send("POST", "/v1/login/challenge"))
        if statement.origin != origin:
            self._require_own_service()
            raise TrustError(
                tell(
                    "the service asks you to sign a login for {origin}, but you registered at {known}",
                    origin=statement.origin,
                    known=origin,
                ),
                hint=tell(
                    "nothing was signed; if its address has changed: hkoji register --server {url}",
                    url=self._transport.url,
                ),
            )
        sig = identity.signer_of(identity.key_at(self._transport.url)).sign(sshsig.LOGIN, statement.message)
        try:
            value = {"name": identity.name, "text": statement.text, "sig": encode_base64(sig)}
            self.token = read_token(self.send("POST", "/v1/login", value))
        except ForbiddenError as error:
            self._require_own_service()
            if identity.next is None:
                error.hint = error.hint or REPLACED
                raise
            raise LoginError(
                tell("your change of key is not finished yet: {reason}", reason=error),
                hint=tell("finish it with `hkoji rekey`"),
            ) from error
        self._home.set_token(self._transport.url, self.token)
        return self.token

    def _registered(self) -> bool:
        return self._pins.origin is not None

    def _patiently(self, method: str, path: str, body: bytes | None, token: str | None) -> HttpAnswer:
        """Returns the answer; if the service asks to wait, waits and asks again. Every request may be repeated."""
        left = _LONGEST_WAIT
        for _ in range(_TRIES):
            answer = self._transport.request(method, path, body, token)
            wait = answer.retry_after
            if answer.status not in (429, 503) or wait is None or wait > left:
                return answer
            self._say(tell("the service asks hkoji to wait; trying again in {seconds} s", seconds=wait))
            self._pause(wait)
            left -= wait
        return self._transport.request(method, path, body, token)
