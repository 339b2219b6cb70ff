"""Which DKIM signatures count: each rule by mails that break it alone, signed by a provider of the tests' own."""

from __future__ import annotations

import sys
import time
from base64 import b64encode
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import dkim
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import UnreadableMailError, UsageError
from hkoji.game.agreement import DAY
from hkoji.game.clock import add_seconds
from hkoji.mail.dkim_rules import READ_ONCE, DkimVerdict, judge_dkim, key_names, signed_id
from hkoji.mail.dns_answers import DnsAnswers, decode_answers, encode_answers
from hkoji.mail.mail import read_mail
from tests.support.mail.signing import GMAIL, StrangeRsa, ed25519_key, record_of, rsa_key, seconds_of, sign, strange_rsa

TOKEN = "7k2mq4ruapbd3xvn5tczshw6ef"
OTHER = "a" * 26
T = "2026-11-22T08:00:00Z"
NAME = "s1._domainkey.example.org"
RECORD = record_of(rsa_key())
DNS = {NAME: (RECORD,)}
FIELDS = (
    'From: "Bob" <bob@example.org>',
    f"To: hkoji <play+{TOKEN}@hkoji.example>",
    "Subject: Re: hkoji",
    "Date: Sun, 22 Nov 2026 08:00:00 +0000",
    "Message-ID: <1@example.org>",
    f"In-Reply-To: <turn.7.{TOKEN}@hkoji.example>",
    "MIME-Version: 1.0",
)
TEXT = ("2bc", "", "On Sun, hkoji wrote:", ">  It is  your turn ", "")


def mail(*lines: str, fields: tuple[str, ...] = FIELDS, **changed: Any) -> bytes:  # Any: a text or None
    """A mail with these fields, of which some are another or missing."""
    kept = []
    for each in fields:
        name = each.partition(":")[0].lower().replace("-", "_")
        if name not in changed:
            kept.append(each)
        elif changed[name] is not None:
            kept.append(f"{each.partition(':')[0]}: {changed[name]}")
    return "\r\n".join([*kept, "", *(lines or TEXT)]).encode()


def judge(raw: bytes, answers: DnsAnswers = DNS, at: str | None = T) -> DkimVerdict:
    return judge_dkim(read_mail(raw), answers, at=at, token=TOKEN)


def tagged(**tags: str | None) -> bytes:
    return sign(mail(), tags=tags)


OF_CHILD = mail().replace(b"bob@example.org", b"bob@mail.example.org")


# --- what counts ------------------------------------------------------------------------------------------------------


def test_a_signature_of_the_domain_counts_for_its_token_alone() -> None:
    raw = sign(mail())
    assert key_names(read_mail(raw)) == (NAME,)
    assert judge(raw) == DkimVerdict(holds=True, domain="example.org")
    assert judge_dkim(read_mail(raw), DNS, at=T, token=TOKEN.upper()).holds
    assert not judge_dkim(read_mail(raw), DNS, at=T, token=OTHER).holds
    assert judge_dkim(read_mail(raw), DNS, at=T, token=None).holds
    assert not judge(mail()).holds


def test_a_signature_by_the_library_counts_too() -> None:
    pem = rsa_key().private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    raw = mail("2bc  ", "", " two  words ", "", "")
    for headers in (b"relaxed", b"simple"):
        for body in (b"relaxed", b"simple"):
            field = dkim.sign(raw, b"s1", b"example.org", pem, canonicalize=(headers, body))
            assert judge(field + raw, at=None).holds
            changed = field + raw.replace(b"2bc", b"2ab")
            assert not judge(changed, at=None).holds


def test_a_signature_by_ed25519_counts() -> None:
    assert judge(sign(mail(), key=ed25519_key()), {NAME: (record_of(ed25519_key()),)}).holds
    # A key of one kind verifies no signature of the other.
    assert not judge(sign(mail(), key=ed25519_key())).holds
    assert not judge(sign(mail(), tags={"a": "ed25519-sha256"})).holds


def test_a_parent_of_the_domain_of_from_may_sign() -> None:
    assert judge(sign(OF_CHILD)).holds


def test_a_signature_may_begin_on_its_second_line() -> None:
    raw = sign(mail())
    assert judge(raw.replace(b"DKIM-Signature: v=1", b"DKIM-Signature:\r\n v=1")).holds
    assert judge(raw.replace(b"DKIM-Signature: v=1", b"dkim-signature: \r\n\tv=1")).holds
    assert judge(raw.replace(b"DKIM-Signature: v=1", b"DKIM-Signature:v=1")).holds


