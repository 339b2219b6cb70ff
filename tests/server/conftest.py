"""Two players of the service that a test file has."""

from __future__ import annotations

import pytest

from tests.support.service import Asked, Player, two_players


@pytest.fixture
def players(service: Asked) -> tuple[Player, Player]:
    return two_players(service)
