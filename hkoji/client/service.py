"""One service, for one player: its endpoints, its pinned key, and a login when one is needed.

docs/spec/http.md; docs/spec/log.md, "Client rules". A login signs only a login statement, and only for the origin at
which the player has registered. That origin is the address in use, unless the user has confirmed another one for it. So
nobody can obtain a signature on another text, or a login for another service.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from hkoji.client.answers import (
    PlayerAnswer,
    ServiceDescription,
    ViewAnswer,
    problem,
    read_challenge,
    read_description,
    read_lines,
    read_player,
    read_summary,
    read_text,
    read_token,
    read_view_answer,
    understood,
)
from hkoji.client.events import ServerSentEvent, read_events
from hkoji.client.home import Home
from hkoji.client.identity import Identity
from hkoji.client.pins import KnownKeys, Pins
from hkoji.client.transport import MOST_BYTES, TIMEOUT, HttpAnswer, Transport
from hkoji.errors import (
    ExistsError,
    ForbiddenError,
    HkojiError,
    LoginError,
    NetworkError,
    NotFoundError,
    ServiceError,
    TrustError,
)
from hkoji.game.submission import Submission, format_submission
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.line import MAX_LINE_BYTES, Line, parse_log, read_line
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import NewKey, parse_new_key
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset

_T = TypeVar("_T")

_GRACE: Final = 10.0
_SILENCE: Final = 45.0
"""A stream of events without a byte for so many seconds is broken: a service sends something every 15."""
_PAGE: Final = "200"
_SHORT: Final = 64 * 1024
"""The longest answer, in bytes, to requests about the service, logins and keys."""
_LONGEST_PAGE: Final = 512 * 1024
"""The longest page of a list of games, where 200 games have a fifth of it, and the longest list of a player's keys."""
_LONGEST_LIST: Final = 8 * 1024 * 1024
"""The longest list of games, all pages together: some 16,000 games."""
_LONGEST_VIEW: Final = 2 * MAX_LINE_BYTES
"""The longest view or answer to an entry. Either may hold one text of the greatest length, and some short ones."""
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


