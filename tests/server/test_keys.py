"""Changing keys at the service: only the old key's signature allows it, and a revoked key is useless."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hkoji_server import admin

from hkoji.audit.log_audit import audit
from hkoji.errors import NotFoundError
from hkoji.game import entry_kinds
from hkoji.game.commitments import entropy_commit
from hkoji.game.entry_kinds.key_changes import Rekey, Revoke
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.line import format_log
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import make_registration
from tests.support.ledger import everything
from tests.support.service import Answer, Player, begin, offer_of, play
from tests.support.service_in_process import Inside, inside
from tests.support.times import log_time

NEW, THIRD, THIEF = (PrivateKey.from_seed(bytes([n]) * 32) for n in (1, 2, 3))


@pytest.fixture(params=["sqlite", "postgres"])
def service(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Inside]:
    kept = {"database": request.getfixturevalue("postgres")} if request.param == "postgres" else {}
    with inside(tmp_path / "data", **kept) as running:
        yield running


def release(service: Inside, name: str) -> str:
    """The operator's part, done by hand."""
    return admin.revoke_keys(None if service.database else service.data, name, database=service.database)


def shown(service: Inside, name: str = "alice") -> Any:  # Any: JSON
    return service.ask("GET", f"/v1/players/{name}").json


def refused(service: Inside, answer: Answer, status: int, code: str, before: Any) -> None:
    """Checks that it was refused, with a reason or the next step, and that the player is unchanged."""
    assert (answer.status, answer.json["code"]) == (status, code), answer
    assert answer.json["detail"]
    assert shown(service) == before


def rekey(player: Player, new: PrivateKey) -> Answer:
    answer = player.ask(f"/v1/players/{player.name}/key", player.rekeying(new))
    player.key = new
    return answer


# --- another key ------------------------------------------------------------------------------------------------------


def test_a_new_key_logs_in_and_opens_games_and_the_old_one_does_not(
    service: Inside, players: tuple[Player, Player]
) -> None:
    alice, _ = players
    old = alice.key
    sent = alice.rekeying(NEW)
    began = log_time(service.clock())
    assert alice.ask("/v1/players/alice/key", sent).status == 200
    assert alice.ask("/v1/players/alice/key", sent).status == 200  # the same again
    (earlier,) = shown(service)["earlier"]
    assert began <= earlier.pop("until") <= log_time(service.clock())
    assert earlier == {
        "key": old.public.text,
        "revoked": False,
        "text": sent["text"],
        "sig": sent["old_sig"],
        "new_sig": sent["sig"],
    }
    assert (shown(service)["key"], shown(service)["revoked"]) == (NEW.public.text, False)
    assert service.ask("GET", "/v1/me/games", token=alice.token).status == 401
    with pytest.raises(KeyError):
        alice.login()
    alice.key = NEW
    game = alice.login().new()
    assert alice.lines(game)[1].entry.body["key"] == NEW.public.text
    offered = service.ask("POST", "/v1/offers", offer_of(), alice.token)
    alice.key = old
    other = str(offered.json["game"])
    opened = alice.entry(
        other, alice.head(other), entry_kinds.Open(entropy_commit(other, 0, alice.entropy), old.public)
    )
    assert alice.send(opened).status == 403
    assert len(alice.lines(other)) == 1


