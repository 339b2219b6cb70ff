"""A second implementation of the log format, from docs/spec/log.md alone: texts, heads, commitments, signatures, decks.

Nothing here comes from the project: `json`, `hashlib`, `hmac` and one call of an Ed25519 library.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import struct
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Object = dict[str, Any]  # a JSON object

GENESIS: Final = "0" * 64
CHARM: Final = {"A": 2, "B": 2, "C": 2, "D": 3, "E": 3, "F": 4, "G": 5}
CARDS: Final = {
    "hanamikoji": [f"{geisha}{copy}" for geisha, copies in CHARM.items() for copy in range(1, copies + 1)],
    "geishas-road": [f"{colour}{number}" for colour in "ABCDE" for number in range(1, 5)],
}


def canonical(value: Any) -> str:  # Any: JSON
    """The canonical text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(*lines: object) -> str:
    """SHA-256 of lines, each with its newline."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def head_of(text: str) -> str:
    """The head of an entry: the hash of its text and a newline."""
    return digest(text)


def entry_text(at: str, body: Object, by: str, game: str, kind: str, prev: str, seen: str | None, seq: int) -> str:
    """An entry. `seen` is the time of record of the entry before; None in entry 0."""
    value = {"at": at, "body": body, "by": by, "game": game, "kind": kind}
    return canonical({**value, "prev": prev, "seen": seen, "seq": seq, "v": 1})


def receipt_text(at: str, game: str, text: str, seq: int) -> str:
    """The receipt of an entry."""
    return canonical({"at": at, "game": game, "head": head_of(text), "seq": seq, "v": 1})


def proof_text(entry: Object) -> str:
    """The text that the new key of a `rekey` signs."""
    body = {"key": entry["body"]["key"], "old": entry["body"]["old"], "name": entry["by"], "v": 1}
    return canonical({**body, "game": entry["game"], "prev": entry["prev"], "seq": entry["seq"]})


def statement_text(game: str, said: Object) -> str:
    """The text of a gift of time, or of a wish to call a game off."""
    more = {"seconds": said["seconds"]} if said["kind"] == "give" else {}
    return canonical({"game": game, "head": said["head"], "name": said["name"], "v": 1, **more})


def opening_commit(game: str, opening: Object) -> str:
    """The commitment that an opening opens."""
    return digest("hkoji.hidden.v1", game, opening["seq"], opening["part"], opening["cards"], opening["salt"])


def entropy_commit(game: str, seat: int, entropy: str) -> str:
    """The commitment to a player's entropy."""
    return digest("hkoji.entropy.v1", game, seat, entropy)


def seed_commit(game: str, seed: str) -> str:
    """The commitment to the service's seed."""
    return digest("hkoji.seed.v1", game, seed)


def _mac(key: bytes, *lines: object) -> bytes:
    return hmac.digest(key, "".join(f"{line}\n" for line in lines).encode(), "sha256")


def round_key(seed: str, game: str, entropy: list[str | None], number: int) -> bytes:
    """K_r of the deal `server/v1`; `entropy` is host's, guest's."""
    return _mac(bytes.fromhex(seed), "hkoji.deck.v1", game, entropy[1], entropy[0], number)


def deck(ruleset: str, key: bytes) -> list[str]:
    """All cards of a round, in order. Copies of a kind have one name."""
    cards = sorted(CARDS[ruleset], key=lambda card: _mac(key, "hkoji.order.v1", card))
    return [card[0] for card in cards] if ruleset == "hanamikoji" else cards


def random_starter(key: bytes) -> int:
    """The starting player, where chance decides."""
    return _mac(key, "hkoji.first.v1")[0] & 1


def random_markers(key: bytes) -> str:
    """The starter's marker and the other's, where chance decides."""
    return "".join(sorted("ABCDE", key=lambda colour: _mac(key, "hkoji.marker.v1", colour))[:2])


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def signature_holds(key: str, namespace: str, text: str, sig: str) -> bool:
    """Whether `sig` (base64 of a canonical SSHSIG blob) is by `key` over the text and a newline."""
    try:
        blob = base64.b64decode(sig, validate=True)
        public = base64.b64decode(key.split()[1], validate=True)
    except (binascii.Error, ValueError, IndexError):
        return False
    ends = _string(namespace.encode()) + _string(b"") + _string(b"sha512")
    before = b"SSHSIG" + struct.pack(">I", 1) + _string(public) + ends
    kind = _string(b"ssh-ed25519")
    if not blob.startswith(before) or len(blob) != len(before) + 4 + len(kind) + 68:
        return False
    signed = b"SSHSIG" + ends + _string(hashlib.sha512(f"{text}\n".encode()).digest())
    try:
        Ed25519PublicKey.from_public_bytes(public[-32:]).verify(blob[-64:], signed)
    except InvalidSignature:
        return False
    return True
