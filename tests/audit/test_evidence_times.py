"""Times in a file of evidence: they are judged with all that the service has said anywhere in the file.

Each turn has 60 seconds, and no reserve. Everything up to the first decision has the time of record `AT`.
"""

from __future__ import annotations

import pytest

from hkoji import referee
from hkoji.audit.evidence_file import EvidenceFile
from hkoji.audit.log_audit import AuditStep
from hkoji.audit.times import last_worded
from hkoji.errors import TimeOverError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.entry_kinds import GivenTime, parse_body
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.game_statements import SignedHead, make_gift, make_head
from hkoji.log.line import Line, SignedReceipt, format_log, make_receipt
from hkoji.log.private_key import PrivateKey
from tests.support.adversary import follow
from tests.support.framing import bare, judged, shown
from tests.support.table import AT, Table
from tests.support.timed_table import later

MINUTE = Agreement(TimeControl(60, 0, 0, 0))


def new_table(agreement: Agreement = MINUTE) -> Table:
    return Table(seed=3, agreement=agreement).begin()


def convicts(made: EvidenceFile, table: Table, entry: int, reason: str, *, step: int = 10) -> None:
    """Asserts that one step names the service for this entry, and that nobody else is named."""
    findings = judged(made, table).findings
    assert {finding.signer for finding in findings} == {"server"}, findings
    assert any((each.step, each.entry) == (step, entry) and reason in each.reason for each in findings), findings


def taken(table: Table, submission: Submission, at: str) -> Line:
    """The entry that a player sends, with a receipt of that time, as a service without a clock writes it."""
    entry = submission.entry
    receipt = make_receipt(at=at, game=entry.game, head=entry.head, seq=entry.seq)
    return Line(entry, submission.sig, SignedReceipt(receipt, table.server.sign(sshsig.RECEIPT, receipt.message)))


def late_move(table: Table, seconds: int) -> Line:
    """The next move, with the time of record so long after `AT`."""
    return taken(table, table.move(table.course.state.legal_actions()[0]), later(AT, seconds))


def head_on(table: Table, line: Line, at: str = AT) -> SignedHead:
    """A head that names the entry of a line."""
    head = make_head(at=at, game=table.game, head=line.entry.head, seq=line.entry.seq)
    return SignedHead(head, table.server.sign(sshsig.HEAD, head.message))


# --- late moves -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [60, 61])
@pytest.mark.parametrize("receipts", [True, False])
@pytest.mark.parametrize("refused", [True, False])
def test_a_late_move_that_a_head_or_a_view_names(seconds: int, receipts: bool, refused: bool) -> None:
    """It is the last entry: nothing but that statement says that no credit follows. In time it is fine."""
    table = new_table().play(2)
    move = late_move(table, seconds)
    lines = [*table.lines, move]
    made = EvidenceFile(table.game, {}, format_log(lines, receipts=receipts), (), () if receipts else (move,))
    if refused:
        made = EvidenceFile(table.game, {}, format_log(table.lines, receipts=receipts), (), (move,))
    assert judged(made, table).ok
    assert judged(made._replace(heads=(head_on(table, table.lines[-1]),)), table).ok
    for changed in (
        made._replace(heads=(head_on(table, move),)),
        made._replace(refused=(*made.refused, head_on(table, move))),
        made._replace(views=(shown(table, 1, seq=len(table.lines), head=move.entry.head),)),
    ):
        if seconds == 61:
            reason = f"it came at {later(AT, 61)}, and there was time until {later(AT, 60)}"
            convicts(changed, table, len(table.lines), reason)
        else:
            assert judged(changed, table).ok


def test_a_late_move_that_the_service_has_gone_on_from() -> None:
    """Without receipts, the log alone shows no time of the late move: the receipt of the next one is in the file."""
    table = new_table().play(2)
    move = late_move(table, 61)
    actor = table.course.actor
    assert actor is not None
    after = follow(table.server, move, entry_kinds.Resign(), "alice", table.keys[0], at=later(AT, 61))
    log = format_log([*table.lines, move, after], receipts=False)
    assert judged(EvidenceFile(table.game, {}, log), table).ok  # only players have signed after the deal
    made = EvidenceFile(table.game, {}, log, (), (after,))
    convicts(made, table, len(table.lines), f"it came at {later(AT, 61)}, and there was time until {later(AT, 60)}")


