"""`hkoji evidence`, and `hkoji audit` of its output: a file, standard input, an archive, JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hkoji.audit.evidence_file import format_evidence, is_evidence, parse_evidence
from hkoji.cli.output import Exit
from hkoji.log.line import format_log
from tests.support.adversary import HostileService, lying, resigned
from tests.support.framing import evidence, stories
from tests.support.memory_service import begin
from tests.support.shell import Shell, run


@pytest.fixture
def service() -> HostileService:
    return HostileService()


@pytest.fixture
def game(service: HostileService, alice: Shell, bob: Shell) -> str:
    return begin(alice.seat, bob.seat)


def lied_to(service: HostileService, player: Shell, other: Shell, game: str) -> str:
    """Shows the player another entry 4, made by the other one. Returns the command's output."""
    with lying(service, resigned(4, other.seat)):
        done = player("show", game)
    assert done.code == Exit.AUDIT
    return done.err


def pin(service: HostileService) -> tuple[str, str]:
    return "--key", f"server={service.key.public.text}"


def test_the_file_convicts_at_a_strangers(
    service: HostileService, alice: Shell, bob: Shell, game: str, tmp_path: Path
) -> None:
    assert f"`hkoji evidence {game[:8]} --with-cards --output FILE` writes" in lied_to(service, alice, bob, game)
    file = tmp_path / "evidence.jsonl"
    bare = alice("evidence", game[:6], "--output", str(file), "--json")
    assert (bare.code, bare.json["refused"], bare.json["left_out"]) == (0, 0, 2)
    assert "statements that reveal your cards are left out (2); --with-cards includes them" in bare.err
    written = alice("evidence", game[:6], "--output", str(file), "--with-cards", "--force", "--json")
    assert (written.code, written.json["refused"], written.json["left_out"], written.err) == (0, 1, 0, "")
    printed = alice("evidence", game[:6], "--with-cards")
    assert printed.out == file.read_text()
    words = "step 10 (evidence), entry 4: server: has put two different entries in place 4"
    for source, stdin in ((str(file), ""), ("-", printed.out)):
        done = run("audit", source, *pin(service), stdin=stdin)
        assert done.code == Exit.AUDIT
        assert words in done.err
        assert words in done.out
        assert "10 evidence" in done.out
    told = run("audit", str(file), *pin(service), "--json")
    (finding,) = told.json["findings"]
    assert (finding["step"], finding["name"], finding["entry"], finding["signer"]) == (10, "evidence", 4, "server")
    assert told.json["steps"][-1]["step"] == 10
    assert told.error["signer"] == "server"


def test_honest_evidence_holds_and_says_so(
    alice: Shell, bob: Shell, service: HostileService, game: str, tmp_path: Path
) -> None:
    assert bob("resign", game, "--yes").code == 0
    assert alice("show", game).code == 0
    file = tmp_path / "evidence.jsonl"
    done = alice("evidence", game, "--output", str(file))
    assert done.code == 0
    assert "entries 7, views 2, signed heads 0, statements refused 0" in done.out
    assert not done.err
    done = run("audit", str(file), *pin(service))
    assert done.code == 0
    assert "2 views, 0 statements refused: nothing contradicts" in done.out
    assert "10 prove" in alice("--lang", "it", "audit", str(file)).out


def test_views_without_a_log_are_no_running_game(tmp_path: Path) -> None:
    told, _ = stories()[0]
    file = tmp_path / "views.jsonl"
    file.write_text(format_evidence(evidence(told, log="")))
    done = run("audit", str(file))
    assert done.code == 0
    assert "The file contains no log; its statements do not contradict one another." in done.out
    assert "entries hold" not in done.out


def test_the_files_that_a_player_keeps_are_an_archive(
    alice: Shell, bob: Shell, service: HostileService, game: str
) -> None:
    assert alice("show", game).code == 0
    home = alice.seat.path
    assert [file.name for file in home.rglob("*.jsonl")] == ["log.jsonl"]
    assert (home / "games" / game / "views.signed").exists()
    done = run("audit", str(home), *pin(service))
    assert done.code == 0, done


def test_evidence_and_logs_in_one_archive(
    service: HostileService, alice: Shell, bob: Shell, game: str, tmp_path: Path
) -> None:
    lied_to(service, alice, bob, game)
    log, evidence = alice("log", game).out, alice("evidence", game, "--with-cards").out
    honest = bob("evidence", game).out
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "a.jsonl").write_text(log)
    (folder / "b.jsonl").write_text(evidence)
    (folder / "c.jsonl").write_text(log + honest + evidence + log)
    done = run("audit", str(folder), *pin(service), "--json")
    assert done.code == Exit.AUDIT
    *each, last = map(json.loads, done.out.splitlines())
    assert [(one["file"][-7:], one.get("ok"), "repeats" in one) for one in each] == [
        ("a.jsonl", True, False),
        ("b.jsonl", False, False),
        ("c.jsonl", None, True),
        ("c.jsonl", None, True),
        ("c.jsonl", None, True),
        ("c.jsonl", None, True),
    ]
    assert each[1]["findings"][0]["signer"] == "server"
    assert last["summary"]["broken"] == 1
    shown = run("audit", str(folder), *pin(service))
    assert f"{folder / 'b.jsonl'}: 5 of 5 entries hold: step 10 (evidence), entry 4: server: has put" in shown.out


def test_a_game_of_which_all_was_refused_has_evidence_too(
    service: HostileService, alice: Shell, bob: Shell, game: str
) -> None:
    for name in ("log.jsonl", "view.json", "views.signed"):
        (alice.seat.folder(game) / name).unlink()
    assert "--output FILE` writes it to a file" in lied_to(service, alice, bob, game)
    made = alice("evidence", game[:8], "--with-cards").out
    assert is_evidence(made)
    assert not parse_evidence(made).log
    done = run("audit", "-", *pin(service), stdin=made)
    assert done.code == Exit.AUDIT
    assert "server" in done.err


def test_a_game_that_is_not_known_here(alice: Shell, game: str) -> None:
    done = alice("evidence", "f" * 32)
    assert (done.code, done.out) == (Exit.USAGE, "")


def test_a_log_that_the_service_has_lost_is_exported_as_it_was_kept(
    service: HostileService, alice: Shell, bob: Shell, game: str, tmp_path: Path
) -> None:
    before = replace(service.games[game])
    assert alice("move", game, alice("show", game, "--json").json["legal"][0]).code == 0
    kept = format_log(service.games[game].lines)
    service.games[game] = before  # as after restoring a backup
    refused = alice("export", game)
    assert (refused.code, refused.out) == (Exit.AUDIT, "")
    found = alice("export", game[:8], "--kept")
    assert (found.code, found.out, found.err) == (0, kept, "")
    file = tmp_path / "kept.jsonl"
    file.write_text(found.out)
    assert run("audit", str(file), *pin(service)).code == 0
    nobody = alice("export", "0" * 32, "--kept")
    assert (nobody.code, nobody.out) == (Exit.USAGE, "")
    assert "games known here" in nobody.err
