"""`own key`, as the two players give the commands: a mail player goes on with the command line, from an empty home."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hkoji_server.service.mail.seat_games import mails_of

from hkoji.cli.output import Exit
from hkoji.client.identity import create
from hkoji.client.kept.home import Home
from hkoji.game.clock import Way
from tests.support import shell_audit
from tests.support.interrupted_players import URL, Hall, HallPlayer, arrived
from tests.support.mail.list_world import ListWorld, unread
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import offered
from tests.support.shell import Done, run


@pytest.fixture
def alice(world: ListWorld, tmp_path: Path) -> HallPlayer:
    return arrived({URL: Hall(world.service)}, "alice", tmp_path / "alice")


@pytest.fixture
def bob(world: ListWorld) -> MailboxPlayer:
    """Bob, who plays by mail."""
    bob = world.player("bob@example.org")
    world.run(world.players.invite("bob", "bob@example.org", "en", None))
    world.deliver()
    bob.answer(bob.next_letter(0), "accept")
    world.deliver()
    return bob


def invited(world: ListWorld, alice: HallPlayer, bob: MailboxPlayer) -> tuple[str, Letter]:
    """A game to which alice invites bob, and the letter about it."""
    unread(bob)
    game = str(run("new", "--invite", "bob", "--clock", "3d/14d", "--json", seat=alice).json["game"])
    world.deliver(61)
    return game, bob.next_letter(0, lambda each: each.id.startswith("<invited."))


def code_of(world: ListWorld, bob: MailboxPlayer, letter: Letter) -> str:
    """The code that bob gets in answer to a letter."""
    bob.answer(letter, "own key")
    world.deliver(1)
    (code,) = re.findall(r"^  ([0-9a-f]{40})$", unread(bob)[-1].text, re.MULTILINE)
    return str(code)


def play(player: HallPlayer, game: str) -> None:
    """Moves until it is the other player's turn."""
    while legal := player.position(game).legal:
        assert run("move", game, legal[0], seat=player).code == 0


def kinds(world: ListWorld, game: str) -> list[tuple[str, str]]:
    """The author of each entry of a game."""
    return [(line.entry.kind, line.entry.by) for line in Hall(world.service).lines(game)]


def home(alice: HallPlayer, tmp_path: Path) -> HallPlayer:
    """Bob's home after `hkoji init bob`."""
    new = HallPlayer(alice.halls, "bob", tmp_path / "new")
    create(Home(new.path), "bob", None, new.draw(32))
    return new


def with_own_key(alice: HallPlayer, code: str, folder: Path) -> HallPlayer:
    """Bob with a key of his own, which he has got by a code, and which alice trusts."""
    new = home(alice, folder)
    assert run("recover", "bob", "--server", URL, seat=new, stdin=code).code == 0
    assert run("trust", "bob", str(run("key", "--json", seat=new).json["fingerprint"]), seat=alice).code == 0
    return new


def said(done: Done) -> str:
    assert done.code == 0, done
    return " ".join((done.out + done.err).split())


def begun(world: ListWorld, alice: HallPlayer, bob: MailboxPlayer) -> tuple[str, Letter]:
    """A game in which bob owes a move, and the letter about that."""
    game, letter = invited(world, alice, bob)
    bob.answer(letter, "accept")
    world.deliver()
    play(alice, game)
    world.deliver(61)
    return game, bob.next_letter(0, lambda each: each.id.startswith("<turn."))


def test_a_mail_player_goes_on_with_a_key_of_their_own(
    world: ListWorld, alice: HallPlayer, bob: MailboxPlayer, tmp_path: Path
) -> None:
    game, turn = begun(world, alice, bob)
    code = code_of(world, bob, turn)
    # Nothing has changed: the next move still comes by mail.
    bob.answer(turn, offered(turn)[0])
    world.deliver(61)
    assert "move" in [kind for kind, by in kinds(world, game) if by == "bob"]
    play(alice, game)

    new, mine = home(alice, tmp_path), len(kinds(world, game))
    recovered = run("recover", "bob", "--server", URL, "--json", seat=new, stdin=f"{code}\n")
    assert recovered.code == 0, recovered
    fingerprint = recovered.json["fingerprint"]
    assert fingerprint == run("whoami", "--json", seat=new).json["fingerprint"]
    assert len(kinds(world, game)) == mine  # no log says it before his client has looked

    # On his turn his client asks for the entry of the service, and he moves with his own key.
    assert f"game {game[:8]} has your new key now: {fingerprint}" in said(run("show", game, seat=new))
    assert kinds(world, game)[mine:] == [("revoke", "server")]
    play(new, game)
    assert kinds(world, game)[mine + 1 :][0] == ("move", "bob")

    # Only the service says that the key is his: alice's client stops until she has compared it.
    before = kinds(world, game)
    for words in (["show", game], ["move", game, "1A"], ["audit", game]):
        stopped = run(*words, "--json", seat=alice)
        assert (stopped.code, stopped.error["code"]) == (Exit.AUDIT, "trust"), words
        assert fingerprint in stopped.error["message"]
    assert "for whom it has signed until now, has a key of their own" in stopped.error["message"]
    assert f"hkoji trust bob {fingerprint}" in stopped.error["hint"]
    assert kinds(world, game) == before
    assert run("trust", "bob", fingerprint, seat=alice).code == 0
    assert "bob has another key now" in said(run("show", game, seat=alice))
    play(alice, game)
    for player in (alice, new):
        audited = said(run("audit", game, seat=player))
        assert "signed by the service for bob" in audited
        assert "the server alone vouches for" in audited
    log = tmp_path / "g.jsonl"
    log.write_text(run("log", game, seat=alice).out)
    service_key = f"server={world.service.ask('GET', '/v1/service').json['key']}"
    assert run("audit", str(log), "--key", service_key).code == 0


