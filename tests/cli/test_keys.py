"""`hkoji rekey`, `revoke`, `recover`, `trust` and `admin revoke`, as two players and an operator give them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hkoji.cli.output import Exit
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.interrupted_players import URL, Hall, HallPlayer, arrived, hall
from tests.support.shell import Done, run

__all__ = ["hall"]


@pytest.fixture
def players(hall: Hall, tmp_path: Path) -> tuple[HallPlayer, HallPlayer]:
    halls = {URL: hall}
    return arrived(halls, "alice", tmp_path / "alice"), arrived(halls, "bob", tmp_path / "bob")


def begin(players: tuple[HallPlayer, HallPlayer]) -> str:
    alice, bob = players
    game = alice.client.new(Hanamikoji()).course.setup.game
    bob.join(game)
    alice.position(game)
    bob.position(game)
    return game


def said(done: Done, *words: str) -> None:
    assert done.code == 0, done
    for word in words:
        assert word in done.out + done.err


def test_a_new_key_and_what_the_opponent_reads_of_it(players: tuple[HallPlayer, HallPlayer]) -> None:
    alice, bob = players
    game, old = begin(players), run("key", "--json", seat=alice).json
    changed = run("rekey", "--json", seat=alice).json
    assert (changed["name"], changed["old"]) == ("alice", old["key"])
    assert Path(changed["key_file"]).is_file()
    who = run("whoami", "--json", seat=alice).json
    assert (who["key"], who["earlier"], who["next"]) == (changed["key"], [old["fingerprint"]], None)
    said(run("whoami", seat=alice), f"earlier key: {old['fingerprint']}")
    said(run("show", game, seat=alice), f"has your new key now: {changed['fingerprint']}")
    said(run("show", game, seat=bob), f"alice has another key now: {changed['fingerprint']}")
    audited = run("audit", game, "--json", seat=bob).json
    mine = [party for party in audited["parties"] if party["name"] == "alice"]
    assert [(party["fingerprint"], party["pinned"], party["vouched"]) for party in mine] == [
        (old["fingerprint"], True, False),
        (changed["fingerprint"], True, False),
    ]
    said(run("audit", game, seat=bob), "expected, from entry 6 on")
    said(run("rekey", seat=alice), "alice plays with the key SHA256:", "Keep the old key file")


def test_a_lost_key_from_the_hosts_code_to_the_opponents_word(
    hall: Hall, players: tuple[HallPlayer, HallPlayer], tmp_path: Path
) -> None:
    alice, bob = players
    game, old = begin(players), run("key", "--json", seat=alice).json
    data = str(hall.service.data)
    code = run("admin", "revoke", "alice", "--data", data, "--json").json["code"]
    refused = run("next", "--json", seat=alice)
    assert (refused.code, refused.error["code"]) == (Exit.KEY, "revoked")
    assert "the operator" in refused.error["hint"]
    new = HallPlayer({URL: hall}, "alice", tmp_path / "new")
    wrong = run("recover", "alice", "--server", URL, "--yes", "--json", seat=new, stdin="no code\n")
    assert wrong.code == Exit.KEY
    assert "the code is not the one that alice was given" in wrong.err
    found = run("recover", "alice", "--server", URL, "--yes", "--json", seat=new, stdin=f"{code}\n").json
    assert found["lost"] == [old["fingerprint"]]
    said(run("show", game, seat=new), "has your new key now")
    stopped = run("show", game, "--json", seat=bob)
    assert (stopped.code, stopped.error["code"]) == (Exit.AUDIT, "trust")
    assert f"hkoji trust alice {found['fingerprint']}" in stopped.error["hint"]
    said(run("trust", "alice", found["fingerprint"], seat=bob), found["fingerprint"])
    said(run("show", game, seat=bob), "alice has another key now")
    said(run("audit", game, seat=bob), "by the server's word alone", "the server alone vouches for")
    log = tmp_path / "log.jsonl"
    log.write_text(run("log", game, seat=bob).out)
    alone = run("audit", str(log), "--key", f"alice={old['key']}")
    assert alone.code == Exit.AUDIT
    assert "the server alone says" in alone.err
    both = run("audit", str(log), "--key", f"alice={old['key']}", "--key", f"alice={found['key']}")
    said(both, "All 6 entries hold")


def test_a_revocation_made_before_and_one_of_an_earlier_key(
    players: tuple[HallPlayer, HallPlayer], tmp_path: Path
) -> None:
    alice, bob = players
    old = run("key", "--json", seat=alice).json
    prepared = run("revoke", "--prepare", seat=alice)
    assert set(json.loads(prepared.out)) == {"v", "url", "text", "sig"}
    said(run("next", seat=alice))
    run("rekey", seat=alice)
    file = tmp_path / "revocation.json"
    file.write_text(prepared.out)
    said(run("revoke", str(file), "--yes", seat=bob), f"The key {old['fingerprint']} is no longer valid")
    said(run("revoke", "--fingerprint", old["fingerprint"], "--yes", seat=alice))  # once more: done already
    said(run("next", seat=alice))
    assert run("revoke", "--fingerprint", "SHA256:x", seat=alice).code == Exit.USAGE
    file.write_text("{}")
    assert run("revoke", str(file), "--yes", seat=bob).code == Exit.MOVE
    asked = run("revoke", seat=alice, stdin="n\n", terminal=True)
    assert asked.code == Exit.CANCELLED
    said(run("next", seat=alice))
    said(run("revoke", "--yes", seat=alice))
    assert run("next", seat=alice).code == Exit.KEY


def test_impossible_commands_are_refused(players: tuple[HallPlayer, HallPlayer], tmp_path: Path) -> None:
    alice, bob = players
    assert run("trust", "bob", "no key", seat=alice).code != 0
    public = tmp_path / "bob.pub"
    public.write_text(run("key", seat=bob).out)
    said(run("trust", "bob", str(public), seat=alice), "SHA256:")
    assert run("recover", "alice", "--server", URL, "--yes", seat=bob, stdin="x").code == Exit.FAILURE
    assert run("admin", "revoke", "alice", "--data", str(tmp_path / "nowhere")).code == Exit.USAGE
    assert run("rekey", "--key", str(alice.path / "id_ed25519"), seat=alice).code == Exit.USAGE
