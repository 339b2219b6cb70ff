"""The service's endpoints as functions, and its problem documents as errors.

docs/spec/http.md. Checks the shape of what comes, not its truth: that is the table's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from hkoji import errors
from hkoji.client.events import Event, read_events
from hkoji.client.transport import MOST_BYTES, TIMEOUT, HttpAnswer, Transport
from hkoji.game.openings import Opening, parse_opening
from hkoji.game.submission import Submission, format_submission
from hkoji.log.canonical import is_hex
from hkoji.log.line import Line, SignedEntry, parse_log, read_line, read_signed
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import Login, make_login, parse_login
from hkoji.messages.text import quoted, shorten, tell
from hkoji.messages.wire import assemble

REFUSALS: Final = (errors.ConflictError, errors.IllegalError, errors.InvalidError, errors.ForbiddenError)
"""What `Api.submit` raises when the service has read a submission and does not take it. Others say nothing certain."""

_NEVER: Final = "9999-12-31T23:59:59Z"
_GRACE: Final = 10.0
_SILENCE: Final = 45.0
"""A stream of events in which nothing comes for so many seconds is broken: a service says something every 15."""
_PAGE: Final = "200"
_TRIES: Final = 3
_LONGEST_WAIT: Final = 60
"""How often, and for how many seconds in all, a service that is asked too much is waited for."""
_SUMMARY: Final = ("game", "status", "host", "guest", "invite", "to_move", "updated")


class About(NamedTuple):
    """What a service says of itself."""

    key: PublicKey
    origin: str


class EarlierKey(NamedTuple):
    """A key that a player had before, and what has been signed about it."""

    key: PublicKey
    revoked: bool
    text: str | None
    sig: str | None
    new_sig: str | None


class ViewAnswer(NamedTuple):
    """What the service shows a seat: its head, the signed view, own openings, and the log's new lines."""

    seq: int
    head: str
    view: SignedEntry
    openings: tuple[Opening, ...]
    lines: tuple[Line, ...]


