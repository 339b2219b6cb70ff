"""Players and their keys: registration, login, replacement, revocation, and recovery with an operator's code.

docs/spec/http.md, "Players" and "Keys". All of it is by signature, without passwords. Codes, tokens and the nonces of
challenges are drawn at random and stored as digests, so that a stolen database cannot be used to log in.

The old key signs its replacement. A key is revoked by its own signature, or by the operator. After that, a code allows
a new key. The operator gives the code to the person whom they know to be the player.
"""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from hkoji.errors import ExistsError, ForbiddenError, LoginError, MalformedError, NotFoundError
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.line import SERVER_NAME
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.log.statement import (
    make_login,
    parse_login,
    parse_new_key,
    parse_recovery,
    parse_registration,
    parse_revocation,
)
from hkoji.messages.text import tell
from hkoji_server.service.players.limits import RateLimits
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings
from hkoji_server.store.contract import Store
from hkoji_server.store.player_tables import OperatorCode, Player, RetiredKey
from hkoji_server.store.players import verify_not_revoked
from hkoji_server.store.tables import changed, row_of


class MadeCode(NamedTuple):
    """A new code, and when it expires."""

    code: str
    expires: str


def digest_of(secret: str) -> str:
    """Returns the form in which the store has a code, a token or the nonce of a challenge."""
    return sha256(secret.encode()).hexdigest()


async def make_code(
    store: Store, sources: ClockAndEntropy, lifetime: int, *, uses: int = 1, name: str | None = None
) -> MadeCode:
    """Makes a code that is valid for `lifetime` seconds: for another key of `name`, or for `uses` new players."""
    made = MadeCode(sources.entropy(20).hex(), sources.at(lifetime))
    await store.add_code(row_of(OperatorCode, digest=digest_of(made.code), expires=made.expires, uses=uses, name=name))
    return made


