"""SSHSIG signatures, as `ssh-keygen -Y` makes and verifies them, for Ed25519 and SHA-512 only.

docs/spec/log.md, "Signatures"; OpenSSH's PROTOCOL.sshsig. Key and namespace determine a whole blob except its last 64
bytes. So verifying compares that prefix instead of parsing it: the sender can choose nothing in it.

This module does not know what a namespace is for, only that a signature in one is not valid in another.
"""

from __future__ import annotations

from base64 import b64decode
from functools import lru_cache
from hashlib import sha512
from typing import Final, NamedTuple

from hkoji.errors import InvalidError, MalformedError, SignatureError
from hkoji.log.canonical import encode_base64
from hkoji.log.public_key import KEY_TYPE, PublicKey, decode_public_key
from hkoji.log.signatures import SIGNATURE_BYTES, SignatureLibrary, Verify, find_flaw, library
from hkoji.messages.text import plural, tell

ENTRY: Final = "hkoji.entry.v1"
SERVER: Final = "hkoji.server.v1"
RECEIPT: Final = "hkoji.receipt.v1"
VIEW: Final = "hkoji.view.v1"
LOGIN: Final = "hkoji.login.v1"
REGISTER: Final = "hkoji.register.v1"
GATEWAY: Final = "hkoji.gateway.v1"
HELD: Final = "hkoji.held.v1"
REKEY: Final = "hkoji.rekey.v1"
NEW_KEY: Final = "hkoji.newkey.v1"
REVOKE: Final = "hkoji.revoke.v1"
RECOVER: Final = "hkoji.recover.v1"
GIVE: Final = "hkoji.give.v1"
ANNUL: Final = "hkoji.annul.v1"
HEAD: Final = "hkoji.head.v1"
ORIGIN: Final = "hkoji.origin.v1"
INVITE: Final = "hkoji.invite.v1"
JOIN: Final = "hkoji.join.v1"
NOTICE: Final = "hkoji.notice.v1"
TALK: Final = "hkoji.talk.v1"

_MAGIC: Final = b"SSHSIG"
_VERSION: Final = b"\x00\x00\x00\x01"
_HASH: Final = b"sha512"
_DIGEST_BYTES: Final = 64
_MAX_BLOB_BYTES: Final = 1024
_BEGIN: Final = "-----BEGIN SSH SIGNATURE-----"
_END: Final = "-----END SSH SIGNATURE-----"
_ARMOR_WIDTH: Final = 70


class Signature(NamedTuple):
    """The content of a blob: the key that claims to have signed, the namespace, and the 64 bytes of Ed25519."""

    public: PublicKey
    namespace: str
    signature: bytes


def signed_data(namespace: str, message: bytes) -> bytes:
    """The bytes that Ed25519 signs for `message` in `namespace`."""
    return _signed_prefix(namespace) + sha512(message).digest()


def build(public: PublicKey, namespace: str, signature: bytes) -> bytes:
    """The blob of a 64-byte Ed25519 signature, as an agent makes it. Raises `MalformedError` for another length."""
    if len(signature) != SIGNATURE_BYTES:
        raise MalformedError(
            tell("signature"),
            plural(
                "it has {n} byte, not {wanted}",
                "it has {n} bytes, not {wanted}",
                len(signature),
                wanted=SIGNATURE_BYTES,
            ),
        )
    return _blob_prefix(public, namespace) + signature


def parse(blob: bytes) -> Signature:
    """Reads a blob. Raises `MalformedError`, or `WeakKeyError` for a key that must not be used."""
    if len(blob) > _MAX_BLOB_BYTES:
        raise MalformedError(
            tell("signature"), tell("it is longer than {max_blob_bytes} bytes", max_blob_bytes=_MAX_BLOB_BYTES)
        )
    start = len(_MAGIC) + len(_VERSION)
    if blob[:start] != _MAGIC + _VERSION:
        raise MalformedError(tell("signature"), tell("it is not an SSHSIG blob of version 1"))
    key, start = _take(blob, start)
    namespace, start = _take(blob, start)
    reserved, start = _take(blob, start)
    algorithm, start = _take(blob, start)
    inner, start = _take(blob, start)
    if start != len(blob):
        raise MalformedError(tell("signature"), tell("bytes follow its end"))
    if not namespace or not namespace.isascii() or not namespace.decode("ascii").isprintable():
        raise MalformedError(tell("signature"), tell("its namespace is not printable ASCII"))
    if reserved:
        raise MalformedError(tell("signature"), tell("its reserved field is not empty"))
    if algorithm != _HASH:
        raise MalformedError(tell("signature"), tell("its hash is not sha512"))
    kind, start = _take(inner, 0)
    if kind != KEY_TYPE.encode("ascii"):
        raise MalformedError(tell("signature"), tell("its type is not {key_type}", key_type=KEY_TYPE))
    signature, start = _take(inner, start)
    if start != len(inner) or len(signature) != SIGNATURE_BYTES:
        raise MalformedError(
            tell("signature"),
            tell("it does not end in {signature_bytes} bytes of Ed25519", signature_bytes=SIGNATURE_BYTES),
        )
    if flaw := find_flaw(signature):
        raise MalformedError(tell("signature"), flaw)
    return Signature(decode_public_key(key), namespace.decode("ascii"), signature)