def test_a_new_key_needs_both_signatures_and_a_key_that_is_nobodys(
    service: Inside, players: tuple[Player, Player]
) -> None:
    alice, bob = players
    before, sent = shown(service), alice.rekeying(NEW)
    path = "/v1/players/alice/key"
    stolen = Player(service, "alice", THIEF).rekeying(NEW, old=alice.key.public)
    for body in (
        {**sent, "sig": sent["old_sig"]},
        {**sent, "old_sig": sent["sig"]},
        {**sent, "sig": alice.rekeying(THIRD)["sig"]},
        {**sent, "text": alice.rekeying(NEW, at="2026-11-20T12:00:01Z")["text"]},
        stolen,
    ):
        refused(service, alice.ask(path, body), 403, "bad-signature", before)
    wrong = Player(service, "alice", THIEF).rekeying(NEW)
    refused(service, alice.ask(path, wrong), 403, "forbidden", before)
    refused(service, alice.ask(path, alice.rekeying(NEW, origin="http://other")), 403, "forbidden", before)
    refused(service, alice.ask(path, alice.rekeying(NEW, name="bob")), 400, "malformed", before)
    refused(service, alice.ask(path, alice.rekeying(bob.key)), 409, "exists", before)
    refused(service, alice.ask(path, alice.rekeying(alice.key)), 409, "exists", before)
    weak = sent["text"].replace(NEW.public.text, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA" + "A" * 42)
    refused(service, alice.ask(path, {**sent, "text": weak}), 400, "weak-key", before)
    assert service.ask("GET", "/v1/me/games", token=alice.token).status == 200  # and the login is as good as before
    assert rekey(alice, NEW).status == 200
    before = shown(service)
    back = alice.rekeying(NEW, old=NEW.public)
    refused(service, alice.ask(path, back), 409, "exists", before)
    assert bob.ask("/v1/players/bob/key", bob.rekeying(NEW)).json["code"] == "exists"


def test_running_games_go_on_with_the_old_key_until_it_gives_way_there(players: tuple[Player, Player]) -> None:
    alice, bob = players
    old, game = alice.key, begin(alice, bob)
    rekey(alice, NEW)
    alice.login()
    course = alice.course(game)
    alice.key = old
    change = alice.entry(game, (course.seq, course.head), Rekey(NEW.public, old.public, alice.proof(course, NEW, old)))
    assert alice.send(change).status == 201
    repeat = alice.send(change)
    assert (repeat.status, len(repeat.json["lines"])) == (200, 1)  # signed by a key that is no longer in force
    move = alice.make_move(alice.course(game), alice.course(game).state.legal_actions()[0])
    assert alice.send(move).json["code"] == "bad-signature"
    alice.key = NEW
    play(alice, bob, game)
    assert audit(format_log(alice.lines(game)), {"alice": old.public, "bob": bob.key.public}).ok


# --- a key that is lost -----------------------------------------------------------------------------------------------


def test_a_thief_with_a_revoked_key_can_do_nothing(service: Inside, players: tuple[Player, Player]) -> None:
    alice, bob = players
    game, open_game = begin(alice, bob), alice.new()
    invited = bob.new(invite=entry_kinds.Invite("alice"))
    token, offered = alice.token, service.ask("POST", "/v1/offers", offer_of(), alice.token)
    other = str(offered.json["game"])
    course = alice.course(game)
    actions = course.state.legal_actions()
    logs = {each: alice.lines(each) for each in (game, open_game, invited, other)}
    challenge = service.ask("POST", "/v1/login/challenge").json["text"]

    assert alice.ask("/v1/players/alice/revocation", alice.revoking()).status == 200
    before = shown(service)
    assert before["revoked"]
    assert before["key"] == alice.key.public.text

    for path in (f"/v1/games/{game}/view", "/v1/me/games"):
        assert service.ask("GET", path, token=token).status == 401
    assert service.ask("POST", "/v1/offers", offer_of(), token).status == 401
    assert alice.ask(f"/v1/games/{game}/recovery", {"proof": "AAAA"}, token).status == 401
    login = {"name": "alice", "text": challenge, "sig": alice.signed(challenge, "hkoji.login.v1")}
    refused(service, service.ask("POST", "/v1/login", login), 403, "revoked", before)
    at = (course.seq, course.head)
    rekeying = Rekey(THIEF.public, alice.key.public, alice.proof(course, THIEF, alice.key))
    opened = entry_kinds.Open(entropy_commit(other, 0, alice.entropy), alice.key.public)
    joined = entry_kinds.Join(entropy_commit(invited, 1, alice.entropy), alice.key.public)
    for submission in (
        alice.make_move(course, actions[0]),
        alice.make_move(course, "1A"),  # not even whether it would be legal
        alice.entry(game, at, entry_kinds.Resign()),
        alice.entry(game, at, rekeying),
        alice.entry(open_game, alice.head(open_game), entry_kinds.Cancel()),
        alice.entry(other, alice.head(other), opened),
        alice.entry(invited, alice.head(invited), joined),
    ):
        refused(service, alice.send(submission), 403, "revoked", before)
    path = "/v1/players/alice"
    refused(service, alice.ask(f"{path}/key", alice.rekeying(THIEF)), 403, "revoked", before)
    for code in ("", "0" * 40):
        refused(service, alice.ask(f"{path}/recovery", alice.recovering(THIEF, code)), 403, "forbidden", before)
    assert _register(alice, "alice", alice.key).json["code"] == "revoked"
    assert _register(alice, "alice", THIEF).json["code"] == "exists"  # the name is not free for whoever comes first
    assert _register(alice, "mallory", alice.key).json["code"] in ("revoked", "exists")
    assert {each: alice.lines(each) for each in logs} == logs
    assert shown(service) == before


def test_a_revocation_needs_the_keys_own_signature(service: Inside, players: tuple[Player, Player]) -> None:
    alice, bob = players
    before, path = shown(service), "/v1/players/alice/revocation"
    own, forged = alice.revoking(), Player(service, "alice", THIEF)
    by_thief = forged.revoking(key=alice.key.public)["sig"]
    refused(service, alice.ask(path, {**own, "sig": by_thief}), 403, "bad-signature", before)
    refused(service, alice.ask(path, forged.revoking()), 403, "forbidden", before)
    refused(service, alice.ask(path, bob.revoking(name="alice")), 403, "forbidden", before)
    refused(service, alice.ask(path, bob.revoking()), 400, "malformed", before)
    refused(service, alice.ask(path, alice.revoking(origin="http://other")), 403, "forbidden", before)
    assert service.ask("GET", "/v1/me/games", token=alice.token).status == 200
    for _ in range(2):
        assert alice.ask(path, own).status == 200


@pytest.mark.parametrize("signed", [True, False], ids=["signed by the key", "by the host alone"])
def test_the_hosts_code_brings_another_key_and_the_running_game(
    service: Inside, players: tuple[Player, Player], signed: bool
) -> None:
    alice, bob = players
    old, game = alice.key, begin(alice, bob)
    if signed:
        assert alice.ask("/v1/players/alice/revocation", alice.revoking()).status == 200
    code = release(service, "alice")
    before = shown(service)
    assert before["revoked"]
    for name, body in (
        ("alice", alice.recovering(NEW, code[:-1] + "x")),
        ("bob", bob.recovering(NEW, code)),
        ("alice", alice.recovering(old, code)),
        ("alice", {**alice.recovering(NEW, code), "sig": alice.recovering(THIEF, code)["sig"]}),
        ("alice", alice.recovering(NEW, code, origin="http://other")),
        ("alice", alice.recovering(bob.key, code)),
    ):
        assert alice.ask(f"/v1/players/{name}/recovery", body).status in (403, 409)
        assert shown(service) == before
    sent = alice.recovering(NEW, code)
    for _ in range(2):  # a lost answer is requested again
        assert alice.ask("/v1/players/alice/recovery", sent).status == 200
    used = alice.ask("/v1/players/alice/recovery", alice.recovering(THIRD, code))
    refused(service, used, 403, "forbidden", shown(service))
    assert (shown(service)["key"], shown(service)["revoked"]) == (NEW.public.text, False)

    alice.key = NEW
    alice.login()
    course = alice.course(game)
    proof = encode_base64(alice.proof(course, NEW, old))
    for wrong in ("AAAA", "A", encode_base64(alice.proof(course, THIRD, old))):
        assert alice.ask(f"/v1/games/{game}/recovery", {"proof": wrong}, alice.token).status in (400, 403)
    assert bob.ask(f"/v1/games/{game}/recovery", {"proof": proof}, bob.token).status == 403
    assert len(alice.lines(game)) == course.seq + 1
    first = alice.ask(f"/v1/games/{game}/recovery", {"proof": proof}, alice.token)
    again = alice.ask(f"/v1/games/{game}/recovery", {"proof": proof}, alice.token)
    assert (first.status, again.status) == (201, 200)
    assert first.json == again.json
    line = alice.lines(game)[-1]
    said = Revoke(NEW.public, "alice", old.public, alice.proof(course, NEW, old))
    assert {**line.entry.body, "revocation": None} == said.to_json()
    assert (line.entry.body["revocation"] is not None) == signed
    play(alice, bob, game)
    text = format_log(alice.lines(game))
    assert audit(text, {"alice": (old.public, NEW.public), "bob": bob.key.public}).ok
    assert not audit(text, {"alice": old.public}).ok


@pytest.mark.parametrize("by", ["the key itself", "the operator"])
def test_nobody_ends_a_login_by_sending_an_old_revocation_again(
    service: Inside, players: tuple[Player, Player], by: str
) -> None:
    """`GET /v1/players/alice` publishes alice's revocation to everybody."""
    alice, bob = players
    old, path = alice.revoking(), "/v1/players/alice/revocation"
    assert alice.ask(path, old).status == 200
    code = release(service, "alice")
    assert alice.ask("/v1/players/alice/recovery", alice.recovering(NEW, code)).status == 200
    alice.key = NEW
    alice.login()
    (published,) = shown(service)["earlier"]
    assert {name: published[name] for name in ("text", "sig")} == old
    before = shown(service)
    assert bob.ask(path, old).status == 200
    assert service.ask("GET", "/v1/me/games", token=alice.token).status == 200
    assert shown(service) == before
    if by == "the operator":
        release(service, "alice")
    else:
        assert alice.ask(path, alice.revoking()).status == 200
    assert service.ask("GET", "/v1/me/games", token=alice.token).status == 401


def test_a_thief_who_was_quicker_loses_the_name_again_and_with_it_every_key(
    service: Inside, players: tuple[Player, Player]
) -> None:
    alice, bob = players
    old, game = alice.key, begin(alice, bob)
    rekey(alice, THIEF)
    code = release(service, "alice")
    earlier = {each["key"]: each["revoked"] for each in shown(service)["earlier"]}
    assert earlier == {old.public.text: True, THIEF.public.text: True}
    course = bob.course(game)
    for key in (old, THIEF):
        alice.key = key
        assert alice.send(alice.entry(game, (course.seq, course.head), entry_kinds.Resign())).status == 403
        assert alice.ask("/v1/players/alice/recovery", alice.recovering(key, code)).status == 403
    assert alice.ask("/v1/players/alice/recovery", alice.recovering(NEW, code)).status == 200
    alice.key = NEW
    alice.login()
    proof = encode_base64(alice.proof(alice.course(game), NEW, old))
    assert alice.ask(f"/v1/games/{game}/recovery", {"proof": proof}, alice.token).status == 201
    assert alice.lines(game)[-1].entry.body["revocation"] is None  # the old key's signature is no revocation
    play(alice, bob, game)


def test_a_seat_is_taken_over_only_while_it_is_to_move_and_only_from_a_revoked_key(
    service: Inside, players: tuple[Player, Player]
) -> None:
    alice, bob = players
    old, game = bob.key, begin(alice, bob)
    course = bob.course(game)
    assert course.actor == 0
    rekey(bob, NEW)
    bob.login()
    proof = encode_base64(bob.proof(course, NEW, old))
    refusal = bob.ask(f"/v1/games/{game}/recovery", {"proof": proof}, bob.token)
    assert (refusal.status, refusal.json["code"]) == (403, "forbidden")
    bob.key = old
    assert bob.ask("/v1/players/bob/revocation", bob.revoking()).status == 200  # an earlier key, by its own revocation
    bob.key = NEW
    assert not shown(service, "bob")["revoked"]
    bob.login()
    refusal = bob.ask(f"/v1/games/{game}/recovery", {"proof": proof}, bob.token)
    assert (refusal.status, refusal.json["code"]) == (422, "illegal")
    assert len(bob.lines(game)) == course.seq + 1
    move = alice.make_move(alice.course(game), alice.course(game).state.legal_actions()[0])
    assert alice.send(move).status == 201  # it was signed before, and is still valid


def test_a_code_is_good_for_a_week_and_the_last_one_counts(service: Inside, players: tuple[Player, Player]) -> None:
    alice, _ = players
    first, second = (release(service, "alice") for _ in range(2))
    before = shown(service)
    refused(service, alice.ask("/v1/players/alice/recovery", alice.recovering(NEW, first)), 403, "forbidden", before)
    assert first not in str(before)
    kept = "\n".join(everything(service.database or service.data / "hkoji.sqlite3"))
    assert alice.key.public.text in kept
    assert second not in kept
    assert alice.ask("/v1/players/alice/recovery", alice.recovering(NEW, second)).status == 200


def test_the_hosts_command_names_what_is_not_there(tmp_path: Path, service: Inside) -> None:
    with pytest.raises(NotFoundError):
        release(service, "nobody")
    with pytest.raises(NotFoundError):
        admin.revoke_keys(tmp_path / "elsewhere", "alice")
    assert not (tmp_path / "elsewhere").exists()


def _register(asking: Player, name: str, key: PrivateKey) -> Answer:
    statement = make_registration(at="2026-11-20T12:00:00Z", key=key.public, name=name, origin=asking.origin())
    sig = encode_base64(key.sign(sshsig.REGISTER, statement.message))
    return asking.ask("/v1/players", {"text": statement.text, "sig": sig})