def test_line_ends_and_trace_fields_change_nothing() -> None:
    raw = sign(mail())
    assert judge(raw.replace(b"\r\n", b"\n")).holds
    assert judge(b"From bob@example.org Sun Nov 22\r\n" + raw).holds
    assert judge(b"Received: from a by b\r\nDelivered-To: x@y\r\nReceived: from c by d\r\n" + raw).holds


def test_time_is_t_and_never_the_present() -> None:
    made = seconds_of(T)
    raw = tagged(t=str(made), x=str(made + 60))
    with patch("time.time", return_value=made + 10 * 365 * DAY):
        assert judge(raw).holds
    assert judge(raw, at=add_seconds(T, 60)).holds
    assert not judge(raw, at=add_seconds(T, 61)).holds
    assert judge(raw, at=None).holds
    with patch("time.time", return_value=0):
        assert judge(raw).holds


@pytest.mark.parametrize(("off", "holds"), [(3600, True), (3601, False), (-30 * DAY, True), (-30 * DAY - 1, False)])
def test_a_signature_is_made_at_most_an_hour_after_and_30_days_before_t(off: int, holds: bool) -> None:
    raw = tagged(t=str(seconds_of(T) + off))
    assert judge(raw).holds is holds
    assert judge(raw, at=None).holds


# --- what does not ----------------------------------------------------------------------------------------------------


MIXED = b"Content-Type: multipart/mixed; boundary="
BROKEN: dict[str, Callable[[], bytes]] = {
    "another body": lambda: sign(mail()).replace(b"2bc", b"2ab"),
    "another subject": lambda: sign(mail()).replace(b"Re: hkoji", b"Re: stop"),
    "text behind l=": lambda: tagged(l="5") + b"resign\r\n",
    "l= at all": lambda: tagged(l="60"),
    "rsa-sha1": lambda: tagged(a="rsa-sha1"),
    "foreign d=": lambda: sign(mail(), domain="example.com"),
    "child domain": lambda: sign(mail(), domain="mail.example.org"),
    "domain that ends alike": lambda: sign(mail().replace(b"bob@example.org", b"bob@badexample.org")),
    "d= with a full stop": lambda: sign(mail(), domain="example.org."),
    "v=2": lambda: tagged(v="2"),
    "q= not DNS": lambda: tagged(q="https"),
    "unknown c=": lambda: tagged(c="relaxed/none"),
    "i= of another domain": lambda: tagged(i="bob@example.com"),
    "x= before t=": lambda: tagged(t=str(seconds_of(T)), x=str(seconds_of(T) - 1)),
    "t= no number": lambda: tagged(t="now"),
    "a tag twice": lambda: tagged(q="dns/txt; q=dns/txt"),
    "no bh=": lambda: tagged(bh=None),
    "empty h=": lambda: sign(mail(), names=("",)),
    "101 names": lambda: sign(mail(), names=GMAIL + ("x",) * (101 - len(GMAIL))),
    "a blank line within": lambda: sign(mail()).replace(b";\r\n s=", b";\r\n \r\n s="),
    "two From": lambda: b"From: eve@evil.example\r\n" + sign(mail()),
    "no header": lambda: b"\r\n" + sign(mail()),
    "no field": lambda: b"no field\r\n" + sign(mail()),
    "501 fields": lambda: b"X: y\r\n" * 493 + sign(mail()),
    "HTML, not signed": lambda: b"Content-Type: text/html\r\n" + sign(mail()),
    "another boundary": lambda: MIXED + b"b\r\n" + sign(mail("--a", "", "2bc", "--b", "", "2ab", "--b--")),
    "two boundaries": lambda: MIXED + b"a; boundary=b\r\n" + sign(mail("--a", "", "2bc", "--a--")),
    "message, not signed": lambda: b"Content-Type: message/rfc822\r\n" + sign(mail()),
    "replayed to another token": lambda: sign(mail(to=f"play+{OTHER}@hkoji.example")),
    "token in In-Reply-To behind another in To": lambda: sign(mail(to=f"x@y.example, play+{OTHER}@hkoji.example")),
    "token not signed": lambda: sign(mail(), names=("from", "subject", "date")),
    "token in the subject": lambda: sign(mail(to="play@hkoji.example", in_reply_to=None, subject=f"{TOKEN}@x")),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_signature_does_not_count(case: str) -> None:
    raw = BROKEN[case]()
    assert judge(raw).holds is False
    assert judge(raw).reason is not None
    # It is not for DNS that it does not.
    assert not judge(raw, {**DNS, **dict.fromkeys(key_names(read_mail(raw)), (RECORD,))}).holds


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.replace(b"\r\n", b"\r\r\n"),
        lambda raw: raw.replace(b"Subject:", b"Subject :"),
        lambda raw: raw.replace(b"Subject:", b">From bob@example.org Wed Nov 25\r\nSubject:"),
    ],
    ids=["byte order mark", "line ends", "space", "mbox line"],
)
def test_a_mail_that_is_repaired_to_be_read_has_no_signature(damage: Callable[[bytes], bytes]) -> None:
    raw = sign(mail(*TEXT))
    read = read_mail(damage(raw))
    assert (read.fault, read.header) == (None, read_mail(raw).header)
    assert key_names(read) == ()
    assert judge(damage(raw)).reason == "its header has a line that is no field"


