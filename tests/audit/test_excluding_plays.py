"""Plays that exclude each other convict no player as long as nothing says what the hands were."""

from __future__ import annotations

import pytest

from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import EvidenceFile, format_evidence
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.log.line import format_log
from tests.support.adversary import other_cards
from tests.support.false_plays import DEAL, excluding, falsely_played, traded_off
from tests.support.forgery import entry_number, only, pins, rewrite
from tests.support.framing import head_of, shown


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
