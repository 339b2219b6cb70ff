"""The audit finds the fault in damaged, dishonest and unfinished logs, at the right step, and names the right party."""

from __future__ import annotations

import random

import pytest

from hkoji.audit.log_audit import AuditStep, audit
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening
from hkoji.game.dealer import seed_commit
from hkoji.log import sshsig
from hkoji.log.line import Line, SignedReceipt, format_log, make_receipt, parse_log, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.rules.events import Outcome
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.adversary import reopened
from tests.support.forgery import append, changed_body, entry_number, only, pins, rewrite
from tests.support.table import AT, Table, new_game, whole_game


def test_an_honest_rewriting_holds() -> None:
    table = whole_game(1)
    assert audit(rewrite(table, {}), pins(table)).ok


def test_an_empty_file_is_no_log() -> None:
    assert only(audit("")) == (AuditStep.PARSE, None, None)
    assert only(audit(b"\xff\xfe\n")) == (AuditStep.PARSE, 0, None)


def test_unfinished_and_truncated_logs_hold_as_far_as_they_go() -> None:
    table = new_game(7).play(8)
    result = audit(table.text, pins(table))
    assert result.ok
    assert not result.finished
    assert "running" in result.notes[AuditStep.RESULT]
    whole = whole_game(7)
    for count in range(1, len(whole.lines)):
        cut = audit(format_log(whole.lines[:count]), pins(whole))
        assert cut.ok
        assert not cut.finished
        assert cut.holds == count
    half = whole.text[: len(whole.text) // 2]
    result = audit(half, pins(whole))
    assert only(result)[0] is AuditStep.PARSE
    assert result.holds == half.count("\n")


def test_the_lines_behind_a_bad_one_are_counted() -> None:
    lines = format_log(whole_game(7).lines).splitlines(keepends=True)
    for number in (0, 5, len(lines) - 1):
        log = "".join([*lines[:number], "{}\n", *lines[number + 1 :]])
        for text in (log, log.encode()):
            result = audit(text)
            assert only(result) == (AuditStep.PARSE, number, None)
            assert (result.entries, result.holds) == (len(lines), number)


def test_any_changed_byte_is_found() -> None:
    table = whole_game(9)
    data = bytearray(table.text.encode())
    generator = random.Random(1)
    for _ in range(300):
        place = generator.randrange(len(data))
        old = data[place]
        data[place] = (old + generator.randrange(1, 256)) % 256
        result = audit(bytes(data), pins(table))
        assert not result.ok, place
        assert all(f.signer is None for f in result.findings if f.step <= AuditStep.SIGNATURES), place
        data[place] = old
    assert audit(bytes(data), pins(table)).ok


def test_lines_taken_out_doubled_or_swapped_are_found() -> None:
    table = whole_game(9)
    lines = table.lines
    assert only(audit(format_log(lines[:5] + lines[6:])))[:2] == (AuditStep.CHAIN, 5)
    assert only(audit(format_log([*lines[:5], lines[4], *lines[5:]])))[:2] == (AuditStep.CHAIN, 5)
    assert only(audit(format_log([*lines[:5], lines[6], lines[5], *lines[7:]])))[:2] == (AuditStep.CHAIN, 5)
    assert only(audit(format_log(lines[1:])))[:2] == (AuditStep.CHAIN, 0)
    assert only(audit(format_log([*lines, lines[-1]])))[:2] == (AuditStep.CHAIN, len(lines))


def test_a_name_without_a_key_in_the_log_cannot_sign() -> None:
    table = whole_game(2)
    for number in (5, 9):
        result = audit(rewrite(table, {number: {"by": "carol"}}), pins(table))
        assert only(result) == (AuditStep.SIGNATURES, number, None)
        reason = "the signature is not one of carol: the log names no key for that name"
        assert result.findings[0].reason == reason


def test_another_key_than_expected_names_nobody() -> None:
    table = whole_game(2)
    expected = {**pins(table), "bob": PrivateKey.from_seed(bytes(32)).public}
    assert only(audit(table.text, expected)) == (AuditStep.KEYS, 2, None)


def test_a_weak_key_does_not_hide_what_comes_before_or_behind_it() -> None:
    table = whole_game(2)
    weak = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA" + "A" * 42
    lines = rewrite(table, changed_body(table, 2, key=weak)).splitlines(keepends=True)
    assert only(audit("".join(lines), pins(table))) == (AuditStep.KEYS, 2, None)
    found = audit("".join([*lines[:7], lines[8], lines[7], "{}\n", *lines[9:]]), pins(table)).findings
    assert [(finding.step, finding.entry) for finding in found] == [
        (AuditStep.PARSE, 9),
        (AuditStep.CHAIN, 7),
        (AuditStep.KEYS, 2),
    ]


def test_a_foreign_signature_names_nobody() -> None:
    table = whole_game(2)
    number = entry_number(table, "move")
    line = table.lines[number]
    table.lines[number] = Line(line.entry, sign_entry(line.entry, table.keys[1]), line.receipt)
    assert only(audit(table.text, pins(table))) == (AuditStep.SIGNATURES, number, None)


def test_a_receipt_for_another_entry_names_nobody() -> None:
    """Anybody who holds an honest log can make this change."""
    table = whole_game(2)
    table.lines[6] = Line(table.lines[6].entry, table.lines[6].sig, table.lines[5].receipt)
    assert only(audit(table.text, pins(table))) == (AuditStep.TIMES, 6, None)


@pytest.mark.parametrize("went_on", [False, True])
def test_a_receipt_for_another_entry_of_that_place_convicts_a_server_that_went_on(went_on: bool) -> None:
    """A player may sign two entries for one place; only the service must not receipt both."""
    table = whole_game(2)
    other = receipt(table, 6, head="ab" * 32)
    table.lines[6] = Line(table.lines[6].entry, table.lines[6].sig, other)
    log = format_log(table.lines[: None if went_on else 7])
    assert only(audit(log, pins(table))) == (AuditStep.TIMES, 6, "server" if went_on else None)
    own = entry_number(table, "end")
    table = whole_game(2)
    table.lines[own] = Line(table.lines[own].entry, table.lines[own].sig, receipt(table, own, head="ab" * 32))
    assert only(audit(table.text, pins(table))) == (AuditStep.TIMES, own, "server")


def receipt(table: Table, number: int, **changes: str) -> SignedReceipt:
    entry = table.lines[number].entry
    made = make_receipt(**{"at": AT, "game": entry.game, "head": entry.head, "seq": entry.seq, **changes})  # type: ignore[arg-type] # fields by name
    return SignedReceipt(made, table.server.sign(sshsig.RECEIPT, made.message))


def test_receipts_that_go_back_in_time_convict_the_server() -> None:
    table = whole_game(2)
    entry = table.lines[6].entry
    early = make_receipt(at="2026-11-20T11:00:00Z", game=entry.game, head=entry.head, seq=entry.seq)
    signed = SignedReceipt(early, table.server.sign(sshsig.RECEIPT, early.message))
    table.lines[6] = Line(entry, table.lines[6].sig, signed)
    assert only(audit(table.text, pins(table))) == (AuditStep.TIMES, 6, "server")


def test_of_several_bad_receipts_the_first_ends_the_log() -> None:
    table = whole_game(2)
    table.lines[6] = Line(table.lines[6].entry, table.lines[6].sig, table.lines[5].receipt)
    forged = table.lines[9].receipt
    assert forged
    table.lines[9] = Line(table.lines[9].entry, table.lines[9].sig, SignedReceipt(forged.receipt, table.lines[8].sig))
    table.lines[12] = Line(table.lines[12].entry, table.lines[12].sig)
    assert only(audit(table.text, pins(table))) == (AuditStep.TIMES, 6, None)


def test_one_missing_receipt_is_found_and_none_at_all_is_allowed() -> None:
    table = whole_game(2)
    assert audit(format_log(table.lines, receipts=False), pins(table)).ok
    table.lines[6] = Line(table.lines[6].entry, table.lines[6].sig)
    assert only(audit(table.text, pins(table)))[:2] == (AuditStep.TIMES, 6)


def test_a_salt_that_comes_twice_is_found_where_it_comes_again() -> None:
    table = whole_game(3)
    one, other, *_ = (o for o in table.refereed.openings if table.lines[o.seq].entry.body["action"] == "1X")
    forged = other._replace(salt=one.salt)
    changes = changed_body(table, other.seq, commit=[forged.commitment(table.game)])
    result = audit(rewrite(table, {**changes, **reopened(table, forged)}), pins(table))
    assert only(result)[0::2] == (AuditStep.COMMITMENTS, "server")
    assert result.findings[0].reason == f"opening 0 of entry {other.seq}: its salt has been used before"


def test_another_seed_convicts_the_server() -> None:
    table = whole_game(3)
    end = len(table.lines) - 1
    log = rewrite(table, changed_body(table, end, seed="ab" * 32))
    assert only(audit(log, pins(table))) == (AuditStep.COMMITMENTS, end, "server")


def test_a_changed_seed_commitment_after_the_fact_convicts_the_server() -> None:
    table = whole_game(3)
    dealer = {"name": "server/v1", "seed_commit": "cd" * 32}
    log = rewrite(table, changed_body(table, 0, dealer=dealer))
    assert only(audit(log, pins(table)))[2] == "server"


def test_other_entropy_convicts_its_player_and_the_service_that_has_taken_it() -> None:
    """The service has the commitment too, and must refuse such a seed."""
    table = whole_game(3)
    log = rewrite(table, changed_body(table, 3, entropy="ab" * 32))
    assert only(audit(log, pins(table))) == (AuditStep.COMMITMENTS, 3, "bob and server")
    bare = format_log(parse_log(log), receipts=False).splitlines(keepends=True)
    assert only(audit("".join(bare), pins(table))) == (AuditStep.COMMITMENTS, 3, "bob and server")
    assert only(audit("".join(bare[:4]), pins(table))) == (AuditStep.COMMITMENTS, 3, "bob")


def test_a_false_chance_is_found_also_behind_an_entry_that_the_rules_reject() -> None:
    """Step 7 looks at all entries that hold in steps 1 to 6, and step 8 at those before its finding."""
    table = whole_game(2, Hanamikoji("random"))
    chance = entry_number(table, "chance")
    false = changed_body(table, chance, first=1 - int(str(table.lines[chance].entry.body["first"])))
    for carol in (changed_body(table, 1, invite={"key": None, "name": "carol"}), {}):
        result = audit(rewrite(table, {**false, **carol}), pins(table))
        found = [(each.step, each.entry, each.signer) for each in result.findings]
        joined = [(AuditStep.REPLAY, 2, "bob and server")] if carol else []
        assert found == [(AuditStep.DEAL, chance, "server"), *joined]
        assert result.holds == (2 if carol else chance)


def test_chance_that_is_true_is_said_to_hold_where_the_rules_reject_an_earlier_entry() -> None:
    table = whole_game(2, Hanamikoji("random"))
    for text in (rewrite(table, changed_body(table, 1, invite={"key": None, "name": "carol"})), table.text):
        result = audit(text, pins(table))
        assert result.notes[AuditStep.DEAL] == ("holds" if result.findings else "2 rounds dealt from the seed")
    running = new_game(2, Hanamikoji("random"))
    log = rewrite(running, changed_body(running, 1, invite={"key": None, "name": "carol"}))
    assert audit(log, pins(running)).notes[AuditStep.DEAL] == "not reached"


def test_other_cards_in_a_reveal_convict_the_server() -> None:
    table = whole_game(3)
    number = entry_number(table, "reveal")
    openings = [dict(o) for o in table.lines[number].entry.body["openings"]]  # type: ignore[union-attr, arg-type]
    openings[0]["cards"] = "A" if openings[0]["cards"] != "A" else "B"
    log = rewrite(table, changed_body(table, number, openings=openings))
    assert only(audit(log, pins(table))) == (AuditStep.COMMITMENTS, number, "server")


def test_a_false_result_convicts_the_server() -> None:
    table = whole_game(3)
    end = len(table.lines) - 1
    outcome = table.course.outcome
    assert outcome is not None
    winner = 1 - (outcome.winner or 0)
    log = rewrite(table, changed_body(table, end, result={"reason": outcome.reason, "winner": winner}))
    assert only(audit(log, pins(table))) == (AuditStep.RESULT, end, "server")


def test_an_end_before_the_game_has_ended_convicts_the_server() -> None:
    table = new_game(3).play(6)
    body = entry_kinds.End(table.refereed.openings, Outcome("charm", 0), table.refereed.seed)
    append(table, body)
    assert only(audit(table.text, pins(table))) == (AuditStep.RESULT, len(table.lines) - 1, "server")


def test_a_card_that_was_not_in_the_hand_convicts_its_player() -> None:
    """Service and player together: the service accepts a move with cards that the player does not hold."""
    table = next(t for t in map(whole_game, range(50)) if len(set(t.course.dealt[0][0])) < 7)
    number = next(
        line.entry.seq for line in table.lines if line.entry.body.get("action") == "1X" and line.entry.by == "alice"
    )
    opening = next(o for o in table.refereed.openings if o.seq == number)
    seat = table.course.setup.seat_of(table.lines[number].entry.by)
    assert seat is not None
    dealt = table.course.dealt[0][seat]
    absent = next(card for card in "ABCDEFG" if card not in dealt)
    forged = Opening(number, 0, absent, opening.salt)
    changes = changed_body(table, number, commit=[forged.commitment(table.game)])
    for line in table.lines:
        body = line.entry.body
        if "openings" in body:
            swapped = [
                forged.to_json() if o["seq"] == number else o  # type: ignore[index, call-overload] # decoded JSON
                for o in body["openings"]  # type: ignore[union-attr] # decoded JSON
            ]
            changes[line.entry.seq] = {"body": {**body, "openings": swapped}}
    name = ("alice", "bob")[seat]
    assert only(audit(rewrite(table, changes), pins(table))) == (AuditStep.REPLAY, number, f"{name} and server")
    unpinned = only(audit(rewrite(table, changes)))[2]
    assert unpinned is not None
    assert "SHA256:" in unpinned
    assert name in unpinned


def test_an_end_that_leaves_cards_closed_convicts_the_server_and_no_player() -> None:
    table = whole_game(17)
    end = len(table.lines) - 1
    openings = table.lines[end].entry.body["openings"]
    assert isinstance(openings, list)
    log = rewrite(table, changed_body(table, end, openings=openings[1:]))
    assert only(audit(log, pins(table))) == (AuditStep.COMMITMENTS, end, "server")


def test_a_stacked_deck_shows_as_an_impossible_move() -> None:
    """A service that commits to one seed and deals from another: the moves do not fit the deck that the log gives."""
    table = whole_game(17)
    other = "77" * 32
    dealer = {"name": "server/v1", "seed_commit": seed_commit(table.game, other)}
    changes = {**changed_body(table, 0, dealer=dealer), **changed_body(table, len(table.lines) - 1, seed=other)}
    log = rewrite(table, changes)
    step, number, signer = only(audit(log, pins(table)))
    assert step is AuditStep.REPLAY
    assert number is not None
    assert table.lines[number].entry.kind == "move"
    assert signer is not None
    assert "server" in signer


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (0, {"requires": ["tea"]}),
        (0, {"dealer": {"name": "sealed/v1", "joint": "ab"}}),
        (0, {"ruleset": {"name": "go", "version": 1}}),
        (0, {"ruleset": {"first": "host", "max_rounds": 0, "name": "hanamikoji", "tiebreak": "geisha", "version": 2}}),
        (1, {"colour": "red"}),
        (1, {"invite": {"ext": {}, "key": None, "name": "bob"}}),
    ],
)
def test_a_later_version_is_not_understood_rather_than_forged(number: int, changes: dict[str, object]) -> None:
    table = whole_game(1)
    result = audit(rewrite(table, changed_body(table, number, **changes)), pins(table))
    (finding,) = result.findings
    assert finding.step is AuditStep.PARSE
    assert finding.entry == number
    assert not finding.understood
    assert "not understood" in finding.reason


def test_data_that_a_reader_may_ignore_lives_in_ext() -> None:
    table = whole_game(1)
    log = rewrite(table, changed_body(table, 5, ext={"comment": "good luck"}))
    assert audit(log, pins(table)).ok


def test_signatures_can_be_verified_by_an_executor() -> None:
    from concurrent.futures import ThreadPoolExecutor

    table = whole_game(1)
    with ThreadPoolExecutor(2) as pool:
        assert audit(table.text, pins(table), map_checks=pool.map) == audit(table.text, pins(table))


def test_a_chance_that_decides_too_much_breaks_the_rules_and_not_the_deal() -> None:
    table = whole_game(2, Hanamikoji("random"))
    log = rewrite(table, changed_body(table, 5, first=1 - int(str(table.lines[5].entry.body["first"]))))
    assert only(audit(log, pins(table))) == (AuditStep.DEAL, 5, "server")
    running = new_game(2, Hanamikoji("random"))
    log = rewrite(running, changed_body(running, 5, markers="AB"))
    assert only(audit(log, pins(running))) == (AuditStep.REPLAY, 5, "server")
