"""keys.json"""

from __future__ import annotations

import hashlib

from scripts.build.vectors.formulas import CODE, Vector, encode64, key_blob, key_text, public, secret, string
from tests.support.curve import encode_point, encodings, small_order

WITH_ZERO = ("key 19", "key 312")
CODE_WITH_ZERO = "6a032466346a014214af3ff4b44527dd"
"""Seeds of keys whose first byte is zero, which a library may lose that takes them for numbers."""


def keys() -> Vector:
    """keys.json"""
    good = []
    for name in ("server", "alice", "bob", *WITH_ZERO):
        raw = public(name)
        fingerprint = "SHA256:" + encode64(hashlib.sha256(key_blob(raw)).digest()).rstrip("=")
        good.append(
            {"seed": secret(name).hex(), "public": raw.hex(), "text": key_text(raw), "fingerprint": fingerprint}
        )
    bad = [
        {"text": key_text(raw), "error": "weak-key", "reason": "a point of small order"}
        for raw in sorted(encode_point(point) for point in small_order())
    ]
    for raw, point in sorted(encodings().items()):
        reason = "a second encoding of a point" if point else "y is not below the field's order, and there is no point"
        bad.append({"text": key_text(raw), "error": "weak-key", "reason": reason})
    text = key_text(public("alice"))
    other = encode64(string(b"ssh-rsa") + string(public("alice")))
    for malformed, reason in (
        ("", "empty"),
        (text + " alice", "a comment"),
        (text + "\n", "a newline"),
        (text.replace(" ", "  "), "two spaces"),
        (text.replace(" ", "\t"), "a tab"),
        (text.split()[1], "no type"),
        ("ssh-rsa " + text.split()[1], "another type outside"),
        ("ssh-ed25519 " + other, "another type inside"),
        ("ssh-ed25519 " + encode64(key_blob(public("alice")[:31])), "31 bytes"),
        ("ssh-ed25519 " + encode64(key_blob(public("alice") + b"\0")), "33 bytes"),
        ("ssh-ed25519 " + encode64(key_blob(public("alice")) + b"\0\0\0"), "bytes after the key"),
        (text[:-1], "base64 of a wrong length"),
        (text[:-4] + "AA==", "a key of another length"),
        (text.replace("A", "-", 1), "not base64"),
        ("SSH-ED25519 " + text.split()[1], "capitals"),
    ):
        bad.append({"text": malformed, "error": "malformed", "reason": reason})
    links = [
        {"code": code, "seed": secret(f"link {code}").hex(), "text": key_text(public(f"link {code}"))}
        for code in (CODE, "0" * 32, "f" * 32, secret("code").hex()[:32], CODE_WITH_ZERO)
    ]
    bad_codes = [
        {"code": code, "error": "malformed", "reason": reason}
        for code, reason in (
            ("", "empty"),
            (CODE[1:], "31 digits"),
            (CODE + "0", "33 digits"),
            (CODE.upper(), "capitals"),
            (CODE[:-1] + "g", "no hex digit"),
            (CODE[:-1] + " ", "a space"),
            (CODE + "\n", "a newline"),
            (CODE[:-1] + "\u0661", "a digit that is not ASCII"),
        )
    ]
    return {"good": good, "bad": bad, "links": links, "bad_codes": bad_codes}
