"""A mail that comes in is dropped without a trace, noted as a bounce, or kept durably."""

from __future__ import annotations

import asyncio
import random
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hkoji_server.mail.receiving import Bounces, Received, Receiving, digest_of
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_tables import IncomingMail
from hkoji_server.store.mail_values import MOST_WAITING, ReplyToken

from hkoji.errors import StorageError
from hkoji.game.agreement import DAY
from hkoji.game.clock import Way
from hkoji.mail import fields as mail_fields
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.fields import split_fields
from hkoji.mail.mail import Mail, read_mail
from hkoji.mail.tokens import token_digest
from tests.support import mailboxes
from tests.support.leases import read_due
from tests.support.loops import run
from tests.support.mail_contract import with_mailbox
from tests.support.new_database import copy_new_database
from tests.support.rows import replace
from tests.support.stores import sqlite_at

OWN = OwnAddress("play@hkoji.example")
TOKEN = "7k2mq4ruapbd3xvn5tczshw6ef"
DIGEST = token_digest(TOKEN)
GAME = "ab" * 16
LATER = "2030-01-01T00:00:00Z"
TO = f"play+{TOKEN}@hkoji.example"
BOUNCES = f"play+b-{TOKEN}@hkoji.example"
BOB = "Bob@Example.org"
REPORTS = Path(__file__).parents[1] / "data" / "reports"


def a_mail(said: bytes = b"1e\r\n", /, **fields: str | None) -> bytes:
    """A mail of bob's; a field that is None is left out, and `_` stands for a hyphen."""
    given: dict[str, str | None] = {
        "From": f"Bob <{BOB}>",
        "To": TO,
        "Subject": "Re: hkoji 85c924c3",
        "Message_ID": "<1@example.org>",
        "Date": "Sun, 22 Nov 2026 10:00:00 +0000",
    }
    given.update(fields)
    header = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items() if value is not None)
    return header.encode() + b"\r\n" + said


def with_mailbox_and_token(store: Store) -> None:
    """A store with bob's mailbox and one token."""
    box = with_mailbox(store)
    run(mailboxes.keep_reply(store, ReplyToken(DIGEST, box.channel, "bob", GAME, "7", "turn", "", from_now(0))))


def from_now(seconds: int) -> str:
    """A time so many seconds from now."""
    return clock.strftime("%Y-%m-%dT%H:%M:%SZ", clock.gmtime(clock.time() + seconds))


class Office:
    """A store with bob's mailbox and one token, and what takes mails for it."""

    def __init__(self, store: Store, **changes: Any) -> None:
        self.store = store
        box, reply = run(store.mailbox_at("bob@example.org")), run(store.reply(DIGEST))
        assert box is not None
        assert reply is not None
        self.box, self.reply = box, reply
        self.counted: list[tuple[str, str]] = []
        self.handed: list[tuple[int, Mail]] = []
        sources = ClockAndEntropy()
        self.time = ServiceTime(store, sources, outage_after=180, way=Way.MAIL)
        self.receiving = Receiving(
            store,
            self.time,
            changes.get("own", OWN),
            Bounces(store, self.time),
            count=lambda via, result: self.counted.append((via, result.value)),
            hand_over=lambda number, mail: self.handed.append((number, mail)),
        )

    def take(self, raw: bytes, to: str = TO, null_sender: bool | None = False) -> Received:
        return run(self.receiving.receive(to, read_mail(raw), "lmtp", null_sender=null_sender))

    def rows(self) -> list[IncomingMail]:
        """All mails that are kept."""
        found: list[IncomingMail] = []
        while (mail := run(self.store.incoming(len(found) + 1))) is not None:
            found.append(mail)
        return found

    def paused(self) -> bool:
        """Whether bob's letters are paused."""
        box = run(self.store.mailbox(self.box.channel))
        assert box is not None
        return box.paused is not None


