"""`hkoji doctor` detects each possible fault, changes nothing, and shows no secret."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hkoji_server import doctor as hosts
from hkoji_server.doctor import examine_service
from sqlalchemy import make_url

from hkoji.cli.commands.identity import show_checks
from hkoji.cli.output import out
from hkoji.client import Client, Home
from hkoji.client import doctor as players
from hkoji.client.doctor import examine
from hkoji.client.identity import create
from hkoji.client.transport import HttpAnswer, Transport
from hkoji.doctor_check import DoctorCheck
from hkoji.errors import NetworkError
from hkoji.game.submission import Submission, format_submission
from hkoji.log.line import make_entry, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.service_in_process import Inside, inside

NOW = 1_795_176_000  # the time of the service's clock
URL = "https://inside"


class InsideTransport(Transport):
    """The transport to a service in this process."""

    def __init__(self, url: str, service: Inside) -> None:
        super().__init__(url)
        self.service = service
        self.down = False

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        if self.down:
            raise NetworkError(self.url, "no route")
        answer = self.service.ask(method, path, token=token, raw=body or b"")
        return HttpAnswer(answer.status, answer.body)


class Player:
    """A player who is registered and has a game, with the findings of `doctor`."""

    def __init__(self, home: Path, service: Inside) -> None:
        self.home = Home(home)
        self.service = service
        create(self.home, "alice", None, b"a" * 32)
        client = Client(self.home, connect=self.connect)
        client.register(URL)
        client.new(Hanamikoji())
        (self.game,) = self.home.games()

    def connect(self, url: str) -> Transport:
        return InsideTransport(url, self.service)

    def found(self, now: float = NOW, **changes: Any) -> dict[str, DoctorCheck]:
        connect = changes.get("connect", self.connect)
        return {check.name: check for check in examine(self.home, connect, lambda: now)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Player]:
    folder = tmp_path_factory.mktemp("doctor")
    with inside(folder / "data", seed="doctor", origin=URL) as service:
        yield Player(folder / "home", service)


@pytest.fixture
def player(made: Player, tmp_path: Path) -> Player:
    """A copy of it, to be broken."""
    copy = object.__new__(Player)
    copy.home = Home(Path(shutil.copytree(made.home.path, tmp_path / "home")))
    copy.service, copy.game = made.service, made.game
    return copy


def verdicts(found: dict[str, DoctorCheck]) -> dict[str, str]:
    return {name: check.verdict for name, check in found.items() if check.verdict != "ok"}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_player_who_is_well(player: Player) -> None:
    before = files(player.home.path)
    found = player.found()
    assert verdicts(found) == {}
    assert set(found) == {
        "player", "disk", "key", "permissions", "unsent", "service", "pins", "registration", "clock", "version",
    }  # fmt: skip
    assert files(player.home.path) == before
    shown = json.dumps([check.to_json() for check in found.values()])
    secrets = (player.home.game_folder(player.game) / "secrets.json").read_text()
    kept = json.loads(secrets)["entropy"]
    assert kept
    assert not [each for each in kept if each in shown]
    assert player.home.key_file.read_text().splitlines()[2] not in shown


def test_a_home_without_a_player_fails(tmp_path: Path) -> None:
    found = {check.name: check for check in examine(Home(tmp_path / "none"))}
    assert verdicts(found) == {"player": "fail"}
    assert "hkoji init" in found["player"].hint
    assert list(tmp_path.iterdir()) == []


def test_files_that_others_can_read(player: Player) -> None:
    player.home.key_file.chmod(0o644)
    found = player.found()
    assert verdicts(found) == {"permissions": "warn"}
    assert found["permissions"].hint == f"chmod go-rwx {player.home.key_file}"


@pytest.mark.parametrize("content", [None, b"not a key"])
def test_a_key_that_does_not_sign(player: Player, content: bytes | None) -> None:
    player.home.key_file.unlink()
    if content is not None:
        player.home.key_file.write_bytes(content)
        player.home.key_file.chmod(0o600)
    assert verdicts(player.found()) == {"key": "fail"}


def test_damaged_settings_end_no_report(player: Player) -> None:
    player.home.update_config(key="none")
    found = player.found()
    assert verdicts(found) == {"key": "fail", "registration": "fail"}
    assert (found["key"].said, found["version"].verdict) == (f"{player.home.config_file} is damaged", "ok")


def test_a_move_that_has_not_been_sent(player: Player) -> None:
    folder = player.home.game_folder(player.game)
    entry = make_entry(
        at="2026-11-20T12:00:00Z",
        body={},
        by="alice",
        game=player.game,
        kind="cancel",
        prev="0" * 64,
        seen="2026-11-20T12:00:00Z",
        seq=2,
    )
    sent = Submission(entry, sign_entry(entry, PrivateKey.from_seed(b"a" * 32)))
    (folder / "outbox.signed").write_text(f"{format_submission(sent)}\n")
    found = player.found()
    assert verdicts(found) == {"unsent": "warn"}
    assert player.game[:8] in found["unsent"].hint
    with (folder / "outbox.signed").open("ab") as file:
        file.write(b'{"entry":')
    assert verdicts(player.found()) == {"unsent": "warn"}  # a torn line was never sent
    (folder / "outbox.signed").write_bytes(b"damaged\n")
    assert verdicts(player.found()) == {"unsent": "fail"}


def test_a_service_that_is_away_or_another(player: Player) -> None:
    def away(url: str) -> Transport:
        transport = InsideTransport(url, player.service)
        transport.down = True
        return transport

    assert verdicts(player.found(connect=away)) == {"service": "fail"}
    pins = json.loads((player.home.path / "pins.json").read_text())
    pins[URL]["key"] = PrivateKey.from_seed(b"z" * 32).public.text
    (player.home.path / "pins.json").write_text(json.dumps(pins))
    found = player.found()
    assert verdicts(found) == {"pins": "fail"}
    assert "stop here" in found["pins"].hint


def test_a_service_with_a_new_address_is_found_there(player: Player) -> None:
    pins = json.loads((player.home.path / "pins.json").read_text())
    pins[URL]["origin"] = "https://earlier.example"
    (player.home.path / "pins.json").write_text(json.dumps(pins))
    found = player.found()
    assert verdicts(found) == {"pins": "fail"}
    assert f"hkoji register --server {URL} --move-games" in found["pins"].hint


@pytest.mark.parametrize(("off", "verdict"), [(0, "ok"), (100, "ok"), (-100, "ok"), (3600, "warn"), (-3600, "warn")])
def test_a_clock_that_is_wrong(player: Player, off: int, verdict: str) -> None:
    assert player.found(NOW + off)["clock"].verdict == verdict


@pytest.mark.parametrize(
    ("off", "said"), [(3 * 3600 + 30, "3h ahead of"), (-3 * 3600, "3h behind"), (400 * 86400 + 30, "400d ahead of")]
)
def test_a_clock_that_is_wrong_is_told_in_words(player: Player, off: int, said: str) -> None:
    assert str(player.found(NOW + off)["clock"].said) == f"your clock is {said} the service's"


def test_another_version(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "__version__", "9.9")
    assert verdicts(player.found()) == {"version": "warn"}


def test_little_room(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("usage", (), {"free": 100})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert verdicts(player.found()) == {"disk": "fail"}
    usage.free = 10 * 1024 * 1024  # type: ignore[attr-defined] # made above
    assert verdicts(player.found()) == {"disk": "warn"}


# --- hosts ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def data(made: Player, tmp_path: Path) -> Path:
    """A service's folder, copied while it runs."""
    from hkoji_server import admin

    (tmp_path / "data").mkdir(mode=0o700)
    admin.backup(tmp_path / "data" / "hkoji.sqlite3", made.service.data)
    with closing(sqlite3.connect(tmp_path / "data" / "hkoji.sqlite3")) as database:
        database.execute("PRAGMA journal_mode = wal")
    return tmp_path / "data"


