"""The commands of the specification, run by bash, verify every entry with ssh-keygen, jq and sha256sum alone."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from hkoji.log.line import parse_log

ROOT = Path(__file__).parents[2]
GAMES = ROOT / "tests" / "data" / "vectors" / "games"


def commands() -> str:
    """The example's lines of docs/spec/log.md."""
    page = (ROOT / "docs" / "spec" / "log.md").read_text()
    block = page[page.index("    sed -n 6p") : page.index("and its place in the chain")]
    return "\n".join(line[4:] for line in block.splitlines())


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-e", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "game.jsonl").write_text((GAMES / "whole.jsonl").read_text())
    for name, key in json.loads((GAMES / "games.json").read_text())["whole.jsonl"]["keys"].items():
        (tmp_path / f"{name}.pub").write_text(f"{key}\n")
    return tmp_path


def test_the_specifications_commands_verify_every_entry(folder: Path) -> None:
    lines = parse_log((folder / "game.jsonl").read_text())
    for number, line in enumerate(lines, 1):
        name = line.entry.by
        script = commands().replace("6p", f"{number}p").replace("alice", name)
        if name == "server":
            script = script.replace("hkoji.entry.v1", "hkoji.server.v1")
        done = run(script + "\nsha256sum entry.txt\n", folder)
        assert done.returncode == 0, done
        assert 'Good "hkoji.' in done.stdout
        if number < len(lines):
            assert lines[number].entry.prev in done.stdout


def test_a_changed_entry_does_not_verify(folder: Path) -> None:
    text = (folder / "game.jsonl").read_text()
    changed = text.splitlines()[5].replace('\\"seq\\":5', '\\"seq\\":6')
    assert changed != text.splitlines()[5]
    (folder / "game.jsonl").write_text("\n".join([*text.splitlines()[:5], changed]) + "\n")
    assert run(commands(), folder).returncode != 0


@pytest.mark.parametrize("missing", ["audit-lines.jq", "audit-entries.jq"])
def test_the_script_without_its_jq_files_says_which_is_missing(folder: Path, missing: str) -> None:
    for file in ("audit.sh", "audit-lines.jq", "audit-entries.jq"):
        if file != missing:
            shutil.copy(ROOT / "docs" / "spec" / file, folder)
    done = run("./audit.sh game.jsonl", folder)
    said = f"audit.sh: ./{missing} is missing: it belongs here\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
