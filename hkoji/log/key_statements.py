"""Signed statements about keys: the proof of a new key in a game, and what players say to a service about their keys.

docs/spec/log.md, "Other keys" and "Statements". Each has its own namespace. The reader decides whether the signer may
make the statement, and what follows from it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.log.canonical import NAME, ORIGIN, TEXT, TIME, VERSION, JsonValue, TextForm, encode, message
from hkoji.log.public_key import PublicKey, parse_public_key

MAX_BYTES: Final = 1024

_NEW_KEY: Final = TextForm("new key", MAX_BYTES, {"at": TIME, "key": TEXT, "name": NAME, "old": TEXT, "origin": ORIGIN})
_KEY_FIELDS: Final = {"at": TIME, "key": TEXT, "name": NAME, "origin": ORIGIN}
_REVOCATION: Final = TextForm("revocation", MAX_BYTES, _KEY_FIELDS)
_RECOVERY: Final = TextForm("recovery", MAX_BYTES, _KEY_FIELDS)


class Proof(NamedTuple):
    """A signature inside the body of an entry: its key, its namespace and the message that it signs."""

    key: PublicKey
    namespace: str
    sig: bytes
    message: bytes


class NewKey(NamedTuple):
    """The statement that `key` follows `old` as the key of `name` at the service of `origin`, signed by both keys."""

    at: str
    key: PublicKey
    name: str
    old: PublicKey
    origin: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.newkey.v1`."""
        return message(self.text)


class Revocation(NamedTuple):
    """The statement that `key` no longer counts for `name` at the service of `origin`, signed by that key."""

    at: str
    key: PublicKey
    name: str
    origin: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.revoke.v1`."""
        return message(self.text)


class Recovery(NamedTuple):
    """The statement that `key` replaces a revoked key of `name` at the service of `origin`, signed by `key`."""

    at: str
    key: PublicKey
    name: str
    origin: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.recover.v1`."""
        return message(self.text)


def proof_message(*, game: str, key: PublicKey, name: str, old: PublicKey, prev: str, seq: int) -> bytes:
    """The bytes that a new key signs, in namespace `hkoji.rekey.v1`, to replace `old` in a game at entry `seq`."""
    value: dict[str, JsonValue] = {
        "game": game,
        "key": key.text,
        "name": name,
        "old": old.text,
        "prev": prev,
        "seq": seq,
        "v": VERSION,
    }
    return message(encode(value))


def make_new_key(*, at: str, key: PublicKey, name: str, old: PublicKey, origin: str) -> NewKey:
    """A statement from its fields. Raises what `parse_new_key` raises."""
    value: dict[str, JsonValue] = {
        "at": at,
        "key": key.text,
        "name": name,
        "old": old.text,
        "origin": origin,
        "v": VERSION,
    }
    return parse_new_key(encode(value))


def parse_new_key(text: str) -> NewKey:
    """Reads the exact text. Raises `MalformedError`, `WeakKeyError` or `NotUnderstoodError`."""
    at, key, name, old, origin = _NEW_KEY.read(text)
    return NewKey(at, parse_public_key(key), name, parse_public_key(old), origin, text)


def make_revocation(*, at: str, key: PublicKey, name: str, origin: str) -> Revocation:
    """A revocation from its fields. Raises what `parse_revocation` raises."""
    return parse_revocation(encode({"at": at, "key": key.text, "name": name, "origin": origin, "v": VERSION}))


def parse_revocation(text: str) -> Revocation:
    """Reads the exact text. Raises `MalformedError`, `WeakKeyError` or `NotUnderstoodError`."""
    at, key, name, origin = _REVOCATION.read(text)
    return Revocation(at, parse_public_key(key), name, origin, text)


def make_recovery(*, at: str, key: PublicKey, name: str, origin: str) -> Recovery:
    """A recovery from its fields. Raises what `parse_recovery` raises."""
    return parse_recovery(encode({"at": at, "key": key.text, "name": name, "origin": origin, "v": VERSION}))


def parse_recovery(text: str) -> Recovery:
    """Reads the exact text. Raises `MalformedError`, `WeakKeyError` or `NotUnderstoodError`."""
    at, key, name, origin = _RECOVERY.read(text)
    return Recovery(at, parse_public_key(key), name, origin, text)