def with_gift(table: Table, seconds: int) -> tuple[Line, Line]:
    """A move that comes 90 seconds after the last entry, and the credit that follows, both honest, at an honest table.

    The opponent has given `seconds`.
    """
    actor = table.course.actor
    assert actor is not None
    statement = make_gift(game=table.game, head=table.course.head, name=table.names[1 - actor], seconds=seconds)
    gift = GivenTime(statement.head, seconds, table.keys[1 - actor].sign(sshsig.GIVE, statement.message))
    move = table.move(table.course.state.legal_actions()[0])
    accepted = referee.accept(table.refereed, move, signer=table.server, at=later(AT, 90), gifts=(gift,))
    table.refereed = accepted.refereed
    table.lines.extend(accepted.lines)
    return accepted.lines[0], accepted.lines[1]


def test_a_credit_counts_and_nothing_that_stands_in_its_place() -> None:
    """The player writes another entry in place of the credit, without which the move would be late."""
    table = new_table().play(2)
    number = len(table.lines)
    move, credit = with_gift(table, 30)
    assert isinstance(parse_body(credit.entry.kind, credit.entry.body), entry_kinds.Credit)
    whole = EvidenceFile(table.game, {}, table.text, heads=(head_on(table, table.lines[-1]),))
    assert judged(whole, table).ok
    signer = next(key for key, name in zip(table.keys, table.names, strict=True) if name == move.entry.by)
    own = bare(follow(table.server, move, entry_kinds.Resign(), move.entry.by, signer, at=later(AT, 90)))
    for lines in (table.lines[: number + 1], [*table.lines[: number + 1], own]):
        for receipts in (True, False):
            log = format_log(map(bare, lines)) if not receipts else format_log(table.lines[: number + 1])
            made = EvidenceFile(table.game, {}, log, (), (move, own))
            assert judged(made, table).ok, (len(lines), receipts)
    both = EvidenceFile(table.game, {}, format_log(table.lines[: number + 1]), (), (own, credit), whole.heads)
    assert judged(both, table).ok
    short = new_table().play(2)
    with pytest.raises(TimeOverError):
        with_gift(short, 29)


def test_a_credit_after_an_entry_that_a_head_or_view_names() -> None:
    """An honest service shows whole transactions: where a credit follows, nothing says that the move was the last."""
    table = new_table().play(2)
    number = len(table.lines)
    move, _ = with_gift(table, 30)
    made = EvidenceFile(table.game, {}, table.text)
    reason = f"a credit follows entry {number}, which was the last one by a "
    convicts(made._replace(heads=(head_on(table, move),)), table, number + 1, reason + "head that it has signed")
    view = shown(table, 0, seq=number, head=move.entry.head)
    convicts(made._replace(views=(view,)), table, number + 1, reason + "view that it has signed")


# --- timeouts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("receipts", [True, False])
def test_a_timeout_before_the_deadline_that_other_statements_show(receipts: bool) -> None:
    """The time of the entry before is known from its receipt alone, which is elsewhere in the file."""
    table = new_table().play(2)
    actor = table.course.actor
    assert actor is not None
    for seconds, early in ((60, True), (61, False)):
        timeout = follow(table.server, table.lines[-1], entry_kinds.Timeout(actor), at=later(AT, seconds))
        made = EvidenceFile(table.game, {}, format_log(table.lines, receipts=receipts), (), (bare(timeout),))
        if early:
            convicts(made, table, len(table.lines), f"the timeout is of {later(AT, 60)}, and there was time until")
        else:
            assert judged(made, table).ok


# --- times of record --------------------------------------------------------------------------------------------------


def test_a_receipt_and_a_seen_that_differ() -> None:
    """Nobody has both in one log: the receipt is one player's, and the next entry is in the log of the other."""
    table = new_table(Agreement()).play(4)
    log = format_log(table.lines, receipts=False)
    number = len(table.lines) - 2
    other = taken(table, Submission(table.lines[number].entry, table.lines[number].sig), later(AT, 5))
    made = EvidenceFile(table.game, {}, log, (), (other,))
    if last_worded([bare(line) for line in table.lines]) <= number:
        assert judged(made, table).ok  # a player may sign any time
    made = made._replace(heads=(head_on(table, table.lines[-1]),))
    convicts(made, table, number, f"has stated two times of record for entry {number}, {AT} and {later(AT, 5)}")


