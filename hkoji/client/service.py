"""One service, as one player reaches it: its endpoints, its pinned key, and a login when one is needed.

docs/spec/http.md, docs/spec/log.md, "Client rules". Logging in signs nothing but a login statement for the origin at
which the player has registered: no service gets another text signed, or a login for another service.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from functools import cached_property
from typing import Any, Final, TypeVar

from hkoji.client.api import Api, ViewAnswer
from hkoji.client.events import Event
from hkoji.client.home import Home
from hkoji.client.identity import Identity
from hkoji.client.known_keys import KnownKeys
from hkoji.client.pins import Pins
from hkoji.client.transport import Transport
from hkoji.errors import ForbiddenError, HkojiError, LoginError, TrustError
from hkoji.game.setup import Setup
from hkoji.game.submission import Submission
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.key_statements import NewKey, parse_new_key
from hkoji.log.line import Line
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset

_T = TypeVar("_T")


def utc_now() -> str:
    """The time as entries say it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Service:
    """The service at `transport` for the player of `home`; `identity` is asked for when something is to be signed."""

    def __init__(
        self, home: Home, transport: Transport, identity: Callable[[], Identity], say: Callable[[str], None]
    ) -> None:
        self.url: Final = transport.url
        self.api: Final = Api(transport, say)
        self.pins: Final = Pins(home, self.url, say)
        self._acquaintance: Final = KnownKeys(self.pins, self._successors, say)
        self._home: Final = home
        self._identity = identity
        self._token: str | None = None
        if transport.exposed:
            say(tell("warning: {url} is reached without TLS; others can read your cards on the way", url=self.url))

    def close(self) -> None:
        """Closes the connection."""
        self.api.transport.close()

    @cached_property
    def key(self) -> PublicKey:
        """The pinned key of the service; pinned now if it is a new one."""
        return self.pins.server_key or self.pins.pin_server(self.api.about().key)

    def register(self) -> None:
        """Registers the player, and pins the service's key and origin, and the player's own key under their name.

        Raises `TrustError` for a changed key, or an origin that is another service's.
        """
        from hkoji.log import sshsig
        from hkoji.log.statement import make_registration

        identity = self._identity()
        about = self.api.about()
        self.pins.pin_server(about.key)
        self.pins.pin_origin(about.origin)
        key = identity.key_at(self.url)
        statement = make_registration(at=utc_now(), key=key, name=identity.name, origin=about.origin)
        sig = identity.signer_of(key).sign(sshsig.REGISTER, statement.message)
        self.api.register(statement.text, encode_base64(sig))
        self.pins.pin_player(identity.name, key)

    # --- keys -----------------------------------------------------------------------------------------------------

    def meet(self, setup: Setup, me: str | None) -> None:
        """Pins the keys of a game's players. Raises `TrustError` for one that is not known to be theirs."""
        self._acquaintance.meet(setup, me)

    def _successors(self, name: str) -> tuple[NewKey, ...]:
        """How a player's keys have followed one another, as far as both keys have signed it; nothing without answer."""
        from hkoji.log import sshsig

        found: list[NewKey] = []
        try:
            for each in self.api.earlier_keys(name):
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

    def recover_seat(self, game: str, proof: bytes) -> tuple[Line, ...]:
        """Asks for the own new key in the place of a revoked one. The line that it has brought."""
        return self._with_login(lambda token: self.api.recover_seat(game, encode_base64(proof), token))

    # --- what anyone may see --------------------------------------------------------------------------------------

    def log(self, game: str, after: int = -1, wait: int = 0) -> tuple[Line, ...]:
        """The public log's lines after an entry; the service may wait for one so many seconds."""
        return self.api.log(game, after, wait)

    def list_games(self, **filters: str | None) -> list[dict[str, Any]]:  # Any: JSON
        """Everybody's games that match."""
        return self.api.games(filters)

    def submit(self, submission: Submission) -> tuple[Line, ...]:
        """Sends an entry. The lines that it has brought, to be checked with `verify_submitted`."""
        return self.api.submit(submission)

    def verify_submitted(self, submission: Submission, lines: tuple[Line, ...]) -> None:
        """Checks that the first of `lines` is the entry that was sent, with its receipt. Raises `TrustError`."""
        entry = submission.entry
        first = lines[0] if lines else None
        if first is None or first.entry.text != entry.text or first.receipt is None:
            raise TrustError(
                tell("the service's receipt is not for what was sent"), hint=tell("the entry is kept; try again")
            )
        from hkoji.audit.checks import verify_receipt

        try:
            verify_receipt(first.receipt, entry, self.key)
        except HkojiError as error:
            raise TrustError(
                tell("the service's receipt does not hold: {reason}", reason=error), hint=tell("the entry is kept")
            ) from error

    # --- with a login ---------------------------------------------------------------------------------------------

    def offer(self, ruleset: Ruleset) -> Line:
        """Asks for a new game. Its first line."""
        options: Mapping[str, Any] = ruleset.to_json()
        return self._with_login(lambda token: self.api.offer(options, token))

    def own_games(self, **filters: str | None) -> list[dict[str, Any]]:  # Any: JSON
        """The player's games that match."""
        return self._with_login(lambda token: self.api.games(filters, token, mine=True))

    def own_events(self, place: str | None) -> Generator[Event | None, None, None]:
        """The entries of all own games as they come, from now on or after `place`."""
        return self._with_login(lambda token: self.api.own_events(place, token))

    def view(self, game: str, after: int) -> ViewAnswer:
        """The own view of a game, with the log's lines after an entry."""
        return self._with_login(lambda token: self.api.view(game, after, token))

    def _with_login(self, call: Callable[[str], _T]) -> _T:
        """Calls with the kept token; logs in by signature when there is none or it has expired."""
        token = self._token or self._home.token(self.url)
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

        identity = self._identity()
        statement = self.api.challenge()
        origin = self.pins.origin
        if origin is None:
            raise LoginError(
                tell("you are not registered at {url}", url=self.url),
                hint=f"hkoji register --server {self.url}",
            )
        if statement.origin != origin:
            raise TrustError(
                tell(
                    "the service asks you to sign a login for {origin}, and you registered at {known}",
                    origin=statement.origin,
                    known=origin,
                ),
                hint=tell(
                    "nothing was signed; if its address has changed: hkoji register --server {url}", url=self.url
                ),
            )
        sig = identity.signer_of(identity.key_at(self.url)).sign(sshsig.LOGIN, statement.message)
        try:
            self._token = self.api.login(identity.name, statement.text, encode_base64(sig))
        except ForbiddenError as error:
            if identity.next is None:
                raise
            raise LoginError(
                tell("you have begun to change your key, and it is not done yet: {reason}", reason=error),
                hint=tell("finish it with `hkoji rekey`"),
            ) from error
        self._home.set_token(self.url, self._token)
        return self._token
