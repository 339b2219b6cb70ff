"""SSHSIG signatures, as `ssh-keygen -Y` makes and verifies them, for Ed25519 and SHA-512 only.

docs/spec/log.md, "Signatures"; OpenSSH PROTOCOL.sshsig. For one key and namespace all of a blob but its last 64 bytes
is fixed, so verifying compares that prefix: nothing in it is left to an attacker's choice.
"""

from __future__ import annotations

import binascii
import struct
from base64 import b64decode
from functools import lru_cache
from hashlib import sha512
from textwrap import wrap
from typing import Final, NamedTuple

from hkoji.errors import MalformedError, SignatureError
from hkoji.log.canonical import encode_base64
from hkoji.log.keys import KEY_TYPE, PublicKey, public_key_blob

ENTRY: Final = "hkoji.entry.v1"
SERVER: Final = "hkoji.server.v1"
RECEIPT: Final = "hkoji.receipt.v1"
VIEW: Final = "hkoji.view.v1"
LOGIN: Final = "hkoji.login.v1"
REGISTER: Final = "hkoji.register.v1"
GATEWAY: Final = "hkoji.gateway.v1"

_MAGIC: Final = b"SSHSIG"
_VERSION: Final = struct.pack(">I", 1)
_HASH: Final = b"sha512"
_BEGIN: Final = "-----BEGIN SSH SIGNATURE-----"
_END: Final = "-----END SSH SIGNATURE-----"
_SIGNATURE_BYTES: Final = 64
_GROUP_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_MOST_BYTES: Final = 1024


class Signature(NamedTuple):
    """What a blob says: who claims to have signed, for what use, and the 64 bytes."""

    public: PublicKey
    namespace: str
    signature: bytes


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


@lru_cache(maxsize=64)
def _signed_prefix(namespace: str) -> bytes:
    return _MAGIC + _string(namespace.encode()) + _string(b"") + _string(_HASH) + struct.pack(">I", 64)


def signed_data(namespace: str, message: bytes) -> bytes:
    """The bytes that Ed25519 signs for `message` in `namespace`."""
    return _signed_prefix(namespace) + sha512(message).digest()


@lru_cache(maxsize=4096)
def _prefix(public: PublicKey, namespace: str) -> bytes:
    head = _MAGIC + _VERSION + _string(public.blob) + _string(namespace.encode()) + _string(b"") + _string(_HASH)
    inner = _string(KEY_TYPE.encode()) + struct.pack(">I", _SIGNATURE_BYTES)
    return head + struct.pack(">I", len(inner) + _SIGNATURE_BYTES) + inner


def build(public: PublicKey, namespace: str, signature: bytes) -> bytes:
    """The blob of a 64-byte Ed25519 signature."""
    return _prefix(public, namespace) + signature


def parse(blob: bytes) -> Signature:
    """Reads a blob. Raises `MalformedError`, or `WeakKeyError` for a key that must not be used."""
    if len(blob) > _MOST_BYTES:
        raise MalformedError("signature", "it is too long")
    reader = _Reader(blob)
    if reader.take(len(_MAGIC) + len(_VERSION)) != _MAGIC + _VERSION:
        raise MalformedError("signature", "it is no SSHSIG of version 1")
    public = public_key_blob(reader.string())
    namespace = reader.string()
    if not namespace or not namespace.isascii():
        raise MalformedError("signature", "its namespace is not plain text")
    signature = blob[-_SIGNATURE_BYTES:]
    if build(public, namespace.decode(), signature) != blob:
        raise MalformedError("signature", "it is not SSHSIG with sha512, an empty reserved field and ssh-ed25519")
    return Signature(public, namespace.decode(), signature)


def verify(blob: bytes, public: PublicKey, namespace: str, message: bytes, signer: str) -> None:
    """Checks that `blob` is a signature of `message` by `public` in `namespace`.

    Raises `SignatureError` naming `signer` as the one who should have signed. S must be below the group's order, so
    that nobody can make a second signature of another's (RFC 8032, section 8.4).
    """
    prefix = _prefix(public, namespace)
    if not blob.startswith(prefix) or len(blob) != len(prefix) + _SIGNATURE_BYTES:
        raise SignatureError(signer, _why(blob, public, namespace))
    signature = blob[-_SIGNATURE_BYTES:]
    if int.from_bytes(signature[32:], "little") >= _GROUP_ORDER:
        raise SignatureError(signer, "its S is not below the group's order")
    if not public.accepts(signature, signed_data(namespace, message)):
        raise SignatureError(signer, "it does not fit text and key")


def _why(blob: bytes, public: PublicKey, namespace: str) -> str:
    try:
        given = parse(blob)
    except MalformedError as error:
        return error.message
    if given.public != public:
        return f"it is by the key {given.public.fingerprint}, not {public.fingerprint}"
    return f"it was made for {given.namespace}, not {namespace}"


def armor(blob: bytes) -> str:
    """The text form of ssh-keygen's `.sig` files."""
    return "\n".join([_BEGIN, *wrap(encode_base64(blob), 70), _END]) + "\n"


def dearmor(text: str) -> bytes:
    """The blob of a `.sig` file. Raises `MalformedError`."""
    lines = text.split("\n")
    if lines[0] != _BEGIN or lines[-2:] != [_END, ""]:
        raise MalformedError("signature", "it is not between the lines of an SSH signature")
    try:
        blob = b64decode("".join(lines[1:-2]), validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError("signature", "it is not base64") from None
    if armor(blob) != text:
        raise MalformedError("signature", "it is not in the form that ssh-keygen writes")
    return blob


class _Reader:
    """Length-prefixed fields from the front of a blob."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) != count:
            raise MalformedError("signature", "it is cut short")
        self._at += count
        return part

    def string(self) -> bytes:
        return self.take(int.from_bytes(self.take(4), "big"))
