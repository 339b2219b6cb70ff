"""Lines of a log before they are sealed: anything in them can be changed, even to something no entry may be.

Sealing chains, signs and receipts them anew, as somebody with all keys could. Fields that a draft sets itself (another
`prev`, another signature, its own text) are left as they are.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256, sha512
from typing import Any

from hkoji.log import sshsig
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey
from tests.support.curve import ORDER
from tests.support.forgery import every_pin
from tests.support.signers import craft
from tests.support.table import Table

Value = dict[str, Any]  # JSON that need not be an entry's

Sign = Callable[[PrivateKey, str, bytes], bytes]
"""Makes the signature blob of a key in a namespace for a message."""


def honest(key: PrivateKey, namespace: str, message: bytes) -> bytes:
    """The signature that ssh-keygen makes."""
    return key.sign(namespace, message)


def other_than_ssh_keygen(
    *,
    algorithm: str = "sha512",
    reserved: bytes = b"",
    version: int = 1,
    kind: bytes = b"ssh-ed25519",
    more: bytes = b"",
    add_order: bool = False,
    neutral_r: bool = False,
    public: PublicKey | None = None,
) -> Sign:
    """Signatures that differ from ssh-keygen's in one field of the blob, and are valid for the blob with that field."""

    def sign(key: PrivateKey, namespace: str, message: bytes) -> bytes:
        digest = {"sha512": sha512, "sha256": sha256}[algorithm](message).digest()
        claims = _string(namespace.encode()) + _string(reserved) + _string(algorithm.encode())
        data = b"SSHSIG" + claims + _string(digest)
        signature = craft(key._seed, data, nonce=0).signature if neutral_r else key.sign_bytes(data)
        if add_order:
            number = int.from_bytes(signature[32:], "little") + ORDER
            signature = signature[:32] + number.to_bytes(32, "little")
        inner = _string(kind) + _string(signature)
        head = b"SSHSIG" + struct.pack(">I", version) + _string((public or key.public).blob)
        return head + claims + _string(inner) + more

    return sign


@dataclass
class Draft:
    """One line. `value` is the entry's; `text`, if given, is written in its place. Without `receipt` there is none."""

    value: Value
    signer: PrivateKey
    namespace: str
    service: PrivateKey
    text: str | None = None
    sign: Sign = honest
    sig: str | None = None
    receipt: Value | None = field(default_factory=dict)
    receipt_text: str | None = None
    receipt_signer: PrivateKey | None = None
    receipt_namespace: str = sshsig.RECEIPT
    receipt_sign: Sign = honest
    keeps_prev: bool = False
    prover: PrivateKey | None = None
    """Makes a rekey's proof for the entry as it finally reads; None leaves the proof unchanged."""

    @property
    def body(self) -> Value:
        """The entry's body."""
        body: Value = self.value["body"]
        return body

    @property
    def kind(self) -> str:
        """The entry's kind, if it still has one."""
        return str(self.value.get("kind"))


def draft(table: Table) -> list[Draft]:
    """The lines of a table, for changing."""
    by_text = {key.public.text: key for key in table.every_key}
    return [
        Draft(
            json.loads(line.entry.text),
            table.signer(line),
            sshsig.SERVER if line.entry.by == "server" else sshsig.ENTRY,
            table.server,
            prover=by_text[str(line.entry.body["key"])] if line.entry.kind in ("rekey", "revoke") else None,
        )
        for line in table.lines
    ]


def write(value: object) -> str:
    """JSON with sorted keys and no spaces; canonical if the values can be."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def seal(drafts: Iterable[Draft]) -> bytes:
    """The log."""
    head = "0" * 64
    lines = []
    for number, each in enumerate(drafts):
        if "prev" in each.value and not each.keeps_prev:
            each.value["prev"] = head
        if each.prover is not None:
            _prove(each, each.prover)
        text = write(each.value) if each.text is None else each.text
        message = text.encode("utf-8", "surrogatepass") + b"\n"
        head = sha256(message).hexdigest()
        sig = each.sig
        if sig is None:
            sig = _base64(each.sign(each.signer, each.namespace, message))
        line: Value = {"entry": text, "sig": sig}
        if each.receipt is not None:
            line["receipt"] = _receipt(each, number, head)
        lines.append(write(line).encode("utf-8", "surrogatepass") + b"\n")
    return b"".join(lines)


def pins(table: Table) -> Mapping[str, tuple[PublicKey, ...]]:
    """The keys of everybody at the table, current and former."""
    return every_pin(table)


def _receipt(each: Draft, number: int, head: str) -> Value:
    value = {
        "at": each.value.get("at"),
        "game": each.value.get("game"),
        "head": head,
        "seq": each.value.get("seq", number),
        "v": 1,
        **(each.receipt or {}),
    }
    text = write(value) if each.receipt_text is None else each.receipt_text
    message = text.encode("utf-8", "surrogatepass") + b"\n"
    sig = each.receipt_sign(each.receipt_signer or each.service, each.receipt_namespace, message)
    return {"sig": _base64(sig), "text": text}


def _prove(each: Draft, prover: PrivateKey) -> None:
    value, body = each.value, each.value.get("body")
    if isinstance(body, dict) and "proof" in body:
        said = {
            "game": value.get("game"),
            "key": body.get("key"),
            "name": body.get("name", value.get("by")),
            "old": body.get("old"),
            "prev": value.get("prev"),
            "seq": value.get("seq"),
            "v": 1,
        }
        message = write(said).encode("utf-8", "surrogatepass") + b"\n"
        body["proof"] = _base64(prover.sign(sshsig.REKEY, message))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data
