"""From whom a mail is, which letter it answers, and whether a program wrote it; what reports say."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from hashlib import sha256
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import UnreadableMailError
from hkoji.mail.addresses import Found, OwnAddress
from hkoji.mail.commands import OrderKind
from hkoji.mail.fields import LONGEST_FIELD, LONGEST_HEADER, LONGEST_MAIL
from hkoji.mail.mail import Automatic, read_mail
from hkoji.mail.message import Bounce, BounceClass
from tests.support.mail_shape import BOB, OUR_ID, OWN, TOKEN, Shape, head, made, multipart, part, plain, shapes

TOKENS = tuple(f"{letter}{TOKEN[1:]}" for letter in "abcdefg")


def test_the_fields_that_count() -> None:
    raw = plain(
        "2bc\n",
        "Delivered-To: first@x.example",
        "Delivered-To: second@x.example",
        "X-Original-To: Third@x.example",
        "Cc: Carol <carol@x.example>, (a comment) dave@x.example",
        "Subject: =?utf-8?B?w6ggYmVsbG8=?= =?iso-8859-1?q?_cos=EC?= =?x-odd?q?a?=",
        "References: <a@b> <c@d>\n <e@f>",
    )
    mail = read_mail(raw)
    header = mail.header
    assert header.sender == BOB
    assert header.message_id == "<5e1f0c@mail.example.org>"
    assert header.in_reply_to == OUR_ID
    assert header.last_reference == "<e@f>"
    assert header.to == (OWN.with_token(TOKEN),)
    assert header.cc == ("carol@x.example", "dave@x.example")
    assert header.subject == "è bello così=?x-odd?q?a?="
    assert header.delivered_to == "first@x.example"
    assert header.x_original_to == "third@x.example"
    assert (header.sender_fault, mail.fault, mail.automatic) == (None, None, ())


@given(st.permutations(range(6)), st.integers(1, 6))
def test_the_token_is_taken_from_the_first_place_that_has_one(order: list[int], count: int) -> None:
    filled = sorted(order[:count])
    a = [OWN.with_token(token) if n in filled else "x@y.example" for n, token in enumerate(TOKENS)]
    ids = [OWN.message_id("turn", 1, token) if n in filled else "<x@y.example>" for n, token in enumerate(TOKENS)]
    raw = plain(
        "2bc\n",
        f"X-Original-To: {a[2]}",
        f"Delivered-To: {a[1]}",
        f"In-Reply-To: {ids[3]}",
        f"References: <x@y.example> {ids[4]}",
        to=f"z@y.example, {a[5]}",
    )
    assert read_mail(raw).find_token(a[0], OWN) == Found(TOKENS[filled[0]])
    without = read_mail(raw).find_token(None, OWN)
    assert without == (Found(TOKENS[next(n for n in filled if n)]) if filled != [0] else None)


def test_other_ids_and_recipients_have_no_token() -> None:
    other = OwnAddress("play@other.example")
    raw = plain("2bc\n", f"References: {OUR_ID} <last@x.example>", "In-Reply-To: <x@y.example>", to="x@y.example")
    assert read_mail(raw).find_token("play@hkoji.example", OWN) is None
    raw = plain("2bc\n", f"Subject: {OUR_ID} {OWN.with_token(TOKEN)}", to="x@y.example", ids=False)
    assert read_mail(raw).find_token(None, OWN) is None
    assert read_mail(plain("2bc\n")).find_token(OWN.with_token(TOKEN), other) is None


def test_a_bounce_is_known_by_its_address() -> None:
    raw = plain("2bc\n", to="x@y.example", ids=False)
    assert read_mail(raw).find_token(OWN.bounce(TOKEN), OWN) == Found(TOKEN, bounce=True)
    plain_address = OwnAddress("club@x.example", "")
    answered = plain("2bc\n", f"In-Reply-To: {plain_address.message_id('turn', 3, TOKEN)}", to="club@x.example")
    assert read_mail(answered).find_token("club@x.example", plain_address) == Found(TOKEN)


def test_a_mail_is_known_by_its_message_id_whatever_that_is() -> None:
    def known(*ids: str, rest: str = "") -> str:
        lines = (each for each in head(f"X: y{rest}").splitlines() if not each.startswith("Message-ID"))
        return read_mail(made("\n".join((*(f"Message-ID: {each}" for each in ids), *lines)) + "\n", "2bc\n")).known_by()

    assert known("<a@b>") == "<a@b>" == known("<a@b>", rest="z")
    odd = ("a@b", "<a@b> (x)", "<a@b> (y)", "<a@b> <c@d>", "", "<a b@c>", "<é@b>")
    hashes = [known(each) for each in odd] + [
        known("<a@b>", "<c@d>"),
        known("<c@d>", "<a@b>"),
        known(),
        known(rest="z"),
    ]
    assert len(set(hashes)) == len(hashes)
    assert all(re.fullmatch("[0-9a-f]{64}", each) for each in hashes)
    assert [known(each, rest="z") for each in odd] == hashes[: len(odd)]
    raw = made(head().replace("Message-ID", "X-Old-ID"), "2bc\n")
    assert read_mail(b"Received: from a\r\n\tby b\r\n" + raw).known_by() == read_mail(raw).known_by()


def test_a_broken_header_still_says_which_letter_is_answered() -> None:
    for broken in (b"no field\r\n", b"X: " + b"a" * 9000 + b"\r\n", b"From: " + b"a" * 2000 + b"\r\n"):
        raw = broken + plain("2bc\n")
        mail = read_mail(raw)
        assert mail.fault
        assert mail.find_token(None, OWN) == Found(TOKEN)
        assert (mail.header.sender, mail.header.sender_fault) == (None, mail.fault)


SHAPES: Final = [
    shape
    for shape in shapes()
    if read_mail(shape.raw).fault is None and b"\r\r\n" not in shape.raw and not shape.raw.startswith(b"\xef\xbb\xbf")
]
"""Those that are read, but for those whose line ends or beginning are repaired before."""


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_of_a_mail_that_cannot_be_read_everything_but_its_sender_and_its_order_is_known(shape: Shape) -> None:
    good, broken = read_mail(shape.raw), read_mail(b"this is no field\r\n" + shape.raw)
    assert broken.fault
    assert broken.header == replace(good.header, sender=None, sender_fault=broken.fault)
    assert broken.fields == good.fields
    assert (broken.automatic, broken.zone, broken.envelope(OWN)) == (good.automatic, good.zone, good.envelope(OWN))
    assert broken.find_token(None, OWN) == good.find_token(None, OWN)
    assert (broken.bounce, broken.only_order(OrderKind.MOVE)) == (None, None)
    assert broken.known_by() == broken.known_by(1) == sha256(broken.raw).hexdigest()
    for read in (broken.parts, broken.order_lines, lambda: broken.order_lines(1)):
        with pytest.raises(UnreadableMailError, match=re.escape(str(broken.fault))):
            read()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_fields_are_those_that_stand_in_the_header(shape: Shape) -> None:
    header = shape.raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    lines = [line for line in re.split(rb"\n(?=[!-9;-~])", header) if re.match(rb"[!-9;-~]+[ \t]*:", line)]
    mail = read_mail(shape.raw)
    assert [field.written for field in mail.fields] == lines
    assert [(field.name.encode(), field.value) for field in mail.fields] == [
        (name.strip().lower(), value.replace(b"\n", b"").strip())
        for name, _, value in (line.partition(b":") for line in lines)
    ]


def test_no_more_than_the_limits_allow_is_read() -> None:
    limit = b"X: " + b"a" * (LONGEST_FIELD - 4) + b"\n"
    header = limit * (LONGEST_HEADER // len(limit))
    for top, last, read in ((header, b"X-Hkoji: turn\n", False), (limit, b"X-Hkoji: turn\n", True)):
        mail = read_mail(top + last + b"\n" + b"a" * LONGEST_MAIL)
        assert mail.fault
        assert mail.automatic == ((Automatic.X_HKOJI,) if read else ())
        assert sum(len(field.written) + 1 for field in mail.fields) <= LONGEST_HEADER
        assert mail.body == b""


@given(st.binary(max_size=300), st.sampled_from(SHAPES), st.integers(0, 2000))
def test_any_bytes_give_a_mail_that_has_a_sender_or_says_why_not(data: bytes, shape: Shape, place: int) -> None:
    mail = read_mail(shape.raw[:place] + data + shape.raw[place:])
    assert (mail.header.sender is None) is (mail.header.sender_fault is not None)
    assert mail.fault is None or (mail.header.sender_fault, mail.body) == (mail.fault, b"")
    assert mail == read_mail(mail.raw)


_NAMES = st.text(st.sampled_from("ab <>@,;:\"\\()[].'é=?"), max_size=12)


@given(_NAMES, _NAMES)
def test_no_display_name_makes_another_sender(before: str, after: str) -> None:
    raw = made(head(sender=f"{before}<eve@evil.example>{after}"), "2bc\n")
    try:
        sender = read_mail(raw).header.sender
    except UnreadableMailError:
        return
    assert sender in (None, "eve@evil.example")


@given(
    st.lists(st.sampled_from(["bob", "@", "evil", ".", "example", " ", ",", '"', "(x)", "é", "[", "=?", "bob@", "\t"]))
)
def test_no_name_that_could_be_another_address_is_passed_over(pieces: list[str]) -> None:
    """Other programs may take the name for the sender: then they would have checked another domain than this one."""
    name = "".join(pieces)
    sender = read_mail(plain("2bc\n", sender=f"{name} <bob@example.org>")).header.sender
    bare = re.sub(r'"[^"]*"', "q", name).replace("(x)", "").replace(" ", "").replace("\t", "")
    if re.search(r"[^,]@[^,]*\.[^,.]", bare):
        assert sender is None
    assert sender in (None, "bob@example.org")


@pytest.mark.parametrize("opened", ["(eve@evil.example", "(eve@evil.example\\)", "((eve) @evil.example", "(eve\\"])
def test_a_comment_that_is_not_closed_leaves_no_sender(opened: str) -> None:
    for sender in (f"bob@example.org {opened}", f"Bob <bob@example.org> {opened}", f"bob@example.org (x) {opened}"):
        assert read_mail(plain("2bc\n", sender=sender)).header.sender is None


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"\\'), max_size=30))
def test_every_quoted_name_leaves_the_address(name: str) -> None:
    assert read_mail(plain("2bc\n", sender=f'"{name}" <bob@example.org>')).header.sender == BOB


def _report(status: str, kind: str = "delivery-status", quoted: str = f"Message-ID:\n {OUR_ID}\n\nx\n") -> bytes:
    return multipart(
        "report",
        part("text/plain", "Sorry.\nStatus: 5.9.9\n"),
        part("message/delivery-status", f"Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; {BOB}\n{status}\n"),
        part("message/rfc822", quoted),
        more=f"; report-type={kind}",
    )


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("5.1.1", BounceClass.PERMANENT),
        ("5.1.10", BounceClass.PERMANENT),
        ("5.1.2", BounceClass.FAILED),
        ("5.2.2", BounceClass.FAILED),
        ("5.0.0", BounceClass.FAILED),
        ("5.7.1", BounceClass.POLICY),
        ("5.7.509", BounceClass.POLICY),
        ("4.4.7", BounceClass.DELAYED),
    ],
)
def test_reports_say_what_became_of_a_letter(status: str, kind: BounceClass) -> None:
    assert read_mail(_report(f"Status: {status}")).bounce == Bounce(kind, status, OUR_ID)
    assert read_mail(_report(f"status:\t{status} (gone)")).bounce == Bounce(kind, status, OUR_ID)


def test_of_several_recipients_a_failure_counts() -> None:
    for statuses in itertools.permutations(("4.4.9", "5.2.1", "2.0.0")):
        lines = "\n\nFinal-Recipient: rfc822; a@b\n".join(f"Status: {each}" for each in statuses)
        assert read_mail(_report(lines)).bounce == Bounce(BounceClass.FAILED, "5.2.1", OUR_ID)


def test_a_mail_that_is_no_bounce() -> None:
    for status in (
        "Status: 2.1.5",
        "Status: 5",
        "Status: 51.1.1",
        "Action: failed",
        "Status: 5.1.1.1",
        "X-Status: 5.1.1",
    ):
        assert read_mail(_report(status)).bounce is None
    assert read_mail(_report("Status: 5.1.1", kind="disposition-notification")).bounce is None
    assert read_mail(plain("Status: 5.1.1\n")).bounce is None


def test_a_report_may_quote_no_letter_or_another() -> None:
    bounce = read_mail(_report("Status: 5.1.1", quoted=f"Subject: x\n\nMessage-ID: {OUR_ID}\n")).bounce
    assert bounce is not None
    assert bounce.message_id is None
    bounce = read_mail(_report("Status: 5.1.1", quoted="Message-ID: <a@b>\n\nx\n")).bounce
    assert bounce is not None
    assert bounce.message_id == "<a@b>"