@pytest.mark.parametrize("name", READ_ONCE)
def test_a_field_that_is_read_stands_in_a_mail_once(name: str) -> None:
    raw = mail(*TEXT)
    twice = sign(raw, names=(*GMAIL, "cc", "content-type"))
    second = f"{name}: {'text/plain' if name == 'content-type' else 'bob@example.org'}\r\n".encode()
    for above in (second * 2, second + second.upper()):
        assert not judge(above + twice).holds


@pytest.mark.parametrize("name", ["from", "subject", "date"])
def test_from_subject_and_date_are_signed(name: str) -> None:
    raw = sign(mail(), names=[each for each in GMAIL if each != name])
    assert key_names(read_mail(raw)) == ()
    assert not judge(raw).holds


@pytest.mark.parametrize(
    "fields",
    [
        {"to": f"Bob <x@y.example>, play+{TOKEN}@hkoji.example"},
        {"to": "play@hkoji.example"},
        {"to": "play@hkoji.example", "in_reply_to": None, "references": f"<a@b> <turn.7.{TOKEN}@hkoji.example>"},
        {"to": f"play-{TOKEN}@hkoji.example"},
    ],
)
def test_the_token_stands_in_the_first_signed_field_that_has_one(fields: dict[str, str | None]) -> None:
    all_fields = (*FIELDS, "References: <x@y>")
    assert judge(sign(mail(fields=all_fields, **fields))).holds


def test_the_last_id_in_references_counts() -> None:
    fields = (*FIELDS, f"References: <turn.1.{TOKEN}@h.example> <turn.2.{OTHER}@h.example>")
    assert not judge(sign(mail(fields=fields, to="play@hkoji.example", in_reply_to=None))).holds


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("text/plain; charset=iso-8859-1", TEXT),
        ('multipart/alternative; boundary="b"', ("", "--b", "", "2bc", "--b--", "")),
        ('multipart/alternative; boundary="b"', ("a preamble", "--b  ", "", "2bc", "--b--", "")),
    ],
)
def test_a_content_type_that_is_not_signed_may_be_text_or_the_multipart_that_it_is(
    kind: str, lines: tuple[str, ...]
) -> None:
    assert judge(f"Content-Type: {kind}\r\n".encode() + sign(mail(*lines))).holds


def test_a_content_type_that_is_signed_may_be_anything() -> None:
    fields = (*FIELDS, "Content-Type: text/html")
    assert judge(sign(mail(fields=fields), names=(*GMAIL, "content-type"))).holds


@pytest.mark.parametrize(
    "record",
    [
        record_of(rsa_key(), "t=y; "),
        record_of(rsa_key(), "t=s:y; "),
        record_of(rsa_key(), "h=sha1; "),
        record_of(rsa_key(), "s=tlsrpt; "),
        record_of(rsa_key(), "k=rsa; "),
        record_of(rsa_key(2048)),
        b"v=DKIM1; k=rsa; p=",
        b"v=DKIM1; k=rsa",
        b"k=rsa; v=DKIM1; " + RECORD.partition(b"k=rsa; ")[2],
        b"v=DKIM2; " + RECORD.partition(b"; ")[2],
        RECORD + b"; n=" + b"x" * 4096,
        b"",
        b"\xff\x00",
        b"v=DKIM1; p=" + b"A" * 200,
    ],
)
def test_a_record_does_not_count(record: bytes) -> None:
    assert not judge(sign(mail()), {NAME: (record,)}).holds


