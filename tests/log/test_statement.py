"""Statements: views, registrations and logins are their texts, and say nothing in another namespace."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import MalformedError, NotUnderstoodError, SignatureError, WeakKeyError
from hkoji.log import sshsig
from hkoji.log.canonical import MAX_DEPTH, JsonValue, decode, encode, encode_base64
from hkoji.log.statement import (
    MAX_STATEMENT_BYTES,
    Dealt,
    Login,
    Registration,
    View,
    make_login,
    make_registration,
    make_view,
    parse_login,
    parse_registration,
    parse_view,
)
from tests.log.curve import NEUTRAL, encode_point
from tests.log.samples import ALICE, AT, GAME, MOVE, SERVER, attempt, edits, reason

ORIGIN = "https://play.example"
NONCE = "5" * 64
VIEW = make_view(dealt=(Dealt("ABCDEFG", 1), Dealt("BBCDEF", 2)), game=GAME, head=MOVE.head, seat=1, seq=3)
REGISTRATION = make_registration(at=AT, key=ALICE.public, name="alice", origin=ORIGIN)
LOGIN = make_login(expires=AT, nonce=NONCE, origin=ORIGIN)

READERS: list[tuple[str, Callable[[str], View | Registration | Login]]] = [
    (VIEW.text, parse_view),
    (REGISTRATION.text, parse_registration),
    (LOGIN.text, parse_login),
]


def changed(text: str, **change: JsonValue) -> str:
    """A canonical text with other values, or further ones."""
    value = decode(text, "sample")
    assert isinstance(value, dict)
    return encode({**value, **change})


def test_statements_are_their_texts() -> None:
    dealt = [{"cards": "ABCDEFG", "round": 1}, {"cards": "BBCDEF", "round": 2}]
    assert json.loads(VIEW.text) == {"dealt": dealt, "game": GAME, "head": MOVE.head, "seat": 1, "seq": 3, "v": 1}
    key = ALICE.public.text
    assert json.loads(REGISTRATION.text) == {"at": AT, "key": key, "name": "alice", "origin": ORIGIN, "v": 1}
    assert json.loads(LOGIN.text) == {"expires": AT, "nonce": NONCE, "origin": ORIGIN, "v": 1}
    for text, read in READERS:
        statement = read(text)
        assert statement.text == text
        assert statement.message == text.encode() + b"\n"
        assert statement in (VIEW, REGISTRATION, LOGIN)


@given(
    st.lists(st.from_regex("[A-Z0-9]{1,14}", fullmatch=True), max_size=4), st.integers(0, 1), st.integers(0, 2**53 - 1)
)
def test_views_are_read_again(cards: list[str], seat: int, seq: int) -> None:
    dealt = tuple(Dealt(each, number) for number, each in enumerate(cards, 1))
    view = make_view(dealt=dealt, game=GAME, head=MOVE.head, seat=seat, seq=seq)
    again = parse_view(view.text)
    assert (again.dealt, again.game, again.head, again.seat, again.seq) == (dealt, GAME, MOVE.head, seat, seq)


@pytest.mark.parametrize(("text", "read"), READERS, ids=["view", "registration", "login"])
def test_every_edit_is_refused_or_another_statement(text: str, read: Callable[[str], object]) -> None:
    same = read(text)
    for edit in edits(text):
        statement = attempt(partial(read, edit))
        assert statement is None or (getattr(statement, "text", None) == edit and statement != same)


@pytest.mark.parametrize(("text", "read"), READERS, ids=["view", "registration", "login"])
def test_the_frame_of_every_statement(text: str, read: Callable[[str], object]) -> None:
    for wrong in ("", "{}", "[]", text + "\n", " " + text, "\ufeff" + text, "[" * 100_000, changed(text, ext={})):
        with pytest.raises(MalformedError) as error:
            read(wrong)
        assert reason(error.value)
    for value in (True, None, "1"):
        with pytest.raises(MalformedError, match="v is not a number"):
            read(changed(text, v=value))
    for version in (0, 2):
        with pytest.raises(NotUnderstoodError):
            read(changed(text, v=version, ext={}))
    with pytest.raises(MalformedError, match="longer than"):
        read(text + " " * MAX_STATEMENT_BYTES)
    for name in json.loads(text):
        with pytest.raises(MalformedError, match=f"{name} is missing"):
            read(encode({key: value for key, value in json.loads(text).items() if key != name}))


@given(st.text(max_size=40))
def test_any_text_is_refused(text: str) -> None:
    for _, read in READERS:
        assert attempt(partial(read, text)) is None


VIEWS: list[tuple[str, JsonValue, str]] = [
    ("dealt", None, "dealt is not a list"),
    ("dealt", {}, "dealt is not a list"),
    ("dealt", "[]", "dealt is not a list"),
    ("dealt", [None], "not an object"),
    ("dealt", [{}], "cards is missing"),
    ("dealt", [{"cards": "A", "round": 1, "seat": 0}], "seat does not belong"),
    ("dealt", [{"cards": "", "round": 1}], "the cards of round 1"),
    ("dealt", [{"cards": "a", "round": 1}], "the cards of round 1"),
    ("dealt", [{"cards": ["A"], "round": 1}], "the cards of round 1"),
    ("dealt", [{"cards": "A", "round": 2}], "round 1 is not in its place"),
    ("dealt", [{"cards": "A", "round": True}], "round 1 is not in its place"),
    ("dealt", [{"cards": "A", "round": 1}, {"cards": "A", "round": 1}], "round 2 is not in its place"),
    ("seat", 2, "seat is not 0 or 1"),
    ("seat", True, "seat is not 0 or 1"),
    ("seat", None, "seat is not 0 or 1"),
    ("seq", True, "seq is not a number"),
    ("seq", "3", "seq is not a number"),
    ("game", GAME.upper(), "game is not 32"),
    ("head", GAME, "head is not 64"),
]


@pytest.mark.parametrize(("key", "value", "why"), VIEWS)
def test_malformed_views(key: str, value: JsonValue, why: str) -> None:
    with pytest.raises(MalformedError) as error:
        parse_view(changed(VIEW.text, **{key: value}))
    assert why in reason(error.value)


def test_nesting_is_bounded_in_a_view() -> None:
    deep: JsonValue = "A"
    for _ in range(MAX_DEPTH - 3):
        deep = [deep]
    with pytest.raises(MalformedError, match="the cards of round 1"):
        parse_view(changed(VIEW.text, dealt=[{"cards": deep, "round": 1}]))
    deeper = VIEW.text.replace('"ABCDEFG"', "[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(MalformedError, match="nested"):
        parse_view(deeper)


REGISTRATIONS: list[tuple[str, JsonValue, str]] = [
    ("at", "today", "at is not a time"),
    ("name", "Alice", "name is not a name"),
    ("name", "a", "name is not a name"),
    ("name", None, "name is not a name"),
    ("origin", "", "origin is not"),
    ("origin", "a b", "origin is not"),
    ("origin", "x" * 257, "origin is not"),
    ("origin", None, "origin is not"),
    ("key", None, "key is not text"),
    ("key", "", "ssh-ed25519"),
    ("key", ALICE.public.text + " alice", "without a comment"),
    ("key", ALICE.public.text[:-4], "not an Ed25519 key"),
]


@pytest.mark.parametrize(("key", "value", "why"), REGISTRATIONS)
def test_malformed_registrations(key: str, value: JsonValue, why: str) -> None:
    with pytest.raises(MalformedError) as error:
        parse_registration(changed(REGISTRATION.text, **{key: value}))
    assert why in reason(error.value)


def test_a_weak_key_cannot_be_registered() -> None:
    blob = ALICE.public.blob[:-32] + encode_point(NEUTRAL)
    with pytest.raises(WeakKeyError):
        parse_registration(changed(REGISTRATION.text, key=f"ssh-ed25519 {encode_base64(blob)}"))


@pytest.mark.parametrize(
    ("key", "value"),
    [("expires", ""), ("expires", 7), ("nonce", NONCE[1:]), ("nonce", "F" * 64), ("nonce", None), ("origin", "")],
)
def test_malformed_logins(key: str, value: JsonValue) -> None:
    with pytest.raises(MalformedError) as error:
        parse_login(changed(LOGIN.text, **{key: value}))
    assert f"{key} is not" in reason(error.value)


def test_a_statement_says_nothing_in_another_namespace() -> None:
    spaces = {sshsig.VIEW: VIEW.message, sshsig.REGISTER: REGISTRATION.message, sshsig.LOGIN: LOGIN.message}
    spaces |= {sshsig.ENTRY: MOVE.message}
    for namespace, text in spaces.items():
        blob = SERVER.sign(namespace, text)
        sshsig.verify(blob, SERVER.public, namespace, text, "server")
        for other in spaces:
            if other != namespace:
                with pytest.raises(SignatureError, match=f"made for {namespace}, not for {other}"):
                    sshsig.verify(blob, SERVER.public, other, text, "server")
