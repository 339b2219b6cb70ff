"""Contradictions between audited logs.

docs/spec/log.md, "Archives". A log can pass its audit and still differ from the log that somebody else was shown. Only
entries that hold in the audit of their own log are compared. The caller keeps the claims of each log, and finds the
earlier claims to compare with.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from hkoji.audit.log_audit import Audit
from hkoji.game import entry_kinds
from hkoji.game.dealer import DuplicateTerms
from hkoji.game.entry_kinds import parse_body
from hkoji.log.entry import SERVER_NAME
from hkoji.messages.text import tell

_HEAD: Final = 32
_TIME: Final = 7


class SeedBinding(NamedTuple):
    """The commitment to the seed of a deal, to which an offer of dealer `duplicate/v1` binds its signer."""

    deal: str
    seed_commit: str


class LogClaims(NamedTuple):
    """What one log says, as far as it holds, in a compact form for comparing.

    `heads` has 32 bytes for each entry. `times` has 7 for each: the time of its receipt, the only part in which two
    receipts of one entry can differ; zeros for no receipt. `vouched` has a byte for each entry: 1 if the service has
    signed the entry or a receipt for it. `server` is the service's public key as text. `named` is its name in findings:
    `server`, with the fingerprint if the key was not expected.
    """

    game: str
    heads: bytes
    times: bytes
    vouched: bytes
    server: str
    named: str
    bond: SeedBinding | None

    @property
    def entries(self) -> int:
        """The number of entries that hold."""
        return len(self.vouched)


class ContradictionKind(StrEnum):
    """The subject of a contradiction between two logs."""

    FORK = "fork"
    DEAL = "deal"
    RECEIPT = "receipt"


class Contradiction(NamedTuple):
    """Why two logs cannot both be true. `entry` is the first that differs; `signer` is the signer whom they convict.

    `signer` is None if they convict nobody.
    """

    kind: ContradictionKind
    entry: int
    signer: str | None
    reason: str


def log_claims(audit: Audit) -> LogClaims | None:
    """The claims of an audited log; None if not even its offer holds."""
    heads, times, vouched = bytearray(), bytearray(), bytearray()
    bond: SeedBinding | None = None
    for line in audit.lines:
        entry = line.entry
        if entry.seq == 0:
            body = parse_body(entry.kind, entry.body)
            if isinstance(body, entry_kinds.Offer) and isinstance(body.terms, DuplicateTerms):
                bond = SeedBinding(body.terms.deal, body.terms.seed_commit)
        heads += bytes.fromhex(entry.head)
        at = line.receipt.receipt.at if line.receipt else ""
        times += int("".join(filter(str.isdecimal, at)) or 0).to_bytes(_TIME)
        vouched.append(entry.by == SERVER_NAME or line.receipt is not None)
    server = next((party for party in audit.parties if party.name == SERVER_NAME), None)
    if server is None or not audit.lines:
        return None
    # The game of the entries: the header of a file of evidence may name another one.
    game = audit.lines[0].entry.game
    return LogClaims(game, bytes(heads), bytes(times), bytes(vouched), server.key.text, str(server), bond)


def extends(log: LogClaims, other: LogClaims) -> bool:
    """Whether `log` begins with all entries of `other`, a log of the same game."""
    return log.heads.startswith(other.heads)


def covers(log: LogClaims, other: LogClaims) -> bool:
    """Whether `log` has every entry of `other`, and the service's signature wherever `other` has it."""
    return (
        extends(log, other)
        and all(here >= there for here, there in zip(log.vouched, other.vouched, strict=False))
        and all(_time(other, number) in (None, _time(log, number)) for number in range(other.entries))
    )


def fork(log: LogClaims, other: LogClaims) -> Contradiction:
    """The fork of two logs of one game, neither of which extends the other.

    It convicts the service if the service has signed the entry, or a receipt for it, in both logs.
    """
    entry = next(
        number
        for number in range(min(log.entries, other.entries))
        if _head(log.heads, number) != _head(other.heads, number)
    )
    if log.server != other.server:
        reason = tell("two logs of game {game} name different keys of the server", game=log.game)
        return Contradiction(ContradictionKind.FORK, entry, None, reason)
    if not (log.vouched[entry] and other.vouched[entry]):
        reason = tell(
            "two logs of game {game} differ from entry {entry} on, and not both have receipts",
            game=log.game,
            entry=entry,
        )
        return Contradiction(ContradictionKind.FORK, entry, None, reason)
    reason = tell(
        "two logs of game {game} differ from entry {entry} on, and the server has signed both",
        game=log.game,
        entry=entry,
    )
    return Contradiction(ContradictionKind.FORK, entry, log.named, reason)


def two_receipts(log: LogClaims, other: LogClaims) -> Contradiction | None:
    """The first entry of two logs of one game that has different receipts in them; None if there is none.

    It convicts the service, because an honest service gives one receipt for an entry.
    """
    for number in range(min(log.entries, other.entries)):
        if _head(log.heads, number) != _head(other.heads, number):
            return None
        times = (_time(log, number), _time(other, number))
        if None not in times and times[0] != times[1]:
            reason = tell(
                "two logs of game {game} have different receipts for entry {entry}", game=log.game, entry=number
            )
            return Contradiction(ContradictionKind.RECEIPT, number, log.named, reason)
    return None


def other_seed(log: LogClaims, bond: SeedBinding) -> Contradiction:
    """Two offers of one deal by one key that are bound to different seeds. They convict the key."""
    return Contradiction(
        ContradictionKind.DEAL,
        0,
        log.named,
        tell("two offers of deal {deal}, by one key, are bound to different seeds", deal=bond.deal),
    )


def _head(heads: bytes, number: int) -> bytes:
    return heads[_HEAD * number : _HEAD * (number + 1)]


def _time(log: LogClaims, number: int) -> bytes | None:
    """The time of the receipt for an entry; None if the log has no receipt."""
    time = log.times[_TIME * number : _TIME * (number + 1)]
    return time if any(time) else None