@pytest.mark.parametrize(
    "record",
    [
        record_of(rsa_key(), "t=s; "),
        record_of(rsa_key(), "h=sha1:sha256; s=email; n=a note; "),
        RECORD.partition(b"; ")[2],
        RECORD.replace(b"p=", b"p=\n "),
        RECORD + b";",
    ],
)
def test_a_record_counts(record: bytes) -> None:
    assert judge(sign(mail()), {NAME: (record,)}).holds


def test_a_domain_that_says_s_signs_for_itself_only() -> None:
    raw = sign(mail(), tags={"i": "bob@mail.example.org"})
    assert judge(raw).holds
    assert not judge(raw, {NAME: (record_of(rsa_key(), "t=s; "),)}).holds


def test_a_name_has_one_record() -> None:
    raw = sign(mail())
    assert not judge(raw, {}).holds
    assert not judge(raw, {NAME: ()}).holds
    assert not judge(raw, {NAME: (RECORD, b"v=spf1")}).holds


def test_an_rsa_key_has_enough_bits_and_not_too_many() -> None:
    for bits, e, holds in (
        (1023, 65537, False),
        (1024, 65537, True),
        (1024, 1, False),
        (1024, 2**32 - 1, True),
        (1024, 2**32 + 1, False),
        (4096, 65537, True),
        (4097, 65537, False),
    ):
        key = strange_rsa(bits, e)
        assert key.n.bit_length() == bits
        assert judge(sign(mail(), key=key), {NAME: (record_of(key),)}).holds is holds, (bits, e)


def test_three_signatures_are_tried_and_foreign_ones_are_not_among_them() -> None:
    good = sign(mail())
    foreign = sign(mail(), domain="lists.example").partition(b"\r\nFrom:")[0] + b"\r\n"
    assert key_names(read_mail(foreign * 5 + good)) == (NAME,)
    assert judge(foreign * 5 + good).holds
    names = [f"b{number}._domainkey.example.org" for number in range(4)]
    bad = [sign(mail(), selector=f"b{number}").partition(b"\r\nFrom:")[0] + b"\r\n" for number in range(4)]
    assert judge(b"".join(bad[:2]) + good).holds
    assert key_names(read_mail(b"".join(bad[:2]) + good)) == (*names[:2], NAME)
    assert not judge(b"".join(bad[:3]) + good).holds
    assert key_names(read_mail(b"".join(bad) + good)) == tuple(names[:3])


# --- what takes long -------------------------------------------------------------------------------------------------