@contextmanager
def office_at(path: Path, **changes: Any) -> Iterator[Office]:
    """An office on a file, for the duration of a block."""
    copy_new_database(path, with_mailbox_and_token)
    with sqlite_at(path) as store:
        yield Office(store, **changes)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with office_at(tmp_path / "hkoji.sqlite3") as office:
        yield office


def test_a_mail_to_a_token_is_one_row_with_all_that_its_processing_needs(office: Office) -> None:
    raw = a_mail()
    before = clock.time()
    assert office.take(raw) is Received.KEPT
    (row,) = office.rows()
    assert (row.raw, row.via, row.name, row.channel, row.game) == (raw, "lmtp", "bob", office.box.channel, GAME)
    assert (row.reply, row.message_id, row.state, row.tries) == (office.reply.digest, "<1@example.org>", "new", 1)
    assert row.received >= clock.strftime("%Y-%m-%dT%H:%M:%SZ", clock.gmtime(before - 1))
    assert [(number, mail.raw) for number, mail in office.handed] == [(row.number, raw)]
    assert office.counted == [("lmtp", "kept")]
    assert office.take(raw) is Received.REPEATED
    assert len(office.handed) == 1


@pytest.mark.parametrize(
    ("fields", "to", "null", "result"),
    [
        ({}, TO, True, Received.NULL_SENDER),
        ({"Auto_Submitted": "auto-replied"}, TO, False, Received.AUTOMATIC),
        ({"Auto_Submitted": "auto-generated; x=no"}, TO, False, Received.AUTOMATIC),
        ({"Precedence": "bulk"}, TO, False, Received.AUTOMATIC),
        ({"Precedence": "Junk"}, TO, False, Received.AUTOMATIC),
        ({"Precedence": "list"}, TO, False, Received.AUTOMATIC),
        ({"Precedence": "auto_reply"}, TO, False, Received.AUTOMATIC),
        ({"List_Id": "<x.example>"}, TO, False, Received.AUTOMATIC),
        ({"X_Autoreply": "yes"}, TO, False, Received.AUTOMATIC),
        ({"X_Autorespond": "away"}, TO, False, Received.AUTOMATIC),
        ({"X_Hkoji": "turn"}, TO, False, Received.AUTOMATIC),
        ({"Content_Type": "multipart/report; boundary=x"}, TO, False, Received.AUTOMATIC),
        ({"From": "hkoji <play@hkoji.example>"}, TO, False, Received.OWN),
        ({"From": f"play+{TOKEN}@HKOJI.example"}, TO, False, Received.OWN),
        ({"From": "eve@example.org"}, "play+aaaaaaaaaaaaaaaaaaaaaaaaaa@hkoji.example", False, Received.NO_LETTER),
        ({"From": "eve@example.org", "To": "play@hkoji.example"}, "play@hkoji.example", False, Received.NO_LETTER),
        ({"From": "eve@example.org", "To": "play@hkoji.example"}, "play+x@hkoji.example", False, Received.NO_LETTER),
        ({}, BOUNCES, False, Received.NULL_SENDER),
        ({}, "play@else.example", False, Received.NOT_OURS),
        ({}, "player@hkoji.example", False, Received.NOT_OURS),
    ],
)
def test_a_dropped_mail_leaves_no_row_and_is_counted(
    office: Office, fields: dict[str, str], to: str, null: bool, result: Received
) -> None:
    said = b"I am away until Monday.\r\n" if result is Received.AUTOMATIC else b"1e\r\n"
    assert office.take(a_mail(said, **fields), to, null) is result
    assert office.rows() == []
    assert office.handed == []
    assert office.counted == [("lmtp", result.value)]
    assert result.taken == (result is not Received.NOT_OURS)


_BULK = {"Precedence": "bulk"}


