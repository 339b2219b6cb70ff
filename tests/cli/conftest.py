"""A service and two players at their shells."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.memory_service import MemoryService, registered
from tests.support.shell import Shell


@pytest.fixture
def service() -> MemoryService:
    return MemoryService()


@pytest.fixture
def alice(service: MemoryService, tmp_path: Path) -> Shell:
    return Shell(registered(service, "alice", tmp_path / "alice"))


@pytest.fixture
def bob(service: MemoryService, tmp_path: Path) -> Shell:
    return Shell(registered(service, "bob", tmp_path / "bob"))
