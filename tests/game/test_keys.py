"""Keys that change in a running game: the game is unaffected, and only the right signatures change a key."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hkoji import errors, referee
from hkoji.audit.keyring import ExpectedKeys
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.game import entry_kinds
from hkoji.game.course import Stage
from hkoji.game.entry_kinds import parse_body
from hkoji.game.entry_kinds.key_changes import Rekey, Revoke
from hkoji.game.replay import replay
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.line import Line, format_log, parse_log, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import proof_message
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.adversary import follow
from tests.support.curve import encode_point, encodings, small_order
from tests.support.forgery import entry_number, every_pin, only
from tests.support.table import AT, Table, new_game, refused
from tests.support.timed_table import TimedTable, later

NEW = PrivateKey.from_seed(b"\x01" * 32)
RULESETS: list[Ruleset] = [Hanamikoji("random", 1, "charm"), GeishasRoad("random", "random")]


# --- the game is the same ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", RULESETS, ids=lambda ruleset: ruleset.name)
@settings(max_examples=15)
@given(seed=st.integers(0, 20), changes=st.lists(st.sampled_from(["rekey", "revoke", "signed", ""]), max_size=12))
def test_a_game_with_new_keys_is_the_game_without(ruleset: Ruleset, seed: int, changes: list[str]) -> None:
    """Deal, positions as everybody sees them, decisions and result do not depend on changes of keys."""
    plain, changed = new_game(seed, ruleset), new_game(seed, ruleset)
    chance = random.Random(seed)
    for kind in [*changes, *[""] * 100]:
        actor = changed.course.actor
        if actor is None:
            break
        before = changed.course
        if kind == "rekey":
            changed.rekey(actor)
        elif kind:
            changed.revoke(actor, signed=kind == "signed")
        assert changed.course.actor == actor
        assert (changed.course.state, changed.course.dealt, changed.course.stage) == (
            before.state,
            before.dealt,
            before.stage,
        )
        action = chance.choice(plain.course.state.legal_actions())
        for table in (plain, changed):
            table.send(table.move(action))
        for seat in (0, 1, None):
            assert plain.course.state.project(seat) == changed.course.state.project(seat)
    assert plain.course.dealt == changed.course.dealt
    assert plain.course.outcome == changed.course.outcome
    assert replay(plain.lines).events == replay(changed.lines).events
    result = audit(changed.text, every_pin(changed))
    assert result.ok
    assert all(party.pinned for party in result.parties)


def test_a_new_key_stops_no_clock_and_pays_no_debt() -> None:
    table = TimedTable(seed=3)
    table.begin()
    due = table.deadline()
    assert due is not None
    table.wait(100).rekey(0, NEW)
    assert (table.course.actor, table.deadline()) == (0, due)
    lines = [*table.lines, follow(table.server, table.lines[-1], entry_kinds.Timeout(0), at=later(due, 1))]
    assert audit(_text(lines)).ok
    lines[-1] = follow(table.server, table.lines[-1], entry_kinds.Timeout(0), at=due)
    assert only(audit(_text(lines), every_pin(table))) == (AuditStep.TIMES, len(lines) - 1, "server")


@pytest.mark.parametrize("stage", [Stage.GUEST_SEED, Stage.HOST_SEED])
def test_a_key_may_change_while_its_entropy_is_owed(stage: Stage) -> None:
    table = Table(seed=2)
    table.open()
    table.join()
    if stage is Stage.HOST_SEED:
        table.send(table.entry(1, entry_kinds.Seed(table.entropy[1])))
    actor = table.course.actor
    assert actor is not None
    table.rekey(actor)
    assert table.course.stage is stage
    for seat in (1, 0)[1 - actor :]:
        table.send(table.entry(seat, entry_kinds.Seed(table.entropy[seat])))
    assert audit(table.play().text, every_pin(table)).ok


# --- and nothing else changes a key -----------------------------------------------------------------------------------


def test_after_it_the_old_key_does_not_count_and_before_it_not_the_new_one() -> None:
    table = new_game(4)
    old = table.keys[0]
    early = _signed(table, 0, entry_kinds.Resign(), NEW)
    assert "key" in refused(table, early, errors.SignatureError).message
    table.rekey(0, NEW)
    refused(table, _signed(table, 0, entry_kinds.Resign(), old), errors.SignatureError)
    move = table.move(table.course.state.legal_actions()[0])
    refused(table, move._replace(sig=sign_entry(move.entry, old)), errors.SignatureError)
    table.send(table.move(table.course.state.legal_actions()[0]))


def test_only_the_seat_that_is_to_move_and_not_twice_in_a_row() -> None:
    table = new_game(4)
    refused(table, table.entry(1, table.rekeying(1, NEW)), errors.NotYourTurnError)
    table.rekey(0, NEW)
    again = PrivateKey.from_seed(b"\x02" * 32)
    error = refused(table, table.entry(0, table.rekeying(0, again)), errors.IllegalError)
    assert "another" in error.message
    while table.course.actor == 0:
        table.play(1)
    while table.course.actor == 1:
        table.play(1)
    table.rekey(0, again)
    early = Table(seed=1)
    early.open()
    refused(early, early.entry(0, early.rekeying(0, NEW)), errors.NotYourTurnError)
    over = new_game(1, RULESETS[0]).play()
    refused(over, over.entry(0, over.rekeying(0, NEW)), errors.GameOverError)


def test_a_key_that_the_service_has_replaced_may_be_replaced_at_once() -> None:
    table = new_game(4)
    table.rekey(0)
    table.revoke(0)
    table.rekey(0)
    assert table.course.rekeyed
    assert audit(table.play().text, every_pin(table)).ok


def test_no_key_that_is_or_was_one_of_the_game() -> None:
    table = new_game(4)
    first = table.keys[0]
    for key in (table.keys[0], table.keys[1], table.server):
        refused(table, table.entry(0, table.rekeying(0, key)), errors.IllegalError)
    table.rekey(0, NEW)
    table.play(1)
    while table.course.actor != 0:
        table.play(1)
    refused(table, table.entry(0, table.rekeying(0, first)), errors.IllegalError)
    other = PrivateKey.from_seed(b"\x03" * 32)
    wrong = Rekey(other.public, first.public, table.proof(0, other, old=first.public))
    refused(table, table.entry(0, wrong), errors.IllegalError)


def test_no_weak_key() -> None:
    table = new_game(4)
    for raw in (*map(encode_point, small_order()), *encodings()):
        blob = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + raw
        text = "ssh-ed25519 " + encode_base64(blob)
        body = {**table.rekeying(0, NEW).to_json(), "key": text}
        refused(table, table.entry(0, table.rekeying(0, NEW), body=body), errors.WeakKeyError)


@pytest.mark.parametrize(
    "place",
    [
        {"game": "ab" * 16},
        {"seq": 4},
        {"prev": "ab" * 32},
        {"name": "bob"},
        {"old": NEW.public},
        {"key": PrivateKey.from_seed(b"\x04" * 32).public},
    ],
    ids=lambda place: next(iter(place)),
)
def test_a_proof_counts_for_one_game_place_name_and_pair_of_keys(place: dict[str, object]) -> None:
    table = new_game(4)
    refused(table, table.entry(0, table.rekeying(0, NEW, **place)), errors.SignatureError)
    by_service = table.revoking(0, NEW)._replace(proof=table.proof(0, NEW, **place))
    refused(table, lambda: _take(table, by_service), errors.SignatureError)
    table.send(table.entry(0, table.rekeying(0, NEW)))


def test_no_proof_by_another_key_for_another_purpose_or_none() -> None:
    table = new_game(4)
    body = table.rekeying(0, NEW)
    message = _proof_message(table)
    for blob in (
        table.keys[0].sign(sshsig.REKEY, message),
        table.server.sign(sshsig.REKEY, message),
        NEW.sign(sshsig.ENTRY, message),
        b"\x00",
    ):
        refused(table, table.entry(0, body._replace(proof=blob)), errors.SignatureError)
    values: tuple[object, ...] = ("", "AAA", None, 1, {})
    for value in values:
        wrong = {**body.to_json(), "proof": value}
        refused(table, table.entry(0, body, body=wrong), errors.MalformedError)
    for name in ("proof", "old", "key"):
        less = {key: value for key, value in body.to_json().items() if key != name}
        refused(table, table.entry(0, body, body=less), errors.MalformedError)
    refused(table, table.entry(0, body, body={**body.to_json(), "by": "x"}), errors.NotUnderstoodError)
    refused(table, _signed(table, 0, body, NEW), errors.SignatureError)  # without the old key's signature
    table.send(table.entry(0, body))


def test_a_rekey_played_again_in_another_game_is_refused() -> None:
    table, other = new_game(4), new_game(5)
    other.keys = table.keys
    entry = table.entry(0, table.rekeying(0, NEW))
    refused(other, entry, errors.MalformedError)
    body = parse_body("rekey", entry.entry.body)
    refused(other, _signed(other, 0, body, table.keys[0]), errors.SignatureError)


def test_a_revoke_is_the_services_alone_and_for_the_seat_that_is_to_move() -> None:
    table = new_game(4)
    refused(table, table.entry(0, table.revoking(0, NEW)), errors.ForbiddenError)
    refused(table, lambda: _take(table, table.revoking(1, NEW)), errors.IllegalError)
    refused(table, lambda: _take(table, table.revoking(0, NEW)._replace(name="carol")), errors.IllegalError)
    refused(table, lambda: _take(table, table.revoking(0, NEW)._replace(old=NEW.public)), errors.IllegalError)
    for key in (*table.keys, table.server):
        refused(table, lambda key=key: _take(table, table.revoking(0, key)), errors.IllegalError)  # type: ignore[misc] # fixes the key
    signed = table.revoking(0, NEW, signed=True)
    assert signed.revocation is not None
    for changed in ({"at": "2026-11-20T12:00:01Z"}, {"origin": "http://other"}, {"sig": b"\x00"}):
        wrong = signed._replace(revocation=signed.revocation._replace(**changed))
        refused(table, lambda wrong=wrong: _take(table, wrong), errors.SignatureError)  # type: ignore[misc] # fixes it
    table.revoke(0, signed=True)
    assert audit(table.play().text, every_pin(table)).ok


# --- what the audit says ----------------------------------------------------------------------------------------------


def test_a_key_that_follows_an_expected_one_is_expected() -> None:
    table = new_game(6, RULESETS[0]).play(1)
    seat = table.course.actor
    assert seat is not None
    first, name = table.keys[seat].public, table.names[seat]
    number = table.course.seq + 1
    table.rekey(seat, NEW)
    table.play()
    result = audit(table.text, {name: first})
    assert result.ok
    mine = [party for party in result.parties if party.name == name]
    assert [(party.key, party.pinned, party.since, party.vouched) for party in mine] == [
        (first, True, seat + 1, False),
        (NEW.public, True, number + 1, False),
    ]
    # A reader who knows only the new key learns that there was another one.
    assert only(audit(table.text, {name: NEW.public})) == (AuditStep.KEYS, seat + 1, None)
    assert audit(table.text, {name: {NEW.public, first}}).ok


def test_a_key_that_the_service_vouches_for_is_expected_only_if_it_was_given() -> None:
    table, number = _taken_over()
    first = table.every_key[0].public
    assert only(audit(table.text, {"alice": first})) == (AuditStep.KEYS, number, None)
    for pins in ({}, {"alice": (first, table.keys[0].public)}):
        known: ExpectedKeys = pins
        result = audit(table.text, known)
        assert result.ok
        (party,) = [party for party in result.parties if party.vouched]
        assert (party.name, party.since, party.pinned) == ("alice", number + 1, bool(pins))
        assert f"from entry {number + 1} on" in result.notes[AuditStep.KEYS]


def test_a_signature_by_a_vouched_key_convicts_the_player_only_if_it_was_expected() -> None:
    """The service takes the seat over and breaks the rules in the player's name."""
    table, _ = _taken_over()
    last = table.lines[-1]
    table.lines.append(follow(table.server, last, entry_kinds.Move("1C"), by="alice", key=table.keys[0]))
    first, second, server = table.every_key[0].public, table.keys[0].public, table.server.public
    (finding,) = audit(table.text, {"server": server}).findings
    assert finding.step is AuditStep.REPLAY
    assert finding.signer == f"the key {second.fingerprint}, alice's by the word of the server alone and server"
    (finding,) = audit(table.text, {"server": server, "alice": (first, second)}).findings
    assert finding.signer == "alice and server"


