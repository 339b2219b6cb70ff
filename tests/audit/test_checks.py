"""Each rule by itself: a log part that keeps it, one that breaks it, and the error. The audits' own tests use logs."""

from __future__ import annotations

import pytest

from hkoji.audit import checks, credit_checks
from hkoji.audit.checks import verify_receipt, verify_signatures
from hkoji.errors import CommitmentError, HkojiError, IllegalError, MalformedError, SignatureError
from hkoji.game.agreement import TimeControl
from hkoji.game.clock import Effect, GameClock, Outage, Way
from hkoji.game.commitments import Opening
from hkoji.game.entry_kinds import Annul, GivenTime, Lapse
from hkoji.log import sshsig
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.log.line import Receipt, make_receipt
from hkoji.log.private_key import PrivateKey
from tests.log.samples import ALICE, AT, BOB, GAME, LOG, MOVE, SERVER

EARLIER = "2026-11-20T11:59:59Z"
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


def test_seen_is_the_time_before() -> None:
    checks.verify_seen(MOVE, AT, AT)
    checks.verify_seen(MOVE, None, EARLIER)
    checks.verify_seen(MOVE, None, None)
    with pytest.raises(IllegalError, match=f"time of record before it is {AT}, and it is {LATER}"):
        checks.verify_seen(MOVE, LATER, AT)
    with pytest.raises(IllegalError, match=f"the time of record goes back from {LATER} to {AT}"):
        checks.verify_seen(MOVE, None, LATER)


def test_the_services_entry_has_the_time_of_its_receipt() -> None:
    end, receipt = LOG[4].entry, _receipt(AT, 4)
    for same in (True, False):
        checks.verify_own_time(end, receipt, same=same)
        checks.verify_own_time(end, None, same=same)
        with pytest.raises(IllegalError, match=f"the time of its receipt, {LATER}, is not its own, {AT}"):
            checks.verify_own_time(end, _receipt(LATER, 4), same=same)
        with pytest.raises(IllegalError, match=f"its time, {EARLIER}, does not fit that of the entry before, {AT}"):
            checks.verify_own_time(end._replace(at=EARLIER), None, same=same)
    checks.verify_own_time(end._replace(at=LATER), None, same=False)
    with pytest.raises(IllegalError, match=f"its time, {LATER}, does not fit"):
        checks.verify_own_time(end._replace(at=LATER), None, same=True)
    checks.verify_own_time(LOG[0].entry, LOG[0].receipt and LOG[0].receipt.receipt, same=False)


def test_nobody_joins_after_the_offer_has_expired() -> None:
    for expires in (None, AT, LATER):
        checks.verify_joined_in_time(expires, AT)
    with pytest.raises(IllegalError, match=f"the guest joined at {LATER}, and the offer expired at {AT}"):
        checks.verify_joined_in_time(AT, LATER)


def test_an_open_game_lapses_when_it_may() -> None:
    expired, declined = Lapse("expired"), Lapse("declined")
    for invited in (True, False):
        checks.verify_lapse(expired, LATER, AT, invited=invited)
        for expires in (None, AT, LATER):
            with pytest.raises(IllegalError, match=f"the offer has not expired at {AT}"):
                checks.verify_lapse(expired, AT, expires, invited=invited)
    for expires in (None, EARLIER, LATER):
        checks.verify_lapse(declined, AT, expires, invited=True)
        with pytest.raises(IllegalError, match="nobody was invited by name"):
            checks.verify_lapse(declined, AT, expires, invited=False)


def test_a_clock_runs_from_the_join_to_the_end() -> None:
    clock = GameClock.joined(TimeControl(60, 0, 0, 0), MOVE.head, AT)
    assert credit_checks.verify_clock_runs(clock) == clock
    over = clock.follow(Effect.ENDS, None, "0" * 64, AT)
    for none in (None, over):
        with pytest.raises(IllegalError, match="no clock runs"):
            credit_checks.verify_clock_runs(none)


