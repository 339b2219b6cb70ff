"""A stranger can check every exported game with `hkoji audit`, and with OpenSSH, jq and openssl alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hkoji.arena.match import MatchGame, PlayedGame, play
from hkoji.arena.plan import MatchPlan
from hkoji.arena.results import Export, MatchTally
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.errors import StorageError
from hkoji.game.replay import replay
from hkoji.log.line import parse_log
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.rules.events import Deal
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.rules import GAMES

PAGE = Path(__file__).parents[2] / "docs" / "arena.md"


def write(folder: Path, ruleset: Ruleset | None = None, *, deals: int = 2, jobs: int = 1, seed: str = "2026") -> Path:
    """A match between two random bots in `folder`."""
    plan = MatchPlan(("random", "random"), ruleset or Hanamikoji(), deals, seed)
    export, tally = Export(plan, folder), MatchTally()
    for played in play(plan, jobs=jobs, keep=True):
        export.add(played)
        tally.add(played)
    export.finish(tally)
    return folder


def manifest(folder: Path) -> dict[str, Any]:  # Any: JSON
    found: dict[str, Any] = json.loads((folder / "arena.json").read_text())
    return found


def keys(folder: Path) -> dict[str, PublicKey]:
    lines = (folder / "keys.txt").read_text().splitlines()
    return {name: parse_public_key(key) for name, key in (line.split(" ", 1) for line in lines)}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("ruleset", [ruleset for game in GAMES for ruleset in game.rulesets], ids=str)
def test_every_log_audits_clean_and_is_what_the_manifest_says(ruleset: Ruleset, tmp_path: Path) -> None:
    folder = write(tmp_path / "match", ruleset, deals=1)
    facts, pins = manifest(folder), keys(folder)
    assert {name: key.text for name, key in pins.items()} == facts["keys"]
    assert set(contents(folder)) == {"arena.json", "keys.txt", *(game["file"] for game in facts["games"])}
    assert (facts["complete"], facts["deals"], len(facts["games"])) == (True, 1, 2)
    wins = {"random-1": 0, "random-2": 0, None: 0}
    for game in facts["games"]:
        text = (folder / game["file"]).read_text()
        result = audit(text, pins)
        assert result.ok
        assert result.finished
        assert all(party.pinned for party in result.parties)
        assert result.notes[AuditStep.DEAL].endswith("dealt from the seed")
        assert result.notes[AuditStep.TIMES] == f"{result.entries} receipts"
        course = replay(parse_log(text)).course
        assert course is not None
        assert course.outcome is not None
        setup = course.setup
        assert (setup.game, course.head) == (game["game"], game["head"])
        assert setup.names == (game["host"], game["guest"])
        assert setup.ruleset == ruleset
        winner = course.outcome.winner
        assert game["winner"] == (None if winner is None else setup.names[winner])
        assert game["reason"] == course.outcome.reason
        assert setup.terms.to_json()["deal"] == game["deal_id"]
        wins[game["winner"]] += 1
    assert facts["result"] == {"games": 2, "shared": wins[None], "wins": [wins["random-1"], wins["random-2"]]}


def test_the_tables_of_a_deal_share_its_cards_and_no_others_do(tmp_path: Path) -> None:
    folder = write(tmp_path / "match", deals=3)
    first: dict[str, set[Deal]] = {}
    for game in manifest(folder)["games"]:
        events = replay(parse_log((folder / game["file"]).read_text())).events
        first.setdefault(game["deal_id"], set()).add(next(event for event in events if isinstance(event, Deal)))
    assert len(first) == 3
    assert all(len(deals) == 1 for deals in first.values())
    assert len(set.union(*first.values())) == 3


def test_the_same_match_makes_the_same_bytes(tmp_path: Path) -> None:
    one = contents(write(tmp_path / "one"))
    assert contents(write(tmp_path / "two", jobs=2)) == one
    other = contents(write(tmp_path / "other", seed="2027"))
    assert set(other) == set(one)
    assert all(other[name] != one[name] for name in one)


def test_no_two_matches_fork_a_game(tmp_path: Path) -> None:
    """The same seed and the same service key, but other rules: no game may have two histories."""
    one = manifest(write(tmp_path / "one"))
    other = manifest(write(tmp_path / "other", GeishasRoad()))
    assert one["keys"]["server"] == other["keys"]["server"]
    assert not {game["game"] for game in one["games"]} & {game["game"] for game in other["games"]}


def test_a_folder_with_anything_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StorageError, match="is not empty"):
        write(tmp_path)
    assert contents(tmp_path) == {"notes.txt": b"mine"}
    with pytest.raises(StorageError, match="cannot write"):
        write(tmp_path / "notes.txt" / "match")


def _renumbered(played: PlayedGame, number: int) -> tuple[MatchGame, MatchGame]:
    one, other = played.games
    return one._replace(deal=number), other._replace(deal=number)


def test_an_unfinished_match_says_so(tmp_path: Path) -> None:
    plan = MatchPlan(("random", "random"), Hanamikoji(), 3, "1")
    export, tally = Export(plan, tmp_path), MatchTally()
    played = next(play(plan, keep=True))
    export.add(played)
    tally.add(played)
    export.add(next(play(plan._replace(seed="2"), keep=True))._replace(games=_renumbered(played, 2)))
    (tmp_path / "0002-b.jsonl").rename(tmp_path / "0002-b.jsonl.part")  # as if interrupted while it was written
    export.finish(tally)
    facts = manifest(tmp_path)
    assert (facts["complete"], facts["deals"], len(facts["games"])) == (False, 3, 2)
    assert set(contents(tmp_path)) == {"0001-a.jsonl", "0001-b.jsonl", "arena.json", "keys.txt"}
    empty = Export(plan, tmp_path / "empty")
    empty.finish(MatchTally())
    assert manifest(tmp_path / "empty")["games"] == []
    assert "result" not in manifest(tmp_path / "empty")


# --- with stock tools -------------------------------------------------------------------------------------------------


def block(beginning: str) -> str:
    """A block of commands of docs/arena.md, from the line that begins with this text."""
    lines = PAGE.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"    {beginning}"))
    end = next(number for number in range(start, len(lines)) if not lines[number].startswith("    "))
    return "\n".join(line[4:] for line in lines[start:end])


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("arena") / "match")


def test_ssh_keygen_verifies_every_entry_and_receipt(match: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(match, tmp_path / "match"))
    lines = parse_log((folder / "0001-b.jsonl").read_text())
    script = block("sed -n 6p").replace("0001-a", "0001-b")
    for number, line in enumerate(lines, 1):
        namespace = "hkoji.server.v1" if line.entry.by == "server" else "hkoji.entry.v1"
        done = run(
            script.replace("6p", f"{number}p").replace("hkoji.entry.v1", namespace) + "\nsha256sum entry.txt", folder
        )
        assert done.returncode == 0, done
        assert f'Good "{namespace}" signature for {line.entry.by}' in done.stdout
        if number < len(lines):
            assert lines[number].entry.prev in done.stdout
    receipt = script.replace(".entry +", ".receipt.text +").replace(".sig line", ".receipt.sig line")
    done = run(
        receipt.replace("hkoji.entry.v1", "hkoji.receipt.v1").replace(
            "\"$(jq -r '.entry | fromjson | .by' line)\"", "server"
        ),
        folder,
    )
    assert 'Good "hkoji.receipt.v1" signature for server' in done.stdout, done


def test_the_pages_other_commands_say_what_the_page_says(match: Path) -> None:
    audited = run(block("hkoji audit") + " --json", match)
    assert audited.returncode == 0, audited
    *told, last = map(json.loads, audited.stdout.splitlines())
    assert [each["file"] for each in told] == [
        f"./{name}" for name in sorted(contents(match)) if name.endswith("jsonl")
    ]
    assert all(party["pinned"] for each in told for party in each["parties"])
    assert (last["summary"]["finished"], last["summary"]["ok"], last["summary"]["unpinned"]) == (4, True, 0)
    script = block("for table in a b; do head")
    done = run(script, match)
    assert done.returncode == 0, done
    offers, seeds = done.stdout.splitlines()[:2], done.stdout.splitlines()[2:]
    assert offers[0] == offers[1]
    assert seeds[0] == seeds[1]
    assert len(seeds[0]) == 64
    derived = run(block("printf 'hkoji.arena.seed"), match)
    assert seeds[0] in derived.stdout, derived


def test_one_changed_byte_fails(match: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(match, tmp_path / "match"))
    path = folder / "0001-a.jsonl"
    path.write_text(path.read_text().replace('\\"seq\\":5', '\\"seq\\":6', 1))
    assert run(block("hkoji audit"), folder).returncode != 0
