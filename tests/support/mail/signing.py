"""A provider that signs its players' mails with DKIM (RFC 6376, 3.4 to 3.7), written without the library under test."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import count, islice
from math import gcd, prod
from typing import Final, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hkoji.game.clock import parse_time

_DIGEST_INFO: Final = bytes.fromhex("3031300d060960864801650304020105000420")
"""Of SHA-256 (RFC 8017, 9.2)."""


class StrangeRsa(NamedTuple):
    """An RSA key that no sound program would make."""

    n: int
    e: int
    d: int

    def sign(self, data: bytes) -> bytes:
        """Signs with PKCS1-v1_5 and SHA-256."""
        size = (self.n.bit_length() + 7) // 8
        info = _DIGEST_INFO + sha256(data).digest()
        padded = b"\x00\x01" + b"\xff" * (size - len(info) - 3) + b"\x00" + info
        return pow(int.from_bytes(padded, "big"), self.d, self.n).to_bytes(size, "big")

    @property
    def der(self) -> bytes:
        """The public key as PKCS #1 has it."""
        return _der(0x30, _der_integer(self.n) + _der_integer(self.e))


@lru_cache
def strange_rsa(bits: int, e: int = 65537) -> StrangeRsa:
    """A key of that size, with as many primes as it takes."""
    size, more = divmod(bits, parts := bits // 128)
    first = next(_primes(size + more, e))
    found = (first, *islice((each for each in _primes(size, e) if each != first), parts - 1))
    n, phi = prod(found), prod(each - 1 for each in found)
    return StrangeRsa(n, e, pow(e, -1, phi))


def _primes(bits: int, e: int) -> Iterator[int]:
    """Yields primes, so close below a power of two that no product of them is a bit too short."""
    for each in count(2**bits - 2 ** (bits - 16) + 1, 2):
        if gcd(each - 1, e) == 1 and pow(2, each - 1, each) == 1:
            yield each


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    head = bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")
    return bytes([tag]) + head + content


def _der_integer(number: int) -> bytes:
    return _der(2, number.to_bytes(number.bit_length() // 8 + 1, "big"))


PrivateKey = rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | StrangeRsa
GMAIL: Final = ("from", "to", "subject", "date", "message-id", "in-reply-to", "references", "mime-version")
"""The fields that a large provider signs; Content-Type is not among them."""
_EPOCH: Final = parse_time("1970-01-01T00:00:00Z")


@lru_cache
def rsa_key(bits: int = 1024) -> rsa.RSAPrivateKey:
    """A key of that size, the same one each time."""
    return rsa.generate_private_key(65537, bits)


@lru_cache
def ed25519_key() -> ed25519.Ed25519PrivateKey:
    """A key, the same one each time."""
    return ed25519.Ed25519PrivateKey.generate()


def record_of(key: PrivateKey, more: str = "") -> bytes:
    """The TXT record of a key; `more` are tags that stand before p=."""
    if isinstance(key, StrangeRsa):
        return f"v=DKIM1; k=rsa; {more}p={b64encode(key.der).decode()}".encode()
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        kind, der = "rsa", public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    else:
        kind, der = "ed25519", public.public_bytes(Encoding.Raw, PublicFormat.Raw)
    return f"v=DKIM1; k={kind}; {more}p={b64encode(der).decode()}".encode()


def seconds_of(time: str) -> int:
    """A time of a log in seconds since 1970."""
    return parse_time(time) - _EPOCH


def sign(
    raw: bytes,
    *,
    domain: str = "example.org",
    selector: str = "s1",
    key: PrivateKey | None = None,
    names: Sequence[str] = GMAIL,
    tags: Mapping[str, str | None] | None = None,
) -> bytes:
    """A mail with a signature on top, relaxed in header and body. `tags` are set too, or left out if they are None."""
    key = key or rsa_key()
    header, _, body = raw.partition(b"\r\n\r\n")
    fields = [part.partition(b":")[::2] for part in re.split(rb"\r\n(?![ \t])", header)]
    algorithm = "ed25519-sha256" if isinstance(key, ed25519.Ed25519PrivateKey) else "rsa-sha256"
    signed_body = _relaxed_body(body)
    if tags and tags.get("l"):
        signed_body = signed_body[: int(tags["l"] or 0)]
    said: dict[str, str | None] = {
        "v": "1",
        "a": algorithm,
        "c": "relaxed/relaxed",
        "d": domain,
        "s": selector,
        "h": ":".join(names),
        "bh": b64encode(sha256(signed_body).digest()).decode(),
        **(tags or {}),
    }
    value = "; ".join(f"{name}={text}" for name, text in said.items() if text is not None) + "; b="
    value = value.replace("; ", ";\r\n ")
    hashed = b""
    rest = list(fields)
    for name in names:
        place = next((at for at in reversed(range(len(rest))) if rest[at][0].lower() == name.encode()), None)
        if place is not None:
            hashed += _relaxed(*rest.pop(place))
    hashed += _relaxed(b"DKIM-Signature", b" " + value.encode()).removesuffix(b"\r\n")
    if isinstance(key, rsa.RSAPrivateKey):
        sha1 = said["a"] == "rsa-sha1"
        sig = key.sign(hashed, padding.PKCS1v15(), hashes.SHA1() if sha1 else hashes.SHA256())
    elif isinstance(key, StrangeRsa):
        sig = key.sign(hashed)
    else:
        sig = key.sign(sha256(hashed).digest())
    return f"DKIM-Signature: {value}{b64encode(sig).decode()}\r\n".encode() + raw


@dataclass
class SigningProvider:
    """A provider whose mails are signed at the time `now()` says, with its records in `dns`."""

    dns: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    key: PrivateKey = field(default_factory=rsa_key)
    selector: str = "s1"

    def __call__(self, raw: bytes, now: str) -> bytes:
        """Signs a mail for the domain of its From, and publishes the key."""
        domain = re.search(rb"(?mi)^From:.*@([a-z.]+)", raw)
        assert domain is not None
        name = domain[1].decode()
        self.dns[f"{self.selector}._domainkey.{name}"] = (record_of(self.key),)
        return sign(raw, domain=name, selector=self.selector, key=self.key, tags={"t": str(seconds_of(now))})


def _relaxed(name: bytes, value: bytes) -> bytes:
    return name.lower() + b":" + re.sub(rb"[ \t]+", b" ", value.replace(b"\r\n", b"")).strip() + b"\r\n"


def _relaxed_body(body: bytes) -> bytes:
    lines = [re.sub(rb"[ \t]+", b" ", line).rstrip(b" ") for line in body.split(b"\r\n")]
    while lines and not lines[-1]:
        lines.pop()
    return b"".join(line + b"\r\n" for line in lines)
