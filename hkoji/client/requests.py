"""Requests to one service: repeated when it asks to wait, and with a login where one is needed.

docs/spec/http.md; docs/spec/log.md, "Client rules". A login signs only a login statement, and only for the origin at
which the player has registered. That origin is the address in use, unless the user has confirmed another one for it. So
nobody can obtain a signature on another text, or a login for another service.

Server-sent events are read strictly: an honest service sends little here, but a dishonest one may send anything. Their
format is that of the HTML standard, section 9.2, restricted to lines that end in LF or CR LF.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final, NamedTuple, TypeVar

from hkoji.client.answers import SHORT_ANSWER, problem, read, read_challenge, read_description, read_token
from hkoji.client.identity import Identity
from hkoji.client.kept.home import Home, Pins
from hkoji.client.transport import LATER, MOST_BYTES, TIMEOUT, HeardTime, HttpAnswer, Transport
from hkoji.errors import ForbiddenError, HkojiError, LoginError, NetworkError, NotFoundError, ServiceError, TrustError
from hkoji.game.clock import parse_time
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64, is_time
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import Text, tell

_T = TypeVar("_T")

_GRACE: Final = 10.0
_SILENCE: Final = 45.0
"""A stream of events without a byte for so many seconds is broken: a service sends something every 15."""
_TRIES: Final = 3
_LONGEST_WAIT: Final = 60
"""How often, and for how many seconds in all, the client waits for a service that asks for it."""
_MOST_BETWEEN: Final = 65_536
"""The most bytes without an event: room for the comments that keep a connection open for more than an hour."""
_LONGEST_PLACE: Final = 16_384
_DATE: Final = re.compile(r"[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) (20[0-9]{2}) ([0-9]{2}:[0-9]{2}:[0-9]{2}) GMT")
_MONTHS: Final = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_EPOCH: Final = parse_time("1970-01-01T00:00:00Z")
_SAME_BYTES: Final = tell("nothing is lost: give the same command again, and it sends the same bytes")
REPLACED: Final = tell(
    "if you have changed or recovered your key on another machine, copy its key file from there, and take it up with "
    "`hkoji rekey --key FILE`; if you have not, somebody else has: ask the operator"
)
"""The hint for a player whose key is no longer that of their name."""


class ServerSentEvent(NamedTuple):
    """An event. `place` is its id, from which a client can resume; `name` and `data` may be empty beside it."""

    name: str
    data: str
    place: str | None


def read_events(lines: Generator[bytes, None, None]) -> Generator[ServerSentEvent | None, None, None]:
    """Yields the events in a stream's lines, and None for each comment, which is a sign of life. Closes `lines`.

    Raises `ServiceError` for anything that is not such a stream.
    """
    with closing(lines):
        yield from _read(lines)


def _read(lines: Iterator[bytes]) -> Iterator[ServerSentEvent | None]:
    name = ""
    data: list[str] = []
    place: str | None = None
    between = size = 0
    for raw in lines:
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        between += len(raw)
        if between - size > _MOST_BETWEEN or size > 2 * _MOST_BETWEEN:
            raise unreadable_stream(tell("too much data without an event"))
        if not line:
            if data or place is not None:
                yield ServerSentEvent(name, "\n".join(data), place)
            between = 0 if data else between
            name, data, place, size = "", [], None, 0
            continue
        if line.startswith(b":"):
            yield None
            continue
        field, _, value = line.partition(b":")
        text = _text(value.removeprefix(b" "))
        match field:
            case b"event":
                name = text
            case b"data":
                data.append(text)
                size += len(raw)
            case b"id":
                if len(text) > _LONGEST_PLACE:
                    raise unreadable_stream(tell("the id of an event is too long"))
                place = text
            case b"retry":
                pass
            case _:
                raise unreadable_stream(tell("it has an unknown field"))


def _text(value: bytes) -> str:
    if not value.isascii() or any(byte < 32 or byte == 127 for byte in value):
        raise unreadable_stream(tell("it is not plain text"))
    return value.decode()


def unreadable_stream(reason: str) -> ServiceError:
    """Returns the error for a stream of events that has another form."""
    return ServiceError(
        200,
        tell("the service's event stream cannot be read: {reason}", reason=reason),
        hint=tell("nothing was changed here"),
    )


def seconds_ahead(heard: HeardTime) -> int | None:
    """Returns by how many seconds a time is ahead of that at which it was heard; None for what is no time."""
    stated = _time_of_date(heard.text) or heard.text
    return parse_time(stated) - _EPOCH - int(heard.at) if is_time(stated) else None


def _time_of_date(date: str) -> str | None:
    """Returns the header Date in the form of the log; None for what has another form."""
    found = _DATE.fullmatch(date)
    if found is None or found[2] not in _MONTHS:
        return None
    return f"{found[3]}-{_MONTHS.index(found[2]) + 1:02}-{found[1]}T{found[4]}Z"


def unregistered(url: str) -> LoginError:
    """Returns the error for a service at which the player has to register first."""
    return LoginError(tell("you are not registered at {url}", url=url), hint=f"hkoji register --server {url}")


@contextmanager
def same_bytes() -> Iterator[None]:
    """Says of a `NetworkError` of the block, which sends what is signed and on disk, that it will be sent again."""
    try:
        yield
    except NetworkError as error:
        if error.hint in ("", LATER):
            error.hint = _SAME_BYTES
        elif error.hint == _unless_moved(LATER):
            error.hint = _unless_moved(_SAME_BYTES)
        raise


@contextmanager
def naming_move(registered: Callable[[], bool]) -> Iterator[None]:
    """Says of a `NetworkError` of the block that the service may have moved, if nobody answers there any more.

    That is only said of a service at which the player has `registered`: a new address is more likely mistyped.
    """
    try:
        yield
    except NetworkError as error:
        from hkoji.client.connection import is_nobody_there

        if error.hint == LATER and is_nobody_there(error.__cause__) and registered():
            error.hint = _unless_moved(LATER)
        raise


def _unless_moved(hint: str) -> Text:
    return tell("{hint}; if the service has moved: hkoji register --server URL", hint=hint)


def move_command(url: str) -> str:
    """Returns the command that moves the games to a service."""
    return f"hkoji register --server {url} --move-games"


@contextmanager
def naming_new_address(home: Home, url: str) -> Iterator[None]:
    """Says of a `NetworkError` of the block if the service at `url` has another address, as far as the home knows."""
    try:
        yield
    except NetworkError as error:
        now = _new_address(home, url)
        if now is not None:
            error.hint = tell("nothing is lost; {moved}", moved=_moved_to(now))
        raise


def another_service(home: Home, url: str, known: PublicKey, shown: PublicKey | None) -> TrustError:
    """Returns the error for `url` where the service with the key `known` does not answer any more.

    `shown` is the key of the service that does; None if it is no service of this kind.
    """
    now = _new_address(home, url)
    if now is not None:
        hint = tell("nothing was changed; {moved}", moved=_moved_to(now))
    else:
        hint = tell(
            "nothing was changed; check with `hkoji doctor`. If your service has moved, ask its operator where, and "
            "then: {command}",
            command=move_command("URL"),
        )
    if shown is None:
        return TrustError(tell("something else than your service answers at {url} now", url=url), hint=hint)
    return TrustError(
        tell(
            "another service answers at {url} now: its key is {shown}, and that of yours is {known}",
            url=url,
            shown=shown.fingerprint,
            known=known.fingerprint,
        ),
        hint=hint,
    )


def _moved_to(now: str) -> Text:
    return tell(
        "you are registered at the same service at {now}. If it has moved there: {command}",
        now=now,
        command=move_command(now),
    )


def _new_address(home: Home, url: str) -> str | None:
    """Returns the address at which the player is registered, if it is another one of the service at `url`."""
    now = home.config().get("server")
    if not isinstance(now, str) or now == url:
        return None
    key = Pins(home, url).server_key
    return now if key is not None and key == Pins(home, now).server_key else None


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
        pause: Callable[[float], None],
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

    def as_player(
        self,
        method: str,
        path: str,
        value: Any = None,  # Any: JSON
        *,
        game: str = "",
        most: int = SHORT_ANSWER,
    ) -> HttpAnswer:
        """Sends a request of the player, who is logged in if need be. Returns and raises what `send` does."""
        return self.with_login(lambda token: self.send(method, path, value, token, game=game, most=most))

    def wait(self, path: str, wait: int, game: str) -> HttpAnswer:
        """Returns an answer that the service may delay for `wait` seconds. Raises the error of a refusal."""
        self._transport.patience, self._transport.most = wait + _GRACE, MOST_BYTES
        try:
            with naming_move(self._registered):
                answer = self._transport.request("GET", path)
        finally:
            self._transport.patience = TIMEOUT
        self.check(answer, game)
        return answer

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
            shown = read(answer, read_description).key if answer.status == 200 else None
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
        identity, origin = self._identity(), self._pins.origin
        if origin is None:
            raise unregistered(self._transport.url)
        statement = read(self.send("POST", "/v1/login/challenge"), read_challenge)
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
            self.token = read(self.send("POST", "/v1/login", value), read_token)
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