def test_times_that_go_back_between_a_seen_and_a_receipt() -> None:
    table = new_table(Agreement()).play(2)
    table.send(table.move(table.course.state.legal_actions()[0]), at=later(AT, 9))
    actor = table.course.actor
    assert actor is not None
    after = table.move(table.course.state.legal_actions()[0])
    number = len(table.lines)
    assert after.entry.seen == later(AT, 9)
    lines = [*table.lines, taken(table, after, later(AT, 8))]
    made = EvidenceFile(table.game, {}, format_log(lines, receipts=False), (), (lines[-1],))
    convicts(
        made, table, number, f"has recorded entry {number} at {later(AT, 8)}, and an earlier one at {later(AT, 9)}"
    )


def test_a_seen_that_only_a_player_has_signed_convicts_nobody() -> None:
    """It was never sent: the service has no word on it."""
    table = new_table().play(2)
    actor = table.course.actor
    assert actor is not None
    for seen in (later(AT, -9), later(AT, 9), later(AT, 61)):
        move = table.entry(actor, entry_kinds.Resign(), seen=seen)
        line = Line(move.entry, move.sig)
        made = EvidenceFile(table.game, {}, table.text, (), (line,), (head_on(table, table.lines[-1], later(AT, 120)),))
        assert judged(made, table).ok
        log = format_log([*map(bare, table.lines), line])
        named = judged(made._replace(log=log, refused=(table.lines[-1],)), table).findings
        assert not [finding for finding in named if finding.signer]
        sent = made._replace(refused=(taken(table, move, later(AT, 61)),))
        number = len(table.lines) - 1
        convicts(sent, table, number, "two times of record" if seen > AT else f"has recorded entry {number} at {seen}")


def test_a_join_after_the_offer_has_expired() -> None:
    """The receipt of the join is elsewhere in the file."""
    for seconds, late in ((60, False), (61, True)):
        table = Table(seed=3, agreement=Agreement(expires=later(AT, 60)))
        table.open()
        commit = entry_kinds.Join(table.entropy[1], table.keys[1].public)
        join = taken(table, table.entry(1, commit), later(AT, seconds))
        log = format_log([*table.lines, join], receipts=False)
        made = EvidenceFile(table.game, {}, log, (), (join,))
        if late:
            convicts(made, table, 2, f"the guest joined at {later(AT, 61)}, and the offer expired at {later(AT, 60)}")
        else:
            assert judged(made, table).ok


# --- logs that no honest service writes -------------------------------------------------------------------------------


def test_a_third_player_is_no_reason_to_fail() -> None:
    """The service has signed all of it: its clock is judged for the first two players only."""
    table, carol = new_table(), PrivateKey.from_seed(b"\x28" * 32)
    lines = table.lines[:4]
    for body in (entry_kinds.Open("cd" * 32, carol.public), entry_kinds.Seed("ab" * 32), entry_kinds.Seed("cd" * 32)):
        lines.append(follow(table.server, lines[-1], body, "carol", carol, at=later(AT, 90)))
    lines.append(follow(table.server, lines[-1], entry_kinds.Timeout(0), at=later(AT, 90)))
    for receipts in (True, False):
        log = format_log(lines, receipts=receipts)
        for made in (EvidenceFile(table.game, {}, log), EvidenceFile(table.game, {}, "", (), tuple(lines))):
            findings = judged(made, table).findings
            assert findings
            assert all("server" in str(finding.signer) or "carol" in str(finding.signer) for finding in findings)


# --- who makes the file -----------------------------------------------------------------------------------------------


def test_statements_of_the_log_itself_are_judged_by_the_log() -> None:
    """A fault that the log alone shows stays a finding of its own step, and is not repeated."""
    table = new_table().play(2)
    move = late_move(table, 61)
    end = follow(table.server, move, entry_kinds.Resign(), "alice", table.keys[0], at=later(AT, 61))
    made = EvidenceFile(table.game, {}, format_log([*table.lines, move, end]), heads=(head_on(table, move),))
    (finding,) = judged(made, table).findings
    assert (finding.step, finding.entry, finding.signer) == (AuditStep.TIMES, len(table.lines), "server")
