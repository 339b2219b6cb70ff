"""Step 11 of the audit: which mails convict the service, and that nothing in a mails file convicts anybody else."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import lru_cache, partial

import pytest

from hkoji.audit.log_audit import AuditStep
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, parse_time_control
from hkoji.game.clock import parse_time
from hkoji.game.entry_kinds import parse_body
from hkoji.game.held_keys import SeatGrade
from hkoji.log.line import format_log
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.claimed_mails import claimed_mails
from hkoji.mail.commands import MailOrder, OrderFault, OrderKind
from hkoji.mail.mail import read_mail
from hkoji.mail.mails_audit import MailsAudit, OrderedEntries
from hkoji.mail.message import READER_VERSION
from hkoji.mail.orders import read_orders, read_said
from hkoji.mail.tokens import Purpose
from hkoji.rules.registry import RULESETS
from tests.support.mail.framed_mails import accused_by, framed
from tests.support.mail.proved_table import MailAtHand, ProvedTable, proved_game
from tests.support.mail.signing import record_of, rsa_key

SERVICE = "the service, for bob"


@lru_cache
def whole() -> ProvedTable:
    """An honest game; nobody may change it."""
    return proved_game()


def named(judged: MailsAudit) -> set[str | None]:
    return {each.signer for each in judged.audit.findings}


def at_move(place: int, /, **changes: object) -> Callable[[MailAtHand], MailAtHand]:
    """A lie about the mail with that number, of which the first is the one that accepts."""
    return lambda mail: mail._replace(**changes) if mail.number == place else mail  # type: ignore[arg-type] # by name


def convicted(table: ProvedTable, *words: str) -> None:
    """The mails convict the service, at one entry and for the reason with these words, and nobody else."""
    judged = table.judged()
    (finding,) = judged.audit.findings
    assert (finding.step, finding.signer, finding.understood) == (AuditStep.MAILS, SERVICE, True)
    assert all(word in finding.reason for word in words), finding.reason
    (seat,) = judged.seats
    assert seat.checked == seat.claimed - 1
    assert judged.audit.grades["bob"] in (SeatGrade.CLAIMED, SeatGrade.WORD)


# --- an honest service ------------------------------------------------------------------------------------------------


def test_the_mails_of_an_honest_service_are_all_checked() -> None:
    judged = whole().judged()
    (seat,) = judged.seats
    assert judged.audit.ok
    assert seat.claimed == seat.checked == len(whole().mails) > 5
    assert seat.mailboxes == ("bob@example.org",)
    assert judged.audit.grades == {"alice": SeatGrade.OWN, "bob": SeatGrade.CHECKED}
    assert judged.audit.notes[AuditStep.MAILS] == f"{seat.claimed} of {seat.claimed} mails checked"


def test_each_beginning_of_a_log_holds_with_the_same_mails() -> None:
    for end in range(3, len(whole().lines)):
        judged = whole().judged(text=format_log(whole().lines[:end]))
        assert judged.audit.ok
        assert all(seat.checked == seat.claimed for seat in judged.seats)


def test_without_receipts_a_time_that_nobody_has_stated_is_not_judged() -> None:
    table = proved_game(3, tags=lambda at: {"t": str(at), "x": str(at)})
    judged = table.judged(text=format_log(table.lines, receipts=False))
    assert judged.audit.ok
    assert judged.audit.grades["bob"] is SeatGrade.CHECKED


def test_mails_with_a_token_only_are_checked_and_prove_no_sender() -> None:
    judged = proved_game(4, grade=MailGrade.TOKEN).judged()
    (seat,) = judged.seats
    assert judged.audit.ok
    assert seat.checked == seat.claimed
    assert judged.audit.grades["bob"] is SeatGrade.WORD


def test_a_resignation_a_gift_and_a_wish_to_call_off_are_checked() -> None:
    def at_turn(seat: int) -> ProvedTable:
        table = proved_game(0)
        while table.course.actor != seat:
            table.play(1)
        return table

    resigned = at_turn(1)
    resigned.send(resigned.entry(1, entry_kinds.Resign()))
    given = at_turn(0).give(60).wait(200).play(1)
    assert any(line.entry.kind == "credit" for line in given.lines)
    for table in (resigned, given, at_turn(0).call_off()):
        judged = table.judged()
        (seat,) = judged.seats
        assert judged.audit.ok
        assert seat.checked == seat.claimed == len(table.mails)
        assert judged.audit.grades["bob"] is SeatGrade.CHECKED


def test_a_notice_that_was_read_when_it_was_due_is_read_again() -> None:
    for name in RULESETS:
        state = proved_game(0, ruleset=RULESETS[name](), held=()).course.state
        lines = [*state.legal_actions()[:40], "resign", "show", "give 2d", "de", "thanks", "2bc = trade off b c"]
        for line in lines:
            read = read_orders([line], state)
            if not isinstance(read, OrderFault):
                assert read_said([line], state.ruleset) == read


# --- a service that lies ----------------------------------------------------------------------------------------------


def other_move(mail: MailAtHand) -> MailAtHand:
    """The service enters a move, and the mail orders another one."""
    return mail._replace(line="-G" if mail.line != "-G" else "-E") if mail.number == 2 else mail


LIES: dict[str, tuple[Callable[[MailAtHand], MailAtHand], str]] = {
    "another order": (other_move, "something else"),
    "no order": (at_move(2, line="see you"), "orders nothing"),
    "a question": (at_move(2, line="show"), "decides nothing"),
    "no consent": (at_move(0, line="decline"), "something else"),
    "dkim for another From": (at_move(2, sender="eve@example.org", grade=MailGrade.DKIM), "not from that mailbox"),
    "dkim without a signature": (at_move(2, signed=False, grade=MailGrade.DKIM), "no such signature"),
    "dkim without a key": (at_move(2, dns=b"", grade=MailGrade.DKIM), "no such signature"),
    "answers in no form": (at_move(2, dns=b"what", grade=MailGrade.DKIM), "DNS answers"),
    "one mail twice": (at_move(3, number=2), "one mail"),
    "another purpose": (at_move(2, purpose=Purpose.GAME), "cannot order this"),
    "another about": (at_move(2, about="ab" * 32, grade=MailGrade.DKIM), "not bound"),
    "another nonce": (at_move(2, sent_to="00" * 32, grade=MailGrade.DKIM), "not bound"),
    "another head": (at_move(2, head="ab" * 32), "another place"),
    "another game": (at_move(2, game="ab" * 16), "another place"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_a_mail_convicts_the_service_and_nobody_else(name: str) -> None:
    lie, words = LIES[name]
    convicted(proved_game(9, lie=lie), words)


def test_a_token_of_another_turn_convicts_the_service() -> None:
    def replayed(mail: MailAtHand) -> MailAtHand:
        # The mail answers an older letter: the service says that it answers this one.
        return (
            mail._replace(token=mail.token._replace(seq=3, head="cd" * 32), grade=MailGrade.DKIM)
            if mail.number == 2
            else mail
        )

    convicted(proved_game(9, lie=replayed), "not bound")


def test_an_order_to_resign_counts_only_in_answer_to_its_own_question() -> None:
    for purpose in (Purpose.TURN, Purpose.GAME):
        changed = partial(MailAtHand._replace, purpose=purpose)
        table = proved_game(2, lie=lambda mail, changed=changed: changed(mail) if mail.line == "resign" else mail)  # type: ignore[misc] # a lambda with a default
        table.send(table.entry(1, entry_kinds.Resign()))
        convicted(table, "cannot order this")

    def asked_for_a_move(mail: MailAtHand) -> MailAtHand:
        token = mail.token._replace(seq=7, head="cd" * 32)
        return mail._replace(token=token, grade=MailGrade.DKIM) if mail.line == "resign" else mail

    table = proved_game(2, lie=asked_for_a_move)
    table.send(table.entry(1, entry_kinds.Resign()))
    convicted(table, "not bound")


def test_statements_are_compared_too() -> None:
    given = proved_game(0, lie=lambda mail: mail._replace(line="give 2d") if "give" in mail.line else mail)
    while given.course.actor != 0:
        given.play(1)
    convicted(given.give(60).wait(200).play(1), "something else")
    called = proved_game(2, lie=lambda mail: mail._replace(line="show") if "call" in mail.line else mail).call_off()
    convicted(called, "decides nothing")


@pytest.mark.parametrize("rated", [False, True])
def test_a_new_game_is_what_was_ordered_and_nothing_more(rated: bool) -> None:
    table = proved_game(0, agreement=Agreement(parse_time_control("3d/14d"), rated=rated))
    lines = table.lines
    raw = table.mails[0].raw.replace(b"\r\n\r\naccept", b"\r\n\r\nnew hanamikoji bob bob@example.org")
    body = parse_body(lines[1].entry.kind, lines[1].entry.body)
    claim = next(claimed_mails(lines))._replace(entry=1, kinds=(OrderKind.NEW,), body=body)
    compared = OrderedEntries(lines)
    order = compared.order_of(read_mail(raw), READER_VERSION)
    assert isinstance(order, MailOrder)
    assert (compared.fault_of(claim, order) is None) is not rated


def test_cards_that_lie_face_down_are_compared_when_they_are_open() -> None:
    def other_secret(mail: MailAtHand) -> MailAtHand:
        if not mail.line.startswith("1"):
            return mail
        return mail._replace(line="1G" if mail.line != "1G" else "1E")

    table = ProvedTable(seed=4, lie=other_secret).begin()
    while not table.mails[-1].raw.count(b"\r\n1"):
        table.play(1)
    assert table.judged().audit.ok
    while not any(line.entry.kind in ("reveal", "end") for line in table.lines):
        table.play(1)
    assert {SERVICE} == named(table.judged())


def test_a_signed_mail_that_was_obeyed_twice_convicts_the_service_whatever_its_message_id() -> None:
    said: list[MailAtHand] = []

    def again(mail: MailAtHand) -> MailAtHand:
        if mail.line != "give 60s":
            return mail
        said.append(mail)
        # It is the same mail to the same address; only what the provider has not signed is another.
        return said[0]._replace(number=mail.number, head=mail.head, unsigned_id=True)

    table = proved_game(0, lie=again)
    for needed in (200, 100):
        while table.course.actor != 0:
            table.play(1)
        assert table.judged().audit.ok
        table.give(60).wait(needed).play(1)
    assert len(said) == 2
    convicted(table, "one mail")


def test_two_mails_with_the_same_words_convict_nobody() -> None:
    table = proved_game(0, lie=lambda mail: mail._replace(unsigned_id=True))
    for needed in (200, 100):
        while table.course.actor != 0:
            table.play(1)
        table.give(60).wait(needed).play(1)
    assert len([line for line in table.lines if line.entry.kind == "credit"]) == 2
    judged = table.judged()
    assert judged.audit.ok
    assert judged.seats[0].checked == judged.seats[0].claimed


@pytest.mark.parametrize("reader", [1, 2])
def test_a_mail_is_read_by_the_version_that_it_was_read_by(reader: int) -> None:
    table = proved_game(6, lie=lambda mail: mail._replace(reader=reader))
    assert table.judged().audit.ok

    def with_tab(mail: MailAtHand) -> MailAtHand:
        # Version 1 left a vertical tab out; for version 2 it ends a line.
        line = f"{mail.line[:1]}\v{mail.line[1:]}"
        return mail._replace(reader=reader, line=line) if mail.number == 2 else mail

    table = proved_game(6, lie=with_tab)
    if reader == 1:
        assert table.judged().audit.ok
    else:
        convicted(table, "the mail orders nothing")


@pytest.mark.parametrize("below", ["resign..\nwrote:\n> x", "wrote..\nresign..\nhkoji wrote:\n> 1a", "Bob\n| x:\n> x"])
def test_a_strange_mail_that_version_1_understood_convicts_no_honest_service(below: str) -> None:
    def strange(mail: MailAtHand) -> MailAtHand:
        return mail._replace(reader=1, line=f"{mail.line}\n{below}") if mail.number == 2 else mail

    judged = proved_game(6, lie=strange).judged()
    assert judged.audit.ok
    assert judged.seats[0].checked == judged.seats[0].claimed


@pytest.mark.parametrize("reader", [1, 2])
def test_mails_with_the_same_message_id_that_is_none_are_one_since_version_2(reader: int) -> None:
    def with_name(mail: MailAtHand) -> MailAtHand:
        return mail._replace(reader=reader, message_id="bob's program" if mail.number in (1, 2) else "")

    table = proved_game(6, lie=with_name)
    if reader == 1:
        assert table.judged().audit.ok
    else:
        convicted(table, "one mail")


def test_a_mail_of_another_version_of_the_reader_is_not_understood() -> None:
    judged = proved_game(6, lie=at_move(2, reader=READER_VERSION + 1, line="see you")).judged()
    (finding,) = judged.audit.findings
    assert (finding.signer, finding.understood) == (None, False)
    assert judged.audit.not_understood
    assert judged.audit.grades["bob"] is SeatGrade.CLAIMED


# --- files that say nothing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [{"mailbox": "eve@example.org"}, {"address_salt": "00" * 32}, {"name": "alice"}, {"mails": ()}],
    ids=["mailbox", "salt", "name", "no mails"],
)
def test_without_the_certified_mailbox_nothing_is_checked_and_nobody_named(changes: dict[str, object]) -> None:
    for table in (whole(), proved_game(9, lie=other_move)):
        judged = table.judged(table.mailbox(**changes))
        (seat,) = judged.seats
        assert judged.audit.ok
        assert (seat.checked, seat.mailboxes) == (0, ())
        assert judged.audit.grades["bob"] is SeatGrade.CLAIMED


def test_a_missing_mail_leaves_a_seat_unchecked() -> None:
    judged = whole().judged(whole().mailbox(mails=tuple(whole().mails[1:])))
    (seat,) = judged.seats
    assert judged.audit.ok
    assert seat.checked == seat.claimed - 1
    assert judged.audit.grades["bob"] is SeatGrade.CLAIMED


def test_the_mails_of_two_mailboxes_can_stand_in_one_file() -> None:
    other = whole().mailbox(mailbox="eve@example.org")
    judged = whole().judged(other, whole().mailbox(), other)
    assert judged.seats[0].checked == judged.seats[0].claimed


# --- players who want to frame the service ----------------------------------------------------------------------------

CHOSEN = {
    "expires at T": ({"x": 0}, lambda record: (record,)),
    "expires just after T": ({"x": 1}, lambda record: (record,)),
    "expired before T": ({"x": -1}, lambda record: (record,)),
    "from the future": ({"t": 3601}, lambda record: (record,)),
    "with a newline in its record": ({}, lambda record: (record + b"\n",)),
    "with a tab and a zero byte": ({}, lambda record: (record + b";\tn=\0",)),
    "two records": ({}, lambda record: (record, record)),
    "two different records": ({}, lambda record: (record, record_of(rsa_key(), "t=y; "))),
    "no record": ({}, lambda record: ()),
    "for tests": ({}, lambda record: (record_of(rsa_key(), "t=y; "),)),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_mail_that_a_provider_signs_and_publishes_convicts_nobody(name: str) -> None:
    times, records = CHOSEN[name]

    def tags(at: int) -> dict[str, str | None]:
        return {"t": str(at), **{tag: str(at + off) for tag, off in times.items()}}

    table = proved_game(6, tags=tags, records=records)
    for text in (table.text, format_log(table.lines, receipts=False)):
        judged = table.judged(text=text)
        assert judged.audit.ok, judged.audit.findings
        assert judged.seats[0].checked == judged.seats[0].claimed
    rng = random.Random(name)
    for _ in range(10):
        assert not accused_by(table, framed(rng, table))


def test_no_change_of_an_honest_file_convicts_anybody() -> None:
    rng = random.Random(7)
    for _ in range(60):
        data = framed(rng, whole())
        assert not accused_by(whole(), data), data


def test_an_accusation_would_be_detected() -> None:
    """Shows that the law can fail: the mails of a service that lies, not changed at all."""
    table = proved_game(9, lie=other_move)
    assert accused_by(table, None) == {SERVICE}


def test_signatures_are_judged_at_t_and_not_by_the_clock_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    table = proved_game(6, tags=lambda at: {"t": str(at), "x": str(at + 1)})
    for later in (-366, 0, 366):
        with monkeypatch.context() as patched:
            patched.setattr(time, "time", lambda: parse_time("2026-11-20T12:00:00Z") + 86400 * later)  # noqa: B023 # called within
            judged = table.judged()
        assert judged.audit.ok
        assert judged.audit.grades["bob"] is SeatGrade.CHECKED
