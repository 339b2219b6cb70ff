"""Changes of players' keys: replacement, revocation, and recovery with a code. docs/spec/http.md, "Keys".

The old key signs its replacement. A key is revoked by its own signature, or by the operator. After that, a code allows
a new key. The operator gives the code to the person whom they know to be the player. A code is stored as a digest.
"""

from __future__ import annotations

from dataclasses import replace

from hkoji.errors import MalformedError, NotFoundError
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.statement import parse_new_key, parse_recovery, parse_revocation
from hkoji.messages.text import tell
from hkoji_server.service.clock_and_entropy import ClockAndEntropy
from hkoji_server.service.operator_codes import digest_of, make_code
from hkoji_server.service.players import verify_origin
from hkoji_server.store.contract import Store
from hkoji_server.store.player_contract import Player, RetiredKey


class PlayerKeys:
    """Use cases about players' keys. `origin` is what players sign; a code is valid for `code_lifetime` seconds."""

    def __init__(self, store: Store, sources: ClockAndEntropy, *, origin: str, code_lifetime: int) -> None:
        self._store = store
        self._sources = sources
        self._origin = origin
        self._code_lifetime = code_lifetime

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
        player = Player(name, statement.key.text, before.registered, text, encode_base64(blob))
        retired = RetiredKey(
            statement.old.text, name, at, revoked=False, text=text, sig=encode_base64(old_blob), new_sig=player.sig
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
        retired = RetiredKey(statement.key.text, name, at, revoked=True, text=text, sig=encode_base64(blob))
        await self._store.revoke_key(retired)
        return player

    async def revoke_keys(self, name: str) -> str:
        """Revokes all keys of a player, for the operator. Returns a code with which the player gets a new one.

        Earlier keys are revoked too: a thief may have replaced the player's key, and running games still name old ones.

        Raises `NotFoundError`.
        """
        player, at = await self._player(name), self._sources.at()
        for earlier in await self._store.retired_of(name):
            await self._store.revoke_key(replace(earlier, at=at, revoked=True))
        await self._store.revoke_key(RetiredKey(player.key, name, at, revoked=True))
        return (await make_code(self._store, self._sources, self._code_lifetime, name=name)).code

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
        player = Player(name, statement.key.text, before.registered, text, encode_base64(blob))
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
        verify_origin(origin, self._origin)
