"""A service that can lie, and two registered players."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.adversary import HostileDesk
from tests.support.desk import Seat, seated


@pytest.fixture
def desk() -> HostileDesk:
    return HostileDesk()


@pytest.fixture
def alice(desk: HostileDesk, tmp_path: Path) -> Seat:
    return seated(desk, "alice", tmp_path / "alice")


@pytest.fixture
def bob(desk: HostileDesk, tmp_path: Path) -> Seat:
    return seated(desk, "bob", tmp_path / "bob")
