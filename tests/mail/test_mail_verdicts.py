"""A mail counts by the table over sender, signature and past of the mailbox, and each token is good for its commands.

The page for players and the audit say the same of commands.
"""

from __future__ import annotations

import itertools

import pytest
from hkoji_server.service.mail.rights import MailSender, judge_mail, sender_of

from hkoji.log.mail_claim import MailGrade
from hkoji.mail.commands import OrderKind
from hkoji.mail.letters.answers import AskedWhy
from hkoji.mail.mail import read_mail
from hkoji.mail.tokens import PURPOSES, Purpose, TokenFields, counts, is_for_any, may_order

# sender, DKIM of this mail, has had DKIM, required, sent to an `again` token: what happens
TABLE = [
    ("registered", True, False, "token", False, MailGrade.DKIM),
    ("registered", True, True, "token", False, MailGrade.DKIM),
    ("registered", True, False, "dkim", False, MailGrade.DKIM),
    ("registered", True, True, "dkim", True, MailGrade.DKIM),
    ("registered", False, False, "token", False, MailGrade.TOKEN),
    ("registered", False, False, "dkim", False, AskedWhy.REQUIRED),
    ("registered", False, True, "token", False, AskedWhy.SIGNATURE),
    ("registered", False, True, "dkim", False, AskedWhy.SIGNATURE),
    # A signature that is missing is asked back once.
    ("registered", False, True, "token", True, MailGrade.TOKEN),
    ("registered", False, False, "dkim", True, MailGrade.TOKEN),
    ("registered", False, True, "dkim", True, MailGrade.TOKEN),
]


@pytest.mark.parametrize(("sender", "dkim", "had", "require", "again", "expected"), TABLE)
def test_a_mail_from_the_registered_address(
    sender: str, dkim: bool, had: bool, require: str, again: bool, expected: MailGrade | AskedWhy
) -> None:
    found = judge_mail(MailSender(sender), dkim=dkim, had_dkim=had, require=MailGrade(require), again=again)
    assert found == expected


@pytest.mark.parametrize("sender", [MailSender.OTHER, MailSender.UNREADABLE])
def test_another_sender_never_counts_whatever_the_signature_says(sender: MailSender) -> None:
    for dkim, had, require, again in itertools.product(
        (False, True), (False, True), (MailGrade.TOKEN, MailGrade.DKIM), (False, True)
    ):
        assert judge_mail(sender, dkim=dkim, had_dkim=had, require=require, again=again) is AskedWhy.SENDER


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (["From: bob@example.org", "Message-ID: <1@x>"], MailSender.REGISTERED),
        (["From: Bob <BOB@Example.ORG>", "Message-ID: <1@x>"], MailSender.REGISTERED),
        (["From: eve@example.org", "Message-ID: <1@x>"], MailSender.OTHER),
        (["From: bob@example.org.evil.example", "Message-ID: <1@x>"], MailSender.OTHER),
        (['From: "bob@example.org" <eve@evil.example>', "Message-ID: <1@x>"], MailSender.OTHER),
        (["From: bob@example.org <eve@evil.example>", "Message-ID: <1@x>"], MailSender.UNREADABLE),
        (["From: bob@example.org", "From: eve@evil.example", "Message-ID: <1@x>"], MailSender.UNREADABLE),
        (["From: bob@example.org, eve@evil.example", "Message-ID: <1@x>"], MailSender.UNREADABLE),
        (["From: all: bob@example.org;", "Message-ID: <1@x>"], MailSender.UNREADABLE),
        (["From: bob@example.org"], MailSender.REGISTERED),
        (["From: bob@example.org", "Message-ID: <1@x>", "Message-ID: <2@x>"], MailSender.REGISTERED),
        (["From: b\N{LATIN SMALL LETTER O WITH DIAERESIS}b@example.org", "Message-ID: <1@x>"], MailSender.UNREADABLE),
    ],
)
def test_the_sender_of_a_mail(fields: list[str], expected: MailSender) -> None:
    raw = "\r\n".join([*fields, "", "2bc", ""]).encode()
    assert sender_of(read_mail(raw).header, "Bob@example.org") is expected


GAME = "85c924c3" * 4
HEAD = "5c" * 32

ALLOWED = {
    "turn": "move resign call-off cancel give rematch",
    "again": "move accept decline resign call-off cancel give rematch new",
    "invite": "accept decline",
    "game": "resign call-off cancel give rematch evidence",
    "command": "new",
    "yes": "yes",
    "stop": "",
}
ANYWHERE = "own-key not-me show moves log rules games help stop start lang cards quiet new-address"


def token(purpose: Purpose) -> TokenFields:
    game = "" if purpose in (Purpose.COMMAND, Purpose.STOP, Purpose.YES) else GAME
    seq = 9 if purpose in (Purpose.TURN, Purpose.AGAIN, Purpose.INVITE) else None
    return TokenFields(purpose, "bob", game, seq, HEAD if seq else "", "")


def test_every_command_has_its_place() -> None:
    assert set(PURPOSES) == set(OrderKind)


@pytest.mark.parametrize("purpose", list(Purpose))
def test_a_token_is_good_for_its_commands_only(purpose: Purpose) -> None:
    words = {word.replace("-", " ") for word in f"{ALLOWED[purpose]} {ANYWHERE}".split()}
    assert {kind.value for kind in OrderKind if may_order(kind, token(purpose))} == words


def test_a_letter_that_asks_for_resign_again_is_good_for_nothing_else_in_the_game() -> None:
    asked = TokenFields(Purpose.AGAIN, "bob", GAME, None, "", "ab" * 32)
    allowed = {kind for kind in OrderKind if may_order(kind, asked)}
    assert allowed == {OrderKind.RESIGN} | {kind for kind in OrderKind if is_for_any(kind)}


def test_an_order_that_ends_a_game_counts_only_when_it_was_asked_for_again() -> None:
    assert [each for each in Purpose if counts(OrderKind.CALL_OFF, token(each))] == [Purpose.AGAIN]
    # A letter that asks for a move again has asked for no `resign`.
    assert not any(counts(OrderKind.RESIGN, token(each)) for each in Purpose)
    assert counts(OrderKind.RESIGN, TokenFields(Purpose.AGAIN, "bob", GAME, None, "", "ab" * 32))
