"""Each rule by itself: a log part that keeps it, one that breaks it, and the error. The audits' own tests use logs."""

from __future__ import annotations

import pytest

from hkoji.audit import checks
from hkoji.audit.checks import verify_receipt, verify_signatures
from hkoji.errors import CommitmentError, HkojiError, IllegalError, MalformedError, SignatureError
from hkoji.game.commitments import Opening
from hkoji.game.entry_kinds import Timeout
from hkoji.log import sshsig
from hkoji.log.line import Line, Receipt, make_receipt
from tests.log.samples import ALICE, AT, BOB, GAME, LOG, MOVE, SERVER

LATER = "2026-11-20T12:00:01Z"


def _receipt(at: str = AT, entry: int = 3) -> Receipt:
    return make_receipt(at=at, game=GAME, head=LOG[entry].entry.head, seq=entry)


def test_signatures_and_receipts_verify() -> None:
    keys = {"server": SERVER.public, "alice": ALICE.public, "bob": BOB.public}
    for line in LOG:
        verify_signatures(line.entry, line.sig, keys[line.entry.by], None)
        assert line.receipt
        verify_receipt(line.receipt, line.entry, SERVER.public)


def test_a_signature_fits_its_entry_only() -> None:
    for line in LOG:
        for other in LOG:
            if other is not line:
                with pytest.raises(SignatureError) as error:
                    verify_signatures(line.entry, other.sig, sshsig.parse(other.sig).public, None)
                assert error.value.signer == line.entry.by


def test_an_entry_in_the_name_of_the_service_needs_its_namespace() -> None:
    """A player cannot forge the service's statement by signing it as an entry, nor the service a player's."""
    offer = LOG[0].entry
    with pytest.raises(SignatureError, match=r"made for hkoji\.entry\.v1, not for hkoji\.server\.v1"):
        verify_signatures(offer, SERVER.sign(sshsig.ENTRY, offer.message), SERVER.public, None)
    with pytest.raises(SignatureError, match=r"made for hkoji\.server\.v1, not for hkoji\.entry\.v1"):
        verify_signatures(MOVE, ALICE.sign(sshsig.SERVER, MOVE.message), ALICE.public, None)


def test_a_receipt_is_for_its_entry_only() -> None:
    receipt = LOG[3].receipt
    assert receipt
    for line in LOG:
        if line is not LOG[3]:
            with pytest.raises(IllegalError, match="the receipt is for another entry"):
                verify_receipt(receipt, line.entry, SERVER.public)
    with pytest.raises(SignatureError, match="it is by the key"):
        verify_receipt(receipt, MOVE, ALICE.public)
    in_another_namespace = receipt._replace(sig=SERVER.sign(sshsig.SERVER, receipt.receipt.message))
    with pytest.raises(SignatureError, match=r"made for hkoji\.server\.v1"):
        verify_receipt(in_another_namespace, MOVE, SERVER.public)


def test_a_missing_receipt() -> None:
    bare = LOG[3]._replace(receipt=None)
    assert checks.require_receipt(LOG[3]) == LOG[3].receipt
    checks.verify_receipts_complete(LOG[3])
    with pytest.raises(MalformedError, match="it has no receipt"):
        checks.require_receipt(bare)
    with pytest.raises(MalformedError, match="some entries have a receipt and this one has none"):
        checks.verify_receipts_complete(bare)


def test_the_time_of_record_may_stand_still_and_not_go_back() -> None:
    checks.verify_receipt_time(_receipt(AT, 4), _receipt(AT))
    checks.verify_receipt_time(_receipt(LATER, 4), _receipt(AT))
    with pytest.raises(IllegalError, match=f"^the receipt's time {AT} is before {LATER}$"):
        checks.verify_receipt_time(_receipt(AT, 4), _receipt(LATER))


def test_an_entry_has_one_receipt() -> None:
    checks.verify_same_receipt(_receipt(), _receipt())
    with pytest.raises(IllegalError, match="two receipts for entry 3"):
        checks.verify_same_receipt(_receipt(), _receipt(LATER))


def test_a_salt_is_used_once() -> None:
    used: set[str] = set()
    checks.verify_new_salt(Opening(7, 0, "AB", "1" * 64), used)
    checks.verify_new_salt(Opening(7, 1, "CD", "2" * 64), used)
    assert used == {"1" * 64, "2" * 64}
    with pytest.raises(CommitmentError, match="opening 0 of entry 9: its salt has been used before"):
        checks.verify_new_salt(Opening(9, 0, "EF", "1" * 64), used)
    assert used == {"1" * 64, "2" * 64}


def test_an_end_opens_everything() -> None:
    checks.verify_all_opened({})
    with pytest.raises(CommitmentError, match="opening 1 of entry 7: the end leaves it closed"):
        checks.verify_all_opened([(7, 1), (9, 0)])


def test_a_key_is_one_of_those_expected() -> None:
    alice, bob = ALICE.public, BOB.public
    checks.verify_expected_key("alice", alice, ())
    checks.verify_expected_key("alice", alice, {alice, bob}, vouched=True)
    with pytest.raises(HkojiError, match=r"the log names .* as the key of alice; expected is "):
        checks.verify_expected_key("alice", alice, {bob})
    with pytest.raises(HkojiError, match="the server alone says"):
        checks.verify_expected_key("alice", alice, {bob}, vouched=True)
    checks.verify_first_key("alice", {"bob"})
    with pytest.raises(HkojiError, match="a key of alice twice"):
        checks.verify_first_key("alice", {"alice", "bob"})
    checks.verify_key_named("alice", alice)
    with pytest.raises(SignatureError, match="the log names no key for that name") as error:
        checks.verify_key_named("alice", None)
    assert error.value.signer == "alice"


def test_a_timeout_counts_from_the_receipt_that_started_the_clock() -> None:
    rekey = LOG[2].entry._replace(kind="rekey")
    late = Line(rekey, b"", LOG[2].receipt._replace(receipt=_receipt(LATER, 2))) if LOG[2].receipt else None
    assert late
    for lines in (LOG[:2], (*LOG[:2], late), (LOG[0]._replace(receipt=None),)):
        checks.verify_since(Timeout(0), lines)
    with pytest.raises(IllegalError, match=f"counts from {LATER}, and the clock has been running since {AT}"):
        checks.verify_since(Timeout(0), (*LOG[:2], late))