def refereed(data: Path, now: float = NOW, **given: Any) -> dict[str, DoctorCheck]:
    return {check.name: check for check in examine_service(data, clock=lambda: now, **given)}


def test_a_host_who_is_well(data: Path, tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    shutil.copy(data / "hkoji.sqlite3", tmp_path / "copies" / "one")
    found = refereed(data, time.time(), backups=tmp_path / "copies")
    assert {name for name, verdict in verdicts(found).items() if name not in ("open files", "disk")} == set()
    assert {
        "database",
        "schema",
        "durability",
        "permissions",
        "disk",
        "clock",
        "origin",
        "backups",
        "open files",
    } == set(found)
    shown = json.dumps([check.to_json() for check in found.values()])
    with closing(sqlite3.connect(data / "hkoji.sqlite3")) as database:
        for secret in (*database.execute("SELECT seed FROM secret"), *database.execute("SELECT digest FROM token")):
            assert secret[0] not in shown


def later(seconds: int) -> str:
    """The time so many seconds after `NOW`."""
    return datetime.fromtimestamp(NOW + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def broken(data: Path, statement: str) -> None:
    with closing(sqlite3.connect(data / "hkoji.sqlite3")) as database:
        database.execute(statement)
        database.commit()


def test_each_fault_of_a_service_is_reported(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_FILES", 0)

    def wrong(**given: Any) -> dict[str, str]:
        return {name: verdict for name, verdict in verdicts(refereed(data, **given)).items() if name != "disk"}

    assert wrong() == {"backups": "warn"}
    assert wrong(backups=tmp_path / "none") == {"backups": "fail"}
    none = refereed(data, backups=tmp_path / "none")["backups"]
    assert none.said == f"no backup found in the folder {tmp_path / 'none'}"
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / ".hkoji.sqlite3.1.part").touch()  # the partial file of a killed copy
    assert wrong(backups=tmp_path / "copies") == {"backups": "fail"}
    assert wrong(now=NOW - 100) == {"backups": "warn", "clock": "fail"}
    broken(data, f"UPDATE beat SET at = '{later(61)}'")
    assert wrong() == {"backups": "warn", "clock": "fail"}
    broken(data, f"UPDATE beat SET at = '{later(60)}'")
    (data / "hkoji.sqlite3").chmod(0o640)
    assert wrong() == {"backups": "warn", "permissions": "warn"}
    data.chmod(0o755)
    assert wrong() == {"backups": "warn", "permissions": "fail"}
    data.chmod(0o700)
    (data / "hkoji.sqlite3").chmod(0o600)
    broken(data, "UPDATE service SET origin = 'http://10.0.0.1:8000'")
    assert wrong() == {"backups": "warn", "origin": "warn"}
    broken(data, "PRAGMA journal_mode = delete")
    assert wrong() == {"backups": "warn", "origin": "warn", "durability": "fail"}
    broken(data, "UPDATE alembic_version SET version_num = '9999'")
    assert wrong() == {"database": "fail"}
    assert {name: check.verdict for name, check in refereed(tmp_path / "nowhere").items()} == {"database": "fail"}
    monkeypatch.setattr(hosts, "_FILES", 10**9)
    assert hosts._open_files().verdict in ("warn", "ok")  # without a limit there is no finding


def test_the_report_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    checks = [DoctorCheck("one", "ok", "fine"), DoctorCheck("two", "warn", "so so", "do this")]
    monkeypatch.setattr(out, "json", False)
    assert show_checks(checks) == 0
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert lines == [["ok", "one", "fine"], ["warn", "two", "so so"], ["do", "this"]]
    monkeypatch.setattr(out, "json", True)
    assert show_checks([*checks, DoctorCheck("three", "fail", "no")]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["ok"] is False
    assert [check["verdict"] for check in value["checks"]] == ["ok", "warn", "fail"]


def copies(data: Path, folder: Path) -> Path:
    """A folder with one copy of a database, as `hkoji admin backup` makes it."""
    from hkoji_server import admin

    folder.mkdir()
    admin.backup(folder / "one.sqlite3", data)
    return folder


def of_another_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE game (game TEXT)")
        database.commit()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(random.Random(1).randbytes(100_000)),
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
        lambda path: path.write_bytes(b"PGDMP" + bytes(5000)),
        of_another_program,
    ],
    ids=["empty", "random", "cut off", "of PostgreSQL", "of another program"],
)
def test_a_file_that_is_no_copy_does_not_count_as_a_backup(
    data: Path, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    folder = copies(data, tmp_path / "copies")
    assert refereed(data, time.time(), backups=folder)["backups"].verdict == "ok"
    shutil.copy(folder / "one.sqlite3", folder / "two.sqlite3")
    spoil(folder / "two.sqlite3")
    os.utime(folder / "one.sqlite3", (NOW, NOW))
    os.utime(folder / "two.sqlite3", (NOW + 7200, NOW + 7200))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    found = refereed(data, NOW + 7200, backups=folder)["backups"]
    assert found.verdict == "warn"
    assert found.said == "the last backup is 2 h old; 1 file is no backup that can be read: two.sqlite3"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    (folder / "one.sqlite3").unlink()
    for given in (folder, folder / "two.sqlite3"):
        found = refereed(data, NOW + 7200, backups=given)["backups"]
        assert found.verdict == "fail"
        assert found.said == f"no backup found in the folder {given}; 1 file is no backup that can be read: two.sqlite3"


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_copy_counts_as_a_backup(data: Path, tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    copy = copies(data, tmp_path / "copies") / "one.sqlite3"
    copy.with_suffix(".packed").write_bytes(pack(copy.read_bytes()))
    copy.unlink()
    assert refereed(data, time.time(), backups=copy.parent)["backups"].verdict == "ok"


_DUMP = b"--\n-- PostgreSQL database dump\n--\n" + bytes(5000)


@pytest.mark.parametrize(
    ("content", "verdict"),
    [
        (b"PGDMP" + bytes(5000), "ok"),
        (
            b"--\n-- PostgreSQL database dump\n--\n" + bytes(5000) + b"--\n-- PostgreSQL database dump complete\n--\n",
            "ok",
        ),
        (_DUMP, "fail"),
        (b"", "fail"),
        (b"PGDMP", "fail"),
        (b"SQLite format 3\0" + bytes(5000), "fail"),
    ],
)
def test_backups_of_postgresql_have_the_form_of_its_dumps(tmp_path: Path, content: bytes, verdict: str) -> None:
    (tmp_path / "one.dump").write_bytes(content)
    url = make_url("postgresql+psycopg://hkoji@127.0.0.1/hkoji")
    assert hosts._backups(tmp_path, url, time.time()).verdict == verdict
