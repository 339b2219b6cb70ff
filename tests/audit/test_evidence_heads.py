"""Signed heads in a file of evidence: they convict a service that backdates an entry, or delivers it late.

Times are judged with all that the service has said anywhere in the file.
"""

from __future__ import annotations

import pytest

from hkoji import referee
from hkoji.audit.checks import verify_head_time
from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import MAX_STATEMENTS, EvidenceFile, format_evidence, parse_evidence
from hkoji.audit.log_audit import AuditStep
from hkoji.audit.times import last_worded
from hkoji.errors import HkojiError, IllegalError, MalformedError, TimeOverError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.entry_kinds import GivenTime, parse_body
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.game_statements import SignedHead, make_annul, make_gift, make_head
from hkoji.log.line import Line, SignedReceipt, format_log, make_receipt
from hkoji.log.private_key import PrivateKey
from tests.support.adversary import follow
from tests.support.forgery import every_pin
from tests.support.framing import OWN, bare, evidence, head_of, judged, shown, stories
from tests.support.table import AT, Table, new_game
from tests.support.timed_table import later


def convicts(made: EvidenceFile, table: Table, entry: int, reason: str) -> None:
    """Asserts that the tenth step names the service for this entry, and that no other step names anybody."""
    (finding,) = judged(made, table).findings
    assert (finding.step, finding.entry, finding.signer) == (AuditStep.EVIDENCE, entry, "server")
    assert reason in finding.reason


# --- times ------------------------------------------------------------------------------------------------------------


def test_an_entry_may_be_recorded_120_seconds_before_a_head() -> None:
    head = make_head(at=later(AT, 120), game="ab" * 16, head="cd" * 32, seq=7)
    verify_head_time(head, 8, AT)
    verify_head_time(head, 7, later(AT, -999))  # the head is after it
    verify_head_time(head, 6, later(AT, -999))
    verify_head_time(head, 8, later(AT, 999))
    for seq in (8, 9, 10**6):
        with pytest.raises(IllegalError) as error:
            verify_head_time(head, seq, later(AT, -1))
        assert str(error.value) == (
            f"it has recorded entry {seq} at 2026-11-20T11:59:59Z, and has signed that entry 7 was the last at "
            "2026-11-20T12:02:00Z"
        )
    across = make_head(at="2027-01-01T00:01:00Z", game="ab" * 16, head="cd" * 32, seq=7)
    verify_head_time(across, 8, "2026-12-31T23:59:00Z")
    with pytest.raises(IllegalError):
        verify_head_time(across, 8, "2026-12-31T23:58:59Z")


@pytest.mark.parametrize("refused", [False, True])
def test_a_move_recorded_long_before_a_head_that_does_not_have_it(refused: bool) -> None:
    table = new_game(3).play(2)
    seq = len(table.lines)
    fair, late = head_of(table, after=120), head_of(table, after=121)
    table.play(1)
    made = EvidenceFile(table.game, {}, table.text)

    def with_head(head: SignedHead) -> EvidenceFile:
        return made._replace(refused=(head,)) if refused else made._replace(heads=(head,))

    assert judged(with_head(fair), table).ok
    convicts(with_head(late), table, seq, f"has recorded entry {seq} at {AT}, and has signed that entry {seq - 1} was")


def test_a_head_counts_for_all_entries_after_it() -> None:
    """The first entry that is recorded too early is named, whichever head shows it."""
    table = new_game(3).play(4)
    made = EvidenceFile(table.game, {}, table.text)
    convicts(made._replace(heads=(head_of(table, 4, after=121),)), table, 5, "entry 4 was the last")
    both = (head_of(table, 6, after=10**6), head_of(table, 4, after=121))
    convicts(made._replace(heads=both), table, 5, "entry 4 was the last")
    # A later head of an earlier entry says more than an earlier head of a later one.
    apart = (head_of(table, 6, after=120), head_of(table, 4, after=500))
    refused = make_receipt(at=later(AT, 130), game=table.game, head="ab" * 32, seq=len(table.lines))
    receipt = SignedReceipt(refused, table.server.sign(sshsig.RECEIPT, refused.message))
    line = table.lines[-1]._replace(receipt=receipt)
    convicts(EvidenceFile(table.game, {}, "", (), (line,), apart), table, len(table.lines), "entry 4 was the last")


def test_a_head_of_the_last_entry_says_nothing_about_times() -> None:
    table = new_game(3).play(4)
    made = EvidenceFile(table.game, {}, table.text, heads=(head_of(table, after=10**8), head_of(table, after=-(10**8))))
    assert judged(made, table).ok


