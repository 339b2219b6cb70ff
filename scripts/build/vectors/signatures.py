"""signatures.json"""

from __future__ import annotations

from scripts.build.vectors.entries import entry
from scripts.build.vectors.formulas import Vector, armor, blob, encode64, key_text, public, sign
from tests.support.curve import FIELD, NEUTRAL, ORDER, encode_point


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

    for role in ("entry", "server", "receipt", "view", "login", "register", "gateway"):
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
