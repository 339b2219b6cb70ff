"""A game opened by link: the referee takes only a guest who has the code, and no other attempt changes anything.

docs/spec/log.md, "Invitation by link".
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji import errors
from hkoji.audit.log_audit import audit
from hkoji.game.agreement import UNTIMED
from hkoji.game.course import Stage
from hkoji.game.entry_kinds import Cancel, Join, LinkInvite, Open, join_by_link, open_by_link, parse_body
from hkoji.log import sshsig
from hkoji.log.link_key import link_key, make_link_statement
from hkoji.log.private_key import PrivateKey
from tests.support.rules import fewer
from tests.support.table import CODE, Table, refused

OTHER_CODE = CODE[::-1]
STRANGER = PrivateKey.from_seed(bytes([9]) * 32)


def opened(seed: int = 0) -> Table:
    """A game that waits for whoever has the link."""
    return Table(seed=seed).open_by_link()


def statement_of(table: Table, seat: int, **changes: Any) -> bytes:  # Any: fields by name
    """The signature of the link's key for the next entry of a seat; `changes` replace its fields."""
    fields: dict[str, Any] = {**table.newcomer(seat), "game": table.game, "prev": table.course.head}
    return make_link_statement(**{**fields, **changes}).message


# --- it works -----------------------------------------------------------------------------------------------------


@fewer
@given(st.integers(0, 10**6), st.binary(min_size=16, max_size=16))
def test_everybody_who_has_the_code_joins_and_the_log_holds(seed: int, code: bytes) -> None:
    table = Table(seed=seed).open_by_link(code.hex())
    assert (table.course.setup.link, table.course.setup.invited) == (link_key(code.hex()).public, None)
    assert table.course.to_move is None
    table.join()
    table.reveal_seeds()
    table.play(4)
    found = audit(table.text, {"alice": table.keys[0].public, "bob": table.keys[1].public})
    assert found.findings == ()
    for line in table.lines:
        assert parse_body(line.entry.kind, line.entry.body).to_json() == line.entry.body


def test_the_code_is_in_no_line() -> None:
    table = opened()
    table.join()
    assert CODE not in table.text
    assert table.text.count(link_key(CODE).public.text) == 1


# --- the second signature -----------------------------------------------------------------------------------------


def test_a_join_without_the_signature_of_the_link_is_refused() -> None:
    table = opened()
    bare = Join(table.newcomer(1)["entropy_commit"], table.keys[1].public)
    error = refused(table, table.entry(1, bare), errors.SignatureError)
    assert "only somebody who has the link" in str(error)
    assert table.course.clock is None


def test_a_join_with_a_signature_where_there_is_no_link_is_refused() -> None:
    table = Table()
    table.open()
    signed = join_by_link(link_key(CODE), table.course, **table.newcomer(1))
    error = refused(table, table.entry(1, signed), errors.SignatureError)
    assert "not opened by link" in str(error)


@pytest.mark.parametrize("key", [link_key(OTHER_CODE), STRANGER], ids=["other code", "own key"])
def test_a_join_signed_by_another_key_is_refused(key: PrivateKey) -> None:
    table = opened()
    signed = join_by_link(key, table.course, **table.newcomer(1))
    refused(table, table.entry(1, signed), errors.SignatureError)


def test_a_join_that_its_own_player_has_signed_for_the_link_is_refused() -> None:
    table = opened()
    signed = join_by_link(table.keys[1], table.course, **table.newcomer(1))
    refused(table, table.entry(1, signed), errors.SignatureError)


@pytest.mark.parametrize(
    "changes",
    [
        {"entropy_commit": "ab" * 32},
        {"game": "cd" * 16},
        {"key": STRANGER.public},
        {"name": "carol"},
        {"prev": "ef" * 32},
    ],
    ids=lambda changes: next(iter(changes)),
)
@pytest.mark.parametrize("seat", [0, 1], ids=["open", "join"])
def test_a_signature_of_the_link_is_for_one_entry_only(seat: int, changes: dict[str, Any]) -> None:
    table = opened() if seat else Table()
    link = link_key(CODE)
    own = table.newcomer(seat)
    sig = link.sign(sshsig.JOIN if seat else sshsig.INVITE, statement_of(table, seat, **changes))
    body = (
        Join(own["entropy_commit"], own["key"], sig)
        if seat
        else Open(own["entropy_commit"], own["key"], LinkInvite(link.public, sig))
    )
    refused(table, table.entry(seat, body), errors.SignatureError)


