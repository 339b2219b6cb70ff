"""Ed25519 public keys as the log writes them: `ssh-ed25519 <base64>`, one space, no comment.

docs/spec/log.md, "Keys". Parsing refuses weak keys, so no `PublicKey` is weak.

A key of small order has signatures that are valid for many messages. If the key is the neutral point, the signature
with S = 0 and R = that point is valid for every message. The owner of such a key could sign one move and later claim
another. A point in a second encoding is the same key with another fingerprint, and implementations differ on whether
they accept it. OpenSSL and ssh-keygen accept both kinds of weak key.
RFC 8032, section 5.1.3; "Taming the many EdDSAs" (Chalkias, Garillot, Nikolaenko, 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Final

from hkoji.errors import MalformedError, WeakKeyError
from hkoji.log.canonical import JsonValue, decode_base64, encode_base64
from hkoji.messages.text import plural, tell

KEY_TYPE: Final = "ssh-ed25519"
KEY_BYTES: Final = 32
_PREFIX: Final = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"

_FIELD: Final = 2**255 - 19
_SIGN: Final = 2**255
# The y of a point of order 8. The other y of small order are its negative, and 0, 1 and -1 (of order 4, 1 and 2).
_ORDER_8: Final = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL_ORDER: Final = frozenset({0, 1, _FIELD - 1, _ORDER_8, _FIELD - _ORDER_8})
"""The y of all points of small order."""
SMALL_POINTS: Final = frozenset((y | sign).to_bytes(32, "little") for y in _SMALL_ORDER for sign in (0, _SIGN))
"""The encodings of these points, with either sign."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key that is not weak. `raw` is its 32 bytes.

    Making one raises `WeakKeyError`, or `MalformedError` if there are not 32 bytes. Whether the bytes are a point of
    the curve is not checked: that costs as much as verifying, and a key that is not a point verifies nothing.
    """

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != KEY_BYTES:
            raise MalformedError(
                tell("key"),
                plural(
                    "it has {n} byte, not {wanted}", "it has {n} bytes, not {wanted}", len(self.raw), wanted=KEY_BYTES
                ),
            )
        y = int.from_bytes(self.raw, "little") % _SIGN
        if y >= _FIELD:
            raise WeakKeyError(tell("it is not in its canonical encoding"))
        # The sign bit does not matter: both points with such a y are of small order. Where x is 0, there is only one
        # point, and its encoding with the sign bit set is not canonical.
        if y in _SMALL_ORDER:
            raise WeakKeyError(tell("it is a point of small order"))

    @property
    def blob(self) -> bytes:
        """The SSH wire form, 51 bytes (RFC 8709, section 4)."""
        return _PREFIX + self.raw

    @property
    def text(self) -> str:
        """`ssh-ed25519 <base64>`, without a comment."""
        return f"{KEY_TYPE} {encode_base64(self.blob)}"

    @property
    def fingerprint(self) -> str:
        """`SHA256:…` as `ssh-keygen -l` prints it."""
        return "SHA256:" + encode_base64(sha256(self.blob).digest()).rstrip("=")


@lru_cache(maxsize=4096)
def parse_public_key(text: str) -> PublicKey:
    """Reads `ssh-ed25519 <base64>`. Raises `MalformedError` or `WeakKeyError`."""
    kind, space, encoded = text.partition(" ")
    if kind != KEY_TYPE or not space or " " in encoded:
        raise MalformedError(
            tell("key"),
            tell("a key is written as {key_type}, one space and base64, without a comment", key_type=KEY_TYPE),
        )
    return decode_public_key(decode_base64(encoded, "key"))


def decode_public_key(blob: bytes) -> PublicKey:
    """The key of its SSH wire form (RFC 8709, section 4). Raises `MalformedError` or `WeakKeyError`."""
    if len(blob) != len(_PREFIX) + KEY_BYTES or not blob.startswith(_PREFIX):
        raise MalformedError(tell("key"), tell("it is not an Ed25519 key in SSH form"))
    return PublicKey(blob[len(_PREFIX) :])


def read_key_form(value: JsonValue, what: str) -> PublicKey | WeakKeyError:
    """Reads a public key, or returns the error of a weak one. Raises `MalformedError`.

    The caller raises that error (`require_strong`) only after the errors for malformed fields, because an audit reports
    malformed entries in step 1 and weak keys in step 3.
    """
    try:
        return read_key(value, what)
    except WeakKeyError as error:
        return error


def require_strong(key: PublicKey | WeakKeyError) -> PublicKey:
    """Returns a key that `read_key_form` has read. Raises `WeakKeyError` if it is weak."""
    if isinstance(key, WeakKeyError):
        raise key
    return key


def read_key(value: JsonValue, what: str) -> PublicKey:
    """Reads a public key. Raises `MalformedError` or `WeakKeyError`."""
    if not isinstance(value, str):
        raise MalformedError(what, tell("it is not a key"))
    return parse_public_key(value)
