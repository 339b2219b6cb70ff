"""Statements, including those about keys and about games, round-trip as text, and are invalid in another namespace."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.errors import MalformedError, SignatureError
from hkoji.log import sshsig
from hkoji.log.canonical import MAX_DEPTH, JsonValue, encode, encode_base64
from hkoji.log.game_statements import (
    MAX_GIFT_SECONDS,
    AnnulStatement,
    GiftStatement,
    HeadStatement,
    SignedHead,
    make_annul,
    make_gift,
    make_head,
    parse_annul,
    parse_gift,
    parse_head,
    read_signed_head,
)
from hkoji.log.statement import (
    Dealt,
    Login,
    NewKey,
    OriginStatement,
    Recovery,
    Registration,
    Revocation,
    View,
    make_login,
    make_new_key,
    make_origin,
    make_recovery,
    make_registration,
    make_revocation,
    make_view,
    parse_login,
    parse_new_key,
    parse_origin,
    parse_recovery,
    parse_registration,
    parse_revocation,
    parse_view,
    proof_message,
)
from tests.log.samples import ALICE, AT, BOB, GAME, MOVE, SERVER, attempt, changed, edits

ORIGIN = "https://play.example"
NONCE = "5" * 64
VIEW = make_view(dealt=(Dealt("ABCDEFG", 1), Dealt("BBCDEF", 2)), game=GAME, head=MOVE.head, seat=1, seq=3)
REGISTRATION = make_registration(at=AT, key=ALICE.public, name="alice", origin=ORIGIN)
LOGIN = make_login(expires=AT, nonce=NONCE, origin=ORIGIN)

NEW_KEY = make_new_key(at=AT, key=BOB.public, name="alice", old=ALICE.public, origin=ORIGIN)
REVOCATION = make_revocation(at=AT, key=ALICE.public, name="alice", origin=ORIGIN)
RECOVERY = make_recovery(at=AT, key=BOB.public, name="alice", origin=ORIGIN)

GIFT = make_gift(game=GAME, head=MOVE.head, name="alice", seconds=172_800)
ANNUL = make_annul(game=GAME, head=MOVE.head, name="bob")
HEAD = make_head(at=AT, game=GAME, head=MOVE.head, seq=3)
PROVED = make_origin(nonce=NONCE, origin=ORIGIN)

Statement = (
    View
    | Registration
    | Login
    | NewKey
    | Revocation
    | Recovery
    | GiftStatement
    | AnnulStatement
    | HeadStatement
    | OriginStatement
)

READERS: dict[str, tuple[Statement, Callable[[str], Statement]]] = {
    "view": (VIEW, parse_view),
    "registration": (REGISTRATION, parse_registration),
    "login": (LOGIN, parse_login),
    "new key": (NEW_KEY, parse_new_key),
    "revocation": (REVOCATION, parse_revocation),
    "recovery": (RECOVERY, parse_recovery),
    "gift of time": (GIFT, parse_gift),
    "calling off": (ANNUL, parse_annul),
    "signed head": (HEAD, parse_head),
    "origin": (PROVED, parse_origin),
}
every_statement = pytest.mark.parametrize("what", READERS)


def test_statements_are_their_texts() -> None:
    dealt = [{"cards": "ABCDEFG", "round": 1}, {"cards": "BBCDEF", "round": 2}]
    alice, bob = ALICE.public.text, BOB.public.text
    assert {what: json.loads(statement.text) for what, (statement, _) in READERS.items()} == {
        "view": {"dealt": dealt, "game": GAME, "head": MOVE.head, "seat": 1, "seq": 3, "v": 1},
        "registration": {"at": AT, "key": alice, "name": "alice", "origin": ORIGIN, "v": 1},
        "login": {"expires": AT, "nonce": NONCE, "origin": ORIGIN, "v": 1},
        "new key": {"at": AT, "key": bob, "name": "alice", "old": alice, "origin": ORIGIN, "v": 1},
        "revocation": {"at": AT, "key": alice, "name": "alice", "origin": ORIGIN, "v": 1},
        "recovery": {"at": AT, "key": bob, "name": "alice", "origin": ORIGIN, "v": 1},
        "gift of time": {"game": GAME, "head": MOVE.head, "name": "alice", "seconds": 172_800, "v": 1},
        "calling off": {"game": GAME, "head": MOVE.head, "name": "bob", "v": 1},
        "signed head": {"at": AT, "game": GAME, "head": MOVE.head, "seq": 3, "v": 1},
        "origin": {"nonce": NONCE, "origin": ORIGIN, "v": 1},
    }
    proof = proof_message(game=GAME, key=BOB.public, name="alice", old=ALICE.public, prev=MOVE.prev, seq=3)
    assert proof == (
        f'{{"game":"{GAME}","key":"{bob}","name":"alice","old":"{alice}","prev":"{MOVE.prev}","seq":3,"v":1}}\n'.encode()
    )


@every_statement
def test_a_text_that_is_read_is_the_one_that_is_written(what: str) -> None:
    statement, read = READERS[what]
    again = read(statement.text)
    assert again == statement
    assert again.message == statement.text.encode() + b"\n"
    for name, value in json.loads(statement.text).items():
        if name not in ("v", "dealt"):
            found = getattr(again, name)
            assert getattr(found, "text", found) == value


@given(
    st.lists(st.from_regex("[A-Z0-9]{1,14}", fullmatch=True), max_size=4), st.integers(0, 1), st.integers(0, 2**53 - 1)
)
def test_views_are_read_again(cards: list[str], seat: int, seq: int) -> None:
    dealt = tuple(Dealt(each, number) for number, each in enumerate(cards, 1))
    view = make_view(dealt=dealt, game=GAME, head=MOVE.head, seat=seat, seq=seq)
    again = parse_view(view.text)
    assert (again.dealt, again.game, again.head, again.seat, again.seq) == (dealt, GAME, MOVE.head, seat, seq)


@every_statement
def test_every_edit_is_refused_or_another_statement(what: str) -> None:
    same, read = READERS[what]
    for edit in edits(same.text):
        statement = attempt(partial(read, edit))
        assert statement is None or (getattr(statement, "text", None) == edit and statement != same)


@given(st.text(max_size=40))
def test_any_text_is_refused(text: str) -> None:
    for _, read in READERS.values():
        assert attempt(partial(read, text)) is None


def test_nesting_is_bounded_in_a_view() -> None:
    deep: JsonValue = "A"
    for _ in range(MAX_DEPTH - 3):
        deep = [deep]
    with pytest.raises(MalformedError, match="the cards of round 1"):
        parse_view(changed(VIEW.text, dealt=[{"cards": deep, "round": 1}]))
    too_deep = encode(deep)
    with pytest.raises(MalformedError, match="nested more than"):
        parse_view(VIEW.text.replace('"ABCDEFG"', f"[{too_deep}]"))
    deeper = VIEW.text.replace('"ABCDEFG"', "[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(MalformedError, match="nested"):
        parse_view(deeper)


@pytest.mark.parametrize("seconds", [1, 86_400, 30 * 86_400])
def test_a_gift_is_one_second_to_thirty_days(seconds: int) -> None:
    assert MAX_GIFT_SECONDS == 30 * 86_400
    gift = make_gift(game=GAME, head=MOVE.head, name="alice", seconds=seconds)
    assert parse_gift(gift.text).seconds == seconds


def test_a_signed_head_is_read_from_json() -> None:
    sig = SERVER.sign(sshsig.HEAD, HEAD.message)
    value = {"sig": encode_base64(sig), "text": HEAD.text}
    assert read_signed_head(value) == SignedHead(HEAD, sig)


def test_a_statement_says_nothing_in_another_namespace() -> None:
    spaces = {sshsig.VIEW: VIEW.message, sshsig.REGISTER: REGISTRATION.message, sshsig.LOGIN: LOGIN.message}
    spaces |= {sshsig.NEW_KEY: NEW_KEY.message, sshsig.REVOKE: REVOCATION.message, sshsig.RECOVER: RECOVERY.message}
    spaces |= {sshsig.GIVE: GIFT.message, sshsig.ANNUL: ANNUL.message, sshsig.HEAD: HEAD.message}
    spaces |= {sshsig.ENTRY: MOVE.message, sshsig.RECEIPT: HEAD.message}
    for namespace, text in spaces.items():
        blob = SERVER.sign(namespace, text)
        sshsig.verify(blob, SERVER.public, namespace, text, "server")
        for other in spaces:
            if other != namespace:
                with pytest.raises(SignatureError, match=f"made for {namespace}, not for {other}"):
                    sshsig.verify(blob, SERVER.public, other, text, "server")
