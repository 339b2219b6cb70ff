"""One player in two homes, whose key changes or is lost: real commands at a real service.

docs/two-machines.md describes what these tests try.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from hkoji_server import admin

from hkoji.cli.output import Exit
from tests.support.home_shell import (
    HomeShell,
    alice,
    begin,
    bob,
    finish,
    key_file,
    kinds,
    my_move,
    second_home,
    service,
)
from tests.support.service import Service

__all__ = ["alice", "bob", "service"]


def opponent_trusts(opponent: HomeShell, player: HomeShell) -> None:
    opponent.run("trust", player.json("whoami")["name"], player.json("whoami")["fingerprint"])


def checks(shell: HomeShell, code: int) -> dict[str, Any]:  # Any: JSON
    """The checks of `doctor` that are not ok, by name."""
    found = json.loads(shell.run("doctor", "--json", code=code).stdout)
    assert found["ok"] == (code == 0)
    return {each["name"]: each for each in found["checks"] if each["verdict"] != "ok"}


# --- a second home after a change of key ------------------------------------------------------------------------------


def test_a_second_home_shows_and_plays_a_game_whose_key_has_changed(
    service: Service, alice: HomeShell, bob: HomeShell
) -> None:
    game = begin(alice, bob)
    alice.run("rekey")
    hand = alice.json("show", game)["hand"]
    assert kinds(alice, game)[-1] == "rekey"
    other = second_home(service, alice)
    for _ in range(2):
        seen = other.json("show", game)
        assert (seen["seat"], seen["hand"]) == (0, hand)
    assert other.json("games")[0]["game"] == game
    other.run("move", game, my_move(other, game))
    finish(alice, bob, game)
    assert other.json("show", game)["status"] == "finished"
    other.run("audit", game)


def test_a_second_home_shows_a_game_that_still_names_the_earlier_key(
    service: Service, alice: HomeShell, bob: HomeShell
) -> None:
    """It has no key that could sign there, says so, and goes on when the first home has made the change."""
    mine, theirs = begin(alice, bob), begin(bob, alice)
    hands = {game: alice.json("show", game)["hand"] for game in (mine, theirs)}
    alice.run("rekey")
    other = second_home(service, alice)
    for _ in range(2):
        for game in (mine, theirs):
            seen = other.run("show", game, "--json")
            assert json.loads(seen.stdout)["hand"] == hands[game]
            assert ("on the machine that has it" in seen.stderr) == (game == mine)
    said = other.fails(Exit.KEY, "move", mine, my_move(other, mine))
    assert "is not here" in said
    assert kinds(other, mine)[-1] == "seed"
    alice.run("show", mine)
    other.run("move", mine, my_move(other, mine))
    assert kinds(other, mine)[-2:] == ["rekey", "move"]


def test_a_home_in_which_the_log_is_kept_without_the_cards_fetches_them(alice: HomeShell, bob: HomeShell) -> None:
    """As when a log was kept for a spectator, or a synced folder has the log and not yet the view."""
    game = begin(alice, bob)
    hand = alice.json("show", game)["hand"]
    folder = alice.home / "games" / game
    early = (folder / "view.json").read_bytes()
    alice.run("move", game, my_move(alice, game))
    bob.run("move", game, my_move(bob, game))
    while alice.json("show", game)["actor"] != 0:
        bob.run("move", game, my_move(bob, game))
    hand = alice.json("show", game)["hand"]
    for broken in (None, early):
        (folder / "view.json").unlink()
        (folder / "views.signed").unlink()
        if broken is not None:
            (folder / "view.json").write_bytes(broken)
        said = alice.fails(Exit.FAILURE, "show", game, "--offline")
        assert "your cards are not in" in said
        for words in (("show", game), ("show", game), ("show", game, "--offline")):
            assert alice.json(*words)["hand"] == hand


def test_doctor_says_that_the_key_was_replaced_or_revoked(service: Service, alice: HomeShell, tmp_path: Path) -> None:
    other = HomeShell(tmp_path / "copy")
    shutil.copytree(alice.home, other.home)
    assert checks(other, 0) == {}
    alice.run("rekey")
    assert checks(alice, 0) == {}
    found = checks(other, Exit.FAILURE)["registration"]
    assert found["verdict"] == "fail"
    assert alice.json("whoami")["fingerprint"] in found["said"]
    assert "hkoji rekey --key" in found["hint"]
    for words in (("register", "--server", service.url), ("rekey",)):
        assert "hkoji rekey --key" in other.run(*words, code=Exit.FAILURE if words[1:] else Exit.KEY).stderr
    admin.revoke_keys(service.data, alice.home.name)
    found = checks(alice, Exit.FAILURE)["registration"]
    assert "revoked" in found["said"]
    assert f"hkoji recover {alice.home.name}" in found["hint"]


def test_register_in_a_new_home_says_that_the_key_was_replaced_or_revoked(
    service: Service, alice: HomeShell, tmp_path: Path
) -> None:
    """The new home has an earlier key, and has never been registered."""
    first, old, name = key_file(alice), alice.json("whoami")["fingerprint"], alice.home.name
    new = HomeShell(tmp_path / "new")
    new.run("init", name, "--key", first)
    alice.run("rekey")
    current = alice.json("whoami")["fingerprint"]
    words = ("register", "--server", service.url)
    said = new.run(*words, code=Exit.FAILURE).stderr
    assert f"your key {old} has been replaced; the service knows {name} by another key, {current}" in said
    assert "hkoji init NAME --key FILE" in said
    assert "choose another name" not in said
    assert not (new.home / "pins.json").exists()
    assert (
        f"è stata sostituita: il servizio conosce {name} con un'altra chiave, {current}"
        in new.run("--lang", "it", *words, code=Exit.FAILURE).stderr
    )
    admin.revoke_keys(service.data, name)
    assert f"your key {old} has been revoked" in new.run(*words, code=Exit.FAILURE).stderr
    again = HomeShell(tmp_path / "again")
    again.run("init", name, "--key", key_file(alice))
    assert f"{current} of {name} has been revoked" in again.run(*words, code=Exit.KEY).stderr
    stranger = HomeShell(tmp_path / "stranger")
    stranger.run("init", name)
    assert "choose another name" in stranger.run(*words, code=Exit.FAILURE).stderr


def test_a_key_that_was_replaced_elsewhere_is_taken_up_by_rekey(
    alice: HomeShell, bob: HomeShell, tmp_path: Path
) -> None:
    other = HomeShell(tmp_path / "copy")
    game = begin(alice, bob)
    shutil.copytree(alice.home, other.home)
    alice.run("rekey")
    assert "hkoji rekey --key" in other.fails(Exit.KEY, "games")
    new = alice.json("whoami")
    assert other.json("rekey", "--key", key_file(alice))["fingerprint"] == new["fingerprint"]
    assert checks(other, 0) == {}
    other.run("move", game, my_move(other, game))  # the earlier key is here too, and signs for the new one
    assert kinds(alice, game)[-2:] == ["rekey", "move"]


# --- a key that is lost -----------------------------------------------------------------------------------------------


def recover(service: Service, home: Path, name: str) -> HomeShell:
    """A player's name in a home, with the operator's code."""
    code = admin.revoke_keys(service.data, name)
    shell = HomeShell(home)
    shell.run("recover", name, "--yes", "--server", service.url, stdin=code)
    return shell


def test_a_key_lost_right_after_a_change_is_replaced_in_the_game(
    service: Service, alice: HomeShell, bob: HomeShell, tmp_path: Path
) -> None:
    game = begin(alice, bob)
    alice.run("rekey")
    alice.run("show", game)
    assert kinds(alice, game)[-1] == "rekey"
    again = recover(service, tmp_path / "again", alice.home.name)
    assert "has your new key now" in again.run("show", game).stderr
    assert kinds(again, game)[-2:] == ["rekey", "revoke"]
    twice = recover(service, tmp_path / "twice", alice.home.name)  # and that one is lost as well, before a move
    twice.run("move", game, my_move(twice, game))
    assert kinds(twice, game)[-4:] == ["rekey", "revoke", "revoke", "move"]
    for lost in (again, twice):
        said = bob.fails(Exit.AUDIT, "show", game)
        assert f"hkoji trust {alice.home.name} {lost.json('whoami')['fingerprint']};" in said
        opponent_trusts(bob, lost)
    finish(twice, bob, game)
    bob.run("audit", game)


def test_the_home_with_the_revoked_key_finds_its_way_back(
    service: Service, alice: HomeShell, bob: HomeShell, tmp_path: Path
) -> None:
    game = begin(alice, bob)
    alice.run("rekey")
    move = my_move(alice, game)  # brings the rekey
    signed = alice.run("sign", game, move).stdout
    again = recover(service, tmp_path / "again", alice.home.name)
    done = alice.run("submit", "-", stdin=signed, code=Exit.KEY)
    assert "revoked" in done.stderr
    for words in (("games",), ("show", game), ("move", game, move)):
        said = alice.fails(Exit.KEY, *words)
        assert "hkoji rekey --key" in said
    found = checks(alice, Exit.FAILURE)["registration"]
    assert "hkoji rekey --key" in found["hint"]
    alice.run("rekey", "--key", key_file(again))
    assert checks(alice, 0) == {}
    alice.run("move", game, my_move(alice, game))
    assert kinds(alice, game)[-3:] == ["rekey", "revoke", "move"]
    opponent_trusts(bob, alice)
    finish(again, bob, game)
    assert alice.json("show", game)["status"] == "finished"


def test_a_recovery_in_the_home_itself_and_a_move_that_was_refused(
    service: Service, alice: HomeShell, bob: HomeShell
) -> None:
    """A move that waits under a revoked key can never count: it does not keep the new key away."""
    game = begin(alice, bob)
    alice.run("rekey")
    move = my_move(alice, game)
    alice.run("sign", game, move)
    recover(service, alice.home, alice.home.name)
    assert "has your new key now" in alice.run("show", game).stderr
    alice.run("move", game, move)
    assert kinds(alice, game)[-3:] == ["rekey", "revoke", "move"]


def test_a_second_home_after_a_recovery(service: Service, alice: HomeShell, bob: HomeShell, tmp_path: Path) -> None:
    """Nobody but the service says that the lost key was hers, until she has signed for it in the game."""
    game, theirs = begin(alice, bob), begin(bob, alice)
    hand, lost = alice.json("show", theirs)["hand"], alice.json("whoami")["fingerprint"]
    again = recover(service, tmp_path / "again", alice.home.name)
    assert again.json("show", game)["hand"]
    other = second_home(service, again)
    for _ in range(2):
        assert other.json("show", game)["hand"] == again.json("show", game)["hand"]
    other.run("move", game, my_move(other, game))
    fresh = HomeShell(other.home.with_name("fresh"))
    for words in (("init", alice.home.name, "--key", key_file(again)), ("register", "--server", service.url)):
        fresh.run(*words)
    for _ in range(2):
        assert f"hkoji trust {alice.home.name} {lost}" in fresh.fails(Exit.AUDIT, "show", theirs)
    fresh.run("trust", alice.home.name, lost)
    for _ in range(2):
        assert fresh.json("show", theirs)["hand"] == hand