def test_without_receipts_a_later_entry_says_when_one_was_recorded() -> None:
    """The `seen` of an entry counts only if the service's word is on that entry."""
    table = new_game(3).play(2)
    late = head_of(table, after=121)
    seq = len(table.lines)
    table.play(1)
    table.send(table.entry(0, entry_kinds.Resign()))
    log = format_log(table.lines, receipts=False)
    convicts(EvidenceFile(table.game, {}, log, heads=(late,)), table, seq, f"has recorded entry {seq} at {AT}")
    end = next(number for number, line in enumerate(table.lines) if line.entry.kind == "resign") + 1
    short = format_log(table.lines[:end], receipts=False)
    made = EvidenceFile(table.game, {}, short, heads=(late,))
    assert judged(made, table).ok  # the service has signed nothing behind the head: anybody can write entries there
    signed = head_of(table, end - 1, after=-1)
    convicts(made._replace(heads=(late, signed)), table, seq, f"has recorded entry {seq} at {AT}")
    forged = bare(table.lines[end])._replace(sig=OWN.sign(sshsig.SERVER, table.lines[end].entry.message))
    assert judged(made._replace(refused=(forged,)), table).ok


def test_a_service_s_own_entry_says_when_it_was_recorded() -> None:
    """Each turn has 60 seconds, and the timeout is due; but the head is from long after it."""
    table = Table(seed=3, agreement=Agreement(TimeControl(60, 0, 0, 0))).begin().play(2)
    actor = table.course.actor
    assert actor is not None
    timeout = bare(follow(table.server, table.lines[-1], entry_kinds.Timeout(actor), at=later(AT, 61)))
    made = EvidenceFile(table.game, {}, format_log(table.lines, receipts=False), (), (timeout,))
    assert judged(made._replace(heads=(head_of(table, after=181),)), table).ok
    convicts(made._replace(heads=(head_of(table, after=182),)), table, len(table.lines), f"at {later(AT, 61)}, and has")


# --- places -----------------------------------------------------------------------------------------------------------


def test_a_head_is_the_services_word_on_its_entry() -> None:
    """A head on one answer of a player, and the service's receipt for another one."""
    table, other = new_game(3).play(1), new_game(3)
    seq = len(table.lines) - 1
    other.send(other.move(other.course.state.legal_actions()[-1]))
    line = bare(other.lines[seq])
    assert line.entry.head != table.lines[seq].entry.head
    made = EvidenceFile(table.game, {}, table.text, (), (line,))
    assert judged(made, table).ok
    fork = f"has put two different entries in place {seq}"
    convicts(made._replace(heads=(head_of(other, seq),)), table, seq, fork)
    alone = EvidenceFile(table.game, {}, "", (), (head_of(table), head_of(other, seq)))
    convicts(alone, table, seq, f"{fork}, by a head that it has signed and by a head that it has signed")


def test_a_head_and_a_view_that_contradict_each_other() -> None:
    table = new_game(3).play(2)
    made = EvidenceFile(table.game, {}, "", (shown(table, 0),), (), (head_of(table, head="ab" * 32),))
    seq = len(table.lines) - 1
    convicts(made, table, seq, f"in place {seq}, by a view that it has signed and by a head that it has signed")


def test_a_head_that_puts_an_entry_in_another_place() -> None:
    table = new_game(3).play(2)
    made = EvidenceFile(table.game, {}, table.text, heads=(head_of(table, 5, seq=20),))
    convicts(made, table, 20, "a head that it has signed puts entry 5 in place 20")


def test_a_head_of_an_entry_that_the_file_does_not_have() -> None:
    """A file need not be complete. After the end nothing can follow."""
    table = new_game(3).play(2)
    unknown = head_of(table, seq=40, head="ab" * 32)
    assert judged(EvidenceFile(table.game, {}, table.text, heads=(unknown,)), table).ok
    table.send(table.entry(0, entry_kinds.Resign()))
    assert judged(EvidenceFile(table.game, {}, table.text, heads=(head_of(table),)), table).ok
    convicts(EvidenceFile(table.game, {}, table.text, heads=(unknown,)), table, 40, "the game ended with entry")


# --- what does not count ----------------------------------------------------------------------------------------------


def test_a_head_of_this_game_that_the_service_has_not_signed_does_not_count() -> None:
    """A receipt has the same text as a head: only the namespace tells them apart."""
    table = new_game(3).play(3)
    late = head_of(table, 5, after=121)
    receipt = table.lines[5].receipt
    assert receipt
    statement = make_head(at=AT, game=table.game, head=receipt.receipt.head, seq=5)
    assert statement.text == receipt.receipt.text
    false = (
        late._replace(sig=OWN.sign(sshsig.HEAD, late.statement.message)),
        late._replace(sig=table.server.sign(sshsig.RECEIPT, late.statement.message)),
        late._replace(sig=head_of(table, 5).sig),
        SignedHead(statement, receipt.sig),
        head_of(table, 5, after=121, game="ab" * 16),
    )
    result = judged(EvidenceFile(table.game, {}, table.text, (), false[2:], false[:2]), table)
    assert result.ok, result.findings
    assert "of another game: 5" in result.notes[AuditStep.EVIDENCE]
    assert "signed head" not in result.notes[AuditStep.EVIDENCE].split(";")[0]


