"""Metrics for Prometheus are counted by route and never by path. For several workers see test_processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hkoji_server.process.metrics import Metrics, WorkersMetrics
from hkoji_server.routes.middleware import OTHER

from hkoji.errors import ConflictError, ForbiddenError, StorageError
from hkoji.game import entry_kinds
from tests.support.metrics import free_port, read
from tests.support.service import begin, two_players
from tests.support.service_in_process import inside


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
