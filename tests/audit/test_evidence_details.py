"""The judgement of evidence in cases of detail: which key, which course, which view, and how many. Plays that exclude
each other convict no player as long as nothing says what the hands were.
"""

from __future__ import annotations

from itertools import permutations

import pytest

from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import MAX_HEADER_BYTES, MAX_STATEMENTS, EvidenceFile, format_evidence, parse_evidence
from hkoji.audit.log_audit import Audit, AuditStep, Finding, audit
from hkoji.audit.view_checks import MOST_COURSES
from hkoji.errors import MalformedError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.log.line import Line, format_log, parse_log
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import Dealt, SignedView
from tests.support.adversary import follow, other_cards
from tests.support.docs import DOCS
from tests.support.false_plays import DEAL, excluding, falsely_played, traded_off
from tests.support.forgery import entry_number, every_pin, only, pins, rewrite
from tests.support.framing import OWN, head_of, shown
from tests.support.table import Table, new_game, whole_game


def judged(made: EvidenceFile, table: Table) -> Audit:
    return audit_file(format_evidence(made), every_pin(table))


def tenth(result: Audit) -> list[Finding]:
    return [finding for finding in result.findings if finding.step is AuditStep.EVIDENCE]


def test_the_limits_are_those_of_the_page() -> None:
    page = " ".join((DOCS / "spec" / "evidence.md").read_text().split())
    assert "at most 4096 views and refused lines together. The header has at most 2^16 bytes." in page
    assert "A reader MAY stop after 64 courses." in page
    assert (MAX_STATEMENTS, MAX_HEADER_BYTES, MOST_COURSES) == (4096, 2**16, 64)


@pytest.mark.parametrize("before", [MOST_COURSES - 1, MOST_COURSES])
def test_so_many_courses_are_audited(before: int) -> None:
    """Only the first ones are reported. A player may sign any number of answers to one entry."""
    table = new_game(3)
    actor = table.course.actor
    assert actor is not None
    many = []
    for number in range(before):
        sent = table.entry(actor, entry_kinds.Resign(), at=f"2026-11-20T13:{number // 60:02}:{number % 60:02}Z")
        many.append(Line(sent.entry, sent.sig))
    false = follow(table.server, table.lines[-1], entry_kinds.Timeout(1 - actor))
    found = tenth(judged(EvidenceFile(table.game, {}, table.text, (), (*many, false)), table))
    assert [finding.signer for finding in found] == ["server"] * (before < MOST_COURSES)


@pytest.mark.parametrize("more", [0, 1])
def test_the_longest_header(more: int) -> None:
    """The names of keys are made longer until the header has that length."""
    keys = {f"{number:02}": (OWN.public,) * 7 for number in range(108)}
    made = EvidenceFile("ab" * 16, keys, "")
    missing = MAX_HEADER_BYTES + more - (len(format_evidence(made)) - 1)
    assert 0 < missing < 30 * len(keys)
    names = (name + "n" * min(30, max(0, missing - 30 * number)) for number, name in enumerate(keys))
    longer = dict(zip(names, keys.values(), strict=True))
    file = format_evidence(made._replace(keys=longer))
    assert len(file) - 1 == MAX_HEADER_BYTES + more
    if more:
        with pytest.raises(MalformedError, match="longer than 65536 bytes"):
            parse_evidence(file)
    else:
        assert parse_evidence(file).keys == longer


def test_of_several_expected_keys_without_an_offer_the_order_does_not_matter() -> None:
    """The file does not say which of them is the service's in this game: one is chosen, regardless of their order."""
    table = new_game(3)
    one, other = shown(table, 0), shown(table, 0, head="ab" * 32)
    text = format_evidence(EvidenceFile(table.game, {}, "", (one, other)))
    keys = (OWN.public, table.server.public, PrivateKey.from_seed(b"\x31" * 32).public)
    for some in (keys, keys[:2], keys[1:]):
        results = [audit_file(text, {"server": order}) for order in permutations(some)]
        assert all(result == results[0] for result in results)
        assert {finding.signer for finding in results[0].findings} <= {"server"}
    # With the offer, the chosen one is the key that the offer names.
    whole = format_evidence(EvidenceFile(table.game, {}, table.text, (one, other)))
    for order in permutations(keys):
        assert {finding.signer for finding in audit_file(whole, {"server": order}).findings} == {"server"}


def accused() -> tuple[Table, int, str, str]:
    """A game in which alice's first secret is a card not dealt to her: the table, the entry, the card, and the log."""
    table = next(table for table in map(whole_game, range(50)) if len(set(table.course.dealt[0][0])) < 7)
    card = next(card for card in "ABCDEFG" if card not in table.course.dealt[0][0])
    secrets = (line.entry for line in table.lines if line.entry.body.get("action") == "1X")
    number = next(entry.seq for entry in secrets if entry.by == "alice")
    return table, number, card, rewrite(table, other_cards(table, number, card))


def before(table: Table, number: int) -> Table:
    """The same game, up to that entry."""
    again = new_game(table.seed)
    while len(again.lines) < number:
        again.play(1)
    return again