@pytest.mark.parametrize("fields", [_BULK, {"List_Id": "<x.example>"}, {"X_Autoreply": "no"}, {"X_Autorespond": "a"}])
def test_an_order_that_a_program_seems_to_have_sent_is_kept_if_it_answers_a_letter(
    office: Office, fields: dict[str, str]
) -> None:
    unknown = "play+aaaaaaaaaaaaaaaaaaaaaaaaaa@hkoji.example"
    for dropped in ({"Auto_Submitted": "auto-replied"}, {"X_Hkoji": "turn"}, {"Content_Type": "multipart/report"}):
        assert office.take(a_mail(**{**fields, **dropped})) is Received.AUTOMATIC
    assert office.take(a_mail(To=unknown, **fields), unknown) is Received.AUTOMATIC
    assert office.take(a_mail(To="play@hkoji.example", **fields), "play@hkoji.example") is Received.AUTOMATIC
    assert office.take(a_mail(**{**fields, "From": "play@hkoji.example"})) is Received.AUTOMATIC
    assert office.take(a_mail(b"Hello\r\n", **fields)) is Received.AUTOMATIC
    assert office.rows() == []
    assert office.take(a_mail(**fields)) is Received.KEPT


@pytest.mark.parametrize("fields", [{"Auto_Submitted": "no"}, {"Precedence": "first-class"}, {"List_Unsubscribe": "x"}])
def test_a_mail_of_a_person_is_kept(office: Office, fields: dict[str, str]) -> None:
    assert office.take(a_mail(**fields)) is Received.KEPT


@pytest.mark.parametrize(
    "raw",
    [
        a_mail(From="Bob <bob@example.org>, eve@example.org"),
        a_mail(From="bob@good <eve@example.org>"),
        a_mail(Message_ID=None),
        a_mail(From=None),
        b"\x00\xff no header at all",
        b"",
        b"x" * (256 * 1024 + 1),
        a_mail(b"x" * 256 * 1024),
    ],
)
def test_an_unreadable_mail_to_a_token_is_kept_so_that_a_letter_can_say_why(office: Office, raw: bytes) -> None:
    assert office.take(raw) is Received.KEPT
    (row,) = office.rows()
    assert (row.name, row.reply) == ("bob", office.reply.digest)


def test_a_player_who_writes_to_the_bare_address_is_known_by_theirs(office: Office) -> None:
    assert office.take(a_mail(To="play@hkoji.example"), "play@hkoji.example") is Received.KEPT
    (row,) = office.rows()
    assert (row.name, row.game, row.reply) == ("bob", "", None)


def test_the_token_is_taken_from_the_envelope_then_from_the_id_that_is_answered(office: Office) -> None:
    ours = f"<turn.12.{TOKEN}@hkoji.example>"
    eve = {"From": "eve@example.org", "To": "play@hkoji.example"}
    for number, fields in enumerate(({"In_Reply_To": ours}, {"References": f"<a@b> {ours}"}, {"To": f"x@y, {TO}"}), 1):
        raw = a_mail(**{**eve, "Message_ID": f"<{number}@x>", **fields})
        assert office.take(raw, "play@hkoji.example") is Received.KEPT
        assert office.rows()[-1].reply == office.reply.digest
    for fields in ({"References": f"{ours} <a@b>"}, {"Subject": TO}):
        assert office.take(a_mail(**{**eve, **fields}), "play@hkoji.example") is Received.NO_LETTER


def test_the_same_mail_counts_once_whatever_is_written_on_top_of_it(office: Office) -> None:
    raw = a_mail()
    assert office.take(raw) is Received.KEPT
    again = (
        raw,
        b"Return-Path: <bob@example.org>\r\nDelivered-To: x\r\nReceived: by a\r\n\twith b;\r\n c\r\n" + raw,
        b"From bob@example.org Sun Nov 22 10:00:00 2026\n" + raw.replace(b"\r\n", b"\n"),
    )
    for each in again:
        assert office.take(each) is Received.REPEATED
    assert office.take(raw, TO.upper()) is Received.REPEATED
    assert office.take(raw + b"x") is Received.OTHER_BYTES
    assert len([row for row in office.rows() if row.state == "new"]) == 1