class Api:
    """The endpoints of the service at `transport`. Every call raises `NetworkError` and the service's problems."""

    def __init__(
        self,
        transport: Transport,
        say: Callable[[str], None] = lambda _: None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.transport: Final = transport
        self._say = say
        self._pause = pause
        self._shown: Final[dict[str, tuple[bytes, ViewAnswer]]] = {}
        """The last view of each game, and the bytes that it was read from."""

    def about(self) -> About:
        """What the service is."""
        answer = self._request("GET", "/v1/service")
        with _understood(answer):
            value = answer.json()
            origin = value["origin"]
            make_login(expires=_NEVER, nonce="0" * 64, origin=origin)  # an origin that statements can hold
            return About(parse_public_key(value["key"]), origin)

    def register(self, text: str, sig: str) -> None:
        """Registers by a signed registration."""
        self._request("POST", "/v1/players", {"text": text, "sig": sig})

    def new_key(self, name: str, text: str, sig: str, old_sig: str) -> None:
        """Another key for a player."""
        self._request("POST", f"/v1/players/{name}/key", {"text": text, "sig": sig, "old_sig": old_sig})

    def revoke(self, name: str, text: str, sig: str) -> None:
        """Revokes a player's key."""
        self._request("POST", f"/v1/players/{name}/revocation", {"text": text, "sig": sig})

    def recover(self, name: str, text: str, sig: str, code: str) -> tuple[EarlierKey, ...]:
        """Another key for a player whose key is revoked. Their keys of before."""
        answer = self._request("POST", f"/v1/players/{name}/recovery", {"text": text, "sig": sig, "code": code})
        return _earlier(answer)

    def earlier_keys(self, name: str) -> tuple[EarlierKey, ...]:
        """The keys that a player had before, as the service tells them."""
        return _earlier(self._request("GET", f"/v1/players/{name}"))

    def recover_seat(self, game: str, proof: str, token: str) -> tuple[Line, ...]:
        """Asks for the own new key in the place of a revoked one. The line that it has brought."""
        answer = self._request("POST", f"/v1/games/{game}/recovery", {"proof": proof}, token, game=game)
        with _understood(answer):
            return tuple(read_line(line) for line in answer.json()["lines"])

    def challenge(self) -> Login:
        """A login statement to sign."""
        answer = self._request("POST", "/v1/login/challenge")
        with _understood(answer):
            return parse_login(answer.json()["text"])

    def login(self, name: str, text: str, sig: str) -> str:
        """A token for a signed challenge."""
        answer = self._request("POST", "/v1/login", {"name": name, "text": text, "sig": sig})
        with _understood(answer):
            token = _text(answer.json()["token"])
            if not token.isalnum() and not token.replace("-", "").replace("_", "").isalnum():
                raise ValueError("a token is letters, digits, - and _")
            return token

    def offer(self, ruleset: Mapping[str, Any], token: str) -> Line:  # Any: JSON
        """Asks for a new game. Its first line."""
        answer = self._request("POST", "/v1/offers", {"ruleset": dict(ruleset)}, token)
        with _understood(answer):
            return read_line(answer.json()["line"])

    def games(
        self, filters: Mapping[str, str | None], token: str | None = None, *, mine: bool = False
    ) -> list[dict[str, Any]]:  # Any: JSON
        """All games that match, page by page: the public list, or the own. Filters that are None do not count.

        A list that does not end is a service's way to keep its clients for ever: every page must have games, and all
        of them together no more bytes than one answer may have.
        """
        chosen = {name: value for name, value in filters.items() if value is not None}
        found: list[dict[str, Any]] = []
        after: str | None = None
        size = 0
        while True:
            query = urlencode({**chosen, "limit": _PAGE, **({"after": after} if after else {})})
            answer = self._request("GET", f"/v1/{'me/' if mine else ''}games?{query}", token=token)
            with _understood(answer):
                page = answer.json()
                found.extend(_summary(value) for value in page["games"])
                after = None if page["next"] is None else _text(page["next"])
                size += len(answer.body)
                if after and (not page["games"] or size > MOST_BYTES):
                    raise errors.HkojiError(tell("its list of games does not end"))
            if not after:
                return found

    def log(self, game: str, after: int = -1, wait: int = 0) -> tuple[Line, ...]:
        """The public log's lines after an entry; the service waits for one so many seconds, if it knows how to."""
        path = f"/v1/games/{game}/log?after={after}"
        if wait:
            answer = self._waited(f"{path}&wait={wait}", wait)
            self._check(answer, game)
        else:
            answer = self._request("GET", path, game=game)
        with _understood(answer):
            return parse_log(answer.body)

    def game_events(self, game: str, after: int) -> Generator[Event | None, None, None]:
        """The entries of a game after one, as they come. Raises `NotFoundError` if the service has no events."""
        answer, lines = self.transport.follow(f"/v1/games/{game}/events?after={after}", None, None, _SILENCE)
        self._check(answer, game)
        return read_events(lines)

    def own_events(self, place: str | None, token: str) -> Generator[Event | None, None, None]:
        """The entries of all own games, from now on or after `place`. `ServiceError` if the service has no events."""
        answer, lines = self.transport.follow("/v1/events", token, place, _SILENCE)
        self._check(answer, "")
        return read_events(lines)

    def view(self, game: str, after: int, token: str) -> ViewAnswer:
        """The own view, with the log's lines after an entry."""
        answer = self._request("GET", f"/v1/games/{game}/view?after={after}", token=token, game=game)
        body, shown = self._shown.get(game, (None, None))
        if shown is None or body != answer.body:
            shown = _read_shown(answer)
            self._shown[game] = (answer.body, shown)
        return shown

    def submit(self, submission: Submission) -> tuple[Line, ...]:
        """Sends an entry. All lines that it has brought. Raises one of `REFUSALS` if it is not taken."""
        game = submission.entry.game
        path = f"/v1/games/{game}/entries"
        answer = self._request("POST", path, game=game, body=format_submission(submission).encode())
        with _understood(answer):
            return tuple(read_line(line) for line in answer.json()["lines"])

    def _request(
        self,
        method: str,
        path: str,
        value: Any = None,  # Any: JSON
        token: str | None = None,
        *,
        game: str = "",
        body: bytes | None = None,
    ) -> HttpAnswer:
        if method == "POST" and body is None:
            body = b"" if value is None else json.dumps(value).encode()
        answer = self._patiently(method, path, body, token)
        self._check(answer, game)
        return answer

    def _check(self, answer: HttpAnswer, game: str) -> None:
        """Raises what a refusal stands for."""
        if answer.status in (200, 201):
            return
        if answer.status == 404 and game:
            raise errors.NotFoundError(
                tell("game"), game, hint=tell("list games with `hkoji games` or `hkoji games --open`")
            )
        raise problem(answer)

    def _waited(self, path: str, wait: int) -> HttpAnswer:
        """The answer that the service takes its time for. Who waits knows what to do when there is no room."""
        self.transport.patience = wait + _GRACE
        try:
            return self.transport.request("GET", path)
        finally:
            self.transport.patience = TIMEOUT

    def _patiently(self, method: str, path: str, body: bytes | None, token: str | None) -> HttpAnswer:
        """The answer; where the service asks to wait a little, the one after that. Everything may be sent again."""
        left = _LONGEST_WAIT
        for _ in range(_TRIES):
            answer = self.transport.request(method, path, body, token)
            wait = answer.retry_after
            if answer.status not in (429, 503) or wait is None or wait > left:
                return answer
            self._say(tell("the service asks to wait: {seconds} s", seconds=wait))
            self._pause(wait)
            left -= wait
        return self.transport.request(method, path, body, token)


def problem(answer: HttpAnswer) -> errors.HkojiError:
    """The error that a problem document stands for: by its code, else by its status."""
    value = answer.json()
    if not isinstance(value, dict):
        value = {}
    code, game, seq, head = (value.get(name) for name in ("code", "game", "seq", "head"))
    told = value.get("detail")
    if told is None:
        detail: str = tell("the service answered with status {status}", status=answer.status)
    else:
        detail = _quoted(value, "detail")
    hint = _quoted(value, "hint")
    if not hint and answer.status >= 500:
        hint = tell("nothing was changed here: try again later, or ask its host")
    if 300 <= answer.status < 400:
        where = shorten(answer.location, 200) or "nowhere"
        return errors.ServiceError(
            answer.status,
            tell("the service sends you on to {where}", where=where),
            hint=tell("nothing was changed here; if its host tells you that it has moved there, register there"),
        )
    if code == "conflict" and isinstance(game, str) and type(seq) is int and isinstance(head, str):
        return errors.ConflictError(shorten(game, 32), seq=seq, head=head)
    if code == "not-your-turn":
        actor = value.get("actor")
        return errors.NotYourTurnError(detail, actor=actor if actor in (0, 1) else None, hint=hint)
    if code == "game-over" and isinstance(game, str):
        return errors.GameOverError(shorten(game, 32))
    if answer.status == 429:
        wait = value.get("retry_after")
        return errors.TooManyError(wait if type(wait) is int and wait >= 0 else 1)
    if code == errors.BusyError.code and answer.status == 503:
        wait = value.get("retry_after")
        return errors.BusyError(wait if type(wait) is int and wait >= 0 else 5)
    if code == errors.RevokedError.code and answer.status == 403:
        return _RevokedError(detail, hint=hint)
    kind = _BY_STATUS.get(answer.status)
    return kind(detail, hint=hint) if kind else errors.ServiceError(answer.status, detail, hint=hint)


def _quoted(value: dict[str, Any], name: str) -> str:  # Any: JSON
    """What a problem says under `name`, to be shown in the reader's language where that is known."""
    english = shorten(str(value.get(name, "")), 300)
    parts = value.get("parts")
    made = assemble(english, parts.get(name)) if isinstance(parts, dict) else english
    return quoted(english) if made is english else made


class _RevokedError(errors.ForbiddenError):
    """The key counts nowhere any more."""

    code = errors.RevokedError.code


class _TakenError(errors.HkojiError):
    """A name or a key that somebody else has registered."""

    code = "exists"


_BY_STATUS: Final[dict[int, type[errors.HkojiError]]] = {
    400: errors.InvalidError,
    401: errors.LoginError,
    403: errors.ForbiddenError,
    409: _TakenError,
    422: errors.IllegalError,
}


@contextmanager
def _understood(answer: HttpAnswer) -> Iterator[None]:
    """Whatever the service sends in place of what it should is one error, and none of ours."""
    try:
        yield
    except (errors.HkojiError, KeyError, TypeError, ValueError, RecursionError) as error:
        reason = shorten(str(error), 120) if isinstance(error, errors.HkojiError) else tell("it has another form")
        raise errors.ServiceError(
            answer.status,
            tell("the service's answer is not understood: {reason}", reason=reason),
            hint=tell("is it an hkoji service, and of this version? Nothing was changed here"),
        ) from error


def _read_shown(answer: HttpAnswer) -> ViewAnswer:
    with _understood(answer):
        value = answer.json()
        if type(value["seq"]) is not int:
            raise TypeError("seq is not a number")
        return ViewAnswer(
            value["seq"],
            _text(value["head"]),
            read_signed(value["view"], "view"),
            tuple(parse_opening(each) for each in value["openings"]),
            tuple(read_line(each) for each in value["lines"]),
        )


def _earlier(answer: HttpAnswer) -> tuple[EarlierKey, ...]:
    with _understood(answer):
        found = answer.json()["earlier"]
        return tuple(
            EarlierKey(
                parse_public_key(each["key"]),
                each["revoked"] is True,
                *(None if each[name] is None else _text(each[name]) for name in ("text", "sig", "new_sig")),
            )
            for each in found
        )


def _text(value: object) -> str:
    if not isinstance(value, str) or shorten(value, len(value)) != value:
        raise TypeError("it is not plain text")
    return value


def _summary(value: Any) -> dict[str, Any]:  # Any: JSON
    """A game's summary with the fields that are read here in their types; others are passed on."""
    for name in _SUMMARY:
        if value[name] is not None:
            _text(value[name])
    if type(value["round"]) is not int or not isinstance(value["ruleset"], dict):
        raise TypeError("a game's summary")
    _text(value["ruleset"]["name"])
    # The client names a folder after it: it is an id, and no way to another place.
    if not is_hex(value["game"], 32):
        raise ValueError("a game's id is 32 hex digits")
    return dict(value)
