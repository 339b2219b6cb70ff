"""A player changes keys at the real service: the process may end at any step, and the game goes on."""

from __future__ import annotations

import random
import shutil
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server import admin

from hkoji.audit.log_audit import audit
from hkoji.client import Home, key_changes
from hkoji.client.answers import PlayerAnswer
from hkoji.client.identity import load
from hkoji.client.kept import game as vault
from hkoji.client.kept.home import Pins
from hkoji.client.known_keys import KnownKeys
from hkoji.client.plans import Delay, PlanFiles, PlanRunner
from hkoji.client.sending import EntrySender
from hkoji.client.service import Service
from hkoji.errors import ExistsError, ForbiddenError, HkojiError, LoginError, NetworkError, TrustError, UsageError
from hkoji.game import entry_kinds
from hkoji.game.entry_kinds.key_changes import Delegate
from hkoji.log.canonical import encode_base64
from hkoji.log.line import format_log
from hkoji.log.mail_claim import MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey
from hkoji.plans.grammar import parse_plan
from hkoji.plans.standing import ArmedPlan
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.breaking_off import breaks
from tests.support.interrupted_players import URL, Hall, HallPlayer, arrived, hall
from tests.support.service_in_process import inside
from tests.support.table import new_game

RULES = Hanamikoji("host", 1, "charm")


__all__ = ["hall"]


