"""Entries of games with a clock: moves, gifts, outages, credits, timeouts, and every end that time makes.

Each function adds an entry to a log in the making, or makes what stands in one.
"""

from __future__ import annotations

from typing import Final

from scripts.build.vectors.formulas import GAME, Vector, canonical, encode64, secret, sign
from scripts.build.vectors.log_builder import Log, after

CLOCK: Final[Vector] = {"add": 0, "bank": 120, "cap": 120, "move": 60, "rest": "", "zone": "+00:00"}
"""60 s a turn and 120 s in reserve."""


def move(log: Log, by: str, *, at: int, seen: int | None = None) -> Log:
    """A move that hides a card."""
    changes_key = '"old":' in log.texts[-1]
    body: Vector = {"action": "1X", "commit": [secret(f"commitment of {by}").hex()]}
    return log.add("move", by, body, "alice 2" if changes_key else "", at=at, seen=seen)


def timeout(log: Log, seat: int, *, at: int, receipt: int | None = None) -> Log:
    """The service ends the game."""
    return log.add("timeout", "server", {"seat": seat}, at=at, receipt=receipt)


def gift(head: str, seconds: int, by: str = "bob", **change: object) -> Vector:
    """The gift of `by` at a head; `change` are other fields of the signed statement."""
    said = {"game": GAME, "head": head, "name": by, "seconds": seconds, "v": 1, **change}
    return {"head": head, "seconds": seconds, "sig": encode64(sign(by, "hkoji.give.v1", canonical(said) + "\n"))}


def outage(begin: int, until: int, way: str = "http") -> Vector:
    """An outage of a way from `begin` to `until`."""
    return {"from": after(begin), "until": after(until), "way": way}


def credit(log: Log, given: Vector | None, *outages: Vector) -> Log:
    """A `credit`."""
    return log.add("credit", "server", {"gift": given, "outages": [*outages]})


def annul(
    log: Log, given: Vector | None = None, *outages: Vector, at: int, by: tuple[str, str] = ("alice", "bob")
) -> Log:
    """Both call the game off; `by` are those who really sign."""
    said = [{"game": GAME, "head": log.prev, "name": name, "v": 1} for name in ("alice", "bob")]
    sigs = [encode64(sign(who, "hkoji.annul.v1", canonical(each) + "\n")) for who, each in zip(by, said, strict=True)]
    return log.add("annul", "server", {"gift": given, "outages": [*outages], "seat": 0, "sigs": sigs}, at=at)


def lapse(log: Log, reason: str, *, at: int) -> Log:
    """Nobody has joined."""
    return log.add("lapse", "server", {"reason": reason}, at=at)


def end(log: Log, result: Vector, *, at: int | None = None) -> Log:
    """The `end` of a game in which nobody has moved."""
    return log.add("end", "server", {"openings": [], "result": result, "seed": secret("seed").hex()}, at=at)
