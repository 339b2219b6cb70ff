"""Audits of files, batches and the service use libsodium; without PyNaCl they use OpenSSL, with the same results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.table import new_game, whole_game

_MAIN = "import sys; {first}; sys.argv[0] = 'hkoji'; from hkoji.cli.main import main; main()"


def _run(*words: str | Path, stdin: str = "", first: str = "") -> tuple[str, set[str]]:
    """The output of `hkoji`, and which of the two libraries' packages it has imported."""
    code = _MAIN.format(first=first or "pass")
    command = [sys.executable, "-X", "importtime", "-c", code, *map(str, words)]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    return done.stdout, {
        name for name in ("nacl", "cryptography") if any(each.startswith(f"{name}.") for each in modules)
    }


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "game.jsonl"
    path.write_text(whole_game(3).text)
    return path


def test_an_audit_of_files_loads_libsodium_instead_of_openssl(log: Path) -> None:
    assert _run("audit", log)[1] == {"nacl"}
    log.with_name("other.jsonl").write_text(new_game(4).play(2).text)
    assert _run("audit", log.parent, "--jobs", "1")[1] == {"nacl"}


def test_without_pynacl_an_audit_is_the_same(log: Path) -> None:
    for text in (log.read_text(), log.read_text().replace("SSHSIG", "SSHSIH"), log.read_text().replace("bob", "bab")):
        log.write_text(text)
        said, loaded = _run("audit", log, "--json", first="sys.modules['nacl'] = None")
        assert loaded == {"cryptography"}
        assert said == _run("audit", log, "--json")[0]


def test_a_batch_loads_libsodium_for_its_second_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKOJI_HOME", str(tmp_path))
    for count, loaded in ((1, set()), (2, {"nacl"})):
        said, found = _run("batch", stdin="--version\n" * count)
        assert found == loaded
        assert [json.loads(line)["ok"] for line in said.splitlines()] == [True] * count


def test_the_service_uses_libsodium(tmp_path: Path) -> None:
    code = """
import sys
from hkoji_server.app import create_app
from hkoji_server.settings import Settings
from hkoji.log import sshsig
create_app(Settings(data=sys.argv[1]))
print(type(sshsig.library()).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], check=True, capture_output=True, text=True)
    assert done.stdout == "Libsodium\n"