def test_player_and_service_are_each_named_once() -> None:
    """Keys in a refused course count too, and also by their fingerprints."""
    table, number, _, log = accused()
    made = EvidenceFile(table.game, {}, "", (), parse_log(log))
    result = judged(made, table)
    assert result.finished is False  # there is no log
    assert [(finding.entry, finding.signer) for finding in tenth(result)] == [(number, "alice and server")]
    unknown = tenth(audit_file(format_evidence(made), {}))
    alice, server = (
        f"{name} with the unpinned key {key.fingerprint}"
        for name, key in (("alice", table.keys[0].public), ("server", table.server.public))
    )
    assert [(finding.entry, finding.signer) for finding in unknown] == [(number, f"{alice} and {server}")]


def test_a_view_that_excuses_counts_whatever_stands_before_it() -> None:
    """Views without cards, of other seats and of other moments are ignored."""
    table, number, card, log = accused()
    game = before(table, number)
    true = game.course.dealt[0][0]
    opened = next(opening.cards for opening in table.refereed.openings if opening.seq == number)
    excuse = shown(game, 0, dealt=(Dealt(true.replace(opened, card, 1), 1),))
    first = before(table, number - 1)
    others: list[SignedView] = [
        shown(first, 0, dealt=(Dealt(cards, 1),)) for cards in ("H" * 6, "X" * 6, "AAAAAA", true[:5], true[:6])
    ]
    for other in others:
        for views in ((other, excuse), (excuse, other)):
            result = judged(EvidenceFile(table.game, {}, log, views), table)
            assert {finding.signer for finding in result.findings} == {"server"}
            assert any("fits the hand that was shown to alice" in finding.reason for finding in result.findings)
    for useless in (*others, shown(game, 0, dealt=(Dealt(true[1] + true[0] + true[2:], 1),))):
        alone = judged(EvidenceFile(table.game, {}, log, (useless,)), table)
        assert "alice and server" in {finding.signer for finding in alone.findings}


def test_a_course_that_is_not_whole_hides_no_other() -> None:
    table = new_game(3).play(4)
    actor = table.course.actor
    assert actor is not None
    gap = new_game(3).play(4)
    gap.play(2)
    loose = gap.lines[-1]
    false = follow(table.server, table.lines[-1], entry_kinds.Timeout(actor))
    for refused in ((loose, false), (false, loose)):
        found = tenth(judged(EvidenceFile(table.game, {}, table.text, (), refused), table))
        assert any("no clock runs" in finding.reason for finding in found)


def test_two_courses_that_fail_at_the_same_place_are_two_findings() -> None:
    """Findings of the log's own audit are not repeated for entries that both have; others are reported."""
    table = Table(seed=3, agreement=Agreement(TimeControl(60, 0, 0, 0))).begin().play(4)
    late = "2026-11-20T12:01:01Z"
    actor = table.course.actor
    assert actor is not None
    number = len(table.lines)
    own = follow(table.server, table.lines[-1], entry_kinds.Timeout(1 - actor), at=late)
    other = follow(table.server, table.lines[-1], entry_kinds.Timeout(actor))
    log = format_log([*table.lines, own])
    result = judged(EvidenceFile(table.game, {}, log, (), (other,)), table)
    assert [
        (each.step, each.entry, each.signer) for each in result.findings if each.step is not AuditStep.EVIDENCE
    ] == [(AuditStep.REPLAY, number, "server")]
    assert {each.signer for each in tenth(result)} == {"server"}
    (course,) = [each for each in tenth(result) if "in a course of the game that was refused" in each.reason]
    assert (course.entry, course.signer) == (number, "server")
    assert "step 5: the timeout is of" in course.reason
    after = follow(table.server, own, entry_kinds.Resign(), "alice", table.keys[0], at=late)
    again = judged(EvidenceFile(table.game, {}, log, (), (after,)), table)
    assert [each for each in tenth(again) if "in a course" in each.reason] == []


def test_only_the_first_entry_in_a_wrong_place_is_reported() -> None:
    table = new_game(3).play(2)
    heads = [table.lines[number].entry.head for number in (3, 4, 5)]
    views = tuple(shown(table, 0, seq=20 + number, head=head) for number, head in enumerate(heads))
    found = tenth(judged(EvidenceFile(table.game, {}, table.text, (), views), table))
    assert [each.entry for each in found if "in place" in each.reason] == [20]


# --- plays that exclude each other ------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
def test_a_trade_off_of_cards_not_held_convicts_the_service_where_it_is_opened(first: bool) -> None:
    """The opponent, who has played all copies of the card, is not named, and nor is anybody before the `end`."""
    table, number, cards = traded_off(first=first)
    end, log = len(table.lines) - 1, rewrite(table, other_cards(table, number, cards))
    result = audit(log, pins(table))
    assert only(result) == (AuditStep.REPLAY, end, "server")
    assert result.findings[0].reason.startswith("the cards that it opens and other plays exclude each other, as entry ")
    assert result.findings[0].reason.endswith("there would be more copies of a card than the game has")
    shows = int(result.findings[0].reason.split("entry ")[1].split(" ")[0])
    assert number < shows < end if first else shows == number
    lines = log.splitlines(keepends=True)
    for count in range(1, end):
        assert audit("".join(lines[:count]), pins(table)).ok