@pytest.mark.parametrize("namespace", [sshsig.INVITE, sshsig.ENTRY, sshsig.REKEY])
def test_a_signature_in_another_namespace_is_none_for_a_join(namespace: str) -> None:
    table = opened()
    own = table.newcomer(1)
    sig = link_key(CODE).sign(namespace, statement_of(table, 1))
    refused(table, table.entry(1, Join(own["entropy_commit"], own["key"], sig)), errors.SignatureError)


def test_a_stranger_cannot_use_the_signature_of_another_guest() -> None:
    """Somebody who sees bob's join on its way cannot join in his place."""
    table = opened()
    seen = table.joining().link_sig
    table.keys, table.names = (table.keys[0], STRANGER), ("alice", "mallory")
    own = table.newcomer(1)
    refused(table, table.entry(1, Join(own["entropy_commit"], own["key"], seen)), errors.SignatureError)


def test_one_join_uses_the_link_up() -> None:
    table = opened()
    table.join()
    table.keys, table.names = (table.keys[0], STRANGER), ("alice", "carol")
    late = table.entry(1, join_by_link(link_key(CODE), table.course, **table.newcomer(1)))
    refused(table, late, errors.IllegalError)


# --- the first signature ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("namespace", [sshsig.JOIN, sshsig.ENTRY])
def test_a_signature_in_another_namespace_is_none_for_an_open(namespace: str) -> None:
    table = Table()
    own, link = table.newcomer(0), link_key(CODE)
    sig = link.sign(namespace, statement_of(table, 0))
    body = Open(own["entropy_commit"], own["key"], LinkInvite(link.public, sig))
    refused(table, table.entry(0, body), errors.SignatureError)


def test_an_open_with_the_link_of_another_is_refused() -> None:
    """A key of a link that the host has no code of, with a signature by the host's own key."""
    table = Table()
    own, link = table.newcomer(0), link_key(CODE)
    sig = table.keys[0].sign(sshsig.INVITE, statement_of(table, 0))
    body = Open(own["entropy_commit"], own["key"], LinkInvite(link.public, sig))
    refused(table, table.entry(0, body), errors.SignatureError)


def test_an_open_by_link_cannot_be_used_for_another_game() -> None:
    table, other = opened(), Table(seed=1)
    body = parse_body("open", table.lines[1].entry.body)
    other.keys = table.keys
    refused(other, other.entry(0, body), errors.SignatureError)


# --- the key of the link is no other key --------------------------------------------------------------------------


def test_the_link_cannot_be_the_key_of_the_service_or_of_the_host() -> None:
    for table in (Table(host_key=link_key(CODE)), Table()):
        if table.server.public != link_key(CODE).public:
            table.keys = (link_key(CODE), table.keys[1])
        body = open_by_link(link_key(CODE), table.course, **table.newcomer(0))
        error = refused(table, table.entry(0, body), errors.IllegalError)
        assert "the key of the link" in str(error)


def test_the_link_cannot_be_the_key_of_the_guest() -> None:
    table = opened()
    table.keys = (table.keys[0], link_key(CODE))
    error = refused(table, table.entry(1, table.joining()), errors.IllegalError)
    assert "the key of the link" in str(error)


@pytest.mark.parametrize("signed", [True, False])
def test_no_key_becomes_the_link(signed: bool) -> None:
    table = opened()
    table.join()
    link = link_key(CODE)
    if signed:
        error = refused(table, table.entry(1, table.rekeying(1, link)), errors.IllegalError)
    else:
        error = refused(table, lambda: table.revoke(1, key=link), errors.IllegalError)
    assert "the key of the link" in str(error)


# --- how it ends --------------------------------------------------------------------------------------------------


def test_a_game_by_link_cannot_be_declined_but_cancelled_or_expired() -> None:
    table = Table(agreement=UNTIMED._replace(expires="2026-11-20T13:00:00Z")).open_by_link()
    refused(table, lambda: table.lapse("declined"), errors.IllegalError)
    expired = Table(agreement=table.agreement).open_by_link().wait(3601).lapse("expired")
    cancelled = opened()
    cancelled.send(cancelled.entry(0, Cancel()))
    for ended in (expired, cancelled):
        assert ended.course.stage is Stage.OVER
        assert audit(ended.text).findings == ()
