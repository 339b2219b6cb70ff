"""Ed25519 signatures are made and verified here, by one of two libraries.

docs/spec/log.md, "Signatures"; docs/adr/0011-two-signature-libraries.md. The libraries must agree on every signature.
So the rules on which they may differ are checked before either: `find_flaw` for signatures, `PublicKey` for keys.

A process begins with OpenSSL. `use_fastest` is for processes that verify or sign a lot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeAlias

from hkoji.log.public_key import SMALL_POINTS
from hkoji.messages.text import tell

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
