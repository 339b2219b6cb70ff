"""A service that can lie, and two registered players."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.adversary import HostileService
from tests.support.memory_service import LocalPlayer, registered


@pytest.fixture
def service() -> HostileService:
    return HostileService()


@pytest.fixture
def alice(service: HostileService, tmp_path: Path) -> LocalPlayer:
    return registered(service, "alice", tmp_path / "alice")


@pytest.fixture
def bob(service: HostileService, tmp_path: Path) -> LocalPlayer:
    return registered(service, "bob", tmp_path / "bob")
