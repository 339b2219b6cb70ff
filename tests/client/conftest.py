"""A service and two registered players."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.memory_service import LocalPlayer, MemoryService, registered


@pytest.fixture
def service() -> MemoryService:
    return MemoryService()


@pytest.fixture
def alice(service: MemoryService, tmp_path: Path) -> LocalPlayer:
    return registered(service, "alice", tmp_path / "alice")


@pytest.fixture
def bob(service: MemoryService, tmp_path: Path) -> LocalPlayer:
    return registered(service, "bob", tmp_path / "bob")