def test_of_an_odd_message_id_the_whole_field_counts(office: Office) -> None:
    for number, odd in enumerate(("1@x", "<1@x> (added)", "<1@x> (again)", "<1@x> <2@x>", None)):
        assert office.take(a_mail(Message_ID=odd)) is Received.KEPT
        assert office.take(b"Received: a\r\n" + a_mail(Message_ID=odd)) is Received.REPEATED
        other = Received.KEPT if odd is None else Received.OTHER_BYTES
        assert office.take(a_mail(b"1a\r\n", Message_ID=odd)) is other
        for row in office.rows():
            if row.state == "new":
                run(office.store.close_incoming(Closing(row.number)))
        assert len({row.message_id for row in office.rows() if not row.message_id.startswith("!")}) >= number + 1
    # Without one it counts once, whichever of our addresses it was sent to.
    assert office.take(a_mail(Message_ID=None), "play@hkoji.example") is Received.REPEATED


@pytest.mark.parametrize("broken", [b"no field\r\n", b"X-Long: " + b"a" * 9000 + b"\r\n"])
@pytest.mark.parametrize("place", ["To", "In_Reply_To"])
def test_a_mail_with_a_broken_header_is_kept_if_anything_in_it_names_the_letter(
    office: Office, broken: bytes, place: str
) -> None:
    fields = {"To": "play@hkoji.example", place: TO if place == "To" else f"<turn.12.{TOKEN}@hkoji.example>"}
    assert office.take(broken + a_mail(**fields), "play@hkoji.example") is Received.KEPT
    (row,) = office.rows()
    assert (row.reply, row.message_id) == (office.reply.digest, "")


def test_of_one_name_five_mails_wait_and_the_sixth_must_come_again(office: Office) -> None:
    for number in range(MOST_WAITING):
        assert office.take(a_mail(Message_ID=f"<{number}@x>")) is Received.KEPT
    sixth = a_mail(Message_ID="<6@x>")
    assert office.take(sixth) is Received.FULL
    assert not Received.FULL.taken
    assert len(office.rows()) == MOST_WAITING
    assert office.take(a_mail(Message_ID="<0@x>")) is Received.REPEATED  # that one is safe already
    run(office.store.close_incoming(Closing(1)))
    assert office.take(sixth) is Received.KEPT


def test_mails_without_a_token_keep_no_mail_of_the_player_waiting(office: Office) -> None:
    def strange(number: int) -> Received:
        return office.take(a_mail(To="play@hkoji.example", Message_ID=f"<strange.{number}@x>"), "play@hkoji.example")

    assert [strange(number) for number in range(8)] == [Received.KEPT] + [Received.STRANGER] * 7
    assert Received.STRANGER.taken
    assert [row.reply for row in office.rows()] == [None]
    for number in range(MOST_WAITING):
        assert office.take(a_mail(Message_ID=f"<{number}@x>")) is Received.KEPT
    assert office.take(a_mail(Message_ID="<6@x>")) is Received.FULL
    run(office.store.close_incoming(Closing(1)))
    assert strange(9) is Received.KEPT


def test_a_mail_without_a_token_that_has_the_id_of_an_earlier_one_is_dropped_and_makes_no_letter(
    office: Office,
) -> None:
    assert office.take(a_mail()) is Received.KEPT
    assert office.take(a_mail(b"other\r\n", To="play@hkoji.example"), "play@hkoji.example") is Received.STRANGER
    assert len(office.rows()) == 1
    letters = run(read_due(office.store, ("mail",), LATER))
    assert all(letter.event != "answer" for letter in letters)


@pytest.mark.parametrize("way", list(Way))
def test_after_an_outage_of_either_way_mail_comes_in(office: Office, way: Way) -> None:
    begun, ended = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
    run(office.store.beat(way, begun))
    run(office.store.close_gap(way, begun, ended))
    assert [each.way for each in run(office.store.outages())] == [way]
    assert office.take(a_mail()) is Received.KEPT
    assert len(office.handed) == 1


