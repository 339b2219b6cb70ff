"""`/healthz`, `/readyz`, the headers that every answer has, and metrics."""

from __future__ import annotations

import io
import logging
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from hkoji_server.log import configure_logging
from hkoji_server.process.metrics import Metrics, WorkersMetrics
from hkoji_server.process.server import tell_systemd
from hkoji_server.routes import service as health
from hkoji_server.routes.middleware import OTHER
from hkoji_server.service.time.service_time import log_time
from hkoji_server.store.migrate import newest_schema

from hkoji.errors import ConflictError, ForbiddenError, StorageError
from hkoji.game import entry_kinds
from tests.support.metrics import free_port, read
from tests.support.service import Answer, begin, serving, two_players
from tests.support.service_in_process import Inside, inside

SAFE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Inside]:
    monkeypatch.setattr(health, "_FRESH", -1.0)
    with inside(tmp_path / "data") as running:
        yield running


def change(service: Inside, statement: str) -> None:
    with closing(sqlite3.connect(service.data / "hkoji.sqlite3", isolation_level=None)) as database:
        database.execute(statement)


def not_ready(service: Inside) -> Answer:
    """The answer of a service that is alive and accepts no moves."""
    answer = service.ask("GET", "/readyz")
    assert answer.status == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["code"] == "storage"
    assert service.ask("GET", "/healthz").status == 200
    return answer


def test_a_service_is_alive_and_ready(service: Inside) -> None:
    assert service.ask("GET", "/healthz").json == {"status": "ok"}
    assert service.ask("GET", "/readyz").json == {"status": "ok"}


def test_head_says_the_same_without_a_body(tmp_path: Path) -> None:
    """Over a real connection: load balancers ask like this, and keep using the connection."""
    with serving(tmp_path / "data", forked=True) as service:
        connection = HTTPConnection("127.0.0.1", service.port, timeout=300)
        try:
            for path in ("/healthz", "/readyz"):
                connection.request("HEAD", path)
                answer = connection.getresponse()
                assert (answer.status, answer.read()) == (200, b"")
                assert answer.headers["content-type"] == "application/json"
            connection.request("GET", "/healthz")
            assert connection.getresponse().read() == b'{"status":"ok"}'
        finally:
            connection.close()


def test_another_schema_is_not_ready(service: Inside) -> None:
    change(service, "UPDATE alembic_version SET version_num = '9999'")
    assert "schema 9999" in not_ready(service).json["detail"]
    change(service, f"UPDATE alembic_version SET version_num = '{newest_schema()}'")
    assert service.ask("GET", "/readyz").status == 200


def test_a_database_that_cannot_be_written_is_not_ready(service: Inside) -> None:
    change(service, "CREATE TRIGGER full BEFORE UPDATE ON service BEGIN SELECT RAISE(FAIL, 'disk full'); END")
    assert "could not be written" in not_ready(service).json["detail"]
    change(service, "DROP TRIGGER full")
    assert service.ask("GET", "/readyz").status == 200


