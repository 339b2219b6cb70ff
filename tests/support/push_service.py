"""A browser with a push service on loopback: it opens what it gets by the steps of the RFCs, by no code of the service.

RFC 8188 and 8291 encrypt, RFC 8292 proves who sends. HKDF is written out, and the receiver is a real HTTP server.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.receiver import Received, Receiver


def base64url(data: bytes) -> str:
    """Bytes as browsers write them."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def from_base64url(text: str) -> bytes:
    """The bytes of such a text."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Proof(NamedTuple):
    """The header `Authorization` of a push, whose signature was right: what it claims, and the sender's key."""

    claims: dict[str, Any]  # Any: JSON
    key: str


@dataclass
class Browser:
    """A browser that is told at a receiver."""

    receiver: Receiver | None = None
    path: str = "/push/T0KEN-of-the-browser"
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = b"sixteen bytes ok"

    @property
    def endpoint(self) -> str:
        """The address of its subscription."""
        assert self.receiver is not None
        return f"http://127.0.0.1:{self.receiver.port}{self.path}"

    @property
    def point(self) -> bytes:
        """Its public key."""
        return self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def keys(self) -> dict[str, str]:
        """The keys of its subscription, as `PushSubscription.toJSON` has them."""
        return {"auth": base64url(self.auth), "p256dh": base64url(self.point)}

    @property
    def subscription(self) -> str:
        """The target of a channel to it, as the service keeps that: canonical text."""
        value = {**self.keys, "endpoint": self.endpoint, "lang": "it"}
        return json.dumps(value, separators=(",", ":"), sort_keys=True)

    def pushed(self) -> list[dict[str, Any]]:  # Any: JSON
        """The texts that it has been told at its address, in order."""
        assert self.receiver is not None
        return [json.loads(self.open(each.body)) for each in self.receiver.posts if each.target == self.path]

    def open(self, body: bytes) -> bytes:
        """The text of a push. Raises `InvalidTag` if it was encrypted for another browser."""
        salt, size, length = body[:16], int.from_bytes(body[16:20]), body[20]
        sender, encrypted = body[21 : 21 + length], body[21 + length :]
        assert len(encrypted) <= size  # there is one record
        point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        shared = self.key.exchange(ec.ECDH(), point)
        material = _expand(_extract(self.auth, shared), b"WebPush: info\0" + self.point + sender, 32)
        secret = _extract(salt, material)
        key = _expand(secret, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _expand(secret, b"Content-Encoding: nonce\0", 12)
        text, _, padding = AESGCM(key).decrypt(nonce, encrypted, None).rpartition(b"\x02")
        assert not padding.strip(b"\0")
        return text


def proof_of(received: Received) -> Proof:
    """Reads and verifies the proof of who has sent a push: RFC 8292 and RFC 7518, 3.4."""
    scheme, token, key = received.headers["authorization"].replace(",", "").split(" ")
    assert (scheme, token[:2], key[:2]) == ("vapid", "t=", "k=")
    head, claims, signature = token[2:].split(".")
    assert json.loads(from_base64url(head)) == {"typ": "JWT", "alg": "ES256"}
    raw = from_base64url(signature)
    assert len(raw) == 64
    pair = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), from_base64url(key[2:]))
    point.verify(pair, f"{head}.{claims}".encode(), ec.ECDSA(SHA256()))
    return Proof(json.loads(from_base64url(claims)), key[2:])


def _extract(salt: bytes, material: bytes) -> bytes:
    return hmac.digest(salt, material, hashlib.sha256)


def _expand(secret: bytes, info: bytes, length: int) -> bytes:
    return hmac.digest(secret, info + b"\x01", hashlib.sha256)[:length]
