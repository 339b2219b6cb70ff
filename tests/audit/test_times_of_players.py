"""Entries about time that a player has written: their time is the time of record, and not what the player claims.

Only the service may write such entries, as step 8 says. Step 5 judges them all the same, as far as it knows T.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hkoji.audit.log_audit import AuditStep, audit
from hkoji.game.agreement import Agreement
from hkoji.game.clock import Outage, Way
from hkoji.game.entry_kinds import Annul, EntryBody, Lapse, Timeout
from hkoji.log import sshsig
from hkoji.log.line import Line, SignedReceipt, format_log, make_receipt
from tests.support.forgery import pins
from tests.support.shell_audit import by_script
from tests.support.timed_table import MINUTES, TimedTable, later, timed_game


def written(table: TimedTable, seat: int, body: EntryBody, claim: str, recorded: str | None) -> list[Line]:
    """The table's log and an entry of a seat that claims a time, with the time of its receipt or without receipts."""
    made = table.entry(seat, body, at=claim)
    entry = made.entry
    if recorded is None:
        return [*(line._replace(receipt=None) for line in table.lines), Line(entry, made.sig)]
    receipt = make_receipt(at=recorded, game=entry.game, head=entry.head, seq=entry.seq)
    signed = SignedReceipt(receipt, table.server.sign(sshsig.RECEIPT, receipt.message))
    return [*table.lines, Line(entry, made.sig, signed)]


def step_5(folder: Path, table: TimedTable, lines: list[Line]) -> str | None:
    """The finding of both audits in step 5, in the last entry; the rest of the log holds."""
    log, last = format_log(lines), len(lines) - 1
    (finding,) = audit(log, pins(table)).findings
    assert finding.entry == last
    (folder / "log").write_text(log)
    scripted = by_script(folder / "log", pins(table)).found
    if finding.step is AuditStep.REPLAY:
        assert scripted == ()
        return None
    assert finding.step is AuditStep.TIMES
    assert scripted == ((AuditStep.TIMES, last),)
    assert finding.signer == ("server" if lines[-1].receipt else None)
    return finding.reason


def owing(seat: int = 0) -> TimedTable:
    """A game with a clock in which `seat` owes the next entry."""
    table = timed_game(3)
    while table.course.actor != seat:
        table.play(1)
    return table


@pytest.mark.parametrize("recorded", [-1, 0, 1, None])
@pytest.mark.parametrize("claim", [-3600, 3600])
def test_a_timeout_comes_after_the_deadline_when_it_is_recorded(
    tmp_path: Path, claim: int, recorded: int | None
) -> None:
    table = owing()
    due = table.deadline()
    assert due is not None
    at = None if recorded is None else later(due, recorded)
    reason = step_5(tmp_path, table, written(table, 1, Timeout(0), later(due, claim), at))
    early = recorded is not None and recorded <= 0
    assert reason == (f"the timeout is of {at}, and there was time until {due}" if early else None)


@pytest.mark.parametrize("recorded", [19, 20, 200, 201, None])
def test_the_outages_of_an_annul_end_before_it_is_recorded(tmp_path: Path, recorded: int | None) -> None:
    """There are 180 s, and 20 s of an outage."""
    table = owing()
    begin = table.refereed.at
    assert table.deadline() == later(begin, 180)
    outage = Outage(later(begin, 1), later(begin, 21), Way.HTTP)
    body = Annul(None, (outage,), 0, (table.calls_off(0), table.calls_off(1)))
    at = None if recorded is None else later(begin, recorded + 1)
    reason = step_5(tmp_path, table, written(table, 1, body, begin, at))
    expected = {
        19: f"the outage from {outage.begin} to {outage.until} is not between {begin} and {at}",
        200: f"it came at {at}, and there was time until {later(begin, 200)}",
        201: f"it came at {at}, and there was time until {later(begin, 200)}",
    }
    assert reason == (None if recorded is None else expected.get(recorded))


@pytest.mark.parametrize("recorded", [-1, 0, 1, None])
def test_an_offer_has_expired_when_the_lapse_is_recorded(tmp_path: Path, recorded: int | None) -> None:
    expires = later(TimedTable().now, 3600)
    table = TimedTable(seed=3, agreement=Agreement(MINUTES, expires=expires))
    table.open()
    at = None if recorded is None else later(expires, recorded)
    lines = written(table, 0, Lapse("expired"), later(expires, 5), at)
    early = recorded is not None and recorded <= 0
    assert step_5(tmp_path, table, lines) == (f"the offer has not expired at {at}" if early else None)
