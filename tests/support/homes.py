"""Players at their shells, each with a home, beside a real service; and fixtures that give them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import pytest
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.cli.output import out
from hkoji.log.private_key import PrivateKey
from tests.support import loops, mailboxes
from tests.support.service import Service
from tests.support.shell import Done, run


@dataclass
class Homes:
    """Players at their shells, with a real service."""

    folder: Path
    service: Service

    def __call__(self, who: str, *words: str) -> Done:
        settings = {"HKOJI_HOME": str(self.folder / who), "HKOJI_CONFIG": str(self.folder / "settings.toml")}
        with patch.dict(os.environ, settings):
            done = run(*words)
        if out.client is not None:
            out.client.close()
        return done

    def new(self, who: str, *words: str) -> str:
        return str(self(who, "new", *words, "--json").json["game"])

    def open_to(self, who: str, *words: str) -> set[str]:
        return {each["game"] for each in self(who, "games", "--open", *words, "--json").json}

    def registered(self, *names: str) -> Homes:
        """These, with new homes of players who are registered."""
        for who in names:
            assert self(who, "init", who).code == 0
            assert self(who, "register", "--server", self.service.url).code == 0
        return self


def homes_of(
    made_in: Callable[[Path], AbstractContextManager[Homes]], *, scope: Literal["function", "module"] = "function"
) -> Any:  # Any: a fixture
    """A fixture that gives what `made_in` makes in a folder; with scope `module`, for tests that change nothing."""

    @pytest.fixture(scope=scope)
    def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Homes]:
        with made_in(tmp_path_factory.mktemp("homes")) as made:
            yield made

    return homes


def accept(homes: Homes) -> str:
    """Bob accepts, as the mail process would do it. Returns his key."""
    store = SqliteStore(homes.service.data / "hkoji.sqlite3")
    try:
        identity = loops.run(store.identity())
        assert identity is not None
        signer = PrivateKey.from_openssh(identity[0].encode())
        players = HeldPlayers(store, ClockAndEntropy(), signer, Settings(), origin=identity[1])
        box = loops.run(store.mailbox_at("bob@example.org"))
        assert box is not None
        loops.run(mailboxes.accept(store, box.channel, loops.run(players.registration(box))))
        return box.held_key
    finally:
        store.close()
