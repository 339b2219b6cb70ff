"""One service, for one player: its endpoints, its pinned key and its clock.

docs/spec/http.md; docs/spec/log.md, "Client rules".

Time is counted by the service's clock, and not by the clock of the player's machine. Every answer has the header
`Hkoji-Time`. `Date` (RFC 9110) counts only for a service that does not send it, because a proxy may write that one by
its own clock. How far the two clocks are apart is kept with the pins, so that a command that asks nobody does not count
by a clock that is known to be wrong.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from hkoji.client.answers import (
    LONGEST_LIST,
    LONGEST_PAGE,
    LONGEST_VIEW,
    ClockAnswer,
    PlayerAnswer,
    ServiceDescription,
    ViewAnswer,
    read,
    read_certificate,
    read_clock,
    read_description,
    read_lines,
    read_player,
    read_summary,
    read_text,
    read_view_answer,
    understood,
)
from hkoji.client.identity import Identity
from hkoji.client.kept.home import Home, Pins
from hkoji.client.known_keys import KnownKeys
from hkoji.client.requests import REPLACED, ServerSentEvent, ServiceRequests, same_bytes, seconds_ahead, unregistered
from hkoji.client.transport import MOST_BYTES, HeardTime, Transport
from hkoji.errors import ExistsError, HkojiError, TrustError
from hkoji.game.agreement import Agreement, format_duration
from hkoji.game.clock import add_seconds
from hkoji.game.held_keys import Gateway
from hkoji.game.position import SLACK_SECONDS
from hkoji.game.submission import Submission, format_submission
from hkoji.log import sshsig
from hkoji.log.canonical import JsonValue, encode_base64
from hkoji.log.game_statements import SignedHead, read_signed_head
from hkoji.log.line import SERVER_NAME, Line, parse_log, read_line, read_signed
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import make_registration, parse_origin
from hkoji.messages.text import Text, tell
from hkoji.rules.protocol import Ruleset

if TYPE_CHECKING:
    from hkoji.wire import GamesModel, OfferModel

_PAGE: Final = "200"
FAR_APART: Final = 120
"""More seconds than that between the two clocks are worth a warning."""
_ALIKE: Final = 5
"""Up to so many seconds are no difference: the header has whole seconds, and an answer needs time to arrive."""
_REPLACED_ELSEWHERE: Final = tell(
    "copy the file of the current key from the machine where you have changed it, and begin with it in a new folder: "
    "`hkoji init NAME --key FILE`; if you have not changed it, somebody else has: ask the operator"
)


def utc_now() -> str:
    """Returns the time in the form of entries."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Service:
    """The service at `transport` for the player of `home`; `identity` is called when something must be signed.

    Nothing is said of its clock if its URL is in `warned`. Every request can raise `NetworkError`, and the errors that
    the service's problem documents stand for.
    """

    def __init__(
        self,
        home: Home,
        transport: Transport,
        identity: Callable[[], Identity],
        say: Callable[[str], None],
        pause: Callable[[float], None] = time.sleep,
        warned: set[str] | None = None,
    ) -> None:
        self.home: Final = home
        self.url: Final = transport.url
        self.pins: Final = Pins(home, self.url, say)
        self.requests: Final = ServiceRequests(home, transport, self.pins, identity, say, pause)
        self._transport: Final = transport
        self._identity = identity
        self._say = say
        self._warned = set() if warned is None else warned
        self._heard: HeardTime | None = None
        self._ahead: int | None = None
        self._slack: int | None = None
        self._views: Final[dict[str, tuple[bytes, ViewAnswer]]] = {}
        """The last view of each game, and the bytes that it was read from."""
        if transport.exposed:
            say(tell("warning: {url} is reached without TLS; others can read your cards on the way", url=self.url))

    @property
    def clock_ahead(self) -> int:
        """By how many seconds the service's clock is ahead of this machine's, as its last answer says.

        If nothing has been asked yet, it is what was kept.
        """
        heard = self._transport.heard
        if self._ahead is None or heard != self._heard:
            self._heard, found = heard, None if heard is None else seconds_ahead(heard)
            kept = self.pins.clock_ahead
            self._ahead = kept if found is None else found if abs(found) > _ALIKE else 0
            far = self._ahead if abs(self._ahead) > FAR_APART else 0
            if found is not None and abs(far - kept) > _ALIKE:
                self.pins.keep_clock_ahead(far)
            if far and found is not None:
                self._warn(far)
        return self._ahead

    def _warn(self, ahead: int) -> None:
        if self.pins.url in self._warned:
            return
        self._warned.add(self.pins.url)
        time = format_duration(abs(ahead))
        if ahead > 0:
            said = tell("warning: the clock of this machine is {time} behind the service's", time=time)
        else:
            said = tell("warning: the clock of this machine is {time} ahead of the service's", time=time)
        self._say(said)
        self._say(tell("time is counted by the service's clock; tell its operator if yours is right"))

    def now(self) -> str:
        """Returns the time by the service's clock, in the form of entries."""
        ahead = self.clock_ahead
        return add_seconds(utc_now(), ahead) if ahead else utc_now()

    def told_now(self) -> str:
        """Returns the time by the service's clock like `now`, but asks the service if it has not answered yet."""
        if self._transport.heard is None:
            self.describe()
        return self.now()

    def close(self) -> None:
        """Closes the connection."""
        self._transport.close()

    @cached_property
    def key(self) -> PublicKey:
        """The pinned key of the service; pinned now if it is a new one. Raises `TrustError`, like `meet`."""
        return self.pins.server_key or self.pins.pin_server(self.meet().key)

    @cached_property
    def known_keys(self) -> KnownKeys:
        """The keys of the players of its games, as they are known here."""
        return KnownKeys(self.pins, self.player, self._say)

    @property
    def registered(self) -> bool:
        """Whether the player has registered here from this home."""
        return self.pins.origin is not None

    def describe(self) -> ServiceDescription:
        """Returns the service's description."""
        return read(self.requests.send("GET", "/v1/service"), read_description)

    def slack(self) -> int:
        """Returns how many seconds after a deadline the service writes a `timeout`. If it is away: the usual number."""
        if self._slack is None:
            try:
                self._slack = self.describe().slack
            except HkojiError:
                return SLACK_SECONDS
        return self._slack

    def meet(self, origin: str | None = None) -> ServiceDescription:
        """Returns the service's description if it may be used at this address. Pins nothing.

        `origin` is the one that the user has confirmed. Raises `TrustError` for a changed key or another service's
        origin, and `OtherOriginError` for an origin other than this address that nobody has confirmed.
        """
        about = self.describe()
        self.pins.verify_server(about.key)
        self.pins.verify_origin(about.origin, about.key, origin)
        return about

    def prove(self, key: PublicKey, origin: str) -> None:
        """Lets the service prove that `key` is its own, and that its origin is `origin`.

        Anybody can state the key of a service, and pass on its answers. Raises `TrustError`, and `NotFoundError` if the
        service does not know the question.
        """
        nonce = secrets.token_hex(32)
        answer = self.requests.send("GET", f"/v1/service/proof?nonce={nonce}")
        with understood(answer):
            signed = read_signed(answer.json(), "origin")
            statement = parse_origin(signed.text)
        try:
            sshsig.verify(signed.sig, key, sshsig.ORIGIN, statement.message, SERVER_NAME)
        except HkojiError as error:
            raise self._unproved(tell("its signature does not hold")) from error
        if statement.nonce != nonce:
            raise self._unproved(tell("its signature is an earlier one"))
        if statement.origin != origin:
            raise self._unproved(tell("its signature is for {origin}", origin=statement.origin))

    def _unproved(self, reason: Text) -> TrustError:
        return TrustError(
            tell("{url} does not prove that it has the key that it shows: {reason}", url=self.url, reason=reason),
            hint=tell("no game was moved; ask the operator, over another channel, where the service is now"),
        )

    # --- players --------------------------------------------------------------------------------------------------

    def register(self, origin: str | None = None, code: str | None = None) -> None:
        """Registers the player, and pins the service's key and origin, and the player's own key under their name.

        `code` is the operator's, which some services ask for. Raises what `meet` raises.
        """
        identity = self._identity()
        about = self.meet(origin)
        key = identity.key_at(self.url)
        statement = make_registration(at=utc_now(), key=key, name=identity.name, origin=about.origin)
        sig = identity.signer_of(key).sign(sshsig.REGISTER, statement.message)
        request = {"text": statement.text, "sig": encode_base64(sig)}
        try:
            request = request if code is None else {**request, "code": code}
            self.requests.send("POST", "/v1/players", request, most=LONGEST_PAGE)
        except ExistsError as error:
            self._explain(error, identity.name, key)
            raise
        self.pins.pin_server(about.key)
        self.pins.pin_origin(about.origin)
        self.pins.pin_player(identity.name, key)

    def _explain(self, error: HkojiError, name: str, key: PublicKey) -> None:
        """Says in the refusal of a registration that the name has another key by now, if the service knows `key`."""
        if self.registered:
            error.hint = REPLACED
        with suppress(HkojiError):
            found = self.player(name)
            if found.had(key):
                error.message = found.why_not(key, name)
                error.hint = REPLACED if self.registered else _REPLACED_ELSEWHERE

    def new_key(self, name: str, text: str, sig: str, old_sig: str) -> None:
        """Gives a player a new key, for which the old one has signed."""
        with same_bytes():
            self.requests.send(
                "POST", f"/v1/players/{name}/key", {"text": text, "sig": sig, "old_sig": old_sig}, most=LONGEST_PAGE
            )

    def revoke(self, name: str, text: str, sig: str) -> None:
        """Revokes a player's key."""
        self.requests.send("POST", f"/v1/players/{name}/revocation", {"text": text, "sig": sig}, most=LONGEST_PAGE)

    def recover(self, name: str, text: str, sig: str, code: str) -> PlayerAnswer:
        """Gives a new key to a player whose key is revoked."""
        value, path = {"text": text, "sig": sig, "code": code}, f"/v1/players/{name}/recovery"
        with same_bytes():
            return read(self.requests.send("POST", path, value, most=LONGEST_PAGE), read_player)

    def player(self, name: str) -> PlayerAnswer:
        """Returns a player's keys, as the service reports them."""
        return read(self.requests.send("GET", f"/v1/players/{name}", most=LONGEST_PAGE), read_player)

    # --- games ----------------------------------------------------------------------------------------------------

    def list_games(self, **filters: str | None) -> list[dict[str, Any]]:  # Any: JSON
        """Returns everybody's games that match."""
        return self._list("/v1/games", filters)

    def joinable(self, **filters: str | None) -> list[dict[str, Any]]:  # Any: JSON
        """Returns the open games that the player can join, and that match."""
        chosen = {**filters, "status": "open", "joinable": "true"}
        return self.requests.with_login(lambda token: self._list("/v1/games", chosen, token))

    def own_games(self, since: str = "", /, **filters: str | None) -> list[dict[str, Any]]:  # Any: JSON
        """Returns the player's games that match.

        With a `status` the newest game is first. Then games that were created before `since` may be left out.
        """
        return self.requests.with_login(lambda token: self._list("/v1/me/games", filters, token, since))

    def _list(
        self, path: str, filters: Mapping[str, str | None], token: str | None = None, since: str = ""
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
            answer = self.requests.send("GET", f"{path}?{query}", token=token, most=LONGEST_PAGE)
            with understood(answer):
                page: GamesModel = answer.json()
                found.extend(read_summary(value) for value in page["games"])
                after = None if page["next"] is None else read_text(page["next"])
                size += len(answer.body)
                if after and (not page["games"] or size > LONGEST_LIST):
                    raise HkojiError(tell("its list of games does not end"))
                if since and page["games"] and read_text(page["games"][-1]["created"]) < since:
                    after = None
            if not after:
                return found

    def invite_by_mail(self, request: dict[str, Any]) -> Gateway:  # Any: JSON
        """Asks for the key of somebody who will play by mail. Returns its certificate, which is not verified yet."""
        return read(self.requests.as_player("POST", "/v1/invitations", request), read_certificate)

    def offer(self, ruleset: Ruleset, agreement: Agreement, dealer: str | None = None) -> Line:
        """Asks for a new game, by default with the dealer `server/v1`. Returns its first line."""
        value: dict[str, JsonValue] = {"agreement": agreement.to_json(), "ruleset": dict(ruleset.to_json())}
        if dealer is not None:
            value["dealer"] = dealer
        answer = self.requests.as_player("POST", "/v1/offers", value)
        with understood(answer):
            offer: OfferModel = answer.json()
            return read_line(offer["line"])

    def decline(self, game: str, why: str | None) -> None:
        """Declines an invitation by name, perhaps with a reason. Raises `ForbiddenError` for another one."""
        path, value = f"/v1/games/{game}/decline", {} if why is None else {"why": why}
        self.requests.as_player("POST", path, value, game=game, most=LONGEST_VIEW)

    def log(self, game: str, after: int = -1, wait: int = 0) -> tuple[Line, ...]:
        """Returns the public log's lines after an entry. The service may wait up to `wait` seconds for one."""
        path = f"/v1/games/{game}/log?after={after}"
        if wait:
            answer = self.requests.wait(f"{path}&wait={wait}", wait, game)
        else:
            answer = self.requests.send("GET", path, game=game, most=MOST_BYTES)
        with understood(answer):
            return parse_log(answer.body)

    def head(self, game: str) -> SignedHead:
        """Returns the service's statement of a game's last entry, not verified yet.

        Raises `NotFoundError` if the service signs no heads.
        """
        return read(self.requests.send("GET", f"/v1/games/{game}/head", game=game), read_signed_head)

    def clock(self, game: str) -> ClockAnswer:
        """Returns what the service says about the entry that is due. Raises `NotFoundError` if it has no clocks."""
        answer = self.requests.send("GET", f"/v1/games/{game}/clock", game=game, most=LONGEST_PAGE)
        return read(answer, read_clock)

    def state(self, game: str, statement: dict[str, str | int]) -> None:
        """Sends a signed statement about the last entry of a game. Raises `ConflictError` and `TimeOverError`."""
        with same_bytes():
            self.requests.send("POST", f"/v1/games/{game}/statements", statement, game=game)

    def withdraw(self, game: str) -> None:
        """Asks the service to forget the player's wish to call a game off."""
        self.requests.as_player("DELETE", f"/v1/games/{game}/statements/annul", game=game)

    # --- views ----------------------------------------------------------------------------------------------------

    def view(self, game: str, after: int, *, timed: bool = False) -> ViewAnswer:
        """Returns the player's view, with the log's lines after an entry; if `timed`, also what `clock` returns."""
        path = f"/v1/games/{game}/view?after={after}{'&clock=true' if timed else ''}"
        answer = self.requests.as_player("GET", path, game=game, most=LONGEST_VIEW)
        body, shown = self._views.get(game, (None, None))
        if shown is None or body != answer.body:
            shown = read(answer, read_view_answer)
            self._views[game] = (answer.body, shown)
        return shown

    def game_events(self, game: str, after: int) -> Generator[ServerSentEvent | None, None, None]:
        """Yields a game's entries after `after`, as they come. Raises `NotFoundError` if the service has no events."""
        return self.requests.follow(f"/v1/games/{game}/events?after={after}", game=game)

    def own_events(self, place: str | None) -> Generator[ServerSentEvent | None, None, None]:
        """Yields the entries of all own games as they come, from now on or after `place`.

        Raises `ServiceError` if the service has no events.
        """
        return self.requests.with_login(lambda token: self.requests.follow("/v1/events", token, place))

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
        with same_bytes():
            answer = self.requests.send("POST", path, game=game, body=body, most=LONGEST_VIEW)
        return read(answer, read_lines)

    def recover_seat(self, game: str, proof: bytes) -> tuple[Line, ...]:
        """Asks to replace a revoked key of the player by the new one. Returns the line that this has added."""
        value, path = {"proof": encode_base64(proof)}, f"/v1/games/{game}/recovery"
        return read(self.requests.as_player("POST", path, value, game=game, most=LONGEST_VIEW), read_lines)

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
