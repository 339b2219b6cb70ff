"""Web push: a browser's subscription, what is encrypted for it, and the proof of who sends it. RFC 8188, 8291, 8292.

A browser makes a subscription for a page: an address at the push service of its vendor, and two keys. Only that browser
can read a text that is encrypted with them. The push service sees who sends, when, and to whom.

This module does no I/O and draws no randomness. It knows nothing of notices.
"""

from __future__ import annotations

import binascii
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cached_property
from hashlib import sha256, sha512
from typing import Final, NamedTuple, Self

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    ECDSA,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    derive_private_key,
)
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hkoji.errors import MalformedError
from hkoji.log import sshsig
from hkoji.log.canonical import JsonValue, decode, encode, exactly
from hkoji.log.private_key import Signer
from hkoji.messages.text import LANGUAGES, tell

SECRET_BYTES: Final = 64
"""The bytes of which a private key is made."""
SALT_BYTES: Final = 16
PADDED: Final = 1024
"""The bytes of each text before it is encrypted, with the byte that ends it: its length tells nothing."""
TOKEN_SECONDS: Final = 12 * 3600
"""For how long a proof of who sends is valid."""
_AUTH_BYTES: Final = 16
_POINT_BYTES: Final = 65
_UNCOMPRESSED: Final = 4
"""The first byte of a point that is written with both coordinates."""
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""How many points the curve P-256 has (SP 800-186, 3.2.1.3)."""
_RECORD_SIZE: Final = 4096
_LAST_RECORD: Final = b"\x02"
_TOPIC_LETTERS: Final = 32
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*")


class Subscription(NamedTuple):
    """A browser's subscription: an address, a secret and a public key, with the language of its page."""

    endpoint: str
    auth: bytes
    p256dh: bytes
    """A point of the curve P-256, with both coordinates."""
    lang: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads a subscription. Raises `MalformedError`."""
        what = tell("push subscription")
        fields = exactly(decode(text, what), what, ("auth", "endpoint", "lang", "p256dh"))
        if fields["lang"] not in LANGUAGES:
            raise _malformed(tell("lang is none of {names}", names=", ".join(LANGUAGES)))
        auth, p256dh = decode_base64url(str(fields["auth"])), decode_base64url(str(fields["p256dh"]))
        if auth is None or len(auth) != _AUTH_BYTES:
            raise _malformed(tell("auth is not {length} bytes in base64url without =", length=_AUTH_BYTES))
        if p256dh is None or len(p256dh) != _POINT_BYTES or p256dh[0] != _UNCOMPRESSED:
            raise _malformed(
                tell("p256dh is not an uncompressed point, {length} bytes in base64url", length=_POINT_BYTES)
            )
        subscription = cls(str(fields["endpoint"]), auth, p256dh, str(fields["lang"]))
        try:
            _ = subscription.key
        except ValueError:
            raise _malformed(tell("p256dh is not a point of the curve P-256")) from None
        return subscription

    @property
    def text(self) -> str:
        """The subscription as it is kept, canonical text."""
        keys = {"auth": encode_base64url(self.auth), "p256dh": encode_base64url(self.p256dh)}
        return encode({**keys, "endpoint": self.endpoint, "lang": self.lang})

    @property
    def key(self) -> EllipticCurvePublicKey:
        """The browser's public key. Raises `ValueError` if it is not on the curve."""
        return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), self.p256dh)


def encrypt(
    text: bytes, subscription: Subscription, own: EllipticCurvePrivateKey, salt: bytes, size: int = PADDED
) -> bytes:
    """Returns a text as the body of a push: RFC 8291, 3.4. The own key and the salt are drawn for each text."""
    sender = _point(own)
    shared = own.exchange(ECDH(), subscription.key)
    material = _derive(32, subscription.auth, b"WebPush: info\0" + subscription.p256dh + sender, shared)
    key = _derive(16, salt, b"Content-Encoding: aes128gcm\0", material)
    nonce = _derive(12, salt, b"Content-Encoding: nonce\0", material)
    padded = (text + _LAST_RECORD).ljust(size, b"\0")
    header = salt + _RECORD_SIZE.to_bytes(4) + len(sender).to_bytes(1) + sender
    return header + AESGCM(key).encrypt(nonce, padded, None)


class ApplicationServer:
    """The service as push services know it: by a key of its own (RFC 8292), which browsers get with a subscription.

    The key follows from the service's key, so that all processes have the same one, and nothing more is to be kept: it
    is made of a signature that is sent to nobody.
    """

    def __init__(self, signer: Signer) -> None:
        self._signer = signer

    @cached_property
    def public(self) -> str:
        """The public key, base64url: the `applicationServerKey` of a subscription."""
        return encode_base64url(_point(self._key))

    def authorization(self, audience: str, subject: str | None, now: int) -> str:
        """Returns the proof for the push service at the origin `audience`: RFC 8292, 3. `subject` is whom it may ask.

        `now` is seconds since 1970.
        """
        claims: dict[str, JsonValue] = {"aud": audience, "exp": now + TOKEN_SECONDS}
        if subject is not None:
            claims["sub"] = subject
        parts: tuple[dict[str, JsonValue], ...] = ({"alg": "ES256", "typ": "JWT"}, claims)
        signed = ".".join(encode_base64url(encode(each).encode()) for each in parts)
        pair = decode_dss_signature(self._key.sign(signed.encode(), ECDSA(SHA256())))
        signature = b"".join(each.to_bytes(32) for each in pair)
        return f"vapid t={signed}.{encode_base64url(signature)}, k={self.public}"

    def topic(self, name: str) -> str:
        """Returns the topic of that name for push services, which keep only the last text of a topic (RFC 8030, 5.4).

        Nobody else can tell what it stands for.
        """
        return encode_base64url(hmac.digest(self._secret("topics"), name.encode(), sha256))[:_TOPIC_LETTERS]

    @cached_property
    def _key(self) -> EllipticCurvePrivateKey:
        return private_key_of(self._secret("key"))

    def _secret(self, purpose: str) -> bytes:
        return sha512(self._signer.sign(sshsig.PUSH, purpose.encode())).digest()


def private_key_of(secret: bytes) -> EllipticCurvePrivateKey:
    """Returns the private key that is made of 64 random bytes: FIPS 186-5, A.2.1."""
    return derive_private_key(int.from_bytes(secret) % (_ORDER - 1) + 1, SECP256R1())


def encode_base64url(data: bytes) -> str:
    """Returns bytes in base64url without padding: RFC 7515, 2."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes | None:
    """Returns the bytes; None for a text that `encode_base64url` does not make."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4)) if _BASE64URL.fullmatch(text) else None
    except binascii.Error:
        return None
    return data if data is not None and encode_base64url(data) == text else None


def _derive(length: int, salt: bytes, info: bytes, material: bytes) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(material)


def _point(key: EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _malformed(reason: str) -> MalformedError:
    return MalformedError(
        tell("push subscription"), reason, hint=tell("nothing was changed; let the browser make a new subscription")
    )
