"""A service that can lie, and two registered players."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.adversary import HostileService
from tests.support.browsers import find_browser
from tests.support.memory_service import LocalPlayer, registered
from tests.support.page_column import RULED, Heard, column


@pytest.fixture
def service() -> HostileService:
    return HostileService()


@pytest.fixture
def alice(service: HostileService, tmp_path: Path) -> LocalPlayer:
    return registered(service, "alice", tmp_path / "alice")


@pytest.fixture
def bob(service: HostileService, tmp_path: Path) -> LocalPlayer:
    return registered(service, "bob", tmp_path / "bob")


@pytest.fixture(scope="module", autouse=True)
def heard() -> Iterator[Heard]:
    """Gives the logs that the tests of a file audit to the checker of pages, and compares docs/security.md with it."""
    made = Heard()
    with made.listening():
        yield made
    if find_browser("node") is not None:
        stated = {test: word for test, word in column().items() if test not in RULED}
        other = {test: word for test, word in made.verdicts().items() if stated.get(test, word) != word}
        assert other == {}, "the column of docs/security.md says something else"


@pytest.fixture(autouse=True)
def listening(heard: Heard, request: pytest.FixtureRequest) -> None:
    heard.test = request.node.originalname