@pytest.fixture(autouse=True)
def _time_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two statements are made in the same second, so that one made anew differs."""
    seconds = count()
    monkeypatch.setattr(
        key_changes, "utc_now", lambda: f"2026-11-20T{(n := next(seconds)) // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z"
    )


@pytest.fixture
def alice(hall: Hall, tmp_path: Path) -> HallPlayer:
    return arrived({URL: hall}, "alice", tmp_path / "alice")


@pytest.fixture
def bob(hall: Hall, tmp_path: Path) -> HallPlayer:
    return arrived({URL: hall}, "bob", tmp_path / "bob")


def begin(alice: HallPlayer, bob: HallPlayer) -> str:
    game = alice.client.new(RULES).course.setup.game
    bob.join(game)
    alice.position(game)
    return game


def play(players: tuple[HallPlayer, HallPlayer], game: str, moves: int = 1000) -> None:
    chance = random.Random(1)
    for _ in range(moves):
        positions = [player.position(game) for player in players]
        mover = next((n for n, each in enumerate(positions) if each.legal), None)
        if mover is None:
            return
        players[mover].move(game, chance.choice(positions[mover].legal))


def key_of(player: HallPlayer) -> PublicKey:
    return load(Home(player.path)).key


def kinds(hall: Hall, game: str) -> list[str]:
    return [line.entry.kind for line in hall.lines(game)]


def registered(hall: Hall, name: str) -> Any:  # Any: JSON
    return hall.service.ask("GET", f"/v1/players/{name}").json


def test_a_new_key_is_told_and_every_game_follows_on_its_turn(hall: Hall, alice: HallPlayer, bob: HallPlayer) -> None:
    old, first, second = key_of(alice), begin(alice, bob), begin(bob, alice)
    assert alice.client.keys.rekey(None).key == key_of(alice) != old
    new = key_of(alice)
    assert registered(hall, "alice")["key"] == new.text
    alice.said.clear()
    alice.position(second)  # bob's turn: nothing happens
    assert "rekey" not in kinds(hall, second)
    assert alice.position(first).course.setup.keys[0] == new
    assert any("has your new key now" in remark for remark in alice.said)
    bob.said.clear()
    assert bob.position(first).course.setup.keys[0] == new
    assert [remark for remark in bob.said if "alice has another key now" in remark]
    for game in (first, second):
        play((alice, bob), game)
        assert kinds(hall, game).count("rekey") == 1
        result = audit(format_log(hall.lines(game)), {"alice": old, "bob": key_of(bob)})
        assert result.ok
        assert result.finished
        assert alice.position(game).over
        assert bob.position(game).over
    assert bob.client.service().pins.every["alice"] == (new, old)
    third = alice.client.new(RULES).course.setup.game
    bob.join(third)
    play((alice, bob), third)
    assert "rekey" not in kinds(hall, third)
    evidence = alice.client.evidence(first).text
    assert old.text in evidence
    assert new.text in evidence


def test_a_change_that_breaks_off_anywhere_is_finished_by_the_same_command(
    hall: Hall, alice: HallPlayer, bob: HallPlayer
) -> None:
    game, broken = begin(alice, bob), 0
    for _ in breaks(hall, lambda: None, lambda: alice.client.keys.rekey(None)):
        broken += 1
        begun = load(Home(alice.path))
        if registered(hall, "alice")["key"] == begun.key_at(URL).text:
            alice.client.games()
            alice.position(game)
        else:  # it arrived, and the client does not know: the error says how to go on
            with pytest.raises(LoginError) as stopped:
                alice.client.games()
            assert "hkoji rekey" in stopped.value.hint
        assert registered(hall, "alice")["key"] in {own.public.text for own in begun.keys}
        identity_ = alice.client.keys.rekey(None)
        assert registered(hall, "alice")["key"] == identity_.key.text
        if begun.next is not None:
            assert identity_.key == begun.next.public  # it was prepared, and is the same one
        assert identity_.next is None
        alice.client.games()
        play((alice, bob), game, 1)
        if "end" in kinds(hall, game):
            game = begin(alice, bob)
    assert broken >= 8
    setup = alice.position(game).course.setup
    assert audit(format_log(hall.lines(game)), {"alice": setup.all_keys(0)[0], "bob": key_of(bob)}).ok


def test_a_rekey_in_a_game_that_breaks_off_is_sent_again_as_it_was(
    hall: Hall, alice: HallPlayer, bob: HallPlayer
) -> None:
    game, broken = "", 0

    def prepare() -> None:
        nonlocal game
        game = begin(alice, bob)
        alice.client.keys.rekey(None)

    for _ in breaks(hall, prepare, lambda: alice.position(game)):
        broken += 1
        waiting = vault.Vault(alice.folder(game)).outbox()
        alice.position(game)
        rekeys = [line.entry.text for line in hall.lines(game) if line.entry.kind == "rekey"]
        assert len(rekeys) == 1
        if waiting:
            assert waiting.entry.text in [line.entry.text for line in hall.lines(game)]
    assert broken >= 6


def test_a_signed_move_that_waits_is_not_spoilt_by_a_new_key(hall: Hall, alice: HallPlayer, bob: HallPlayer) -> None:
    game = begin(alice, bob)
    notation = alice.position(game).legal[0]
    submission = alice.sign(game, notation)
    alice.client.keys.rekey(None)
    alice.said.clear()
    alice.position(game)
    assert any("would invalidate" in remark for remark in alice.said)
    assert "rekey" not in kinds(hall, game)
    alice.client.submit(submission)
    assert hall.lines(game)[-1].entry.text == submission.entry.text
    play((alice, bob), game)
    assert kinds(hall, game).count("rekey") == 1


@pytest.mark.parametrize("named", [True, False])
def test_a_new_key_that_the_game_names_already_is_not_declared_there(named: bool) -> None:
    """A dishonest service may say that it holds that key for the opponent; a `rekey` to it would convict its player."""
    said: list[str] = []
    posted: list[object] = []
    new, table = PrivateKey.from_seed(b"\x07" * 32).public, new_game(3)
    while table.course.actor != 1:
        table.play(1)
    if named:
        table.send(table.entry(1, Delegate(table.certify(1, new), MailGrade.TOKEN)))
    while table.course.actor != 0:
        table.play(1)
    signer: Any = SimpleNamespace(sign=lambda *_: b"")
    player = SimpleNamespace(name="alice", key_at=lambda _: new, signs_for=lambda _: True, signer_of=lambda _: signer)
    known: Any = SimpleNamespace(position=SimpleNamespace(course=table.course, short="2714f3b3"), seat=0)
    service, vault = SimpleNamespace(url=URL), SimpleNamespace(signed=lambda _: ())
    record: Any = SimpleNamespace(identity=player, service=service, vault=vault, say=said.append)
    sender = EntrySender(record)
    with patch.object(sender, "post", lambda _, body: posted.append(body)):
        assert sender.bring_key(known) is not named
    assert len(posted) == (not named)
    kept = "game 2714f3b3 keeps your earlier key: it names your new key already, and a key counts once there"
    assert (said == [kept]) is named


@pytest.mark.parametrize("looked", [False, True])
def test_a_new_key_does_not_end_a_plan(hall: Hall, alice: HallPlayer, bob: HallPlayer, looked: bool) -> None:
    """The client brings it into the game on its own, with the first look at the player's turn."""
    game = begin(alice, bob)
    position = bob.position(game)
    course, plan = position.course, parse_plan("** : -G -F -E -D -C -B -A", position.course.setup.ruleset)
    PlanFiles(bob.folder(game)).write(ArmedPlan(plan, course.seq, course.head, course.state.round))
    bob.client.keys.rekey(None)
    offered = next(each for each in alice.position(game).legal if each[0] == "3")
    alice.move(game, offered)
    if looked:
        bob.position(game)
    (done,) = PlanRunner(bob.client, delay=Delay(0, 0)).run()
    assert kinds(hall, game)[-3:] == ["move", "rekey", "move"]
    assert [move.action for move in done.made] == ["-" + max(offered[1:])]