_LONG = 250_000
BOMBS: dict[str, Callable[[], tuple[bytes, bytes]]] = {
    "spaces": lambda: (sign(mail(" " * _LONG + "x")), RECORD),
    "spaces in lines": lambda: (sign(mail(*[" " * 990 + "x"] * 250)), RECORD),
    "tabs and spaces": lambda: (sign(mail(" \t" * (_LONG // 2) + "x")), RECORD),
    "empty lines": lambda: (sign(mail(*[""] * (_LONG // 2))), RECORD),
    "a line like a boundary": lambda: (MIXED + b"x\r\n" + sign(mail("--" + "a " * (_LONG // 2) + "b")), RECORD),
    "lines like boundaries": lambda: (MIXED + b"x\r\n" + sign(mail(*["--"] * (_LONG // 4))), RECORD),
    "fields and names": lambda: (
        b"".join(b"X-%d: y\r\n" % each for each in range(490))
        + sign(mail(), names=(*GMAIL, *(f"x-{n}" for n in range(92)))),
        RECORD,
    ),
    "a folded field": lambda: (sign(mail(subject="a" + "\r\n b" * 1600)), RECORD),
    "a signature of spaces": lambda: (sign(mail(), tags={"q": "dns/txt" + " " * 7000}), RECORD),
    "a signature of spaces behind b": lambda: (sign(mail(), tags={"z": " b" * 3500}), RECORD),
    "a signature of folds": lambda: (sign(mail(), tags={"z": "b\r\n " * 1500}), RECORD),
    "tags": lambda: (sign(mail(), tags={f"z{n}": "" for n in range(1000)}), RECORD),
    "three signatures": lambda: (
        sign(sign(sign(mail(" x" * (_LONG // 2))), selector="s2"), selector="s3", tags={"bh": "AAAA"}),
        RECORD,
    ),
    "a token in To": lambda: (sign(mail(to=f"{'a' * 26}@b, " * 270)), RECORD),
    "an exponent": lambda: (sign(mail()), record_of(StrangeRsa(2**4096 - 1, 2**4000 + 1, 1))),
    "a modulus": lambda: (sign(mail()), record_of(StrangeRsa(2**16000 - 1, 65537, 1))),
    "a length": lambda: (sign(mail()), b"v=DKIM1; p=" + b64encode(b"\x30\xff" + b"\xff" * 127 + b"\x02\xfe" * 1000)),
    "a record of tags": lambda: (sign(mail()), b";".join(b"a%d=" % n for n in range(800))),
}


@pytest.mark.parametrize("case", BOMBS)
def test_no_mail_and_no_answer_takes_long(case: str) -> None:
    raw, record = BOMBS[case]()
    started = time.process_time()
    judge(raw, dict.fromkeys(key_names(read_mail(raw)), (record,)))
    assert time.process_time() - started < 0.25


# --- laws -------------------------------------------------------------------------------------------------------------

NAMES = st.from_regex(r"[a-z0-9_-]{1,8}(\.[a-z]{1,5}){0,3}", fullmatch=True)
ANSWERS = st.dictionaries(NAMES, st.lists(st.binary(max_size=40), min_size=1, max_size=3).map(tuple), max_size=4)


@given(ANSWERS)
def test_answers_are_read_back_whatever_is_in_them(answers: dict[str, tuple[bytes, ...]]) -> None:
    data = encode_answers(answers)
    assert {name: sorted(records) for name, records in decode_answers(data).items()} == {
        name: sorted(records) for name, records in answers.items()
    }
    assert encode_answers(decode_answers(data)) == data
    assert data.count(b"\n") == sum(map(len, answers.values()))


@pytest.mark.parametrize(
    "data",
    [b"a", b"a\t\nb", b"b\tAA==\na\tAA==\n", b"a\tAA\n", b"a\tAB==\n", b"a AA==\n", b"a\tAA==\r\n", b"\n", b"\xff\t\n"],
)
def test_answers_have_one_form(data: bytes) -> None:
    with pytest.raises(UnreadableMailError):
        decode_answers(data)


@given(st.data())
def test_no_byte_of_what_is_signed_can_be_changed(data: st.DataObject) -> None:
    """After any change the verdict is that of the same order for the same token, or that nothing holds."""
    raw = sign(mail())
    place = data.draw(st.integers(0, len(raw) - 1))
    byte = data.draw(st.integers(0, 255))
    changed = raw[:place] + bytes([byte]) + raw[place + 1 :]
    verdict = judge(changed)
    assert verdict == judge(changed)
    if verdict.holds:
        assert b" ".join(changed.lower().split()) == b" ".join(raw.lower().split())


EDITS = st.tuples(
    st.integers(0, 2000), st.sampled_from([b" ", b"\t ", b"\r\n", b"\r\n ", b"\n", b"X: y\r\n", b"Message-ID: "])
)


@given(st.lists(EDITS, max_size=4))
def test_a_signature_that_still_holds_after_a_change_is_known_by_the_same(edits: list[tuple[int, bytes]]) -> None:
    raw = sign(mail(), names=[name for name in GMAIL if name != "message-id"])
    changed = raw.replace(b"Message-ID: <1@", b"Message-ID: <2@")
    assert judge(changed).holds
    for anywhere, text in edits:
        place = anywhere % (len(changed) + 1)
        changed = changed[:place] + text + changed[place:]
    if judge(changed).holds:
        assert signed_id(read_mail(changed), TOKEN.upper()) == signed_id(read_mail(raw), TOKEN)


def test_other_words_another_date_and_another_token_are_another_mail() -> None:
    others = (mail("2bc "), mail("2bd"), mail("2bc", date="Sun, 22 Nov 2026 08:00:01 +0000"), mail("2bc", date=None))
    known = [signed_id(read_mail(each), TOKEN) for each in (mail("2bc"), *others)]
    assert known[0] == known[1]
    assert len({*known, signed_id(read_mail(mail("2bc")), OTHER)}) == 5


@given(st.binary(max_size=300), st.binary(max_size=120))
def test_no_mail_and_no_answer_raises(raw: bytes, record: bytes) -> None:
    judge(raw, dict.fromkeys(key_names(read_mail(raw)), (record,)))
    judge(sign(mail()), {NAME: (record,)})
    judge(b"DKIM-Signature: " + raw + b"\r\n" + mail())


@pytest.mark.parametrize("name", ["dkim", "nacl.signing"])
def test_without_the_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    raw = sign(mail())
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=f"package {name}"):
        judge(raw)
    assert not judge(mail()).holds
