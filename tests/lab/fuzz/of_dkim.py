"""Targets: signatures of mails with any bytes in the mail, in DNS, and in kept answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from typing import Final

from hkoji.mail.dkim_rules import MOST_TRIED, judge_dkim, key_names
from hkoji.mail.dns_answers import DnsAnswers, decode_answers, encode_answers
from tests.lab.fuzz.target import Target, chosen, refusals, split_off
from tests.support.mail.signing import record_of, rsa_key, seconds_of, sign

_SECONDS: Final = 0.25
_T: Final = "2026-11-22T08:00:00Z"
_TOKEN: Final = "7k2mq4ruapbd3xvn5tczshw6ef"  # no password
_NAME: Final = "s1._domainkey.example.org"
_TEXT: Final = (
    b"From: Bob <bob@example.org>\r\nTo: hkoji <play+7k2mq4ruapbd3xvn5tczshw6ef@hkoji.example>\r\n"
    b"Subject: Re: hkoji\r\nDate: Sun, 22 Nov 2026 08:00:00 +0000\r\nMessage-ID: <1@example.org>\r\n"
    b"\r\n2bc\r\n\r\n> it is your turn\r\n"
)

DKIM_WORDS: Final = (
    *(
        "DKIM-Signature: ",
        "v=1; ",
        "a=rsa-sha256; ",
        "a=ed25519-sha256; ",
        "c=relaxed/relaxed; ",
        "c=simple; ",
        "d=org; ",
    ),
    *(
        "d=example.org; ",
        "h=from:subject:date:to; ",
        "l=3; ",
        "t=1795334400; ",
        "x=1; ",
        "bh=",
        "b=",
        ";",
        "\r\n ",
        "\r\n\t",
    ),
    *("Content-Type: multipart/mixed; boundary=b", "--b", "From: ", "Subject: ", "References: ", "@hkoji.example>"),
)
RECORD_WORDS: Final = (
    "v=DKIM1; ",
    "k=rsa; ",
    "k=ed25519; ",
    "p=",
    "t=y; ",
    "t=s; ",
    "h=sha256; ",
    "s=email; ",
    "MIGf",
    "AQAB",
)


@cache
def _signed() -> tuple[bytes, ...]:
    plain = sign(_TEXT, key=rsa_key())
    timed = sign(_TEXT, key=rsa_key(), tags={"t": str(seconds_of(_T)), "x": str(seconds_of(_T) + 60)})
    return plain, timed, sign(sign(_TEXT, key=rsa_key()), key=rsa_key(), selector="s2")


def dkim_mails(data: bytes) -> None:
    """A mail of any bytes, by a good key: if a signature holds, it is one of those that were made."""
    started = time.process_time()
    names = key_names(data)
    assert len(names) <= MOST_TRIED
    answers = dict.fromkeys(names, (record_of(rsa_key()),))
    for at in (_T, None):
        verdict = judge_dkim(data, answers, at=at, token=_TOKEN)
        assert verdict.holds is (verdict.reason is None)
        if verdict.holds:
            assert b"".join(_TEXT.lower().split()) in b"".join(data.lower().split())
    assert time.process_time() - started < 2 * _SECONDS


def dkim_records(data: bytes) -> None:
    """A good mail, by any bytes in DNS."""
    started = time.process_time()
    which, record = split_off(data, 2)
    verdict = judge_dkim(_signed()[which], {_NAME: (record,)}, at=_T, token=_TOKEN)
    assert verdict.holds is (verdict.reason is None)
    assert time.process_time() - started < _SECONDS
    with refusals():
        answers: DnsAnswers = decode_answers(data)
        assert encode_answers(answers) == data


def mail_seeds() -> Iterator[bytes]:
    """Mails that are signed."""
    yield from _signed()
    yield _TEXT


def record_seeds() -> Iterator[bytes]:
    """Records of keys, and kept answers."""
    for which in range(2):
        for more in ("", "t=s; ", "h=sha256; s=email; "):
            yield chosen(which, record_of(rsa_key(), more).decode())
    yield encode_answers({_NAME: (record_of(rsa_key()), b"\n"), "a.example": (b"",)})


TARGETS: Final = (
    Target("dkim-rules", "DKIM signatures of a mail", dkim_mails, mail_seeds, 100_000, 4096, DKIM_WORDS),
    Target(
        "dns-answers", "TXT records of keys, and kept answers", dkim_records, record_seeds, 100_000, 4096, RECORD_WORDS
    ),
)
