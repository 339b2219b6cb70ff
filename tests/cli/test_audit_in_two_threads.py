"""Audits whose signatures are verified in two threads, or by either library, have the same findings."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from hkoji.audit.checks import SignatureCheck
from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.keyring import Verdict
from hkoji.audit.log_audit import Audit, audit
from hkoji.cli.audit import command
from hkoji.cli.audit.command import map_in_two_threads
from hkoji.errors import SignatureError
from hkoji.log.line import format_log
from tests.lab.damage.pieces import some_damages, sound_logs
from tests.lab.two_audits.damaged_logs import cases, golden
from tests.support.forgery import pins
from tests.support.framed_files import frame
from tests.support.framing import stories
from tests.support.shell import run
from tests.support.table import new_game, whole_game


def _same(one: Audit, other: Audit) -> None:
    assert one == other
    assert one.lines == other.lines


def test_damaged_and_forged_logs() -> None:
    """Every sort of damage and forgery, twice."""
    steps: set[int] = set()
    for seed in range(2):
        for case in cases(random.Random(seed)):
            alone = audit(case.log, case.pins)
            steps.update(finding.step for finding in alone.findings)
            _same(audit(case.log, case.pins, map_checks=map_in_two_threads), alone)
    assert {1, 2, 3, 4, 5, 6, 8} <= steps


def test_single_damaged_bytes_and_cut_games() -> None:
    rng = random.Random(2)
    for log in sound_logs():
        for place in rng.sample(range(len(log.data)), 3):
            for damage in some_damages(log.data, range(place, place + 1), 2, rng):
                data = damage.of(log.data)
                _same(audit(data, log.pins, map_checks=map_in_two_threads), audit(data, log.pins))
    for case in list(golden())[::7]:
        _same(audit(case.log, case.pins, map_checks=map_in_two_threads), audit(case.log, case.pins))


def test_files_of_evidence() -> None:
    rng = random.Random(4)
    for pair in stories():
        text = frame(rng, pair)
        for known in ({}, pins(pair[0].table)):
            _same(audit_file(text, known, map_checks=map_in_two_threads), audit_file(text, known))


def test_faults_in_several_signatures_and_receipts() -> None:
    """An entry and a receipt with the signature of another: the order of the steps decides, not the time."""
    table = whole_game(1)
    for entry in range(0, len(table.lines), 3):
        for receipt in range(0, len(table.lines), 4):
            lines = list(table.lines)
            signed = lines[receipt].receipt
            assert signed
            lines[entry] = lines[entry]._replace(sig=lines[entry - 1].sig)
            lines[receipt] = lines[receipt]._replace(receipt=signed._replace(sig=lines[receipt - 1].sig))
            log = format_log(lines)
            alone = audit(log, pins(table))
            assert [finding.step for finding in alone.findings] == ([4, 5] if receipt < entry else [4])
            _same(audit(log, pins(table), map_checks=map_in_two_threads), alone)


def _checks(count: int) -> list[SignatureCheck]:
    key = whole_game(1).server.public
    return [SignatureCheck(bytes([number]), key, "a", b"", "server") for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_the_verdicts_are_those_of_map(count: int) -> None:
    def verify(check: SignatureCheck) -> Verdict:
        return SignatureError("server", str(check.sig[0])) if check.sig[0] % 3 else None

    for _ in range(20):
        both = map_in_two_threads(verify, _checks(count)), map(verify, _checks(count))
        one, other = ([str(verdict) for verdict in verdicts] for verdicts in both)
        assert one == other


def test_the_second_thread_takes_part_and_ends_with_the_audit() -> None:
    threads: Counter[int] = Counter()

    def verify(_: SignatureCheck) -> Verdict:
        threads[threading.get_ident()] += 1
        time.sleep(0.002)
        return None

    assert list(map_in_two_threads(verify, _checks(40))) == [None] * 40
    assert len(threads) == 2
    assert threading.get_ident() in threads
    assert min(threads.values()) > 5
    threads.clear()
    verdicts = map_in_two_threads(verify, _checks(40))
    next(verdicts)
    verdicts.close()
    verified = threads.total()
    assert verified < 40
    time.sleep(0.02)
    assert threads.total() == verified


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_second_thread_that_fails_makes_no_signature_valid() -> None:
    main = threading.get_ident()

    def verify(_: SignatureCheck) -> Verdict:
        if threading.get_ident() != main:
            raise MemoryError
        time.sleep(0.01)
        return None

    with pytest.raises(KeyError):
        list(map_in_two_threads(verify, _checks(5)))


@pytest.mark.parametrize("count", [1, 2])
def test_a_file_is_audited_in_two_threads_where_there_are_two_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    used = []

    def noted(verify: object, checks: object) -> object:
        used.append(True)
        return map_in_two_threads(verify, checks)  # type: ignore[arg-type] # passed on as they come

    monkeypatch.setattr(command, "map_in_two_threads", noted)
    monkeypatch.setattr(command, "processors", lambda: count)
    (tmp_path / "game.jsonl").write_text(whole_game(1).text)
    assert run("audit", str(tmp_path / "game.jsonl")).code == 0
    assert used == [True] * (count - 1)


# --- libraries --------------------------------------------------------------------------------------------------------


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
from hkoji_server.app import Application
from hkoji_server.settings import Settings
from hkoji.log import sshsig
Application(Settings(data=sys.argv[1]))
print(type(sshsig.library()).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], check=True, capture_output=True, text=True)
    assert done.stdout == "Libsodium\n"