def test_a_gift_is_the_opponents_and_for_this_entry() -> None:
    heads = (MOVE.prev, MOVE.head)
    statement = make_gift(game=GAME, head=MOVE.head, name="bob", seconds=60)
    gift = GivenTime(MOVE.head, 60, BOB.sign(sshsig.GIVE, statement.message))
    credit_checks.verify_gift(gift, heads, GAME, "bob", BOB.public)
    with pytest.raises(IllegalError, match="the gift of time is not for this entry"):
        credit_checks.verify_gift(gift, heads[:1], GAME, "bob", BOB.public)
    for other in (gift._replace(seconds=61), gift._replace(head=MOVE.prev)):
        with pytest.raises(SignatureError) as error:
            credit_checks.verify_gift(other, heads, GAME, "bob", BOB.public)
        assert error.value.signer == "bob"
    for game, giver, key in (
        ("0" * 32, "bob", BOB.public),
        (GAME, "carol", BOB.public),
        (GAME, "bob", ALICE.public),
    ):
        with pytest.raises(SignatureError):
            credit_checks.verify_gift(gift, heads, game, giver, key)
    in_another_namespace = gift._replace(sig=BOB.sign(sshsig.ANNUL, statement.message))
    with pytest.raises(SignatureError, match=r"made for hkoji\.annul\.v1"):
        credit_checks.verify_gift(in_another_namespace, heads, GAME, "bob", BOB.public)


def test_both_players_call_a_game_off_at_the_head_before() -> None:
    players = (credit_checks.Caller("alice", ALICE.public), credit_checks.Caller("bob", BOB.public))
    keys = {"alice": ALICE, "bob": BOB}

    def sig(name: str, head: str, key: PrivateKey) -> bytes:
        return key.sign(sshsig.ANNUL, make_annul(game=GAME, head=head, name=name).message)

    sigs = sig("alice", MOVE.prev, ALICE), sig("bob", MOVE.prev, BOB)
    credit_checks.verify_both_signed(MOVE, Annul(None, (), 0, sigs), players)
    for wrong, signer in (
        ((sigs[0], sigs[0]), "bob"),
        ((sigs[1], sigs[0]), "alice"),
        ((sigs[0], sig("bob", MOVE.head, BOB)), "bob"),
        ((sig("bob", MOVE.prev, ALICE), sigs[1]), "alice"),
        ((sig("alice", MOVE.prev, keys["bob"]), sigs[1]), "alice"),
    ):
        with pytest.raises(SignatureError) as error:
            credit_checks.verify_both_signed(MOVE, Annul(None, (), 0, wrong), players)
        assert error.value.signer == signer
    with pytest.raises(IllegalError, match="a game that nobody has joined cannot be called off"):
        credit_checks.verify_both_signed(MOVE, Annul(None, (), 0, sigs), players[:1])


def test_outages_lie_between_two_times_and_hold_none() -> None:
    outage = Outage(AT, LATER, Way.HTTP)
    credit_checks.verify_outages((outage,), AT, LATER, (EARLIER, LATER))
    credit_checks.verify_outages((), LATER, AT, (AT,))
    for since, until in ((LATER, LATER), (EARLIER, AT)):
        with pytest.raises(IllegalError, match=f"the outage from {AT} to {LATER} is not between {since} and {until}"):
            credit_checks.verify_outages((outage,), since, until, ())
    within = f"has accepted an entry at {AT}, in its outage from {AT} to {LATER}"
    with pytest.raises(IllegalError, match=within):
        credit_checks.verify_outages((outage,), AT, LATER, (LATER, AT))
    with pytest.raises(IllegalError, match=within):
        credit_checks.verify_not_out(AT, (outage,))
    credit_checks.verify_not_out(LATER, (outage,))
    credit_checks.verify_not_out(EARLIER, (outage,))


def test_a_deadline_is_the_last_second() -> None:
    for at in (EARLIER, AT):
        checks.verify_in_time(at, AT)
        with pytest.raises(IllegalError, match=f"the timeout is of {at}, and there was time until {AT}"):
            checks.verify_over(at, AT)
    checks.verify_over(LATER, AT)
    with pytest.raises(IllegalError, match=f"it came at {LATER}, and there was time until {AT}"):
        checks.verify_in_time(LATER, AT)