def test_at_several_services_each_knows_its_own_key(tmp_path: Path) -> None:
    with inside(tmp_path / "one", seed="one") as one, inside(tmp_path / "two", seed="two", origin="http://two") as two:
        halls = {URL: Hall(one), "http://two": Hall(two)}
        alice = arrived(halls, "alice", tmp_path / "alice")
        old = key_of(alice)

        def away(_method: str, _path: str) -> None:
            raise NetworkError("http://two", "away")

        halls["http://two"].before = away
        with pytest.raises(NetworkError):
            alice.client.keys.rekey(None)
        halls["http://two"].before = lambda _method, _path: None
        new = alice.client.identity.key_at(URL)
        assert new != old
        assert alice.client.identity.key_at("http://two") == old
        for url in halls:
            alice.client.service(url).own_games()
        assert alice.client.keys.rekey(None).key == new
        for url, hall in halls.items():
            assert registered(hall, "alice")["key"] == new.text
            alice.client.service(url).own_games()


def test_a_machine_with_the_old_key_learns_what_to_do(alice: HallPlayer, tmp_path: Path) -> None:
    other = HallPlayer(alice.halls, "alice", tmp_path / "other machine")
    shutil.copytree(alice.path, other.path)
    alice.client.keys.rekey(None)
    with pytest.raises(ForbiddenError, match="the signature is not one of alice") as refused:
        other.client.games()
    assert "hkoji rekey --key FILE" in refused.value.hint
    shutil.rmtree(other.path)
    shutil.copytree(alice.path, other.path)
    assert other.client.games() == []


def test_a_key_that_cannot_be_one_changes_nothing(
    hall: Hall, alice: HallPlayer, bob: HallPlayer, tmp_path: Path
) -> None:
    old, other = key_of(alice), tmp_path / "bob" / "id_ed25519"
    with pytest.raises(HkojiError) as taken:
        alice.client.keys.rekey(other)
    assert taken.value.code == ExistsError.code
    with pytest.raises(UsageError):
        alice.client.keys.rekey(alice.path / "id_ed25519")
    assert (key_of(alice), load(Home(alice.path)).next) == (old, None)
    assert registered(hall, "alice")["key"] == old.text
    own = tmp_path / "own"
    own.write_bytes(PrivateKey.from_seed(b"\x09" * 32).to_openssh())
    assert alice.client.keys.rekey(own).key == PrivateKey.from_seed(b"\x09" * 32).public
    assert not list(alice.path.glob("id_ed25519-*"))


def test_a_client_that_knows_the_old_key_follows_the_service_only_where_that_key_has_signed(
    alice: HallPlayer, bob: HallPlayer
) -> None:
    """No running game shows the change: the service's record of it does, by both keys' signatures."""
    begun = begin(alice, bob)
    bob.position(begun)
    for _ in range(2):
        alice.client.keys.rekey(None)
    game = alice.client.new(RULES).course.setup.game
    bob.said.clear()
    bob.join(game)
    assert any("alice has another key now" in remark for remark in bob.said)
    assert len(bob.client.service().pins.every["alice"]) == 3


