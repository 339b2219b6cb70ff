"""A service and two registered players."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.desk import Desk, Seat, seated


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def alice(desk: Desk, tmp_path: Path) -> Seat:
    return seated(desk, "alice", tmp_path / "alice")


@pytest.fixture
def bob(desk: Desk, tmp_path: Path) -> Seat:
    return seated(desk, "bob", tmp_path / "bob")
