"""Lines of a log before they are signed: anything in them can be changed, even to something no entry may be.

`write_log` chains, signs and receipts them anew, as somebody with all keys could. Fields that a draft sets itself
(another `prev`, another signature, its own text) are left as they are.
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
from hkoji.log.line import Line, entry_namespace
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey
from tests.support.curve import ORDER, craft
from tests.support.forgery import every_pin
from tests.support.table import Table

Value = dict[str, Any]  # JSON that need not be an entry's

Owner = tuple[str, PrivateKey]
"""A name and a key of its owner."""

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
    giver: Owner | None = None
    """Signs the gift in a credit or annul, about the head of entry `given_at`; None leaves the gift unchanged."""
    given_at: int = 0
    linker: PrivateKey | None = None
    """Signs an `open` or `join` as the key of the link; None leaves that signature unchanged."""
    callers: tuple[Owner, ...] = ()
    """Sign that they call the game off at the entry before; without them the signatures stay unchanged."""
    certifier: PrivateKey | None = None
    """Signs the certificate of a held key; None leaves it unchanged."""

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
    drafts = [
        Draft(
            json.loads(line.entry.text),
            table.signer(line),
            entry_namespace(line.entry),
            table.server,
            receipt={} if line.receipt is None or line.receipt.receipt.at == line.entry.at else _own_time(line),
            prover=by_text[str(line.entry.body["key"])] if line.entry.kind in ("rekey", "revoke") else None,
        )
        for line in table.lines
    ]
    heads = [line.entry.head for line in table.lines]
    for number, each in enumerate(drafts):
        if each.kind in ("open", "join"):
            each.linker = table.link
        if each.body.get("gateway"):
            each.certifier = table.server
        if each.kind == "annul":
            each.callers = (_owner(table, 0, number), _owner(table, 1, number))
        if each.kind in ("credit", "annul") and each.body["gift"]:
            author = table.course.setup.seat_of(drafts[number - 1].value["by"])
            helped = each.body["seat"] if each.kind == "annul" else author
            assert helped is not None
            each.giver = _owner(table, 1 - helped, number)
            each.given_at = heads.index(each.body["gift"]["head"])
    return drafts


def _owner(table: Table, seat: int, number: int) -> Owner:
    public = table.course.setup.key_at(seat, number)
    return table.names[seat], next(key for key in table.every_key if key.public == public)


def _own_time(line: Line) -> Value:
    assert line.receipt
    return {"at": line.receipt.receipt.at}


def write(value: object) -> str:
    """JSON with sorted keys and no spaces; canonical if the values can be."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def write_log(drafts: Iterable[Draft]) -> bytes:
    head, heads = "0" * 64, list[str]()
    lines = []
    for number, each in enumerate(drafts):
        if "prev" in each.value and not each.keeps_prev:
            each.value["prev"] = head
        if each.prover is not None:
            _prove(each, each.prover)
        if each.linker is not None:
            _link(each, each.linker)
        if each.certifier is not None:
            _certify(each, each.certifier)
        if each.giver is not None:
            _give(each, each.giver, heads)
        if each.callers:
            _call_off(each, head)
        text = write(each.value) if each.text is None else each.text
        message = text.encode("utf-8", "surrogatepass") + b"\n"
        head = sha256(message).hexdigest()
        heads.append(head)
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


def _give(each: Draft, giver: Owner, heads: list[str]) -> None:
    gift = each.body.get("gift") if isinstance(each.value.get("body"), dict) else None
    if isinstance(gift, dict) and each.given_at < len(heads):
        gift["head"] = heads[each.given_at]
        said = {"game": each.value.get("game"), "head": gift["head"], "seconds": gift.get("seconds")}
        said |= {"mail": gift["mail"]} if "mail" in gift else {}
        gift["sig"] = _state(giver, sshsig.GIVE, said)


def _call_off(each: Draft, head: str) -> None:
    if isinstance(each.value.get("body"), dict) and "sigs" in each.body:
        said = {"game": each.value.get("game"), "head": head}
        mails = each.body.get("mails")
        by_seat = mails if isinstance(mails, list) and len(mails) == len(each.callers) else [None, None]
        each.body["sigs"] = [
            _state(caller, sshsig.ANNUL, said | ({"mail": mail} if mail else {}))
            for caller, mail in zip(each.callers, by_seat, strict=True)
        ]


def _certify(each: Draft, certifier: PrivateKey) -> None:
    gateway = each.value["body"].get("gateway") if isinstance(each.value.get("body"), dict) else None
    if isinstance(gateway, dict) and "sig" in gateway:
        said = {name: value for name, value in gateway.items() if name != "sig"} | {
            "name": each.value.get("by"),
            "v": 1,
        }
        gateway["sig"] = _base64(certifier.sign(sshsig.HELD, write(said).encode("utf-8", "surrogatepass") + b"\n"))


def _state(party: Owner, namespace: str, said: Value) -> str:
    name, key = party
    message = write({**said, "name": name, "v": 1}).encode("utf-8", "surrogatepass") + b"\n"
    return _base64(key.sign(namespace, message))


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


def _link(each: Draft, linker: PrivateKey) -> None:
    body = each.value.get("body")
    if isinstance(body, dict) and "link_sig" in body:
        body["link_sig"] = sign_for_link(linker, sshsig.JOIN, each.value)
    elif isinstance(body, dict) and isinstance(body.get("invite"), dict) and "sig" in body["invite"]:
        body["invite"]["sig"] = sign_for_link(linker, sshsig.INVITE, each.value)


def sign_for_link(linker: PrivateKey, namespace: str, value: Value) -> str:
    """The signature of a link's key, `linker`, for the entry of that value."""
    body = value["body"]
    said = {
        "entropy_commit": body.get("entropy_commit"),
        "game": value.get("game"),
        "key": body.get("key"),
        "name": value.get("by"),
        "prev": value.get("prev"),
        "v": 1,
    }
    return _base64(linker.sign(namespace, write(said).encode("utf-8", "surrogatepass") + b"\n"))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data
