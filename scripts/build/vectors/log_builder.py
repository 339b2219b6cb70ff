"""Logs in the making, straight from the specification."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from scripts.build.vectors.commitments import lines
from scripts.build.vectors.entries import wrap
from scripts.build.vectors.formulas import (
    AT,
    GAME,
    UNTIMED,
    Vector,
    canonical,
    encode64,
    key_text,
    public,
    secret,
    sign,
)

RULESET: Final = {"first": "host", "max_rounds": 0, "name": "hanamikoji", "tiebreak": "geisha", "version": 1}
PLAYERS: Final = (("alice", "host entropy"), ("bob", "guest entropy"))


def after(seconds: int) -> str:
    """The time so many seconds after that of the offer."""
    moment = datetime.fromisoformat(AT) + timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Log:
    """A log in the making. Each entry is signed by a named secret; times are seconds after the offer."""

    def __init__(self, *, receipts: bool = False) -> None:
        self.receipts = receipts
        self.texts: list[str] = []
        self.lines: list[str] = []
        self.time = 0
        """The time of record of the last entry."""

    @property
    def prev(self) -> str:
        """The head of the last entry."""
        return self.head(-1) if self.texts else "0" * 64

    def head(self, number: int) -> str:
        """The head of entry `number`."""
        return sha256(f"{self.texts[number]}\n".encode()).hexdigest()

    def add(
        self,
        kind: str,
        by: str,
        body: Vector,
        signer: str = "",
        *,
        at: int | None = None,
        seen: int | None = None,
        receipt: int | None = None,
        space: str = "",
    ) -> Log:
        """Adds an entry, signed by the secret `signer`, by default that of its author.

        `space` is another namespace than the one that the text demands.

        `at` is its time of record, by default that of the entry before. `seen` and `receipt` say something else than
        the time of record before it and its own. Returns the log.
        """
        before, self.time = self.time, self.time if at is None else at
        value: Vector = {"at": after(self.time), "body": body, "by": by, "game": GAME, "kind": kind, "prev": self.prev}
        said = after(before if seen is None else seen) if self.texts else None
        text = canonical({**value, "seen": said, "seq": len(self.texts), "v": 1})
        player = "hkoji.gateway.v1" if "mail" in body else "hkoji.entry.v1"
        space = space or ("hkoji.server.v1" if by == "server" else player)
        seq = len(self.texts)
        self.texts.append(text)
        taken = after(self.time if receipt is None else receipt)
        given = canonical({"at": taken, "game": GAME, "head": self.prev, "seq": seq, "v": 1})
        sig = encode64(sign(signer or by, space, f"{text}\n"))
        value = {"sig": encode64(sign("server", "hkoji.receipt.v1", f"{given}\n")), "text": given}
        self.lines.append(wrap(text, sig, value if self.receipts else None))
        return self

    def change_key(self, kind: str, old: str, new: str, *, at: int | None = None) -> Log:
        """Adds a `rekey` or a `revoke` of alice: the key of the secret `new` takes the place of that of `old`."""
        keys = {"key": key_text(public(new)), "old": key_text(public(old))}
        place = {"game": GAME, "name": "alice", "prev": self.prev, "seq": len(self.texts), "v": 1}
        proof = encode64(sign(new, "hkoji.rekey.v1", canonical({**keys, **place}) + "\n"))
        if kind == "rekey":
            return self.add(kind, "alice", {**keys, "proof": proof}, old, at=at)
        body = {**keys, "name": "alice", "proof": proof, "revocation": None}
        return self.add(kind, "server", body, at=at)

    @property
    def text(self) -> str:
        """The file."""
        return "".join(f"{line}\n" for line in self.lines)


def offered(agreement: Vector = UNTIMED, *, receipts: bool = False) -> Log:
    """A log of an offer alone."""
    log = Log(receipts=receipts)
    seed_commit = sha256(lines("hkoji.seed.v1", GAME, secret("seed").hex()).encode()).hexdigest()
    dealer = {"name": "server/v1", "seed_commit": seed_commit}
    body: Vector = {"agreement": agreement, "dealer": dealer, "requires": [], "ruleset": RULESET}
    return log.add("offer", "server", {**body, "server_key": key_text(public("server"))})


def enter(log: Log, seat: int, *, at: int = 0, invite: Vector | None = None) -> Log:
    """Adds the `open` of alice or the `join` of bob."""
    name, body = PLAYERS[seat][0], entering(seat)
    return log.add("join" if seat else "open", name, body if seat else {**body, "invite": invite}, at=at)


def entering(seat: int) -> Vector:
    """The fields of a player who takes a seat: the commitment to their entropy, and their key."""
    name, entropy = PLAYERS[seat]
    commit = sha256(lines("hkoji.entropy.v1", GAME, seat, secret(entropy).hex()).encode()).hexdigest()
    return {"entropy_commit": commit, "key": key_text(public(name))}


def reveal_entropy(log: Log, seat: int, *, at: int = 0) -> Log:
    """Adds a player's `seed`."""
    name, entropy = PLAYERS[seat]
    return log.add("seed", name, {"entropy": secret(entropy).hex()}, at=at)


def begun() -> Log:
    """A game up to the host's first turn: entries 0 to 4. No time passes."""
    log = offered()
    enter(enter(log, 0), 1)
    return reveal_entropy(reveal_entropy(log, 1), 0)