def verify(blob: bytes, public: PublicKey, namespace: str, message: bytes, signer: str) -> None:
    """Checks that `blob` is a signature of `message` by `public` in `namespace`.

    Raises `SignatureError`, also for a blob that cannot be parsed. `signer` is the name that the error gives.
    """
    prefix, signed, fits = _expected(public.raw, namespace, library())
    signature = blob[-SIGNATURE_BYTES:]
    if blob != prefix + signature:
        raise SignatureError(signer, _describe_other(blob, public, namespace))
    if flaw := find_flaw(signature):
        raise SignatureError(signer, flaw)
    if not _fits(fits, signature, signed + sha512(message).digest()):
        raise SignatureError(signer, tell("it does not fit the text and the key"))


def forget_verdicts() -> None:
    """Makes this process verify anew what it has verified already. Measurements need this."""
    _fits.cache_clear()


def armor(blob: bytes) -> str:
    """The text form that ssh-keygen writes to `.sig` files."""
    text = encode_base64(blob)
    lines = (text[start : start + _ARMOR_WIDTH] for start in range(0, len(text), _ARMOR_WIDTH))
    return "\n".join((_BEGIN, *lines, _END, ""))


def dearmor(text: str) -> bytes:
    """The blob of a `.sig` file, exactly as ssh-keygen writes it. Raises `MalformedError`."""
    body = text.removeprefix(_BEGIN + "\n").removesuffix(_END + "\n")
    try:
        blob = b64decode(body.replace("\n", ""), validate=True)
    except ValueError:
        raise MalformedError(
            tell("signature file"), tell("it is not base64 between the lines of an SSH signature")
        ) from None
    if not blob or armor(blob) != text:
        raise MalformedError(tell("signature file"), tell("it is not in the form that ssh-keygen writes"))
    return blob


def _string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _take(data: bytes, start: int) -> tuple[bytes, int]:
    """The length-prefixed field of `data` at `start`, and where the next one starts."""
    end = start + 4 + int.from_bytes(data[start : start + 4], "big")
    if end > len(data):
        raise MalformedError(tell("signature"), tell("it is cut short"))
    return data[start + 4 : end], end


@lru_cache(maxsize=64)
def _signed_prefix(namespace: str) -> bytes:
    return _MAGIC + b"".join(map(_string, (namespace.encode(), b"", _HASH))) + _DIGEST_BYTES.to_bytes(4, "big")


@lru_cache(maxsize=64)  # for keys that sign, which are few; `_expected` keeps more, for verifying
def _blob_prefix(public: PublicKey, namespace: str) -> bytes:
    inner = _string(KEY_TYPE.encode()) + SIGNATURE_BYTES.to_bytes(4, "big")
    claims = b"".join(map(_string, (public.blob, namespace.encode(), b"", _HASH)))
    return _MAGIC + _VERSION + claims + (len(inner) + SIGNATURE_BYTES).to_bytes(4, "big") + inner


@lru_cache(maxsize=4096)  # a client or an audit of evidence meets most signatures several times; these take about 2 MB
def _fits(fits: Verify, signature: bytes, data: bytes) -> bool:
    return fits(signature, data)


@lru_cache(maxsize=4096)
def _expected(key: bytes, namespace: str, by: SignatureLibrary) -> tuple[bytes, bytes, Verify]:
    """The prefixes of the blob and of the signed data for a key and a namespace, and the check."""
    public = PublicKey(key)
    return _blob_prefix(public, namespace), _signed_prefix(namespace), by.verifier(key)


def _describe_other(blob: bytes, public: PublicKey, namespace: str) -> str:
    """Why `blob` does not even claim to be a signature of `public` in `namespace`."""
    try:
        given = parse(blob)
    except InvalidError as error:
        return error.message
    if given.public != public:
        return tell(
            "it is by the key {fingerprint}, not by {expected}",
            fingerprint=given.public.fingerprint,
            expected=public.fingerprint,
        )
    return tell("it was made for {namespace}, not for {expected}", namespace=given.namespace, expected=namespace)
