"""Formulas that several files need: secrets, canonical text, and SSH's forms of keys and signatures."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

AT: Final = "2026-11-20T12:00:00Z"
GAME: Final = "2714f3b33c7ecb05393f34920c14fec3"
DEAL: Final = "9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77"
MAX: Final = 2**53 - 1
FIRST_TIME: Final = "2000-01-01T00:00:00Z"
LAST_TIME: Final = "8999-12-31T23:59:59Z"
UNTIMED: Final = {"clock": None, "expires": None, "rated": False, "rematch": None, "series": None}
"""The agreement of a game without a clock."""

Vector = dict[str, Any]  # JSON of many shapes, described in the README beside the files


CODE: Final = "000102030405060708090a0b0c0d0e0f"
LINK: Final = f"link {CODE}"
"""The name of the secret that is made from the code of a link."""


def secret(name: str) -> bytes:
    """32 bytes that anybody can compute again: of a name, or of the link whose code follows the word `link`."""
    if name.startswith("link "):
        return hashlib.sha256(f"hkoji.link.v1\n{name.removeprefix('link ')}\n".encode()).digest()
    return hashlib.sha256(f"hkoji test vector {name}".encode()).digest()


def canonical(value: object) -> str:
    """The canonical text of a value that has one."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def encode64(data: bytes) -> str:
    """Padded base64."""
    return base64.b64encode(data).decode()


def string(data: bytes) -> bytes:
    """A length-prefixed string of the SSH protocol."""
    return len(data).to_bytes(4, "big") + data


def key_blob(raw: bytes) -> bytes:
    """The SSH form of a public key."""
    return string(b"ssh-ed25519") + string(raw)


def key_text(raw: bytes) -> str:
    """A public key as the log writes it."""
    return f"ssh-ed25519 {encode64(key_blob(raw))}"


def public(name: str) -> bytes:
    """The public key of the named secret."""
    return Ed25519PrivateKey.from_private_bytes(secret(name)).public_key().public_bytes_raw()


def signed_data(namespace: str, message: str, algorithm: str = "sha512", reserved: bytes = b"") -> bytes:
    """The message that Ed25519 signs (OpenSSH, PROTOCOL.sshsig)."""
    digest = hashlib.new(algorithm, message.encode()).digest()
    return b"SSHSIG" + b"".join(map(string, (namespace.encode(), reserved, algorithm.encode(), digest)))


def blob(raw: bytes, namespace: str, signature: bytes, algorithm: str = "sha512", reserved: bytes = b"") -> bytes:
    """An SSHSIG blob."""
    inner = string(b"ssh-ed25519") + string(signature)
    parts = (key_blob(raw), namespace.encode(), reserved, algorithm.encode(), inner)
    return b"SSHSIG" + (1).to_bytes(4, "big") + b"".join(map(string, parts))


def sign(name: str, namespace: str, message: str, algorithm: str = "sha512", reserved: bytes = b"") -> bytes:
    """The blob that the named key makes."""
    private = Ed25519PrivateKey.from_private_bytes(secret(name))
    signature = private.sign(signed_data(namespace, message, algorithm, reserved))
    return blob(public(name), namespace, signature, algorithm, reserved)


def armor(data: bytes) -> str:
    """The text form of a blob."""
    text = encode64(data)
    lines = [text[start : start + 70] for start in range(0, len(text), 70)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""])