def test_a_mail_that_cannot_be_kept_is_an_error_and_no_row(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(office.store, "add_incoming", broken)
        with pytest.raises(StorageError):
            office.take(a_mail())
    assert office.rows() == []
    assert office.take(a_mail()) is Received.KEPT


@pytest.mark.parametrize("first", [TO, "play@hkoji.example"])
def test_a_mail_to_all_our_addresses_of_a_letter_is_one_mail(office: Office, first: str) -> None:
    second = "play@hkoji.example" if first == TO else TO
    assert office.take(a_mail(Cc="play@hkoji.example"), first) is Received.KEPT
    assert office.take(a_mail(Cc="play@hkoji.example"), second) is Received.REPEATED
    (row,) = office.rows()
    assert row.reply == office.reply.digest
    # Another mail with its Message-ID is still another.
    assert office.take(a_mail(b"1a\r\n"), second) is Received.OTHER_BYTES


# --- bounces ----------------------------------------------------------------------------------------------------------


def report(status: str, message_id: str = f"turn.12.{TOKEN}@hkoji.example", action: str = "failed") -> bytes:
    """A report as Postfix writes it."""
    return (
        b"From: MAILER-DAEMON@mx.example.org (Mail Delivery System)\r\nSubject: Undelivered Mail Returned to Sender\r\n"
        b"To: " + BOUNCES.encode() + b"\r\nAuto-Submitted: auto-replied\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/report; report-type=delivery-status;\r\n boundary="X/mx.example.org"\r\n'
        b"Message-Id: <2026@mx.example.org>\r\n\r\nThis is a MIME-encapsulated message.\r\n\r\n"
        b"--X/mx.example.org\r\nContent-Description: Notification\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\n"
        b"I'm sorry to have to inform you.\r\n\r\n"
        b"--X/mx.example.org\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example.org\r\n\r\n"
        b"Final-Recipient: rfc822; bob@example.org\r\nAction: " + action.encode() + b"\r\n"
        b"Status: " + status.encode() + b"\r\n\r\n--X/mx.example.org\r\nContent-Type: message/rfc822\r\n\r\n"
        b"Message-ID: <" + message_id.encode() + b">\r\nSubject: hkoji\r\n\r\nIt is your turn\r\n"
        b"\r\n--X/mx.example.org--\r\n"
    )


EXIM = (REPORTS / "exim.eml").read_bytes()
EXCHANGE = (REPORTS / "exchange.eml").read_bytes()
GMAIL = (REPORTS / "gmail.eml").read_bytes()


@pytest.mark.parametrize(
    "raw", [report("5.1.1"), report("5.1.10"), EXCHANGE, GMAIL], ids=["a", "b", "exchange", "gmail"]
)
def test_one_report_of_an_unknown_mailbox_pauses_its_letters(office: Office, raw: bytes) -> None:
    assert office.take(raw, BOUNCES, True) is Received.BOUNCE
    assert office.paused()
    assert office.rows() == []


EXIM_IN_WORDS = (REPORTS / "exim-in-words.eml").read_bytes()
MIXED = report("5.1.1").replace(b"multipart/report; report-type=delivery-status;", b"multipart/mixed;")
NO_TYPE = report("5.1.1").replace(b" report-type=delivery-status;", b"")


def complaint(kind: str = "abuse", message_id: str = f"turn.12.{TOKEN}@hkoji.example") -> bytes:
    """A report that the reader does not want a letter (RFC 5965)."""
    return (
        b"From: <feedback@provider.example>\r\nTo: <play@hkoji.example>\r\nSubject: FW: hkoji\r\nMIME-Version: 1.0\r\n"
        b"Message-ID: <arf@provider.example>\r\nContent-Type: multipart/report; report-type=feedback-report;\r\n"
        b' boundary="part"\r\n\r\n--part\r\nContent-Type: text/plain\r\n\r\nThis is an abuse report.\r\n\r\n'
        b"--part\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: "
        + kind.encode()
        + b"\r\nVersion: 1\r\n"
        b"User-Agent: x/1\r\n\r\n--part\r\nContent-Type: message/rfc822\r\n\r\nFrom: play@hkoji.example\r\n"
        b"Message-ID: <" + message_id.encode() + b">\r\n\r\nx\r\n\r\n--part--\r\n"
    )


@pytest.mark.parametrize("raw", [EXIM_IN_WORDS, MIXED, NO_TYPE], ids=["exim in words", "mixed", "no type"])
def test_a_report_of_another_form_pauses_letters_with_the_token_of_one_and_from_nobody(
    office: Office, raw: bytes
) -> None:
    other = BOUNCES.replace(TOKEN, "a" * 26)
    assert office.take(raw, other, True) is Received.NO_LETTER
    assert office.take(raw, BOUNCES, False) is Received.NULL_SENDER
    assert office.take(raw, "play@hkoji.example", True) is Received.NO_LETTER
    assert not office.paused()
    assert office.take(raw, BOUNCES, True) is Received.BOUNCE
    assert office.paused()


@pytest.mark.parametrize(("to", "null"), [("play@hkoji.example", False), (BOUNCES, True), (BOUNCES, False)])
def test_a_complaint_pauses_letters_if_it_has_the_token_of_one(office: Office, to: str, *, null: bool) -> None:
    assert office.take(complaint("not-spam"), "play@hkoji.example", False) is not Received.BOUNCE
    stranger = complaint(message_id=f"turn.12.{'a' * 26}@hkoji.example")
    assert office.take(stranger, "play@hkoji.example", False) is Received.NO_LETTER
    assert not office.paused()
    assert office.take(complaint(), to, null) is Received.BOUNCE
    assert office.paused()
    assert office.rows() == []


def test_three_other_failures_in_a_week_pause_letters_and_the_same_report_counts_once(office: Office) -> None:
    first = EXIM
    for _ in range(3):
        assert office.take(first, BOUNCES, True) is Received.BOUNCE
    assert not office.paused()
    assert office.take(report("5.2.2"), BOUNCES, True) is Received.BOUNCE
    assert not office.paused()
    assert office.take(report("5.4.4"), BOUNCES, True) is Received.BOUNCE
    assert office.paused()


@pytest.mark.parametrize("status", ["5.7.1", "5.7.26", "4.2.2", "4.4.7"])
def test_a_report_about_us_or_only_of_a_delay_pauses_nothing(office: Office, status: str) -> None:
    for number in range(5):
        office.take(report(status, f"turn.{number}.{TOKEN}@hkoji.example"), BOUNCES, True)
    assert not office.paused()
    assert office.rows() == []


@pytest.mark.parametrize(
    ("to", "null", "result"),
    [
        (BOUNCES, False, Received.NULL_SENDER),
        (TO, True, Received.NO_LETTER),
        ("play@hkoji.example", True, Received.NO_LETTER),
    ],
    ids=["a sender", "the address for answers", "an id that it quotes"],
)
def test_a_report_that_is_no_bounce_of_a_letter_pauses_nothing(
    office: Office, to: str, null: bool, result: Received
) -> None:
    assert office.take(report("5.1.1"), to, null) is result
    assert not office.paused()
    assert office.rows() == []
    assert office.take(report("5.1.1"), BOUNCES, True) is Received.BOUNCE
    assert office.paused()


@pytest.mark.parametrize("delimiter", ["+", ""])
@pytest.mark.parametrize("kind", ["report", "complaint"])
def test_a_report_about_an_old_letter_pauses_nothing(tmp_path: Path, kind: str, delimiter: str) -> None:
    """Its address may have come into other hands; if the same token goes out again, the report counts."""
    with office_at(tmp_path / "hkoji.sqlite3", own=OwnAddress("play@hkoji.example", delimiter)) as office:
        old = "b" * 26
        quoted = f"turn.12.{old}@hkoji.example"
        raw = report("5.1.1", quoted) if kind == "report" else complaint(message_id=quoted)
        to = f"play+b-{old}@hkoji.example" if delimiter else "play@hkoji.example"
        token = replace(office.reply, digest=token_digest(old))
        run(mailboxes.keep_reply(office.store, replace(token, made=from_now(-7 * DAY - 60))))
        assert office.take(raw, to, True) is Received.OLD_LETTER
        assert not office.paused()
        assert office.rows() == []
        run(mailboxes.keep_reply(office.store, replace(token, made=from_now(-7 * DAY + 60))))
        assert office.take(raw, to, True) is Received.BOUNCE
        assert office.paused()


def test_without_a_delimiter_a_report_is_known_by_the_id_that_it_quotes(tmp_path: Path) -> None:
    with office_at(tmp_path / "hkoji.sqlite3", own=OwnAddress("play@hkoji.example", "")) as office:
        assert office.take(report("5.1.1", "turn.1.x@else.example"), "play@hkoji.example", True) is Received.NO_LETTER
        assert office.take(report("5.1.1", f"turn.1.{TOKEN}@else.example"), "play@hkoji.example", True) is (
            Received.NO_LETTER
        )
        assert not office.paused()
        assert office.take(report("5.1.1"), "play@hkoji.example", True) is Received.BOUNCE
        assert office.paused()


def test_a_report_with_a_sender_or_about_an_unknown_letter_changes_nothing(office: Office) -> None:
    unknown = "play+b-aaaaaaaaaaaaaaaaaaaaaaaaaa@hkoji.example"
    assert office.take(report("5.1.1"), unknown, True) is Received.NO_LETTER
    assert office.take(report("5.1.1"), TO, False) is Received.AUTOMATIC
    assert office.take(report("2.0.0", action="delivered"), BOUNCES, True) is Received.NULL_SENDER
    assert not office.paused()


# --- mails of the service to itself -----------------------------------------------------------------------------------

OTHER_TOKEN = "aaaaaaaaaaaaaaaaaaaaaaaaaa"
TO_ITSELF = f"play+{OTHER_TOKEN}@hkoji.example"
FROM_ITSELF = {"From": "hkoji <play@hkoji.example>", "To": TO_ITSELF, "X_Hkoji": "probe", "List_Id": "hkoji <hkoji.x>"}


def test_a_mail_of_the_service_to_itself_is_kept_for_the_operator_while_it_is_waited_for(office: Office) -> None:
    raw, digest = a_mail(**FROM_ITSELF), token_digest(OTHER_TOKEN)
    assert office.take(raw, TO_ITSELF) is Received.AUTOMATIC
    run(office.store.add_probe(digest, "2026-03-01T00:00:00Z"))
    assert office.take(a_mail(From="eve@example.org", To=TO_ITSELF), TO_ITSELF) is Received.NO_LETTER
    assert office.take(a_mail(**{**FROM_ITSELF, "To": TO}), TO) is Received.AUTOMATIC
    assert run(office.store.probe(digest)) is None
    # The delimiter is lost: only the field To has the token.
    assert office.take(raw, "play@hkoji.example") is Received.PROBE
    assert office.take(a_mail(b"later\r\n", **FROM_ITSELF), TO_ITSELF) is Received.PROBE
    assert run(office.store.probe(digest)) == ("play@hkoji.example", raw)
    assert office.rows() == []
    run(office.store.remove_probes([digest]))
    assert office.take(raw, TO_ITSELF) is Received.AUTOMATIC
    assert run(office.store.probe(digest)) is None


def test_a_report_about_a_mail_to_itself_is_kept_for_the_operator_and_pauses_nothing(office: Office) -> None:
    raw, to = report("5.1.1", f"probe.0.{OTHER_TOKEN}@hkoji.example"), f"play+b-{OTHER_TOKEN}@hkoji.example"
    assert office.take(raw, to, True) is Received.NO_LETTER
    run(office.store.add_probe(token_digest(OTHER_TOKEN), "2026-03-01T00:00:00Z"))
    assert office.take(raw, to, True) is Received.PROBE
    assert run(office.store.probe(token_digest(OTHER_TOKEN))) == (to, raw)
    assert not office.paused()


# --- bombs ------------------------------------------------------------------------------------------------------------


LONG = 256 * 1024
SECONDS = 0.25
"""The longest that one mail may take, in time of the processor."""


def seconds_for(work: Callable[[], object]) -> float:
    """Returns how long some work takes the processor, the shortest of three times, or the first that is short enough.

    One time alone can be long because of what else the machine does.
    """
    took: list[float] = []
    while len(took) < 3 and min(took, default=SECONDS) >= SECONDS:
        began = clock.process_time()
        work()
        took.append(clock.process_time() - began)
    return min(took)


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"Received: x\r\n" * (LONG // 13),
        lambda: b"received:" + b"\r\n " * (LONG // 3),
        lambda: b"Received:" + b"\r" * LONG,
        lambda: b"Return-Path:" * (LONG // 12),
        lambda: b"From: " + b"," * (LONG - 20) + b"\r\n\r\n",
        lambda: b"To: " + b"a@b," * (LONG // 4) + b"\r\n\r\n",
        lambda: b"References: " + b"<a@b> " * (LONG // 6) + b"\r\n\r\n",
        lambda: (
            b'Content-Type: multipart/report; report-type=delivery-status; boundary="x"\r\n\r\n' + b"--x\r\n" * 50_000
        ),
        lambda: random.Random(7).randbytes(LONG),
    ],
)
@pytest.mark.parametrize("null", [True, False])
def test_no_mail_takes_long(office: Office, make: Callable[[], bytes], null: bool) -> None:
    raw = make()[:LONG]
    office.take(a_mail(Message_ID="<warm@up>"))
    assert seconds_for(lambda: office.take(raw, BOUNCES if null else TO, null)) < SECONDS


@pytest.mark.parametrize(
    ("fields", "to", "null"),
    [
        ({}, TO, False),
        ({}, "play@hkoji.example", False),
        ({}, BOUNCES, True),
        ({"Precedence": "bulk"}, TO, False),
        ({"Content_Type": 'multipart/report; boundary="x"'}, TO, None),
    ],
    ids=["token", "no token", "bounce", "list", "report"],
)
def test_a_header_is_read_once(
    office: Office, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], to: str, null: bool | None
) -> None:
    raw = a_mail(**fields)
    header = raw.partition(b"\r\n\r\n")[0].replace(b"\r\n", b"\n")
    read: list[bytes] = []

    def counted(each: bytes) -> list[bytes]:
        read.append(each)
        return split_fields(each)

    monkeypatch.setattr(mail_fields, "split_fields", counted)  # each header that becomes fields is split there
    office.take(raw, to, null)
    assert read.count(header) == 1


def test_the_digest_depends_on_recipient_and_content_alone() -> None:
    raw = a_mail()
    assert digest_of(TO, raw) == digest_of(TO.upper(), b"Delivered-To: y\r\n" + raw)
    different = {
        digest_of(TO, raw),
        digest_of(BOUNCES, raw),
        digest_of(TO, raw + b"\r\n"),
        digest_of(TO, b"X-Other: y\r\n" + raw),
        digest_of(TO, raw.replace(b"1e", b"1d")),
    }
    assert len(different) == 5


def test_the_same_mail_that_is_taken_eight_times_at_once_is_kept_once(office: Office) -> None:
    async def all_at_once() -> list[Received]:
        work = [office.receiving.receive(TO, read_mail(a_mail()), "lmtp", null_sender=False) for _ in range(8)]
        return sorted(await asyncio.gather(*work))

    assert run(all_at_once()) == [Received.KEPT, *[Received.REPEATED] * 7]
    assert len(office.rows()) == 1