def test_a_full_disk_is_not_ready(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the write-ahead log has room for a small write but not for a move."""
    asked = []
    free = 1 << 20

    def usage(folder: Path) -> SimpleNamespace:
        asked.append(folder)
        return SimpleNamespace(free=free)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    assert service.ask("GET", "/readyz").status == 200
    free -= 1
    problem = not_ready(service).json
    assert problem["detail"] == "the disk is full"
    assert "free some space" in problem["hint"]
    assert set(asked) == {service.data}


def test_a_log_that_cannot_be_written_changes_no_answer(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk."""
    failed = []

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            failed.append(text)
            raise OSError(28, "No space left on device")

    root, before = logging.getLogger(), structlog.get_config()
    monkeypatch.setattr(root, "handlers", root.handlers)
    monkeypatch.setattr(root, "level", root.level)
    monkeypatch.setattr(sys, "stderr", Full())
    change(service, "UPDATE alembic_version SET version_num = '9999'")
    try:
        configure_logging("info")
        assert "schema 9999" in not_ready(service).json["detail"]
    finally:
        structlog.configure(**before)
    assert ["not available" in line for line in failed] == [True]


def test_a_database_that_does_not_answer_is_not_ready(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PATIENCE", 0.05)
    with closing(sqlite3.connect(service.data / "hkoji.sqlite3", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        assert "has not answered" in not_ready(service).json["detail"]
        database.execute("ROLLBACK")
    monkeypatch.setattr(health, "PATIENCE", 100)
    assert service.ask("GET", "/readyz").status == 200


def test_the_database_is_checked_at_most_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_FRESH", 1000.0)
    with inside(tmp_path / "data") as service:
        assert service.ask("GET", "/readyz").status == 200
        change(service, "UPDATE alembic_version SET version_num = '9999'")
        assert service.ask("GET", "/readyz").status == 200


@pytest.mark.parametrize("path", ["/healthz", "/v1/games", "/nothing", "/v1/players/UPPER"])
def test_every_answer_is_safe_to_show(service: Inside, path: str) -> None:
    headers = service.ask("GET", path).headers
    assert headers.items() >= SAFE.items()
    assert "strict-transport-security" not in headers
    assert len({service.ask("GET", path).headers["x-request-id"] for _ in range(3)}) == 3


@pytest.mark.parametrize("path", ["/healthz", "/v1/service", "/nothing", "/openapi.json"])
def test_every_answer_states_the_time_of_the_services_clock(service: Inside, path: str) -> None:
    for _ in range(2):
        expected = log_time(service.clock())
        assert service.ask("GET", path).headers["hkoji-time"] == expected
        service.clock.pass_by(3600)


@pytest.mark.parametrize("path", ["/docs", "/docs/oauth2-redirect", "/redoc"])
def test_there_is_no_page_that_could_load_scripts(service: Inside, path: str) -> None:
    answer = service.ask("GET", path)
    assert answer.status == 404
    assert answer.headers.items() >= SAFE.items()
    assert service.ask("GET", "/openapi.json").status == 200


@pytest.mark.parametrize(
    "path", ["/v1/games/", "/v1/service/", f"/v1/games/{'0' * 32}/log/", "/healthz/", "//example.org/v1"]
)
def test_a_request_cannot_choose_where_a_redirect_leads(service: Inside, path: str) -> None:
    answer = service.ask("GET", path, headers={"host": "example.org"})
    assert answer.status == 404
    assert "location" not in answer.headers
    assert b"example.org" not in answer.body


def test_a_service_reached_by_https_says_that_it_always_is(tmp_path: Path) -> None:
    with inside(tmp_path / "data", origin="https://hkoji.example") as service:
        assert "max-age=" in service.ask("GET", "/healthz").headers["strict-transport-security"]


@pytest.mark.parametrize(
    ("trusted", "forwarded", "believed"),
    [
        ((), "203.0.113.7", "127.0.0.1"),
        (("10.0.0.0/8",), "203.0.113.7", "127.0.0.1"),
        (("127.0.0.1",), "203.0.113.7", "203.0.113.7"),
        (("127.0.0.0/8",), "198.51.100.1, 203.0.113.7", "203.0.113.7"),  # the client's own headers come first
    ],
)
def test_only_a_trusted_proxy_says_who_asks(
    tmp_path: Path, trusted: tuple[str, ...], forwarded: str, believed: str
) -> None:
    with inside(tmp_path / "data", trusted_proxy=trusted) as service:
        seen: list[Any] = []

        async def end(scope: Any, _: Any, send: Any) -> None:
            seen.append((scope["client"][0], scope["scheme"]))
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

        service.app.router.default = end
        service.ask("GET", "/seen", headers={"x-forwarded-for": forwarded, "x-forwarded-proto": "https"})
        assert seen == [(believed, "https" if believed != "127.0.0.1" else "http")]


@pytest.mark.parametrize("name", ["path", "abstract"])
def test_systemd_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    address = str(tmp_path / "notify") if name == "path" else f"\0hkoji-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address)
        monkeypatch.setenv("NOTIFY_SOCKET", address.replace("\0", "@"))
        tell_systemd("READY=1")
        assert listener.recv(100) == b"READY=1"
    for elsewhere in ("", "relative", str(tmp_path / "nobody")):
        monkeypatch.setenv("NOTIFY_SOCKET", elsewhere)
        tell_systemd("READY=1")  # nobody listens, and nothing happens


# --- metrics ----------------------------------------------------------------------------------------------------------


def test_figures_of_a_service(tmp_path: Path) -> None:
    port = free_port()
    metrics = Metrics()
    hide = metrics.serve("127.0.0.1", port)
    metrics.tick(3)
    with inside(tmp_path / "data", figures=metrics) as service:
        alice, bob = two_players(service)
        game = begin(alice, bob)
        again = alice.entry(game, alice.head(game), entry_kinds.Resign())
        assert [alice.send(again).status for _ in range(2)] == [201, 200]
        assert bob.send(bob.entry(game, (1, "0" * 64), entry_kinds.Resign())).status == 409
        assert service.ask("GET", "/wp-admin/alice").status == 404
        assert service.ask("GET", "/metrics").status == 404  # not on the players' address
        figures = read(port)
    hide()
    entries = 'hkoji_requests_total{method="POST",route="/v1/games/{game}/entries",status="%s"}'
    assert {status: figures[entries % status] for status in (200, 201, 409)} == {200: 1, 201: 5, 409: 1}
    assert figures[f'hkoji_requests_total{{method="GET",route="{OTHER}",status="404"}}'] == 2
    assert figures['hkoji_appends_total{outcome="taken"}'] == 5
    assert figures['hkoji_request_seconds_count{route="/v1/games/{game}/entries"}'] == 7
    assert figures['hkoji_store_seconds_count{call="append"}'] == 5
    assert figures["hkoji_connections"] == 3
    assert 10**7 < figures["hkoji_resident_bytes"] < 10**10
    names = " ".join(figures)
    for each in ("alice", "bob", game, game[:8], alice.token):
        assert each not in names
    with pytest.raises(OSError, match=r"."):
        read(port)


def test_the_results_of_appends_are_counted() -> None:
    metrics = Metrics()
    for error in (None, ConflictError("00" * 16, seq=1, head=""), ForbiddenError("no"), StorageError("full"), None):
        metrics.call("append", 0.001, error)
    metrics.call("head", 0.001, None)
    counted = {outcome: metrics._appends.labels(outcome)._value.get() for outcome in ("taken", "conflict", "refused")}
    assert counted == {"taken": 2, "conflict": 1, "refused": 2}


def test_an_address_that_cannot_be_had() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(StorageError, match="cannot listen"):
        Metrics().serve("127.0.0.1", taken.getsockname()[1])


def test_the_files_of_workers_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
    gathering = WorkersMetrics()
    assert Path(gathering._folder).is_dir()
    gathering.close()
    assert not Path(gathering._folder).exists()


def test_the_files_of_a_killed_supervisor_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    left, kept = tmp_path / f"hkoji-metrics-{gone.pid}-a", tmp_path / f"hkoji-metrics-{os.getppid()}-b"
    for folder in (left, kept):
        folder.mkdir()
        (folder / "counter_1.db").touch()
    made = WorkersMetrics()
    assert not left.exists()
    assert kept.exists()
    made.close()
    assert list(tmp_path.iterdir()) == [kept]
