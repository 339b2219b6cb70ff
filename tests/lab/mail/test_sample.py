"""A sample of the laboratory of mail: the real servers, where this machine can have them; stories; kills; and frames.

The frames: no mails file and no DNS record of a player makes an honest service look guilty.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest
from hkoji_server.service.mail import letter_facts

from hkoji.mail.mails_file import format_mails
from tests.lab.mail import namespaces
from tests.lab.mail.__main__ import main
from tests.lab.mail.at_once import run_at_once
from tests.lab.mail.cuts import leftovers, run_cuts
from tests.lab.mail.fatal import run_fatal
from tests.lab.mail.frame import SCHEMES, Framed, framed_world, judge, play_to_end
from tests.lab.mail.stories import run_stories
from tests.support.letters import KINDS
from tests.support.mail.proved_table import proved_game
from tests.support.processes import alive

_ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def real() -> None:
    """Skips the tests that need the real servers where they cannot run."""
    if reason := namespaces.why_not():
        pytest.skip(reason)


def lab(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the laboratory."""
    command = [sys.executable, "-m", "tests.lab.mail", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=_ROOT)


def test_a_game_is_played_to_its_end_by_mail_in_italian(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "g.jsonl"
    code = main(["play", "--game", "geishas-road", "--lang", "it", "--in-process", "--short", "--output", str(place)])
    said = capsys.readouterr().out
    assert code == 0, said[-3000:]
    assert "tocca a te" in said.lower()
    assert json.loads(json.loads(place.read_text().splitlines()[-1])["entry"])["kind"] == "end"


@pytest.mark.usefixtures("real")
def test_two_mailboxes_play_to_the_end_through_postfix_and_dovecot(tmp_path: Path) -> None:
    before = {path for folder in ("/etc", "/var") for path in Path(folder).iterdir()}
    done = lab("play", "--seats", "mail,mail", "--short", "--output", str(tmp_path / "g.jsonl"))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "The deal is the word of the service alone" in done.stdout
    assert {path for folder in ("/etc", "/var") for path in Path(folder).iterdir()} == before


@pytest.mark.usefixtures("real")
def test_all_that_was_started_ends_with_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.lab.mail", "loops"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # what is killed cannot remove its folder
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT, env=environment)
    assert process.stdout is not None
    with process.stdout:
        assert "up after" in process.stdout.readline()
        started = [pid for pid in _processes() if _parents(pid) & {process.pid}]
        process.kill()
        process.wait()
    assert len(started) > 10  # setpriv, unshare, Python, and what the mail servers consist of
    end = time.monotonic() + 30
    while any(map(alive, started)):
        assert time.monotonic() < end
        time.sleep(0.02)


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _parents(pid: int) -> set[int]:
    """The processes that a process descends from."""
    found: set[int] = set()
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except FileNotFoundError:  # it has ended
            break
        found.add(pid)
    return found


def test_a_laboratory_without_its_packages_says_which_ones() -> None:
    with (
        patch.object(sys, "platform", "linux"),
        patch.object(os, "geteuid", lambda: 0),
        patch.object(namespaces, "missing_packages", lambda: ["dovecot-core", "postfix"]),
        patch.object(namespaces, "layer", lambda: None),
    ):
        assert namespaces.why_not() == "the mail laboratory needs Debian's packages dovecot-core, postfix"


def test_a_machine_that_cannot_has_its_own_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with patch.object(namespaces, "why_not", lambda: "this machine allows no namespaces: denied"):
        assert namespaces.run_inside(["post"]) == namespaces.CANNOT
    assert capsys.readouterr().err == "lab: this machine allows no namespaces: denied\n"


def test_everybody_who_owes_a_move_has_a_letter_by_which_it_can_be_made() -> None:
    done = run_stories(1, seed=4)
    assert done.wrong == []
    assert done.counts["turns"] > 0
    assert done.counts["kills"] > 0


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letter_facts, "SHOW_TURN", KINDS)
    done = run_stories(1, seed=29)
    assert len(done.wrong) == 1
    assert "no letter takes it" in done.wrong[0]


def test_a_process_that_is_killed_on_the_way_of_a_mail_leaves_nothing_else_behind() -> None:
    done = run_cuts(("accept, known",), 2)
    assert done.wrong == []
    assert done.counts["kills"] == 2


def test_leftovers_of_a_kill_are_found() -> None:
    seed = '{"body":{},"by":"bob","game":"g","kind":"seed"}'
    rows = {
        "entry": [{"text": seed}],
        "statement": [],
        "evidence": [{"commit": "c0"}],
        "mailbox": [{"held_key": "one"}],
        "player": [{"key": "two"}],
        "held_key": [{"name": "bob", "key": each} for each in ("one", "two", "three")],
        "held_entropy": [{"game": "g", "name": each, "entropy": "00"} for each in ("bob", "carol")],
    }
    assert leftovers(rows) == [
        "evidence for nothing: c0",
        "a held key of no use: bob",
        "entropy of a seed on record: bob in g",
    ]


def test_a_mail_that_ends_its_process_is_set_aside_and_others_are_answered() -> None:
    assert run_fatal(1).wrong == []


def test_mails_that_come_at_once_are_answered() -> None:
    done = run_at_once(5, alone=1)
    assert done.answered >= done.kept


@pytest.mark.parametrize("name", ["as providers do", "expires just after T", "two records"])
def test_nobody_is_named(name: str, tmp_path: Path) -> None:
    done = Framed()
    with framed_world(tmp_path / "data", SCHEMES[name]) as world:
        lines, data = play_to_end(world, 2)
    judge(done, name, lines, data, 8, random.Random(name))
    assert done.wrong == []
    assert done.grades == {"word" if name == "two records" else "checked": 1}


def test_a_named_service_would_be_detected() -> None:
    table = proved_game(9, lie=lambda mail: mail._replace(line="resign") if mail.number == 2 else mail)
    done = Framed()
    judge(done, "lying", tuple(table.lines), format_mails([table.mailbox()]), 1, random.Random(1))
    assert any("is named" in each for each in done.wrong)
