"""Contradictions between audited logs.

docs/spec/log.md, "Archives". A log can pass its audit and still differ from the log that somebody else was shown. Only
entries that hold in the audit of their own log are compared. The caller keeps the claims of each log, and finds the
earlier claims to compare with.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from hkoji.audit.keyring import Party
from hkoji.audit.log_audit import Audit
from hkoji.audit.times import last_worded, stated_time
from hkoji.game import entry_kinds
from hkoji.game.clock import Outage, Way, came_by
from hkoji.game.dealer import DuplicateTerms
from hkoji.game.entry_kinds import parse_body
from hkoji.log.line import SERVER_NAME
from hkoji.log.public_key import parse_public_key
from hkoji.messages.text import tell

_HEAD: Final = 32
_TIME: Final = 7
WAYS: Final = (Way.HTTP, Way.MAIL)


class SeedBinding(NamedTuple):
    """The commitment to the seed of a deal, to which an offer of dealer `duplicate/v1` binds its signer."""

    deal: str
    seed_commit: str


class LogClaims(NamedTuple):
    """The statements of one log, as far as it holds, in a compact form for comparing.

    `heads` has 32 bytes for each entry. `times` has 7 for each: its time of record, the only part in which two receipts
    of one entry can differ; zeros if the service has not stated it in this log. `vouched` has a byte for each entry: 1
    if the service has signed the entry or a receipt for it. `server` is the service's public key as text, and `pinned`
    says whether it was expected from outside.
    """

    game: str
    heads: bytes
    times: bytes
    vouched: bytes
    server: str
    pinned: bool
    bond: SeedBinding | None
    outages: tuple[Outage, ...] = ()
    """The outages that the log credits to a player."""
    ways: bytes = b""
    """A byte for each entry: on which way it came, by its place in `WAYS` from 1; 0 if nobody sent it."""

    @property
    def span(self) -> tuple[bytes, bytes]:
        """The first and the last time of record, as in `times`; empty for a log without any."""
        known = [time for number in range(self.entries) if (time := _time(self, number))]
        return (known[0], known[-1]) if known else (b"", b"")

    @property
    def party(self) -> Party:
        """The service."""
        return Party(SERVER_NAME, parse_public_key(self.server), self.pinned)

    @property
    def entries(self) -> int:
        """The number of entries that hold."""
        return len(self.vouched)


class ContradictionKind(StrEnum):
    """The subject of a contradiction between two logs."""

    FORK = "fork"
    DEAL = "deal"
    RECEIPT = "receipt"
    OUTAGE = "outage"
    MAIL = "mail"


class Contradiction(NamedTuple):
    """Why two logs cannot both be true. `entry` is the first that differs; `party` is the signer whom they convict.

    `party` is None if they convict nobody.
    """

    kind: ContradictionKind
    entry: int
    party: Party | None
    reason: str

    @property
    def signer(self) -> str | None:
        """The signer whom they convict, for people."""
        return None if self.party is None else str(self.party)


def log_claims(audit: Audit) -> LogClaims | None:
    """The claims of an audited log; None if not even its offer holds."""
    heads, times, vouched, ways = bytearray(), bytearray(), bytearray(), bytearray()
    bond: SeedBinding | None = None
    outages: tuple[Outage, ...] = ()
    worded = last_worded(audit.lines)
    for line in audit.lines:
        entry = line.entry
        if entry.kind in (entry_kinds.Credit.KIND, entry_kinds.Annul.KIND):
            body = parse_body(entry.kind, entry.body)
            assert isinstance(body, entry_kinds.Credit | entry_kinds.Annul)
            outages += body.outages
        if entry.seq == 0:
            body = parse_body(entry.kind, entry.body)
            if isinstance(body, entry_kinds.Offer) and isinstance(body.terms, DuplicateTerms):
                bond = SeedBinding(body.terms.deal, body.terms.seed_commit)
        heads += bytes.fromhex(entry.head)
        times += pack_time(stated_time(audit.lines, entry.seq, worded) or "")
        vouched.append(entry.by == SERVER_NAME or line.receipt is not None)
        ways.append(_way_number(came_by(entry)))
    server = next((party for party in audit.parties if party.name == SERVER_NAME), None)
    if server is None or not audit.lines:
        return None
    # The game of the entries: the header of a file of evidence may name another one.
    game = audit.lines[0].entry.game
    return LogClaims(
        game, bytes(heads), bytes(times), bytes(vouched), server.key.text, server.pinned, bond, outages, bytes(ways)
    )


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
    return Contradiction(ContradictionKind.FORK, entry, log.party, reason)


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
            return Contradiction(ContradictionKind.RECEIPT, number, log.party, reason)
    return None


def other_seed(log: LogClaims, bond: SeedBinding) -> Contradiction:
    """Two offers of one deal by one key that are bound to different seeds. They convict the key."""
    return Contradiction(
        ContradictionKind.DEAL,
        0,
        log.party,
        tell("two offers of deal {deal}, by one key, are bound to different seeds", deal=bond.deal),
    )


def in_outage(log: LogClaims, outage: Outage, other: str) -> Contradiction | None:
    """The first entry of a log that came the way of `outage` in it, where the log of game `other` credits that outage.

    It convicts the service: no process of it took such entries then, or it has lied to the opponent of the player whom
    it has credited. Both logs are of one key of the service.
    """
    way = _way_number(outage.way)
    begin, until = pack_time(outage.begin), pack_time(outage.until)
    for number in range(log.entries):
        time = _time(log, number)
        if log.ways[number] == way and time is not None and begin <= time < until:
            reason = tell(
                "game {game} has an entry {entry} that came by {way} in the outage from {begin} to {until}, which the "
                "log of game {other} credits",
                game=log.game,
                entry=number,
                way=outage.way,
                begin=outage.begin,
                until=outage.until,
                other=other,
            )
            return Contradiction(ContradictionKind.OUTAGE, number, log.party, reason)
    return None


def pack_time(time: str) -> bytes:
    """A time as `times` has it, which sorts in order of time; zeros for no time."""
    return int("".join(filter(str.isdecimal, time)) or 0).to_bytes(_TIME)


def _way_number(way: Way | None) -> int:
    return 0 if way is None else WAYS.index(way) + 1


def _head(heads: bytes, number: int) -> bytes:
    return heads[_HEAD * number : _HEAD * (number + 1)]


def _time(log: LogClaims, number: int) -> bytes | None:
    """The time of record of an entry; None if the log does not have it."""
    time = log.times[_TIME * number : _TIME * (number + 1)]
    return time if any(time) else None
