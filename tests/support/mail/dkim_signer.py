"""Signs mails with DKIM (RFC 6376, RFC 8463), and leaves every choice to the caller, the bad ones included.

It shares no code with the library that the service verifies with.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha1, sha256
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

SIGNED: Final = ("From", "To", "Subject", "Date", "Message-ID", "In-Reply-To", "References", "Content-Type")
"""The fields that providers sign, of those that mails of the tests have."""


@cache
def rsa_key(name: str = "") -> RSAPrivateKey:
    """A key of this process; the same name has the same."""
    return generate_private_key(65537, 2048)


@cache
def ed25519_key() -> Ed25519PrivateKey:
    """A key of this process."""
    return Ed25519PrivateKey.generate()


@dataclass(frozen=True)
class Signer:
    """Signs for a domain with the key of a selector. `tags` are further tags of the signature, by name."""

    domain: str
    selector: str
    key: RSAPrivateKey | Ed25519PrivateKey = field(default_factory=rsa_key)
    signed: Sequence[str] = SIGNED
    tags: Mapping[str, str] = field(default_factory=dict)
    sha1: bool = False

    @property
    def name(self) -> str:
        """The name of the key in the DNS."""
        return f"{self.selector}._domainkey.{self.domain}"

    @property
    def record(self) -> str:
        """The TXT record that publishes the key."""
        if isinstance(self.key, RSAPrivateKey):
            kind = "rsa"
            public = self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        else:
            kind, public = "ed25519", self.key.public_key().public_bytes_raw()
        return f"v=DKIM1; k={kind}; p={b64encode(public).decode()}"

    def sign(self, raw: bytes) -> bytes:
        """Returns a mail with CRLF line ends, and a signature on top. With the tag `l` so many bytes are signed."""
        head, _, body = raw.partition(b"\r\n\r\n")
        fields = _fields(head)
        canonical = _relaxed_body(body)
        if "l" in self.tags:
            canonical = canonical[: int(self.tags["l"])]
        there = [name for name in self.signed if any(known == name.lower() for known, _ in fields)]
        digest = (sha1 if self.sha1 else sha256)(canonical).digest()
        kind = "rsa" if isinstance(self.key, RSAPrivateKey) else "ed25519"
        tags = {
            "v": "1",
            "a": f"{kind}-{'sha1' if self.sha1 else 'sha256'}",
            "c": "relaxed/relaxed",
            "d": self.domain,
            "s": self.selector,
            **self.tags,
            "h": ":".join(there),
            "bh": b64encode(digest).decode(),
            "b": "",
        }
        value = "; ".join(f"{name}={text}" for name, text in tags.items())
        signature = b64encode(self._sign(_signed_text(fields, there, value))).decode()
        return f"DKIM-Signature: {value}{signature}\r\n".encode() + raw

    def _sign(self, text: bytes) -> bytes:
        if isinstance(self.key, RSAPrivateKey):
            return self.key.sign(text, PKCS1v15(), SHA1() if self.sha1 else SHA256())  # to be refused
        return self.key.sign(sha256(text).digest())


def _fields(head: bytes) -> list[tuple[str, bytes]]:
    """The fields of a header, in order, each with its lower-case name and its whole text."""
    lines = re.split(rb"\r\n(?![ \t])", head)
    return [(line.partition(b":")[0].decode("ascii", "replace").strip().lower(), line) for line in lines]


def _signed_text(fields: Sequence[tuple[str, bytes]], names: Sequence[str], signature: str) -> bytes:
    """The signed text: the last field of each name, the one before it if the name comes again, and the signature."""
    left: dict[str, list[bytes]] = {}
    for name, text in fields:
        left.setdefault(name, []).append(text)
    parts = []
    for name in names:
        if found := left.get(name.lower()):
            parts.append(_relaxed_field(found.pop()) + b"\r\n")
    return b"".join(parts) + _relaxed_field(b"DKIM-Signature: " + signature.encode())


def _relaxed_field(text: bytes) -> bytes:
    name, _, value = text.partition(b":")
    return name.strip().lower() + b":" + re.sub(rb"[ \t]+", b" ", value.replace(b"\r\n", b"")).strip()


def _relaxed_body(body: bytes) -> bytes:
    lines = [re.sub(rb"[ \t]+", b" ", line).rstrip(b" ") for line in body.split(b"\r\n")]
    while lines and not lines[-1]:
        lines.pop()
    return b"".join(line + b"\r\n" for line in lines)
