"""Ed25519 keys as the log writes them, and what signs with them.

docs/spec/log.md, "Keys". A public key is `ssh-ed25519 <base64>`. Points of small order and encodings that are not the
canonical one are refused: OpenSSL and ssh-keygen take them, and a key of small order "signs" many messages at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Final, Protocol

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hkoji.errors import LoginError, MalformedError, WeakKeyError
from hkoji.log.canonical import decode_base64, encode_base64

KEY_TYPE: Final = "ssh-ed25519"
_PREFIX: Final = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"

FIELD: Final = 2**255 - 19
_SIGN_BIT: Final = 2**255
# y of the points of order 8, from -x^2 + y^2 = 1 + d x^2 y^2 with 2P of order 4 (RFC 8032, section 5.1).
_ORDER_8: Final = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD83D3D706A17C7
_SMALL_ORDER: Final = frozenset({0, 1, FIELD - 1, _ORDER_8, FIELD - _ORDER_8})


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An Ed25519 public key, known not to be weak; `raw` is its 32 bytes."""

    raw: bytes

    @property
    def text(self) -> str:
        """`ssh-ed25519 <base64>`, without a comment."""
        return f"{KEY_TYPE} {encode_base64(self.blob)}"

    @property
    def blob(self) -> bytes:
        """The SSH wire form, 51 bytes (RFC 8709, section 4)."""
        return _PREFIX + self.raw

    @property
    def fingerprint(self) -> str:
        """`SHA256:…` as ssh-keygen prints it."""
        return "SHA256:" + encode_base64(sha256(self.blob).digest()).rstrip("=")

    def accepts(self, signature: bytes, data: bytes) -> bool:
        """Whether `signature` (64 bytes) is this key's Ed25519 signature of `data`."""
        try:
            _verifier(self.raw).verify(signature, data)
        except InvalidSignature:
            return False
        return True


@lru_cache(maxsize=1024)
def _verifier(raw: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(raw)


def public_key(raw: bytes) -> PublicKey:
    """The key of 32 bytes. Raises `WeakKeyError`, or `MalformedError` for another length."""
    if len(raw) != 32:
        raise MalformedError("key", "it has not 32 bytes")
    number = int.from_bytes(raw, "little")
    y = number % _SIGN_BIT
    if y >= FIELD:
        raise WeakKeyError("it is not in its canonical encoding")
    if y in _SMALL_ORDER:
        raise WeakKeyError("it is a point of small order")
    return PublicKey(raw)


@lru_cache(maxsize=1024)
def parse_public_key(text: str) -> PublicKey:
    """Reads `ssh-ed25519 <base64>`. Raises `MalformedError` or `WeakKeyError`."""
    kind, space, encoded = text.partition(" ")
    if kind != KEY_TYPE or not space:
        raise MalformedError("key", f"it is not '{KEY_TYPE}', one space and base64, without a comment")
    return public_key_blob(decode_base64(encoded, "key"))


def public_key_blob(blob: bytes) -> PublicKey:
    """The key of its SSH wire form. Raises `MalformedError` or `WeakKeyError`."""
    if len(blob) != len(_PREFIX) + 32 or not blob.startswith(_PREFIX):
        raise MalformedError("key", "it is not an SSH Ed25519 key")
    return public_key(blob[len(_PREFIX) :])


class Signer(Protocol):
    """Whatever signs for a key: a private key at hand, or an agent that holds one."""

    @property
    def public(self) -> PublicKey:
        """The key that verifies."""

    def sign(self, namespace: str, message: bytes) -> bytes:
        """The SSHSIG blob of `message` in `namespace`."""


@dataclass(frozen=True, slots=True, repr=False)
class PrivateKey:
    """An Ed25519 private key in memory. Its repr shows nothing of it."""

    _key: Ed25519PrivateKey
    public: PublicKey

    def sign(self, namespace: str, message: bytes) -> bytes:
        """The SSHSIG blob of `message` in `namespace`; the same bytes as `ssh-keygen -Y sign` makes."""
        from hkoji.log import sshsig

        return sshsig.build(self.public, namespace, self._key.sign(sshsig.signed_data(namespace, message)))

    def to_openssh(self) -> bytes:
        """The unencrypted OpenSSH private key file."""
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        )

    @staticmethod
    def from_seed(seed: bytes) -> PrivateKey:
        """The key of a 32-byte seed (RFC 8032), which the caller drew at random."""
        return _private(Ed25519PrivateKey.from_private_bytes(seed))

    @staticmethod
    def from_openssh(data: bytes, password: bytes | None = None) -> PrivateKey:
        """Reads an OpenSSH private key file.

        Raises `LoginError` if it needs a passphrase or is no Ed25519 key, `MalformedError` if it is no key file.
        """
        try:
            key = serialization.load_ssh_private_key(data, password)
        except TypeError:
            raise LoginError("the key file needs a passphrase", hint="add it to ssh-agent with `ssh-add`") from None
        except (ValueError, UnsupportedAlgorithm) as error:
            if password is not None:
                raise LoginError("the passphrase does not open the key file") from None
            if "password" in str(error).lower():
                raise LoginError("the key file needs a passphrase", hint="add it to ssh-agent with `ssh-add`") from None
            raise MalformedError("key file", "it is not an OpenSSH private key") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise LoginError("the key is no Ed25519 key", hint="make one with `ssh-keygen -t ed25519`")
        return _private(key)


def _private(key: Ed25519PrivateKey) -> PrivateKey:
    return PrivateKey(key, public_key(key.public_key().public_bytes_raw()))
