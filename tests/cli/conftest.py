"""A service and two players at their shells."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.desk import Desk, seated
from tests.support.shell import Shell


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def alice(desk: Desk, tmp_path: Path) -> Shell:
    return Shell(seated(desk, "alice", tmp_path / "alice"))


@pytest.fixture
def bob(desk: Desk, tmp_path: Path) -> Shell:
    return Shell(seated(desk, "bob", tmp_path / "bob"))