class Players:
    """Use cases about players and their keys. Players sign `origin`."""

    def __init__(
        self, store: Store, sources: ClockAndEntropy, settings: Settings, limits: RateLimits, *, origin: str
    ) -> None:
        self._store = store
        self._sources = sources
        self._settings = settings
        self._limits = limits
        self._origin = origin

    async def register(
        self, text: str, sig: str, *, code: str | None = None, address: str | None = None
    ) -> tuple[Player, bool]:
        """Registers the name and key of a signed registration; True if they are new. `address` is the client's.

        `code` is the operator's; it is used only where one is needed. Raises `ExistsError` when the name or the key is
        taken, `SignatureError`, `ForbiddenError` for another service's origin or without a valid code,
        `TooManyError`, `MalformedError`, `WeakKeyError`.

        A key that is or was a player's makes no new name, so it is not counted as one: who repeats such a mistake must
        not keep others at the same address from registering. Nobody can look for keys so, because each registration is
        signed by its key, and counts as a request. A code that is wrong counts, as it may be a guess.
        """
        statement = parse_registration(text)
        if statement.name == SERVER_NAME:
            raise ExistsError(tell("player"), SERVER_NAME, hint=tell("that name is reserved; choose another"))
        blob = decode_base64(sig, "signature")
        sshsig.verify(blob, statement.key, sshsig.REGISTER, statement.message, statement.name)
        self._verify_origin(statement.origin, self._how_to_register())
        player = row_of(
            Player,
            name=statement.name,
            key=statement.key.text,
            registered=self._sources.at(),
            text=text,
            sig=encode_base64(blob),
        )
        holder = await self._store.player(player.name)
        if holder is None:
            self._check_registration(code)
            if not await self._store.knows_key(player.key):
                await self._limits.admit_registration(address)
            needed = digest_of(code) if code is not None and self._settings.registration == "code" else None
            holder = await self._store.add_player(player, needed)
            if holder is None:
                return player, True
        if (holder.name, holder.key) == (player.name, player.key):
            verify_not_revoked(await self._store.retired(holder.key))
            return holder, False
        if holder.name == player.name:
            raise ExistsError(tell("player"), player.name, hint=tell("choose another name with `hkoji init NAME`"))
        raise ExistsError(tell("key"), statement.key.fingerprint, hint=f"it is registered as {holder.name}")

    async def player(self, name: str) -> Player:
        """Returns a registered player. Raises `NotFoundError`."""
        player = await self._store.player(name)
        if player is None:
            raise NotFoundError(tell("player"), name, hint=tell("register with `hkoji register --server URL`"))
        return player

    async def challenge(self) -> str:
        """Returns the text of a fresh login challenge, to be signed in namespace `hkoji.login.v1`. It is valid once."""
        nonce = self._sources.entropy(32).hex()
        expires = self._sources.at(self._settings.challenge_lifetime)
        await self._store.add_challenge(digest_of(nonce), expires)
        return make_login(expires=expires, nonce=nonce, origin=self._origin).text

    async def login(self, name: str, text: str, sig: str) -> tuple[str, str]:
        """Returns a token and when it expires, for a signed challenge.

        Raises `LoginError`, `SignatureError`, `NotFoundError`, `RevokedError`, `ForbiddenError` for another service's
        origin.
        """
        statement = parse_login(text)
        self._verify_origin(statement.origin, self._how_to_register())
        player = await self.player(name)
        verify_not_revoked(await self._store.retired(player.key))
        blob = decode_base64(sig, "signature")
        sshsig.verify(blob, parse_public_key(player.key), sshsig.LOGIN, statement.message, name)
        # Only after the signature, so that no one can use up a challenge that another player is signing.
        if not await self._store.take_challenge(digest_of(statement.nonce), self._sources.at()):
            raise LoginError(tell("the challenge is not one of this service, has been used, or has expired"))
        token = self._sources.entropy(32).hex()
        expires = self._sources.at(self._settings.token_lifetime)
        await self._store.add_token(digest_of(token), name, expires, self._sources.at(), player.key)
        return token, expires

    async def logout(self, token: str) -> None:
        """Forgets a token."""
        await self._store.drop_token(digest_of(token))

    async def authenticate(self, token: str | None) -> str:
        """Returns the name that a token logs in, and counts the request. Raises `LoginError`, `TooManyError`."""
        name = await self._store.token(digest_of(token), self._sources.at()) if token else None
        if name is None:
            raise LoginError(tell("this needs a login"), hint=tell("sign a challenge of POST /v1/login/challenge"))
        await self._limits.admit_player(name)
        return name

    def _check_registration(self, code: str | None) -> None:
        if self._settings.registration == "closed":
            raise ForbiddenError(
                tell("this service takes no new players"),
                hint=tell("nothing was changed; ask its operator, or choose another service"),
            )
        if self._settings.registration == "code" and code is None:
            raise ForbiddenError(
                tell("this service takes new players only with a code from its operator"),
                hint=tell(
                    "ask the operator for a code, then run `hkoji register --server {origin} --code CODE`",
                    origin=self._origin,
                ),
            )

    def _verify_origin(self, signed: str, hint: str = "") -> None:
        """Checks that a statement was signed for this service. Raises `ForbiddenError`."""
        if signed != self._origin:
            raise ForbiddenError(
                tell("it was signed for {origin}, but this service is {own}", origin=signed, own=self._origin),
                hint=hint,
            )

    def _how_to_register(self) -> str:
        return tell("register with `hkoji register --server {origin}`", origin=self._origin)

    # --- keys -----------------------------------------------------------------------------------------------------

    async def replace(self, name: str, text: str, sig: str, old_sig: str) -> Player:
        """Replaces a player's key, by a statement that both keys have signed. A repeated statement changes nothing.

        Raises `SignatureError`, `MalformedError`, `WeakKeyError`, and what `Store.replace_key` raises.
        """
        statement = parse_new_key(text)
        self._check(name, statement.name, statement.origin)
        blob, old_blob = decode_base64(sig, "signature"), decode_base64(old_sig, "signature")
        sshsig.verify(old_blob, statement.old, sshsig.NEW_KEY, statement.message, name)
        sshsig.verify(blob, statement.key, sshsig.NEW_KEY, statement.message, name)
        before = await self._player(name)
        if before.text == text:
            return before
        at = self._sources.at()
        player = row_of(
            Player, name=name, key=statement.key.text, registered=before.registered, text=text, sig=encode_base64(blob)
        )
        retired = row_of(
            RetiredKey,
            key=statement.old.text,
            name=name,
            at=at,
            revoked=False,
            text=text,
            sig=encode_base64(old_blob),
            new_sig=player.sig,
        )
        await self._store.replace_key(player, retired)
        return player

    async def revoke(self, name: str, text: str, sig: str) -> Player:
        """Revokes a player's key, by its own signature. A repeated statement changes nothing.

        Raises `SignatureError`, `MalformedError`, `WeakKeyError`, and what `Store.revoke_key` raises.
        """
        statement = parse_revocation(text)
        self._check(name, statement.name, statement.origin)
        blob = decode_base64(sig, "signature")
        sshsig.verify(blob, statement.key, sshsig.REVOKE, statement.message, name)
        player = await self._player(name)
        at = self._sources.at()
        retired = row_of(
            RetiredKey, key=statement.key.text, name=name, at=at, revoked=True, text=text, sig=encode_base64(blob)
        )
        await self._store.revoke_key(retired)
        return player

    async def revoke_keys(self, name: str) -> str:
        """Revokes all keys of a player, for the operator. Returns a code with which the player gets a new one.

        Earlier keys are revoked too: a thief may have replaced the player's key, and running games still name old ones.

        Raises `NotFoundError`.
        """
        player, at = await self._player(name), self._sources.at()
        for earlier in await self._store.retired_of(name):
            await self._store.revoke_key(changed(earlier, at=at, revoked=True))
        await self._store.revoke_key(row_of(RetiredKey, key=player.key, name=name, at=at, revoked=True))
        return (await make_code(self._store, self._sources, self._settings.code_lifetime, name=name)).code

    async def recover(self, name: str, text: str, sig: str, code: str) -> Player:
        """Gives a player whose key is revoked the key that signed the statement. A repeated statement changes nothing.

        Raises `SignatureError`, `MalformedError`, `WeakKeyError`, and what `Store.recover` raises.
        """
        statement = parse_recovery(text)
        self._check(name, statement.name, statement.origin)
        blob = decode_base64(sig, "signature")
        sshsig.verify(blob, statement.key, sshsig.RECOVER, statement.message, name)
        before = await self._player(name)
        if (
            before.text == text and await self._store.retired(before.key) is None
        ):  # a registration may have the same text
            return before
        player = row_of(
            Player, name=name, key=statement.key.text, registered=before.registered, text=text, sig=encode_base64(blob)
        )
        await self._store.recover(player, digest_of(code), self._sources.at())
        return player

    async def _player(self, name: str) -> Player:
        player = await self._store.player(name)
        if player is None:
            raise NotFoundError(tell("player"), name)
        return player

    def _check(self, name: str, stated: str, origin: str) -> None:
        if stated != name:
            raise MalformedError(tell("statement"), tell("it is not about the player in the address"))
        self._verify_origin(origin)


async def identify(store: Store, sources: ClockAndEntropy, origin: str | None, fallback: str) -> tuple[PrivateKey, str]:
    """Returns the service's key and origin from the store; in a new store it makes them first."""
    kept = await store.identity()
    if kept is None:
        fresh = PrivateKey.from_seed(sources.entropy(32)).to_openssh().decode()
        kept = await store.add_identity(fresh, origin or fallback)  # another process may have been first
    text, kept_origin = kept
    if origin and origin != kept_origin:
        await store.set_origin(origin)
    return PrivateKey.from_openssh(text.encode()), origin or kept_origin