def utc_now() -> str:
    """Returns the time in the form of entries."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@contextmanager
def _signed() -> Iterator[None]:
    """Says of a `NetworkError` of the block, which sends what is signed and on disk, that nothing is lost."""
    try:
        yield
    except NetworkError as error:
        error.hint = tell("nothing is lost: give the same command again, and it sends the same bytes")
        raise


class Service:
    """The service at `transport` for the player of `home`; `identity` is called when something must be signed.

    Every request can raise `NetworkError`, and the errors that the service's problem documents stand for.
    """

    def __init__(
        self,
        home: Home,
        transport: Transport,
        identity: Callable[[], Identity],
        say: Callable[[str], None],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url: Final = transport.url
        self.pins: Final = Pins(home, self.url, say)
        self.known_keys: Final = KnownKeys(self.pins, self._successors, say)
        self._transport: Final = transport
        self._home: Final = home
        self._identity = identity
        self._say = say
        self._pause = pause
        self._token: str | None = None
        self._views: Final[dict[str, tuple[bytes, ViewAnswer]]] = {}
        """The last view of each game, and the bytes that it was read from."""
        if transport.exposed:
            say(tell("warning: {url} is reached without TLS; others can read your cards on the way", url=self.url))

    def close(self) -> None:
        """Closes the connection."""
        self._transport.close()

    @cached_property
    def key(self) -> PublicKey:
        """The pinned key of the service; pinned now if it is a new one. Raises `TrustError`, like `meet`."""
        return self.pins.server_key or self.pins.pin_server(self.meet().key)

    def describe(self) -> ServiceDescription:
        """Returns the service's description."""
        return read_description(self._request("GET", "/v1/service"))

    def meet(self, origin: str | None = None) -> ServiceDescription:
        """Returns the service's description if it may be used at this address. Pins nothing.

        `origin` is the one that the user has confirmed. Raises `TrustError` for a changed key or another service's
        origin, and `OtherOriginError` for an origin other than this address that nobody has confirmed.
        """
        about = self.describe()
        self.pins.verify_server(about.key)
        self.pins.verify_origin(about.origin, about.key, origin)
        return about

    # --- players --------------------------------------------------------------------------------------------------

    def register(self, origin: str | None = None, code: str | None = None) -> None:
        """Registers the player, and pins the service's key and origin, and the player's own key under their name.

        `code` is the operator's, which some services ask for. Raises what `meet` raises.
        """
        from hkoji.log import sshsig
        from hkoji.log.statement import make_registration

        identity = self._identity()
        about = self.meet(origin)
        key = identity.key_at(self.url)
        statement = make_registration(at=utc_now(), key=key, name=identity.name, origin=about.origin)
        sig = identity.signer_of(key).sign(sshsig.REGISTER, statement.message)
        request = {"text": statement.text, "sig": encode_base64(sig)}
        try:
            self._request("POST", "/v1/players", request if code is None else {**request, "code": code})
        except HkojiError as error:
            if error.code == ExistsError.code and self.pins.origin is not None:  # the name has another key by now
                error.hint = REPLACED
            raise
        self.pins.pin_server(about.key)
        self.pins.pin_origin(about.origin)
        self.pins.pin_player(identity.name, key)

    def new_key(self, name: str, text: str, sig: str, old_sig: str) -> None:
        """Gives a player a new key, for which the old one has signed."""
        with _signed():
            self._request("POST", f"/v1/players/{name}/key", {"text": text, "sig": sig, "old_sig": old_sig})

    def revoke(self, name: str, text: str, sig: str) -> None:
        """Revokes a player's key."""
        self._request("POST", f"/v1/players/{name}/revocation", {"text": text, "sig": sig})

    def recover(self, name: str, text: str, sig: str, code: str) -> PlayerAnswer:
        """Gives a new key to a player whose key is revoked."""
        value, path = {"text": text, "sig": sig, "code": code}, f"/v1/players/{name}/recovery"
        with _signed():
            return read_player(self._request("POST", path, value, most=_LONGEST_PAGE))

    def is_registered(self, name: str) -> bool:
        """Returns whether a player has that name here. A service that does not answer the question may have one."""
        try:
            self._request("GET", f"/v1/players/{name}", most=_LONGEST_PAGE)
        except ServiceError as error:
            return error.status != 404
        return True

    def player(self, name: str) -> PlayerAnswer:
        """Returns a player's keys, as the service reports them."""
        return read_player(self._request("GET", f"/v1/players/{name}", most=_LONGEST_PAGE))

    def _successors(self, name: str) -> tuple[NewKey, ...]:
        """Returns the changes of a player's key that both keys have signed; none without an answer."""
        from hkoji.log import sshsig

        found: list[NewKey] = []
        try:
            for each in self.player(name).earlier:
                if each.text is None or each.sig is None or each.new_sig is None:
                    continue
                step = parse_new_key(each.text)
                if step.name != name or step.old != each.key or step.origin != self.pins.origin:
                    continue
                for key, sig in ((step.old, each.sig), (step.key, each.new_sig)):
                    sshsig.verify(decode_base64(sig, "signature"), key, sshsig.NEW_KEY, step.message, name)
                found.append(step)
        except HkojiError:
            return ()
        return tuple(found)

    # --- games ----------------------------------------------------------------------------------------------------

    def list_games(self, **filters: str | None) -> list[dict[str, Any]]:  # Any: JSON
        """Returns everybody's games that match."""
        return self._list("/v1/games", filters)

    def own_games(self, **filters: str | None) -> list[dict[str, Any]]:  # Any: JSON
        """Returns the player's games that match."""
        return self._with_login(lambda token: self._list("/v1/me/games", filters, token))

    def _list(
        self, path: str, filters: Mapping[str, str | None], token: str | None = None
    ) -> list[dict[str, Any]]:  # Any: JSON
        """Returns all games that match, page by page. Filters that are None do not count.

        A service could keep its clients busy for ever with a list that does not end. So every page must have games,
        and all pages together no more bytes than one answer may have.
        """
        chosen = {name: value for name, value in filters.items() if value is not None}
        found: list[dict[str, Any]] = []
        after: str | None = None
        size = 0
        while True:
            query = urlencode({**chosen, "limit": _PAGE, **({"after": after} if after else {})})
            answer = self._request("GET", f"{path}?{query}", token=token, most=_LONGEST_PAGE)
            with understood(answer):
                page = answer.json()
                found.extend(read_summary(value) for value in page["games"])
                after = None if page["next"] is None else read_text(page["next"])
                size += len(answer.body)
                if after and (not page["games"] or size > _LONGEST_LIST):
                    raise HkojiError(tell("its list of games does not end"))
            if not after:
                return found

    def offer(self, ruleset: Ruleset) -> Line:
        """Asks for a new game. Returns its first line."""
        value = {"ruleset": dict(ruleset.to_json())}
        answer = self._with_login(lambda token: self._request("POST", "/v1/offers", value, token))
        with understood(answer):
            return read_line(answer.json()["line"])

    def log(self, game: str, after: int = -1, wait: int = 0) -> tuple[Line, ...]:
        """Returns the public log's lines after an entry. The service may wait up to `wait` seconds for one."""
        path = f"/v1/games/{game}/log?after={after}"
        if wait:
            answer = self._waited(f"{path}&wait={wait}", wait)
            self._check(answer, game)
        else:
            answer = self._request("GET", path, game=game, most=MOST_BYTES)
        with understood(answer):
            return parse_log(answer.body)

    def view(self, game: str, after: int) -> ViewAnswer:
        """Returns the player's view, with the log's lines after an entry."""
        path = f"/v1/games/{game}/view?after={after}"
        answer = self._with_login(lambda token: self._request("GET", path, token=token, game=game, most=_LONGEST_VIEW))
        body, shown = self._views.get(game, (None, None))
        if shown is None or body != answer.body:
            shown = read_view_answer(answer)
            self._views[game] = (answer.body, shown)
        return shown

    def game_events(self, game: str, after: int) -> Generator[ServerSentEvent | None, None, None]:
        """Yields a game's entries after `after`, as they come. Raises `NotFoundError` if the service has no events."""
        answer, lines = self._transport.follow(f"/v1/games/{game}/events?after={after}", None, None, _SILENCE)
        self._check(answer, game)
        return read_events(lines)

    def own_events(self, place: str | None) -> Generator[ServerSentEvent | None, None, None]:
        """Yields the entries of all own games as they come, from now on or after `place`.

        Raises `ServiceError` if the service has no events.
        """

        def follow(token: str) -> Generator[ServerSentEvent | None, None, None]:
            answer, lines = self._transport.follow("/v1/events", token, place, _SILENCE)
            self._check(answer, "")
            return read_events(lines)

        return self._with_login(follow)

    # --- entries --------------------------------------------------------------------------------------------------

    def submit(self, submission: Submission) -> tuple[Line, ...]:
        """Sends an entry. Returns the lines that it has added, to be checked with `verify_submitted`.

        Its openings go only to a service whose key is pinned at this address, after `meet`. Raises `LoginError` for
        another one, and one of `REFUSALS` if the service refuses the entry.
        """
        if self.pins.server_key is None:
            raise unregistered(self.url)
        game = submission.entry.game
        body = format_submission(submission).encode()
        path = f"/v1/games/{game}/entries"
        with _signed():
            answer = self._request("POST", path, game=game, body=body, most=_LONGEST_VIEW)
        return read_lines(answer)

    def recover_seat(self, game: str, proof: bytes) -> tuple[Line, ...]:
        """Asks to replace a revoked key of the player by the new one. Returns the line that this has added."""
        value, path = {"proof": encode_base64(proof)}, f"/v1/games/{game}/recovery"
        return read_lines(
            self._with_login(lambda token: self._request("POST", path, value, token, game=game, most=_LONGEST_VIEW))
        )

    def verify_submitted(self, submission: Submission, lines: tuple[Line, ...]) -> None:
        """Checks that the first of `lines` is the entry that was sent, with its receipt. Raises `TrustError`."""
        entry = submission.entry
        first = lines[0] if lines else None
        if first is None or first.entry.text != entry.text or first.receipt is None:
            raise TrustError(
                tell("the service's receipt is not for the entry sent"), hint=tell("the entry is kept; try again")
            )
        from hkoji.audit.checks import verify_receipt

        try:
            verify_receipt(first.receipt, entry, self.key)
        except HkojiError as error:
            raise TrustError(
                tell("the service's receipt does not hold: {reason}", reason=error), hint=tell("the entry is kept")
            ) from error

    # --- requests -------------------------------------------------------------------------------------------------

    def _with_login(self, call: Callable[[str], _T]) -> _T:
        """Calls with the kept token; logs in by signature when there is none or it has expired."""
        token = self._token or (self._home.token(self.url) if self.pins.origin else None)
        if token is not None:
            try:
                answer = call(token)
            except LoginError:
                pass
            else:
                self._token = token
                return answer
        return call(self._login())

    def _login(self) -> str:
        from hkoji.log import sshsig

        identity, origin = self._identity(), self.pins.origin
        if origin is None:
            raise unregistered(self.url)
        statement = read_challenge(self._request("POST", "/v1/login/challenge"))
        if statement.origin != origin:
            raise TrustError(
                tell(
                    "the service asks you to sign a login for {origin}, but you registered at {known}",
                    origin=statement.origin,
                    known=origin,
                ),
                hint=tell(
                    "nothing was signed; if its address has changed: hkoji register --server {url}", url=self.url
                ),
            )
        sig = identity.signer_of(identity.key_at(self.url)).sign(sshsig.LOGIN, statement.message)
        try:
            value = {"name": identity.name, "text": statement.text, "sig": encode_base64(sig)}
            self._token = read_token(self._request("POST", "/v1/login", value))
        except ForbiddenError as error:
            if identity.next is None:
                error.hint = error.hint or REPLACED
                raise
            raise LoginError(
                tell("your change of key is not finished yet: {reason}", reason=error),
                hint=tell("finish it with `hkoji rekey`"),
            ) from error
        self._home.set_token(self.url, self._token)
        return self._token

    def _request(
        self,
        method: str,
        path: str,
        value: Any = None,  # Any: JSON
        token: str | None = None,
        *,
        game: str = "",
        body: bytes | None = None,
        most: int = _SHORT,
    ) -> HttpAnswer:
        if method == "POST" and body is None:
            body = b"" if value is None else json.dumps(value).encode()
        self._transport.most = most
        answer = self._patiently(method, path, body, token)
        self._check(answer, game)
        return answer

    def _check(self, answer: HttpAnswer, game: str) -> None:
        """Raises the error that a refusal stands for."""
        if answer.status in (200, 201):
            return
        if answer.status == 404 and game:
            raise NotFoundError(tell("game"), game, hint=tell("list games with `hkoji games` or `hkoji games --open`"))
        raise problem(answer)

    def _waited(self, path: str, wait: int) -> HttpAnswer:
        """Returns an answer that the service may delay, or its refusal, which the caller handles."""
        self._transport.patience, self._transport.most = wait + _GRACE, MOST_BYTES
        try:
            return self._transport.request("GET", path)
        finally:
            self._transport.patience = TIMEOUT

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