def test_a_client_that_knows_only_the_new_key_believes_old_games_where_that_key_has_signed(
    hall: Hall, alice: HallPlayer, bob: HallPlayer, tmp_path: Path
) -> None:
    """Carol has met alice's third key first, and then looks at a game of the first one."""
    carol = arrived({URL: hall}, "carol", tmp_path / "carol")
    old = begin(alice, bob)
    keys = [key_of(alice)]
    for _ in range(2):
        alice.client.keys.rekey(None)
        keys.append(key_of(alice))
    carol.position(alice.client.new(RULES).course.setup.game)
    assert carol.client.pins(URL)["alice"] == (keys[2],)

    def silent(_: str, path: str) -> None:
        if path == "/v1/players/alice":
            raise NetworkError(URL, "it broke")

    hall.before = silent
    pins = (carol.path / "pins.json").read_bytes()
    with pytest.raises(TrustError, match="another key than before"):
        carol.position(old)
    assert (carol.path / "pins.json").read_bytes() == pins
    assert not (carol.folder(old) / "log.jsonl").exists()
    hall.before = lambda _method, _path: None
    assert carol.position(old).course.setup.keys[0] == keys[0]
    assert set(carol.client.pins(URL)["alice"]) == set(keys)
    assert carol.client.pins(URL)["alice"][0] == keys[2]  # the key in force has not changed


# --- a key that is lost -----------------------------------------------------------------------------------------------


def test_a_lost_machine_is_replaced_and_the_opponent_compares(
    hall: Hall, alice: HallPlayer, bob: HallPlayer, tmp_path: Path
) -> None:
    old, game, waiting = key_of(alice), begin(alice, bob), begin(bob, alice)
    code = admin.revoke_keys(hall.service.data, "alice")
    with pytest.raises(HkojiError) as refused:
        alice.client.games()
    assert refused.value.code == "revoked"
    again = HallPlayer({URL: hall}, "alice", tmp_path / "new")
    with pytest.raises(HkojiError):
        again.client.keys.recover("alice", URL, "0" * 40, None)
    recovered = again.client.keys.recover("alice", URL, code, None)
    new = recovered.key
    assert registered(hall, "alice")["key"] == new.text
    assert [each["game"] for each in again.client.games()]

    again.position(waiting)  # not her turn: nothing can be done, and nothing is
    assert "revoke" not in kinds(hall, waiting)
    position = again.position(game)
    assert position.mine
    assert hall.lines(game)[-1].entry.kind == "revoke"

    before = _files(bob)
    for _ in range(2):
        with pytest.raises(TrustError, match="has lost the key") as stopped:
            bob.position(game)
        assert new.fingerprint in stopped.value.hint
        assert "hkoji trust alice" in stopped.value.hint
        assert {name: data for name, data in _files(bob).items() if "refused" not in name} == before
    with pytest.raises(TrustError, match="which you do not have"):  # and so does the client that has the old key
        _spectated(alice, game)
    bob.client.service().pins.trust("alice", new.fingerprint)
    assert bob.position(game).course.setup.keys[0] == new
    play((again, bob), game)
    play((again, bob), waiting)
    for each in (game, waiting):
        assert kinds(hall, each).count("revoke") == 1
        text = format_log(hall.lines(each))
        assert audit(text, bob.client.pins(URL)).ok
        assert not audit(text, {"alice": old}).ok


def _spectated(player: HallPlayer, game: str) -> None:
    """A client that can no longer log in still reads the public log: a new line is verified."""
    client = player.client
    table = client._game(game)
    new = client.service().log(game, len(table.lines()) - 1)
    table.record.accept(table.record.known(), new, None)


def test_a_recovery_that_breaks_off_anywhere_is_finished_by_the_same_command(
    hall: Hall, alice: HallPlayer, tmp_path: Path
) -> None:
    broken, code = 0, ""
    again = HallPlayer({URL: hall}, "alice", tmp_path / "home0")

    def prepare() -> None:
        nonlocal code
        code = admin.revoke_keys(hall.service.data, "alice")
        again.path = tmp_path / f"home{broken % 3}"  # a new home, or an earlier one with its keys

    for _ in breaks(hall, prepare, lambda: again.client.keys.recover("alice", URL, code, None)):
        broken += 1
        identity_ = again.client.keys.recover("alice", URL, code, None)
        assert registered(hall, "alice")["key"] == identity_.key.text
        again.client.games()
    assert broken >= 8