def test_after_a_vouched_key_a_rekey_rests_on_the_service_too() -> None:
    table, _ = _taken_over()
    while table.course.actor != 0:
        table.play(1)
    table.rekey(0, NEW)
    (_, second, third) = [party for party in audit(table.text).parties if party.name == "alice"]
    assert (second.vouched, third.vouched) == (True, True)


def test_a_forged_change_of_keys_is_found_and_names_nobody() -> None:
    table = new_game(6, RULESETS[0])
    table.rekey(0, NEW)
    number = entry_number(table, "rekey")
    line = table.lines[number]
    body = parse_body("rekey", line.entry.body)
    assert isinstance(body, Rekey)
    before = table.lines[number - 1]
    thief = PrivateKey.from_seed(b"\x05" * 32)
    unproved = follow(table.server, before, body._replace(proof=b"\x00"), by="alice", key=table.every_key[0])
    by_new = Line(line.entry, sign_entry(line.entry, NEW), line.receipt)
    revoke = Revoke(thief.public, "alice", body.old, b"\x00")
    by_player = follow(table.server, before, revoke, by="bob", key=table.keys[1])
    of_server = follow(table.server, before, Revoke(thief.public, "server", table.server.public, b"\x00"))
    of_nobody = follow(table.server, before, Revoke(thief.public, "carol", body.old, b"\x00"))
    other_old = follow(table.server, before, body._replace(old=thief.public), by="alice", key=table.every_key[0])
    for forged, step in (
        (other_old, AuditStep.KEYS),
        (unproved, AuditStep.SIGNATURES),
        (by_new, AuditStep.SIGNATURES),
        (by_player, AuditStep.KEYS),
        (of_server, AuditStep.KEYS),
        (of_nobody, AuditStep.KEYS),
    ):
        log = _text([*table.lines[:number], forged])
        assert only(audit(log, {"bob": table.keys[1].public})) == (step, number, None)
    unproved = follow(table.server, before, Revoke(thief.public, "alice", body.old, b"\x00"))
    result = audit(_text([*table.lines[:number], unproved]))
    assert only(result) == (AuditStep.SIGNATURES, number, None)
    assert result.findings[0].reason.startswith("the signature is not one of alice: ")