def test_with_the_seed_the_same_trade_off_convicts_its_player() -> None:
    table, number, cards = traded_off()
    table.unseal()
    log = rewrite(table, other_cards(table, number, cards))
    assert only(audit(log, pins(table))) == (AuditStep.REPLAY, number, "bob and server")


@pytest.mark.parametrize("deal", [DEAL, None])
def test_cards_that_lie_open_convict_the_service_at_the_later_play(deal: tuple[str, str] | None) -> None:
    """Also in a running game, whose seed nobody knows yet."""
    table = excluding(deal=deal, opened=False)
    step, number, signer = only(audit(table.text, pins(table)))
    assert (step, signer) == (AuditStep.REPLAY, "server")
    assert number is not None
    assert table.lines[number].entry.kind == "move"
    unpinned = only(audit(table.text))[2]
    assert unpinned == f"server with the unpinned key {table.server.public.fingerprint}"


def test_a_play_that_the_service_has_not_taken_convicts_nobody() -> None:
    table = excluding(deal=None, opened=False)
    number = only(audit(table.text, pins(table)))[1]
    assert number is not None
    bare = format_log(table.lines[: number + 1], receipts=False)
    assert only(audit(bare, pins(table))) == (AuditStep.REPLAY, number, None)


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("by", ["view", "head"])
def test_in_evidence_a_view_or_head_of_such_a_play_convicts_the_service(by: str, refused: bool) -> None:
    """In the log, and in another course of the game."""
    table = excluding(deal=None, opened=False)
    number = only(audit(table.text, pins(table)))[1]
    assert number is not None
    lines = [line._replace(receipt=None) for line in table.lines[: number + 1]]
    del table.lines[number + 1 :]
    said = {"views": (shown(table, 0, head=lines[-1].entry.head, seq=number),)} if by == "view" else {}
    said = said or {"heads": (head_of(table),)}  # type: ignore[dict-item] # fields by name
    file = EvidenceFile(table.game, {}, "" if refused else format_log(lines, receipts=False), ())
    if refused:
        file = file._replace(refused=tuple(lines))
    assert {each.signer for each in audit_file(format_evidence(file), pins(table)).findings} <= {None}
    result = audit_file(format_evidence(file._replace(**said)), pins(table))  # type: ignore[arg-type] # fields by name
    step = AuditStep.EVIDENCE if refused else AuditStep.REPLAY
    assert (step, number, "server") in [(each.step, each.entry, each.signer) for each in result.findings]
    assert {each.signer for each in result.findings} == {"server"}


def test_a_secret_convicts_the_service_where_it_is_revealed() -> None:
    seeds = iter(range(300))
    kind = ""
    while kind != "reveal":
        table = falsely_played(next(seeds))
        found = audit(table.text, pins(table)).findings
        kind = table.lines[found[0].entry or 0].entry.kind if found else ""
    assert only(audit(table.text, pins(table))) == (AuditStep.REPLAY, entry_number(table, "reveal"), "server")


@pytest.mark.parametrize("opened", [False, True])
def test_no_player_is_named_without_a_seed_and_only_the_cheat_with_it(opened: bool) -> None:
    for least in (0, 20, 40):
        table = excluding(opened=opened, least=least)
        for receipts in (True, False):
            text = format_log(table.lines, receipts=receipts)
            assert {each.signer for each in audit(text, pins(table)).findings} <= {"server", None}
        if table.course.finished:
            table.unseal()
            assert only(audit(table.text, pins(table)))[2] == "bob and server"


@pytest.mark.parametrize("cards", ["BA", "AH", "A", "ABC"])
def test_cards_that_are_no_action_by_themselves_convict_their_player_also_without_a_seed(cards: str) -> None:
    """The commitment to them is the player's own word."""
    table, number, _ = traded_off()
    log = rewrite(table, other_cards(table, number, cards))
    assert only(audit(log, pins(table))) == (AuditStep.REPLAY, number, "bob and server")


def test_a_false_result_does_not_hide_what_the_end_opens() -> None:
    """Step 8 comes before step 9, at one entry too."""
    table, number, cards = traded_off()
    end, changes = len(table.lines) - 1, other_cards(table, number, cards)
    body = dict(changes[end]["body"])  # type: ignore[call-overload] # a body
    outcome = table.course.outcome
    assert outcome is not None
    body["result"] = {"reason": outcome.reason, "winner": 1 - (outcome.winner or 0)}
    false = audit(rewrite(table, {**changes, end: {"body": body}}), pins(table))
    assert only(false) == (AuditStep.REPLAY, end, "server")
    assert false.findings == audit(rewrite(table, changes), pins(table)).findings
