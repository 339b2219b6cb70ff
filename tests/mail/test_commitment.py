"""Tokens and commitments of play by mail have exactly the bytes that are specified, and addresses are read back."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b32encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.mail.addresses import OwnAddress, is_token
from hkoji.mail.tokens import (
    NO_DNS,
    Purpose,
    TokenFields,
    address_hash,
    mail_commitment,
    make_nonce,
    make_token,
    token_digest,
    with_crlf,
)

SECRET = bytes(range(32))
GAME = "85c924c3" * 4
HEAD = "5c1e20ab" * 8
TURN = TokenFields(Purpose.TURN, "bob", GAME, 9, HEAD)
"""The token of a turn."""
ABOUT = hashlib.sha256(b"a mail").hexdigest()


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def test_a_token_has_the_bytes_of_its_lines() -> None:
    lines = f"hkoji.token.v1\n{GAME}\n9\n{HEAD}\nbob\nturn\n\n"
    nonce = hmac.new(SECRET, lines.encode("ascii"), "sha256").hexdigest()
    assert make_nonce(SECRET, TURN) == nonce
    token = b32encode(hashlib.sha256(f"{lines}{nonce}\n".encode("ascii")).digest()).decode()[:26].lower()
    assert make_token(TURN, nonce) == token
    assert token_digest(token) == token_digest(token.upper()) == sha256(token)


def test_golden_values() -> None:
    nonce = make_nonce(SECRET, TURN)
    assert nonce == "6c040309054ff4a3e65861a0c23f260e65261328a0271e8b60734bb080ef9a52"
    assert make_token(TURN, nonce) == "on4nsxwokgzhu55mhznswlv2dn"
    asked = TokenFields(Purpose.AGAIN, "bob", GAME, 9, HEAD, ABOUT)
    assert make_token(asked, make_nonce(SECRET, asked)) == "ylpcqepjg2kj4a4xg7h7zs2onm"
    command = TokenFields(Purpose.COMMAND, "bob", about="3")
    assert make_token(command, make_nonce(SECRET, command)) == "uflaqt4ci4r4tfxpfye5phzwmy"
    assert (
        address_hash("https://hkoji.example", "Bob@Example.org", SECRET)
        == "e551eca8087313d1c999a864d380ade4ef897c96e0d602b148dcf3a1b3ef356e"
    )
    commitment = mail_commitment(TURN, nonce, reader=1, raw=b"From: bob@example.org\n\n2bc\n", dns=NO_DNS, salt=SECRET)
    assert commitment == "d61ca36deba58117a3cf8428f04998df64b9f09586d016951c9ac2c399cb3c1e"


def test_a_commitment_has_the_bytes_of_its_lines() -> None:
    raw, dns, salt = b"a: b\r\n\r\n2bc\r\n", b"a\tYg==\n", bytes(32)
    lines = ("hkoji.mail.v1", GAME, HEAD, "again", ABOUT, "ab" * 32, "1", hashlib.sha256(raw).hexdigest())
    text = "".join(f"{line}\n" for line in (*lines, hashlib.sha256(dns).hexdigest(), "00" * 32))
    fields = TokenFields(Purpose.AGAIN, "bob", GAME, 9, HEAD, ABOUT)
    assert mail_commitment(fields, "ab" * 32, reader=1, raw=raw, dns=dns, salt=salt) == sha256(text)
    in_lines = raw.replace(b"\r", b"")
    assert mail_commitment(fields, "ab" * 32, reader=1, raw=in_lines, dns=dns, salt=salt) == sha256(text)


def test_the_hash_of_a_mailbox_is_of_its_lower_case() -> None:
    text = f"hkoji.address.v1\nhttps://hkoji.example\nbob@example.org\n{'00' * 32}\n"
    assert address_hash("https://hkoji.example", "BOB@example.org", bytes(32)) == sha256(text)


FIELDS = st.builds(
    TokenFields,
    st.sampled_from(Purpose),
    st.sampled_from(["alice", "bob"]),
    st.sampled_from(["", GAME]),
    st.none() | st.integers(0, 2**53 - 1),
    st.sampled_from(["", HEAD]),
    st.sampled_from(["", ABOUT, "1"]),
)


@given(st.lists(FIELDS, min_size=2, max_size=2, unique=True))
def test_two_tokens_differ_in_nonce_and_text(fields: list[TokenFields]) -> None:
    nonces = [make_nonce(SECRET, each) for each in fields]
    tokens = [make_token(each, nonce) for each, nonce in zip(fields, nonces, strict=True)]
    assert nonces[0] != nonces[1]
    assert tokens[0] != tokens[1]
    assert all(map(is_token, tokens))
    assert make_token(fields[0], nonces[1]) != tokens[0]
    assert make_nonce(SECRET[::-1], fields[0]) != nonces[0]


@given(st.binary(max_size=60))
def test_line_ends_are_those_of_smtp(raw: bytes) -> None:
    ended = with_crlf(raw)
    assert with_crlf(ended) == ended
    assert ended.replace(b"\r\n", b"").count(b"\n") == 0
    assert ended.replace(b"\r\n", b"\n") == raw.replace(b"\r\n", b"\n")


TOKEN = "7k2mq4ruapbd3xvn5tczshw6ef"


@pytest.mark.parametrize("delimiter", ["+", "-"])
def test_addresses_are_read_back(delimiter: str) -> None:
    own = OwnAddress("play@hkoji.example", delimiter)
    assert own.with_token(TOKEN) == f"play{delimiter}{TOKEN}@hkoji.example"
    assert own.bounce(TOKEN) == f"play{delimiter}b-{TOKEN}@hkoji.example"
    for form in (str.lower, str.upper):
        assert own.find_in_address(form(own.with_token(TOKEN))) == (TOKEN, False)
        assert own.find_in_address(form(own.bounce(TOKEN))) == (TOKEN, True)
        assert own.find_in_id(form(own.message_id("turn", 12, TOKEN))) == (TOKEN, False)
        assert own.is_ours(form(own.with_token(TOKEN)))
        assert own.is_ours(form(own.mailbox))


@pytest.mark.parametrize("tag", ["\udcff", "\u00e9", "\u212a"])
def test_no_address_of_ours_is_other_than_ascii(tag: str) -> None:
    assert not OwnAddress("play@hkoji.example").is_ours(f"play+{tag}@hkoji.example")


def test_without_a_delimiter_only_ids_have_tokens() -> None:
    own = OwnAddress("club@x.example", "")
    assert own.with_token(TOKEN) == own.bounce(TOKEN) == "club@x.example"
    assert own.find_in_address(f"club{TOKEN}@x.example") is None
    assert own.find_in_id(own.message_id("turn", 1, TOKEN)) == (TOKEN, False)


@pytest.mark.parametrize(
    "address",
    [
        "play@hkoji.example",
        f"play+{TOKEN[1:]}@hkoji.example",
        f"play+{TOKEN}a@hkoji.example",
        f"play+{TOKEN[:-1]}1@hkoji.example",
        f"play+c-{TOKEN}@hkoji.example",
        f"play+b-b-{TOKEN}@hkoji.example",
        f"play-{TOKEN}@hkoji.example",
        f"xplay+{TOKEN}@hkoji.example",
        f"play+{TOKEN}@hkoji.example.org",
        f"play+{TOKEN}",
        "",
    ],
)
def test_other_addresses_have_no_token(address: str) -> None:
    assert OwnAddress("play@hkoji.example").find_in_address(address) is None


@pytest.mark.parametrize(
    "given_id", [f"<{TOKEN}@hkoji.example>", f"<turn.1.{TOKEN}@other.example>", f"<turn.{TOKEN}>", ""]
)
def test_other_ids_have_no_token(given_id: str) -> None:
    assert OwnAddress("play@hkoji.example").find_in_id(given_id) is None


@pytest.mark.parametrize(("mailbox", "delimiter"), [("play", "+"), ("a b@x", "+"), ("play@x", "."), ("pläy@x", "+")])
def test_an_address_of_a_service_is_checked(mailbox: str, delimiter: str) -> None:
    with pytest.raises(ValueError, match="no address of a service"):
        OwnAddress(mailbox, delimiter)
