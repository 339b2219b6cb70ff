"""SSHSIG signatures, as `ssh-keygen -Y` makes and verifies them, for Ed25519 and SHA-512 only, by one of two libraries.

docs/spec/log.md, "Signatures"; OpenSSH's PROTOCOL.sshsig. Key and namespace determine a whole blob except its last 64
bytes. So verifying compares that prefix instead of parsing it: the sender can choose nothing in it. This module knows
no purpose of a namespace, only that a signature in one is not valid in another.

docs/adr/0011-two-signature-libraries.md: the libraries must agree on every signature. So the rules on which they may
differ are checked before either: `find_flaw` for signatures, `PublicKey` for keys. A process begins with OpenSSL.
`use_fastest` is for processes that verify or sign a lot.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha512
from typing import Final, NamedTuple, Protocol, TypeAlias

from hkoji.errors import InvalidError, MalformedError, SignatureError
from hkoji.log.canonical import encode_base64
from hkoji.log.public_key import KEY_TYPE, SMALL_POINTS, PublicKey, decode_public_key
from hkoji.messages.text import plural, tell

SIGNATURE_BYTES: Final = 64
_GROUP_ORDER: Final = 2**252 + 27742317777372353535851937790883648493

_NOT_REDUCED: Final = tell("its S is not below the order of the group")
_SMALL_R: Final = tell("its R is a point of small order")

Verify: TypeAlias = Callable[[bytes, bytes], bool]
"""Returns whether its first argument (64 bytes) is a key's Ed25519 signature of its second."""
Sign: TypeAlias = Callable[[bytes], bytes]
"""Returns a private key's Ed25519 signature of its argument, as RFC 8032 determines it."""


class SignatureLibrary(Protocol):
    """A library that verifies and makes Ed25519 signatures. Every signature has the same verdict in each library."""

    def verifier(self, public: bytes) -> Verify:
        """The function that verifies signatures of a key. It expects signatures without flaw."""

    def signer(self, seed: bytes) -> tuple[bytes, Sign]:
        """The public key of a 32-byte seed (RFC 8032, section 5.1.5), and the function that signs with it."""

    def __hash__(self) -> int:
        """Caches of functions have the library in their keys."""


class OpenSSL:
    """OpenSSL through cryptography, which every installation has. Verifying and signing release the interpreter."""

    def verifier(self, public: bytes) -> Verify:
        """The function that verifies signatures of a key."""
        # Imported here, because it takes longer to load than a whole command that needs no keys.
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        verify = Ed25519PublicKey.from_public_bytes(public).verify

        def fits(signature: bytes, data: bytes) -> bool:
            try:
                verify(signature, data)
            except InvalidSignature:
                return False
            return True

        return fits

    def signer(self, seed: bytes) -> tuple[bytes, Sign]:
        """The public key of a seed, and the function that signs with it."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = Ed25519PrivateKey.from_private_bytes(seed)
        return key.public_key().public_bytes_raw(), key.sign


class Libsodium:
    """libsodium through PyNaCl, which only some installations have. Verifying and signing release the interpreter.

    It verifies and makes more signatures a second than `OpenSSL`: see the benchmark `audit`.
    Making one raises `ImportError` if PyNaCl is not installed.
    """

    def __init__(self) -> None:
        from nacl import bindings
        from nacl.exceptions import BadSignatureError

        self._open = bindings.crypto_sign_open
        self._sign = bindings.crypto_sign
        self._keys = bindings.crypto_sign_seed_keypair
        self._bad = BadSignatureError

    def verifier(self, public: bytes) -> Verify:
        """The function that verifies signatures of a key."""
        verify, bad = self._open, self._bad  # PyNaCl does not offer libsodium's function for detached signatures

        def fits(signature: bytes, data: bytes) -> bool:
            try:
                verify(signature + data, public)
            except bad:
                return False
            return True

        return fits

    def signer(self, seed: bytes) -> tuple[bytes, Sign]:
        """The public key of a seed, and the function that signs with it."""
        public, secret = self._keys(seed)
        make = self._sign
        return public, lambda data: make(data, secret)[:SIGNATURE_BYTES]


class _Process:
    """The library that this process uses."""

    library: SignatureLibrary = OpenSSL()


def library() -> SignatureLibrary:
    """The library that this process uses now."""
    return _Process.library


def use(chosen: SignatureLibrary) -> None:
    """Makes this process verify and sign with a library from now on."""
    _Process.library = chosen


def use_fastest() -> None:
    """Makes this process use libsodium if PyNaCl is installed and its libsodium agrees with OpenSSL.

    This takes some milliseconds to load, which a single command does not win back.
    """
    if isinstance(library(), Libsodium):
        return
    try:
        fast = Libsodium()
    except ImportError:
        return
    if agrees(fast):
        use(fast)


def find_flaw(signature: bytes) -> str | None:
    """Why these 64 bytes are no signature of any key, if their parts already show it.

    With S + L for S, anybody could make a second signature from a known one (RFC 8032, section 8.4). An R of small
    order gives the private key away. OpenSSL accepts it, libsodium does not.
    """
    if int.from_bytes(signature[32:], "little") >= _GROUP_ORDER:
        return _NOT_REDUCED
    return _SMALL_R if signature[:32] in SMALL_POINTS else None


class _Probe(NamedTuple):
    """A key, a claimed signature of `_PROBED`, and the verdict."""

    public: str
    signature: str
    fits: bool


_PROBED: Final = b"hkoji"
_PROBES: Final = (
    _Probe(
        "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
        "58666666666666666666666666666666666666666666666666666666666666662911bd308ab9bb640e559dff2ba12f4e0ea1c716fce4a5b82c156ae15d23440c",
        True,
    ),
    _Probe(
        "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
        "da99e28ba529cdde35a25fba9059e78ecaee239f99755b9b1aa4f65df00803e2f82f9ab895e7a96493ff1f65b58771f95deaa607cd464a9f90d4acae9278e704",
        False,
    ),
    _Probe(
        "b154bd62188ae283dd187fefe8c31f5e276edf083b4cff11c9d5cff856c74440",
        "586666666666666666666666666666666666666666666666666666666666666609950317a891d043d0303f3ab4ecd96f880e9c504b5cce4d655fc24434501b0d",
        False,
    ),
    _Probe(
        "b154bd62188ae283dd187fefe8c31f5e276edf083b4cff11c9d5cff856c74440",
        "b4b937fca95b2f1e93e41e62fc3c78818ff38a66096fad6e7973e5c90006d321763b2b457279af2a2304de18232cf50b19abe1a2d910cd6d6f6675d02b17060b",
        True,
    ),
)


def agrees(other: SignatureLibrary) -> bool:
    """Whether a library has OpenSSL's verdict where builds of libsodium differ.

    RFC 8032 allows to verify with or without the cofactor 8. Released versions of libsodium verify without it, like
    OpenSSL and ssh-keygen; its current sources verify with it. The difference shows if the signer has added a point of
    small order to R or to the key.
    """
    return all(
        other.verifier(bytes.fromhex(probe.public))(bytes.fromhex(probe.signature), _PROBED) == probe.fits
        for probe in _PROBES
    )


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
PUSH: Final = "hkoji.push.v1"
TALK: Final = "hkoji.talk.v1"
ENTROPY: Final = "hkoji.entropy.v1"

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
