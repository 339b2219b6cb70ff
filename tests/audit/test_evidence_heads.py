"""Signed heads in a file of evidence: they convict a service that backdates an entry, or delivers it late."""

from __future__ import annotations

import pytest

from hkoji.audit.checks import verify_head_time
from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import MAX_STATEMENTS, EvidenceFile, format_evidence, parse_evidence
from hkoji.audit.log_audit import AuditStep
from hkoji.errors import HkojiError, IllegalError, MalformedError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.log import sshsig
from hkoji.log.game_statements import SignedHead, make_annul, make_head
from hkoji.log.line import SignedReceipt, format_log, make_receipt
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
