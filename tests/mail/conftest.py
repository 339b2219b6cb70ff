"""A world with mail players; and a table of a player with a client and one with a mailbox, made once and copied."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.mail.list_world import ListWorld
    from tests.support.mail.mail_table import MailTable


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ListWorld]:
    """A service with mail players, on new data. A module may have one of its own."""
    from tests.support.mail.list_world import list_world

    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        yield world


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> MailTable:
    """The table that others are copies of; its service has ended. A module may have one of its own."""
    from tests.support.mail.list_world import list_world
    from tests.support.mail.mail_table import MailTable

    with list_world(tmp_path_factory.mktemp("first"), mail="play@hkoji.example") as world:
        return MailTable(world)


@pytest.fixture
def table(first: MailTable, tmp_path: Path) -> Iterator[MailTable]:
    """A copy of the first table, at a service of its own."""
    from tests.support.mail.list_world import list_world
    from tests.support.service_in_process import Clock

    copied = shutil.copytree(first.world.service.data, tmp_path / "data")
    clock = Clock(first.world.clock.now)
    with list_world(copied, seed="later", clock=clock, mail="play@hkoji.example") as world:
        yield first.in_world(world)