def test_a_log_with_new_keys_is_read_back_as_it_was() -> None:
    table, _ = _taken_over()
    result = replay(parse_log(table.text))
    assert result.stop is None
    assert result.course is not None
    setup = result.course.setup
    assert setup == table.course.setup
    assert setup.all_keys(0) == (table.every_key[0].public, table.keys[0].public)
    assert setup.all_keys(1) == (table.keys[1].public,)
    (change,) = setup.replaced
    assert setup.key_at(0, change.seq) == table.every_key[0].public
    assert setup.key_at(0, change.seq + 1) == table.keys[0].public
    assert change.vouched


def _taken_over() -> tuple[Table, int]:
    """A running game in which the service has given alice's seat to another key, and the number of that entry."""
    table = new_game(8)
    table.revoke(0)
    number = table.course.seq
    table.play(3)
    return table, number


def _take(table: Table, body: Revoke) -> None:
    referee.revoke(table.refereed, body, signer=table.server, at=AT)


def _signed(table: Table, seat: int, content: entry_kinds.EntryBody, key: PrivateKey) -> Submission:
    """A submission of a seat by any key."""
    entry = table.entry(seat, content).entry
    return Submission(entry, sign_entry(entry, key))


def _proof_message(table: Table) -> bytes:
    course = table.course
    old = table.keys[0].public
    return proof_message(game=table.game, key=NEW.public, name="alice", old=old, prev=course.head, seq=course.seq + 1)


def _text(lines: list[Line]) -> str:
    return format_log(lines)