def test_the_own_revocation_made_before_works_without_the_key(hall: Hall, alice: HallPlayer, bob: HallPlayer) -> None:
    made = alice.client.keys.revocation(URL, None)
    assert not registered(hall, "alice")["revoked"]
    assert bob.client.keys.revoke(made) == key_of(alice)
    assert registered(hall, "alice")["revoked"]
    with pytest.raises(HkojiError) as refused:
        alice.client.keys.rekey(None)
    assert refused.value.code == "revoked"
    assert load(Home(alice.path)).next is None


def test_an_earlier_key_that_is_revoked_gives_way_by_the_services_word(
    hall: Hall, alice: HallPlayer, bob: HallPlayer
) -> None:
    """The old machine is stolen after the change: the game still names its key."""
    old, game = key_of(alice), begin(alice, bob)
    alice.client.keys.rekey(None)
    alice.client.keys.revoke(alice.client.keys.revocation(URL, old))
    alice.position(game)
    assert kinds(hall, game)[-1] == "revoke"
    assert hall.lines(game)[-1].entry.body["revocation"] is not None
    with pytest.raises(TrustError):
        bob.position(game)
    bob.client.service().pins.trust("alice", key_of(alice).fingerprint)
    play((alice, bob), game)
    assert kinds(hall, game)[-1] == "end"


def test_a_name_is_recovered_into_its_own_home_or_a_new_one(hall: Hall, alice: HallPlayer, bob: HallPlayer) -> None:
    code = admin.revoke_keys(hall.service.data, "alice")
    with pytest.raises(ExistsError):
        bob.client.keys.recover("alice", URL, code, None)
    old = key_of(alice)
    game = bob.client.new(RULES, entry_kinds.Invite("alice")).course.setup.game
    assert alice.client.keys.recover("alice", URL, code, None).key != old
    assert [own.public for own in load(Home(alice.path)).earlier] == [old]
    alice.join(game)
    with pytest.raises(LoginError):
        alice.client.identity.signer_of(PrivateKey.from_seed(bytes(32)).public)


def _files(player: HallPlayer) -> dict[str, bytes]:
    return {
        str(path.relative_to(player.path)): path.read_bytes()
        for path in sorted(player.path.rglob("*"))
        if path.is_file() and path.name not in ("lock", "tokens.json")
    }


def test_an_old_game_shows_how_an_earlier_key_came_and_that_one_counts_no_more(tmp_path: Path) -> None:
    table = new_game(3)
    first, latest = table.keys[0].public, PrivateKey.from_seed(b"\x08" * 32).public
    second = table.rekey(0).public
    said: list[str] = []
    kept = Pins(Home(tmp_path), URL, said.append)
    met = KnownKeys(kept, lambda _: PlayerAnswer(latest, False, ()), said.append)
    for key in (first, latest):
        kept.pin_player("alice", key)
    met.meet(table.course.setup, None)
    assert kept.players["alice"] == latest
    assert kept.known("alice") == {first, second, latest}
    assert said == []
    pins = Pins(Home(tmp_path / "other"), URL, said.append)
    other = KnownKeys(pins, lambda _: PlayerAnswer(latest, False, ()), said.append)
    other.meet(table.course.setup, None)
    assert said == [f"alice has another key now: {second.fingerprint}"]


def test_the_services_word_on_earlier_keys_is_not_believed_without_both_signatures(
    alice: HallPlayer, bob: HallPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = begin(alice, bob)
    bob.position(game)
    alice.client.keys.rekey(None)
    true = bob.client.service().player("alice")
    (step,) = true.earlier
    fake = PrivateKey.from_seed(b"\x08" * 32).sign("hkoji.newkey.v1", b"{}\n")
    new_game_ = alice.client.new(RULES).course.setup.game
    for changed in (
        {"sig": encode_base64(fake)},
        {"new_sig": encode_base64(fake)},
        {"sig": step.new_sig},
        {"text": None},
        {"sig": None},
    ):
        false = true._replace(earlier=(step._replace(**changed),))
        monkeypatch.setattr(Service, "player", lambda _, __, false=false: false)
        with pytest.raises(TrustError, match="another key than before"):
            bob.join(new_game_)
    monkeypatch.undo()
    bob.join(new_game_)
