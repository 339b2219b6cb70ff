"""The attacks on players' keys that docs/security.md lists after those of `test_attacks`, tested in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji import errors, referee
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.game import entry_kinds
from hkoji.game.entry_kinds.key_changes import Rekey, Revoke
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.line import format_log
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import proof_message
from tests.support.adversary import HostileService, added, caught, follow, instead_of, key_of
from tests.support.curve import encode_point, small_order
from tests.support.forgery import only, pins
from tests.support.memory_service import AT, LocalPlayer, begin
from tests.support.service import Player
from tests.support.service import begin as begin_there
from tests.support.service_in_process import Inside, inside
from tests.support.table import Table, new_game, refused

NEW = PrivateKey.from_seed(b"\x07" * 32)
THIEF = PrivateKey.from_seed(b"\x08" * 32)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Inside]:
    with inside(tmp_path / "data") as running:
        yield running


def to_move(service: HostileService, alice: LocalPlayer, bob: LocalPlayer, mover: str) -> str:
    """A game that both have seen, in which that player must move."""
    game = begin(alice, bob)
    if mover == "bob":
        alice.move(game, next(each for each in alice.position(game).legal if each[0] == "3"))
    for player in (alice, bob):
        player.position(game)
    return game


def proof(service: HostileService, game: str, name: str, old: PrivateKey, new: PrivateKey) -> bytes:
    """A valid proof of a new key for a game's next entry."""
    last = service.games[game].lines[-1].entry
    place = {"game": game, "prev": last.head, "seq": last.seq + 1}
    return new.sign(
        sshsig.REKEY,
        proof_message(key=new.public, name=name, old=old.public, **place),  # type: ignore[arg-type] # by name
    )


