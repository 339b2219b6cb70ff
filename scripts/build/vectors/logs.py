"""logs.json"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from typing import Final

from scripts.build.vectors.commitments import lines
from scripts.build.vectors.entries import wrap
from scripts.build.vectors.formulas import AT, GAME, Vector, canonical, encode64, key_text, public, secret, sign

_RULESET: Final = {"first": "host", "max_rounds": 0, "name": "hanamikoji", "tiebreak": "geisha", "version": 1}
_MALFORMED: Final = ("offEr", "0ffer", "-offer", "of er", "", "o" * 33)
_LATER: Final = ("o", "offer2", "of-er_", "o" * 32, "plan")


class Log:
    """A log in the making. Each entry is signed by a named secret."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.lines: list[str] = []

    @property
    def prev(self) -> str:
        """The head of the last entry."""
        return sha256(f"{self.texts[-1]}\n".encode()).hexdigest() if self.texts else "0" * 64

    def add(self, kind: str, by: str, body: Vector, signer: str = "") -> None:
        """Adds an entry, signed by the secret `signer`: by default that of its author."""
        value = {"at": AT, "body": body, "by": by, "game": GAME, "kind": kind, "prev": self.prev}
        text = canonical({**value, "seq": len(self.texts), "v": 1})
        space = "hkoji.server.v1" if by == "server" else "hkoji.entry.v1"
        self.texts.append(text)
        self.lines.append(wrap(text, encode64(sign(signer or by, space, f"{text}\n"))))

    def change_key(self, kind: str, old: str, new: str) -> None:
        """Adds a `rekey` or a `revoke` of alice: the key of the secret `new` takes the place of that of `old`."""
        keys = {"key": key_text(public(new)), "old": key_text(public(old))}
        place = {"game": GAME, "name": "alice", "prev": self.prev, "seq": len(self.texts), "v": 1}
        proof = encode64(sign(new, "hkoji.rekey.v1", canonical({**keys, **place}) + "\n"))
        if kind == "rekey":
            self.add(kind, "alice", {**keys, "proof": proof}, old)
        else:
            self.add(kind, "server", {**keys, "name": "alice", "proof": proof, "revocation": None})

    @property
    def text(self) -> str:
        """The file."""
        return "".join(f"{line}\n" for line in self.lines)


def begun() -> Log:
    """A game up to the host's first turn: entries 0 to 4."""
    log = Log()
    seed_commit = sha256(lines("hkoji.seed.v1", GAME, secret("seed").hex()).encode()).hexdigest()
    dealer = {"name": "server/v1", "seed_commit": seed_commit}
    server_key = key_text(public("server"))
    log.add("offer", "server", {"dealer": dealer, "requires": [], "ruleset": _RULESET, "server_key": server_key})
    players = (("alice", "host entropy"), ("bob", "guest entropy"))
    for seat, (name, entropy) in enumerate(players):
        commit = sha256(lines("hkoji.entropy.v1", GAME, seat, secret(entropy).hex()).encode()).hexdigest()
        body: Vector = {"entropy_commit": commit, "key": key_text(public(name))}
        log.add("join" if seat else "open", name, body if seat else {**body, "invite": None})
    for name, entropy in reversed(players):
        log.add("seed", name, {"entropy": secret(entropy).hex()})
    return log


def logs() -> Vector:
    """logs.json"""
    signers = {"server": ("server",), "alice": ("alice", "alice 2", "alice 3"), "bob": ("bob",)}
    keys = {name: [key_text(public(each)) for each in signers[name]] for name in signers}
    return {"keys": keys, "logs": [*_key_changes(), *_kinds()]}


def _key_changes() -> Iterator[Vector]:
    """The four pairs of changes of a key that follow each other directly."""
    for first, second in product(("rekey", "revoke"), repeat=2):
        log = begun()
        log.change_key(first, "alice", "alice 2")
        log.change_key(second, "alice 2", "alice 3")
        twice = first == second == "rekey"
        found = {"step": 8, "entry": 6, "error": "illegal"} if twice else None
        yield {"what": f"{first}, then {second}", "log": log.text, "holds": 6 if twice else 7, "finding": found}


def _kinds() -> Iterator[Vector]:
    """Kinds that the form forbids, and kinds that a later version may have."""
    for error, kinds in (("malformed", _MALFORMED), ("not-understood", _LATER)):
        for kind in kinds:
            log = begun()
            log.add(kind, "alice", {})
            finding = {"step": 1, "entry": 5, "error": error}
            yield {"what": f"the kind {kind!r}", "log": log.text, "holds": 5, "finding": finding}
