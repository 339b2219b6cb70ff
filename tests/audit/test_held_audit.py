"""The audit of games in which the service holds keys says how much it has signed, and names the right party."""

from __future__ import annotations

from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import EvidenceFile, format_evidence
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.cli.audit.report import audit_json, audit_text
from hkoji.game.agreement import Agreement
from hkoji.game.held_keys import MailGrade, SeatGrade
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.forgery import changed_body, entry_number, rewrite
from tests.support.table import held_game, new_game
from tests.support.timed_table import MINUTES, TimedTable


def test_it_counts_what_was_signed_for_a_player_and_says_what_that_proves() -> None:
    table = TimedTable(Hanamikoji(), 51, agreement=Agreement(MINUTES), held=(1,)).begin()
    while table.course.actor == 1:
        table.play(1)
    table.give(60).play(2)
    result = audit(table.text, {"server": table.server.public})
    by_bob = sum(line.entry.by == "bob" for line in table.lines)
    (signed,) = result.signed_for
    assert (signed.name, signed.entries, signed.statements, signed.drawn) == ("bob", by_bob, 1, True)
    assert signed.claims == {MailGrade.DKIM: 0, MailGrade.TOKEN: by_bob, MailGrade.NONE: 1}
    assert result.grades == {"alice": SeatGrade.OWN, "bob": SeatGrade.WORD}
    text = audit_text(result)
    assert "2 keys of players, 0 as expected; bob's is held by the service" in text
    assert "They prove what the service says, not what bob did. The service drew bob's part in the shuffle." in text
    assert "the word of the service alone" not in text
    (alice, bob) = audit_json(result)["players"]
    assert alice == {"name": "alice", "grade": "own", "signed_for": None}
    assert bob["signed_for"]["statements"] == 1


def test_with_two_held_seats_the_deal_is_the_word_of_the_service() -> None:
    result = audit(held_game(52, held=(0, 1), grade=MailGrade.DKIM).play(4).text, {})
    assert result.grades == {"alice": SeatGrade.CLAIMED, "bob": SeatGrade.CLAIMED}
    assert "The deal is the word of the service alone" in audit_text(result)


def test_a_fault_of_a_held_key_names_the_service_and_never_the_player() -> None:
    table = held_game(53).play(4)
    number = entry_number(table, "seed")
    assert table.lines[number].entry.by == "bob"
    forged = rewrite(table, changed_body(table, number, entropy="ab" * 32))
    server, bob = table.server.public, table.keys[1].public
    for pins, named in (
        ({"server": server}, "the service, for bob"),
        ({"server": server, "bob": bob}, "the service, for bob"),
        ({"bob": bob}, f"server with the unpinned key {server.fingerprint}, for bob"),
    ):
        (finding,) = audit(forged, pins).findings
        assert (finding.step, finding.entry, finding.signer) == (AuditStep.COMMITMENTS, number, named)
        evidence = format_evidence(EvidenceFile(table.game, {}, forged, ()))  # whose receipts are its word once more
        assert audit_file(evidence, pins).findings[0] == finding


def test_a_player_with_an_own_key_pinned_does_not_turn_up_held() -> None:
    table, own = held_game(54), new_game(54).keys[0].public
    (finding,) = audit(table.text, {"server": table.server.public, "bob": own}).findings
    assert (finding.step, finding.entry, finding.signer) == (AuditStep.KEYS, 2, None)
