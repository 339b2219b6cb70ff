"""Lies in a sealed game: what the referee does with them, and what the audit says if the service takes them anyway."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

import pytest

from hkoji import errors
from hkoji.audit.log_audit import Audit, AuditStep, audit
from hkoji.client.sealing import Sealer
from hkoji.game.course import EntryBody
from hkoji.log.line import Line, format_log
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey
from hkoji.rules.events import SEATS, Seat
from hkoji.sealed import sodium
from tests.support.adversary import follow
from tests.support.sealed_table import NAMES, SealedTable

BOTH = ("alice and server", "bob and server")
"""The words of a finding against a seat and the service, which has taken the entry."""


@pytest.fixture(scope="module")
def kept_products() -> Iterator[None]:
    """For test files that import it: proofs are checked in a tenth of the time, and in no time if they are again.

    The checks remember each product.
    """
    combine = lru_cache(maxsize=None)(sodium.combine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sodium, "combine", combine)
        yield


_Table = TypeVar("_Table", bound=SealedTable)


def fork(table: _Table) -> _Table:
    """A table with the same players and the same game, which goes on apart from this one."""
    other = copy.copy(table)
    other.lines = list(table.lines)
    other.random = copy.deepcopy(table.random)
    ruleset = table.course.setup.ruleset
    other.sealers = tuple(
        Sealer(table.sealed_keys[seat], table.game, seat, table.entropy[seat], ruleset, other.random.randbytes)
        for seat in SEATS
    )
    return other


def pins(table: SealedTable) -> Mapping[str, PublicKey]:
    """The keys of everybody at the table."""
    return {"server": table.server.public, **{name: key.public for name, key in zip(NAMES, table.keys, strict=True)}}


def refused(table: SealedTable, attempt: Callable[[], object], error: type[errors.HkojiError]) -> errors.HkojiError:
    """Makes a call that must be refused with exactly this error; the game does not change."""
    before = table.refereed, list(table.lines), table.public, table.at
    with pytest.raises(errors.HkojiError) as caught:
        attempt()
    assert type(caught.value) is error, repr(caught.value)
    assert (table.refereed, table.lines, table.public, table.at) == before
    return caught.value


def taken(table: SealedTable, body: EntryBody, by: Seat | None, *, at: str | None = None) -> list[Line]:
    """The log with one more entry, which a dishonest service has taken: a seat's, or the service's own (None)."""
    name, key = ("server", table.server) if by is None else (NAMES[by], table.keys[by])
    return extended(table.server, table.lines, body, name, key, at=at or table.at)


def extended(
    service: PrivateKey, lines: list[Line], body: EntryBody, name: str, key: PrivateKey, *, at: str
) -> list[Line]:
    """Lines with one more entry behind them, signed by its author and receipted."""
    return [*lines, follow(service, lines[-1], body, name, key, at=at)]


def found(table: SealedTable, lines: list[Line], step: AuditStep | None, named: str | None, *, last: int = 1) -> Audit:
    """Checks that the audit has one finding about a log, in that step (None: in any), and with exactly these names.

    It is about the entry that is the `last` one, counted from the end.
    """
    result = audit(format_log(lines), pins(table))
    (finding,) = result.findings
    assert (finding.step, finding.entry, finding.signer) == (step or finding.step, len(lines) - last, named), finding
    assert finding.understood
    assert result.holds == len(lines) - last
    return result


def attack(
    table: SealedTable,
    seat: Seat,
    lie: EntryBody,
    error: type[errors.HkojiError],
    step: AuditStep = AuditStep.REPLAY,
) -> None:
    """Checks that the referee refuses a lie, and that the audit names its signer, and the service if it takes it.

    Without the word of the service about it, the audit names the signer alone.
    """
    refused(table, lambda: table.send(seat, lie), error)
    lines = taken(table, lie, seat)
    found(table, lines, step, BOTH[seat])
    found(table, [line._replace(receipt=None) for line in lines], step, NAMES[seat])


def goes_on(table: SealedTable, seat: Seat, honest: EntryBody) -> None:
    """Checks that the step without the lie is taken, and that the audit finds nothing. The table stays as it is."""
    other = fork(table)
    other.send(seat, honest)
    holds(other)


def holds(table: SealedTable) -> None:
    """Checks that the audit finds nothing in a table's log, with receipts and without."""
    for receipts in (True, False):
        result = audit(format_log(table.lines, receipts=receipts), pins(table))
        assert result.findings == ()
        assert result.holds == len(table.lines)
