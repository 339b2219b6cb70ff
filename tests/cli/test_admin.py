"""`hkoji admin` as an operator types it: its output, as JSON too, and exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hkoji.cli.main import main
from hkoji.log.private_key import PrivateKey
from tests.support.forked import run_forked
from tests.support.service import Player, offer_of, serving
from tests.support.service_in_process import inside

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("served") / "data"
    with inside(data, seed="host") as service:
        Player(service, "alice", PrivateKey.from_seed(b"a" * 32), "aa" * 32).register().new()
    return data


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hkoji", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(str(ended.value.code)), shown.out, shown.err

    return command


def test_the_output_for_an_admin(served: Path, tmp_path: Path, run: Run) -> None:
    code, out, err = run("admin", "backup", tmp_path / "copy.db", "--data", served)
    assert (code, err) == (0, "")
    assert "private key" in out
    code, out, err = run("admin", "restore", tmp_path / "copy.db", "--data", tmp_path / "new")
    assert code == 0
    assert "looks like a fork" in err
    assert run("admin", "backup", tmp_path / "copy.db", "--data", served)[0] == 1
    code, out, err = run("admin", "check", "--data", tmp_path / "new")
    assert (code, out) == (0, "Checked: 1 game, 2 entries, 1 player.\nEverything holds.\n")
    code, out, err = run("admin", "stats", "--data", tmp_path / "new", "--json")
    assert json.loads(out)["games"] == {"open": 1, "total": 1}
    assert run("admin", "stats", "--data", tmp_path / "new")[1].splitlines()[0].split() == ["games", "1"]
    assert run("admin", "vacuum", "--data", tmp_path / "new")[0] == 0
    code, out, err = run("admin", "stats", "--data", tmp_path / "new", "--lang", "it")
    assert out.splitlines()[0].split() == ["partite", "1"]
    assert run("admin", "check", "--data", tmp_path / "nowhere")[0] == 2


def typed(home: Path, *words: object, stdin: str = "") -> tuple[int, str, str]:
    """Exit code and output of a command in a process of its own."""
    environment = {**os.environ, "HKOJI_HOME": str(home), "HKOJI_CONFIG": os.devnull}
    done = run_forked([*map(str, words)], env=environment, stdin=stdin)
    return done.returncode, done.stdout, done.stderr


def test_a_service_by_invitation(tmp_path: Path) -> None:
    """The operator makes a code, and `hkoji register` sends it; without it both sides say what is missing."""
    data, alice, bob, carol = (tmp_path / name for name in ("data", "alice", "bob", "carol"))
    for home in (alice, bob, carol):
        assert typed(home, "init", home.name)[0] == 0
    with serving(data, options=("--registration", "code"), forked=True) as service:
        register = ("register", "--server", service.url)
        code, _, err = typed(alice, *register)
        assert code == 4
        assert "takes new players only with a code from its operator" in err
        assert f"hkoji register --server {service.url} --code CODE" in err
        assert "accoglie nuovi giocatori solo con un codice del gestore" in typed(alice, *register, "--lang", "it")[2]
        code, out, err = typed(alice, "admin", "invite", "--uses", 1, "--days", 2, "--data", data, "--json")
        made = json.loads(out)
        assert (code, made["uses"], made["origin"]) == (0, 1, service.url)
        assert typed(alice, *register, "--code", "0" * 40)[0] == 4
        assert typed(alice, *register, "--code", made["code"])[0] == 0
        assert typed(alice, *register)[0] == 0  # registered before
        code, _, err = typed(bob, *register, "--code", made["code"], "--lang", "it")
        assert (code, "è già stato usato" in err) == (4, True)
        shown = typed(bob, "admin", "invite", "--uses", 3, "--data", data)[1]
        assert "3 new players can register" in shown
        assert typed(bob, *register, "--code", "-", stdin=shown.splitlines()[1])[0] == 0
        assert json.loads(typed(bob, "admin", "stats", "--data", data, "--json")[1])["codes"] == 1
        listed = typed(carol, "admin", "invite", "--list", "--data", data)[1]
        assert re.fullmatch(r"[0-9a-f]{12}  for 2 players, until \S+Z\n", listed)
        (known,) = json.loads(typed(carol, "admin", "invite", "--list", "--data", data, "--json")[1])
        assert (known["digest"], known["uses"]) == (listed[:12], 2)
        assert shown.splitlines()[1][:12] != listed[:12]
        assert typed(carol, "admin", "invite", "--withdraw", "zz", "--data", data)[0] == 2
        for more in (("--uses", 2), ("--days", 3), ("--list",)):
            code, _, err = typed(carol, "admin", "invite", "--withdraw", listed[:8], *more, "--data", data)
            assert (code, "make no code; nothing was changed" in err) == (2, True)
            assert typed(carol, "admin", "invite", "--list", "--data", data)[1] == listed
        code, said, _ = typed(carol, "admin", "invite", "--withdraw", listed[:8], "--data", data, "--lang", "it")
        assert code == 0
        assert said.startswith(f"Il codice {listed[:12]} è ritirato: per 2 giocatori, fino al ")
        assert typed(carol, "admin", "invite", "--list", "--data", data)[1] == "There are no codes.\n"
        assert typed(carol, *register, "--code", shown.splitlines()[1])[0] == 4
    with serving(tmp_path / "closed", options=("--registration", "closed"), forked=True) as service:
        code, _, err = typed(carol, "register", "--server", service.url)
        assert (code, "takes no new players" in err) == (4, True)
        assert "non accoglie nuovi giocatori" in typed(carol, "register", "--server", service.url, "--lang", "it")[2]


def test_the_removals_of_tidying(tmp_path: Path, run: Run) -> None:
    data = tmp_path / "data"
    with inside(data) as service:
        alice = Player(service, "alice").register()
        service.ask("POST", "/v1/offers", offer_of(), alice.token)
    code, out, err = run("admin", "tidy", "--data", data)
    assert (code, err) == (0, "")
    assert [line.split()[-1] for line in out.splitlines()[-7:]] == ["Removed:", "1", "1", "0", "0", "0", "0"]
    assert json.loads(run("admin", "tidy", "--data", data, "--json")[1])["offers"] == 0
    assert run("admin", "tidy", "--data", data, "--lang", "it")[1].splitlines()[1].split() == [
        "proposte",
        "mai",
        "aperte",
        "0",
    ]


def test_an_outage_that_is_recorded_by_hand(tmp_path: Path, run: Run) -> None:
    data = tmp_path / "data"
    with inside(data):
        pass
    begin_, until = "2026-11-20T13:00:00Z", "2026-11-20T14:00:00Z"
    code, out, err = run("admin", "outage", begin_, until, "--data", data)
    assert (code, err) == (0, "")
    assert begin_ in out
    assert until in out
    assert run("admin", "outage", until, begin_, "--data", data)[0] == 2
    assert run("admin", "outage", "2026-11-20T15:00:00Z", "2099-01-01T00:00:00Z", "--data", data)[0] == 2
    made = run("admin", "outage", "2026-11-20T15:00:00Z", "2026-11-20T16:00:00Z", "--data", data, "--json")
    assert json.loads(made[1]) == {
        "from": "2026-11-20T15:00:00Z",
        "until": "2026-11-20T16:00:00Z",
        "v": 1,
        "way": "http",
    }


def test_a_database_that_does_not_hold_ends_with_code_8(served: Path, tmp_path: Path, run: Run) -> None:
    data = shutil.copytree(served, tmp_path / "data")
    with closing(sqlite3.connect(data / "hkoji.sqlite3")) as database:
        database.execute("UPDATE game SET round = 7")
        database.commit()
    code, out, err = run("admin", "check", "--data", data, "--json")
    assert code == 8
    value = json.loads(out)
    assert (value["ok"], value["faults"], value["games"]) == (False, 1, 1)
    assert value["found"][0]["reason"] == "the summary's round does not agree with the log"
    assert json.loads(err)["error"]["exit_code"] == 8
    code, out, err = run("admin", "check", "--data", data, "--lang", "it")
    assert "il campo round del riassunto" in out


def test_the_doctor_of_a_database_that_is_not_named_in_the_command(
    served: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A URL with a password is only in the environment; `--backups` implies a service."""
    (tmp_path / "copies").mkdir()
    assert run("admin", "backup", tmp_path / "copies", "--data", served)[0] == 0
    monkeypatch.setenv("HKOJI_SERVER_DATA", str(served))
    out = run("doctor", "--backups", tmp_path / "copies", "--json")[1]
    said = {check["name"]: check["said"] for check in json.loads(out)["checks"]}
    assert said["database"] == str(served / "hkoji.sqlite3")
    assert said["backups"] == "the last backup is 0 h old"
