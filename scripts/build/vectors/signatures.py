"""signatures.json"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from scripts.build.vectors.entries import entry
from scripts.build.vectors.formulas import Vector, armor, blob, encode64, key_text, public, secret, sign, signed_data
from tests.support.curve import FIELD, NEUTRAL, ORDER, SignedBytes, craft, encode_point, holds, torsion


def signatures() -> Vector:
    """signatures.json"""
    text = entry(seq=0)["text"] + "\n"
    ours, key = "hkoji.entry.v1", public("alice")
    good = sign("alice", ours, text)
    found: list[Vector] = []

    def add(
        reason: str, data: bytes, *, raw: bytes = key, namespace: str = ours, message: str = text, lax: bool = False
    ) -> None:
        """Adds a case; it verifies if `reason` is empty. `lax`: some versions of ssh-keygen accept it nevertheless."""
        what = {"reason": reason, "key": key_text(raw), "namespace": namespace, "message": message}
        verifies = {"verifies": not reason, "ssh_keygen": None if lax else not reason}
        found.append({**what, "blob": encode64(data), "armored": armor(data), **verifies})

    roles = ("entry", "server", "receipt", "view", "login", "register", "gateway", "give", "annul", "head")
    for role in (*roles, "invite", "join"):
        space = f"hkoji.{role}.v1"
        add("", sign("alice", space, text), namespace=space)
    add("", sign("bob", ours, "\n"), raw=public("bob"), message="\n")
    add("another message", good, message=text.replace("alice", "alicf"))
    add("the message without its newline", good, message=text[:-1])
    add("another namespace", good, namespace="hkoji.server.v1")
    add("another key", good, raw=public("bob"))
    add("the other's signature under this key", blob(key, ours, sign("bob", ours, text)[-64:]))
    add("a changed bit in R", good[:-64] + bytes([good[-64] ^ 1]) + good[-63:])
    add("a changed bit in S", good[:-1] + bytes([good[-1] ^ 1]))
    raised = (int.from_bytes(good[-32:], "little") + ORDER).to_bytes(32, "little")
    add("S is not below the order of the group", good[:-32] + raised, lax=True)
    for reason, crafted, lax in _crafted(signed_data(ours, text)):
        add(reason, blob(crafted.public, ours, crafted.signature), raw=crafted.public, lax=lax)
    add("the hash is sha256", sign("alice", ours, text, "sha256"), lax=True)
    add("the reserved field is not empty", sign("alice", ours, text, reserved=b"x"))
    add("the reserved field is not empty, and not signed", blob(key, ours, good[-64:], reserved=b"x"), lax=True)
    add("a byte after the end", good + b"\0")
    add("cut short", good[:-1])
    add("version 2", good.replace(b"SSHSIG\0\0\0\1", b"SSHSIG\0\0\0\2"))
    for reason, weak in (
        ("the neutral point as key: one signature for all messages", encode_point(NEUTRAL)),
        ("the neutral point as key, y + p", (FIELD + 1).to_bytes(32, "little")),
        ("the neutral point as key, sign bit set", (1 | 1 << 255).to_bytes(32, "little")),
    ):
        add(reason, blob(weak, ours, encode_point(NEUTRAL) + bytes(32)), raw=weak, lax=True)
    return {"signatures": found}


def _crafted(data: bytes) -> Iterator[tuple[str, SignedBytes, bool]]:
    """Signatures that only the holder of a key can make: why they do not verify, and whether some accept them."""
    point = torsion()
    make = partial(craft, secret("alice"), data)
    yield "R is the neutral point", make(nonce=0), True
    yield "R is a point of order 8", make(nonce=0, beside_r=point), False
    yield "a point of order 8 is added to R: it holds only with the cofactor", make(nonce=1, beside_r=point), False
    keyed = [make(nonce=nonce, beside_key=point) for nonce in range(1, 100)]
    yield "", next(filter(holds, keyed)), False
    reason = "a point of order 8 is added to the key: it holds only with the cofactor"
    yield reason, next(each for each in keyed if not holds(each)), False