def test_heads_are_counted() -> None:
    table = new_game(3).play(3)
    heads = (head_of(table, 5), head_of(table, 6))
    result = judged(EvidenceFile(table.game, {}, table.text, (), heads[:1], heads), table)
    assert result.notes[AuditStep.EVIDENCE] == "0 views, 2 signed heads, 1 statement refused: nothing contradicts"


# --- the form ---------------------------------------------------------------------------------------------------------


def test_heads_stand_between_views_and_refused_lines() -> None:
    told, _ = stories()[1]
    made = evidence(told, 0, refused=(told.heads[0], told.views[0], told.table.lines[-1]))
    text = format_evidence(made)
    again = parse_evidence(text)
    assert (again.heads, again.refused) == (told.heads, made.refused)
    lines = text.splitlines(keepends=True)
    heads = [line for line in lines if line.startswith('{"head":')]
    views = [line for line in lines if line.startswith('{"view":')]
    assert len(heads) == len(told.heads)
    place = lines.index(heads[0])
    annul = make_annul(game=told.table.game, head="ab" * 32, name="bob").text.replace('"', '\\"')
    bad = [
        [*lines, heads[0]],
        [*lines[:place], heads[0], views[0], *lines[place:]],
        [lines[0], heads[0], *lines[1:]],
        [*lines[:place], heads[0].replace('"text"', '"more":1,"text"'), *lines[place:]],
        [*lines[:place], heads[0].replace('{"sig"', '{ "sig"'), *lines[place:]],
        [*lines[:place], heads[0].replace('\\"seq\\":', '\\"seq\\":0'), *lines[place:]],
        [*lines[:place], heads[0].replace('"sig":"', '"sig":"='), *lines[place:]],
        [*lines[:place], f'{{"head":{{"sig":"AAAA","text":"{annul}"}}}}\n', *lines[place:]],
        [*lines, '{"refused":{"head":{}}}\n'],
        [*lines, '{"refused":{"refused":' + heads[0].rstrip("\n") + "}}\n"],
    ]
    for each in bad:
        with pytest.raises(HkojiError) as error:
            parse_evidence("".join(each))
        assert "line " in str(error.value)
        (finding,) = audit_file("".join(each), every_pin(told.table)).findings
        assert (finding.step, finding.signer) == (AuditStep.PARSE, None)


@pytest.mark.parametrize("more", [0, 1])
def test_heads_count_among_the_statements_of_a_file(more: int) -> None:
    table = new_game(3)
    heads = (head_of(table),) * (MAX_STATEMENTS - 2 + more)
    text = format_evidence(EvidenceFile(table.game, {}, "", (shown(table, 0),), (head_of(table),), heads))
    if more:
        with pytest.raises(MalformedError, match="more than 4096 views, heads and refused lines"):
            parse_evidence(text)
    else:
        assert parse_evidence(text).heads == heads


# --- what all statements of a file say about times --------------------------------------------------------------------


MINUTE = Agreement(TimeControl(60, 0, 0, 0))


def new_table(agreement: Agreement = MINUTE) -> Table:
    return Table(seed=3, agreement=agreement).begin()


def blames(made: EvidenceFile, table: Table, entry: int, reason: str, *, step: int = 10) -> None:
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
            blames(changed, table, len(table.lines), reason)
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
    blames(made, table, len(table.lines), f"it came at {later(AT, 61)}, and there was time until {later(AT, 60)}")


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
    blames(made._replace(heads=(head_on(table, move),)), table, number + 1, reason + "head that it has signed")
    view = shown(table, 0, seq=number, head=move.entry.head)
    blames(made._replace(views=(view,)), table, number + 1, reason + "view that it has signed")


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
            blames(made, table, len(table.lines), f"the timeout is of {later(AT, 60)}, and there was time until")
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
    blames(made, table, number, f"has stated two times of record for entry {number}, {AT} and {later(AT, 5)}")


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
    blames(made, table, number, f"has recorded entry {number} at {later(AT, 8)}, and an earlier one at {later(AT, 9)}")


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
        blames(sent, table, number, "two times of record" if seen > AT else f"has recorded entry {number} at {seen}")


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
            blames(made, table, 2, f"the guest joined at {later(AT, 61)}, and the offer expired at {later(AT, 60)}")
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