def test_his_mailbox_orders_moves_again_after_mail_on(
    world: ListWorld, alice: HallPlayer, bob: MailboxPlayer, tmp_path: Path
) -> None:
    game, turn = begun(world, alice, bob)
    new = with_own_key(alice, code_of(world, bob, turn), tmp_path)
    play(new, game)
    play(alice, game)
    unread(bob)
    assert run("mail", "on", "bob@example.org", seat=new).code == 0
    assert run("show", game, seat=new).code == 0
    assert kinds(world, game)[-1] == ("delegate", "bob")
    play(new, game)
    play(alice, game)
    world.deliver(61)
    turn = bob.next_letter(0, lambda each: each.id.startswith("<turn."))
    bob.answer(turn, offered(turn)[0])
    assert [kind for kind, by in kinds(world, game) if by == "bob"][-1] == "move"
    lines = Hall(world.service).lines(game)
    assert [line.entry for line in lines if "mail" in line.entry.body][-1].kind == "move"
    assert run("audit", game, seat=alice).code == 0
    # The mails of both keys that the service has held for him prove what they say.
    log, mails = tmp_path / "g.jsonl", tmp_path / "bob.mails"
    log.write_text(run("log", game, seat=alice).out)
    mails.write_bytes(world.run(mails_of(world.store, lines, "bob")))
    audited = run("audit", str(log), "--mails", str(mails), "--json")
    assert audited.code == 0
    (seat,) = audited.json["mails"]
    assert seat["checked"] == seat["claimed"] == 2
    checked = shell_audit.run(log, {})
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_an_invitation_to_his_held_key_lapses_and_he_is_invited_again(
    world: ListWorld, alice: HallPlayer, bob: MailboxPlayer, tmp_path: Path
) -> None:
    other, letter = invited(world, alice, bob)
    new = with_own_key(alice, code_of(world, bob, letter), tmp_path)
    world.keeper._ways = tuple(Way)
    world.run(world.keeper.look())
    assert kinds(world, other)[-2:] == [("lapse", "server"), ("end", "server")]
    assert "cancelled" in said(run("show", other, "--json", seat=alice))
    again = run("new", "--invite", "bob", "--json", seat=alice)
    assert (again.code, again.json["held"]) == (0, False)
    assert run("join", again.json["game"], seat=new).code == 0


def test_a_game_that_has_not_begun_is_named_and_nothing_changes(
    world: ListWorld, alice: HallPlayer, bob: MailboxPlayer, tmp_path: Path
) -> None:
    game, letter = invited(world, alice, bob)
    code = code_of(world, bob, letter)
    bob.answer(letter, "accept")
    new, before = home(alice, tmp_path), world.service.ask("GET", "/v1/players/bob").json
    refused = run("recover", "bob", "--server", URL, "--json", seat=new, stdin=code)
    error = json.loads(refused.err.splitlines()[-1])["error"]
    assert (refused.code, error["code"]) == (Exit.CONFLICT, "conflict")
    assert game in error["message"]
    assert "the code is still valid" in error["hint"]
    assert world.service.ask("GET", "/v1/players/bob").json == before
    world.deliver(61)
    # The same command again, with the statement that was kept.
    assert run("recover", "bob", "--server", URL, seat=new, stdin=code).code == 0
    assert world.service.ask("GET", "/v1/players/bob").json["key"] == run("key", "--json", seat=new).json["key"]


@pytest.mark.parametrize("who", ["bob", "carol"])
def test_a_held_key_that_is_none_of_his_earlier_ones_is_not_believed(
    world: ListWorld, alice: HallPlayer, bob: MailboxPlayer, tmp_path: Path, who: str
) -> None:
    """By bob himself, who has a key of his own here and has recovered none, or by carol, who knows that key."""
    game, letter = invited(world, alice, bob)
    bob.answer(letter, "accept")
    world.deliver(61)
    player = HallPlayer(alice.halls, who, tmp_path / who)
    create(Home(player.path), who, None, player.draw(32))
    service = player.client.service(URL)
    service.pins.pin_player("bob", player.client.identity.key)
    service.pins.pin_origin(URL)
    player.client.home.update_config(server=URL)
    before = service.pins.every
    refused = run("show", game, "--json", seat=player)
    error = json.loads(refused.err.splitlines()[-1])["error"]
    assert (refused.code, error["code"]) == (Exit.AUDIT, "trust")
    assert "the service says that it signs for bob with the key" in error["message"]
    assert player.client.service(URL).pins.every == before