def test_a_forged_rekey(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = to_move(service, alice, bob, "bob")
    old = key_of(bob)
    body = Rekey(NEW.public, old.public, proof(service, game, "bob", old, NEW))
    for key in (NEW, service.key):
        lie = added(body, by="bob", key=key)
        caught(service, alice, game, "does not hold: the signature is not one of bob", lie)
    unproved = added(body._replace(proof=key_of(alice).sign(sshsig.REKEY, b"{}\n")), by="bob", key=old)
    caught(service, alice, game, "does not hold: the signature is not one of bob", unproved)
    table = new_game(3)
    line = follow(table.server, table.lines[-1], table.rekeying(0, NEW), by="alice", key=NEW)
    forged = format_log([*table.lines, line])
    assert only(audit(forged, pins(table))) == (AuditStep.SIGNATURES, len(table.lines), None)
    table.rekey(0, NEW)
    assert audit(table.text, {"alice": table.every_key[0].public}).ok


def test_an_opponents_seat_given_away(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """Only bob knows whether it is a lie; so alice neither believes it nor blames him until she has asked him."""
    game = to_move(service, alice, bob, "bob")
    old = key_of(bob)
    lie = added(Revoke(NEW.public, "bob", old.public, proof(service, game, "bob", old, NEW)))
    refusal = caught(service, alice, game, "has lost the key", lie)
    assert "only the service says so" in refusal.hint
    assert NEW.public.fingerprint in refusal.hint
    table, old_key = new_game(8), new_game(8).keys[0].public
    table.revoke(0)
    number = table.course.seq
    assert only(audit(table.text, {"alice": old_key})) == (AuditStep.KEYS, number, None)
    # The player is not blamed for what the impostor signs, whichever key is expected.
    table.lines.append(follow(table.server, table.lines[-1], entry_kinds.Move("1C"), by="alice", key=table.keys[0]))
    (finding,) = audit(table.text, {"server": table.server.public}).findings
    assert finding.signer is not None
    assert "by the word of the server alone" in finding.signer
    assert not finding.signer.startswith("alice")


def test_your_own_seat_given_away(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = to_move(service, alice, bob, "alice")
    own = key_of(alice)
    lie = added(Revoke(NEW.public, "alice", own.public, proof(service, game, "alice", own, NEW)))
    refusal = caught(service, alice, game, "has given your seat", lie)
    assert "is not yours" in refusal.hint
    elsewhere = to_move(service, alice, bob, "bob")
    other = added(Revoke(NEW.public, "alice", own.public, proof(service, elsewhere, "alice", own, NEW)))
    caught(service, alice, elsewhere, "while its seat owes the next entry", other)


def test_a_change_of_keys_by_the_wrong_one(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = to_move(service, alice, bob, "bob")
    old = key_of(bob)
    body = Revoke(NEW.public, "bob", old.public, proof(service, game, "bob", old, NEW))
    for lie in (
        added(body, by="bob", key=old),
        added(body._replace(name="server", old=service.key.public)),
        added(body._replace(old=THIEF.public)),
        instead_of(len(service.games[game].lines), Rekey(NEW.public, old.public, body.proof)),
    ):
        caught(service, alice, game, "does not hold", lie)
    table = new_game(3)
    revoke = table.revoking(0, NEW)
    for name, wrong in (
        ("bob", follow(table.server, table.lines[-1], revoke, by="bob", key=table.keys[1])),
        ("server", follow(table.server, table.lines[-1], revoke._replace(name="server", old=table.server.public))),
        ("server", follow(table.server, table.lines[-1], revoke._replace(old=THIEF.public))),
    ):
        found = only(audit(format_log([*table.lines, wrong]), pins(table)))
        assert found == (AuditStep.KEYS, len(table.lines), None), name


def test_a_new_key_to_spoil_a_signed_move() -> None:
    table = new_game(3)
    signed = table.move(table.course.state.legal_actions()[0])
    refused(table, table.entry(1, table.rekeying(1, NEW)), errors.NotYourTurnError)
    refused(table, lambda: _revoke(table, table.revoking(1, NEW)), errors.IllegalError)  # nor by a key that is lost
    table.send(signed)


def test_new_keys_without_end() -> None:
    table = new_game(3)
    table.rekey(0, NEW)
    for key in (THIEF, PrivateKey.from_seed(b"\x09" * 32)):
        refused(table, table.entry(0, table.rekeying(0, key)), errors.IllegalError)
    assert table.course.actor == 0
    table.play(1)


def test_a_new_key_that_cannot_be_one() -> None:
    table, other = new_game(3), new_game(4)
    body = table.rekeying(0, NEW)
    for raw in map(encode_point, small_order()):
        text = "ssh-ed25519 " + encode_base64(b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + raw)
        refused(table, table.entry(0, body, body={**body.to_json(), "key": text}), errors.WeakKeyError)
    for key in (*table.keys, table.server):
        refused(table, table.entry(0, table.rekeying(0, key)), errors.IllegalError)
    places: tuple[dict[str, object], ...] = (
        {"game": other.game},
        {"seq": table.course.seq},
        {"prev": other.course.head},
        {"name": "bob"},
        {"old": THIEF.public},
    )
    for place in places:
        refused(table, table.entry(0, table.rekeying(0, NEW, **place)), errors.SignatureError)
    for blob in (b"\x00", THIEF.sign(sshsig.REKEY, b"{}\n"), NEW.sign(sshsig.ENTRY, b"{}\n")):
        refused(table, table.entry(0, body._replace(proof=blob)), errors.SignatureError)
    table.send(table.entry(0, body))


def test_an_entry_by_the_key_of_before() -> None:
    table = new_game(3)
    old, first = table.keys, table.move(table.course.state.legal_actions()[0])
    table.rekey(0, NEW)
    refused(table, first, errors.ConflictError)
    now = table.keys
    table.keys = old
    for attempt in (table.entry(0, entry_kinds.Resign()), table.move(table.course.state.legal_actions()[0])):
        refused(table, attempt, errors.SignatureError)
    table.keys = now
    table.send(table.move(table.course.state.legal_actions()[0]))


def test_a_thief_with_a_revoked_key(server: Inside) -> None:
    """The service accepts nothing that a revoked key signs; tests/server/test_keys.py has more cases."""
    alice, bob = Player(server, "alice").register(), Player(server, "bob").register()
    game = begin_there(alice, bob)
    course, token = alice.course(game), alice.token
    attempts = [
        alice.make_move(course, course.state.legal_actions()[0]),
        alice.entry(game, (course.seq, course.head), entry_kinds.Resign()),
        alice.entry(
            game,
            (course.seq, course.head),
            Rekey(THIEF.public, alice.key.public, alice.proof(course, THIEF, alice.key)),
        ),
    ]
    statements = {"key": alice.rekeying(THIEF), "recovery": alice.recovering(THIEF, "0" * 40)}
    assert alice.ask("/v1/players/alice/revocation", alice.revoking()).status == 200
    before = (alice.lines(game), server.ask("GET", "/v1/players/alice").json)
    for submission in attempts:
        assert alice.send(submission).json["code"] == "revoked"
    for path, body in statements.items():
        assert alice.ask(f"/v1/players/alice/{path}", body).status == 403
    assert server.ask("GET", f"/v1/games/{game}/view", token=token).status == 401
    text = server.ask("POST", "/v1/login/challenge").json["text"]
    login = {"name": "alice", "text": text, "sig": alice.signed(text, sshsig.LOGIN)}
    assert server.ask("POST", "/v1/login", login).json["code"] == "revoked"
    assert (alice.lines(game), server.ask("GET", "/v1/players/alice").json) == before


def _revoke(table: Table, body: Revoke) -> None:
    referee.revoke(table.refereed, body, signer=table.server, at=AT)
