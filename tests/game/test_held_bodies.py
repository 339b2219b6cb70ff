"""The certificate of a held key and the mail in bodies and statements: what breaks their form is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import HkojiError, MalformedError, SignatureError, WeakKeyError
from hkoji.game.entry_kinds import KINDS, parse_body
from hkoji.game.held_keys import Gateway, SeatGrade, certify, grade_of_seat, read_gateway, verify_gateway, weaker
from hkoji.log.game_statements import make_annul, make_gift, parse_annul, parse_gift
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.private_key import PrivateKey
from tests.game.test_bodies import AT, GATEWAY, GIFT, GOOD, HEX, wrong

Json = Any  # wrong on purpose

MAIL: dict[str, Json] = {"commit": HEX, "grade": "token"}
NONE: dict[str, Json] = {"commit": None, "grade": "none"}
BY_MAIL = ("open", "join", "seed", "move", "resign", "cancel")
WEAK = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
SERVER = PrivateKey.from_seed(b"s" * 32)


@pytest.mark.parametrize("kind", BY_MAIL)
def test_a_mail_is_in_six_kinds(kind: str) -> None:
    body = {**GOOD[kind], "mail": MAIL}
    read = parse_body(kind, body)
    assert read.mail == MailClaim(HEX, MailGrade.TOKEN)
    assert read.to_json() == body
    assert parse_body(kind, GOOD[kind]).mail is None


def test_a_seed_may_come_without_a_mail() -> None:
    assert parse_body("seed", {**GOOD["seed"], "mail": NONE}).mail == MailClaim(None, MailGrade.NONE)


@pytest.mark.parametrize("kind", ["open", "join"])
def test_the_certificate_of_a_newcomer_is_for_its_key(kind: str) -> None:
    body = {**GOOD[kind], "gateway": GATEWAY, "mail": MAIL}
    read = parse_body(kind, body)
    assert read.to_json() == body
    assert read.certificate == Gateway(HEX, AT, read.newcomer_key(), "https://play.example", b"SSH")  # type: ignore[arg-type] # both have one


def test_a_weak_held_key_is_found_after_malformed_fields() -> None:
    assert isinstance(read_gateway({**GATEWAY, "key": WEAK}), WeakKeyError)


def test_a_delegation_ends_with_two_nulls() -> None:
    body: dict[str, Json] = {"gateway": None, "grade": None}
    assert parse_body("delegate", body).to_json() == body


CERTIFIED = {
    "address": HEX,
    "at": AT,
    "key": PrivateKey.from_seed(b"h" * 32).public,
    "name": "bob",
    "origin": "https://play.example",
}


def test_a_certificate_holds_for_all_its_values_and_its_signer() -> None:
    gateway = certify(SERVER, **CERTIFIED)  # type: ignore[arg-type] # fields by name
    verify_gateway(gateway, "bob", SERVER.public)
    assert read_gateway(gateway.to_json()) == gateway
    others = (
        (gateway, "alice", SERVER.public),
        (gateway, "bob", gateway.key),
        (gateway._replace(address="cd" * 32), "bob", SERVER.public),
        (gateway._replace(at="2026-11-20T12:00:01Z"), "bob", SERVER.public),
        (gateway._replace(key=SERVER.public), "bob", SERVER.public),
        (gateway._replace(origin="https://play.example/"), "bob", SERVER.public),
    )
    for each in others:
        with pytest.raises(SignatureError):
            verify_gateway(*each)


@pytest.mark.parametrize(
    ("name", "value"), [("address", "ab"), ("at", "now"), ("name", "Bob"), ("origin", ""), ("origin", 'a"')]
)
def test_no_certificate_is_made_of_wrong_values(name: str, value: str) -> None:
    with pytest.raises(HkojiError):
        certify(SERVER, **{**CERTIFIED, name: value})  # type: ignore[arg-type] # wrong on purpose


# --- statements -------------------------------------------------------------------------------------------------------

CLAIMS = st.builds(MailClaim, st.just(HEX), st.sampled_from([MailGrade.DKIM, MailGrade.TOKEN]))


@given(CLAIMS | st.none(), st.integers(1, 2592000))
def test_statements_carry_their_mail(mail: MailClaim | None, seconds: int) -> None:
    gift = make_gift(game="cd" * 16, head=HEX, name="bob", seconds=seconds, mail=mail)
    assert gift.mail == mail
    assert parse_gift(gift.text) == gift
    wish = make_annul(game="cd" * 16, head=HEX, name="bob", mail=mail)
    assert wish.mail == mail
    assert parse_annul(wish.text) == wish


def test_a_statement_has_its_mail_in_the_signed_text() -> None:
    plain = make_gift(game="cd" * 16, head=HEX, name="bob", seconds=60)
    by_mail = make_gift(game="cd" * 16, head=HEX, name="bob", seconds=60, mail=MailClaim(HEX, MailGrade.DKIM))
    assert by_mail.text == plain.text.replace('"name"', f'"mail":{{"commit":"{HEX}","grade":"dkim"}},"name"')


def test_a_statement_needs_a_mail_that_somebody_wrote() -> None:
    with pytest.raises(MalformedError, match="only for a seed"):
        make_gift(game="cd" * 16, head=HEX, name="bob", seconds=60, mail=MailClaim(None, MailGrade.NONE))
    with pytest.raises(MalformedError, match="only for a seed"):
        make_annul(game="cd" * 16, head=HEX, name="bob", mail=MailClaim(None, MailGrade.NONE))


def test_credit_and_annul_carry_mails_on() -> None:
    credit = {**GOOD["credit"], "gift": {**GIFT, "mail": MAIL}}
    assert parse_body("credit", credit).to_json() == credit
    for mails in wrong([MAIL, None], [None, MAIL], [MAIL, MAIL]):
        annul = {**GOOD["annul"], "mails": mails}
        assert parse_body("annul", annul).to_json() == annul


# --- grades -----------------------------------------------------------------------------------------------------------


def test_the_weakest_mail_makes_the_grade_of_a_seat() -> None:
    dkim, token = MailClaim(HEX, MailGrade.DKIM), MailClaim(HEX, MailGrade.TOKEN)
    assert weaker(None, None) is None
    assert weaker(None, MailClaim(None, MailGrade.NONE)) is None
    assert weaker(None, dkim) is weaker(MailGrade.DKIM, dkim) is MailGrade.DKIM
    assert weaker(MailGrade.DKIM, token) is weaker(MailGrade.TOKEN, dkim) is MailGrade.TOKEN
    assert grade_of_seat(None) is SeatGrade.OWN
    assert grade_of_seat(MailGrade.DKIM) is SeatGrade.CLAIMED
    assert grade_of_seat(MailGrade.DKIM, checked=True) is SeatGrade.CHECKED
    assert grade_of_seat(MailGrade.TOKEN, checked=True) is SeatGrade.WORD


def test_every_kind_says_whether_it_has_a_mail() -> None:
    assert {kind for kind, each in KINDS.items() if "mail" in getattr(each, "_fields", ())} == set(BY_MAIL)
