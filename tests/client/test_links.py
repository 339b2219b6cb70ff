"""`Client.new` by link when it breaks off: the same command again gives the same link, whatever was lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from hkoji.client.links import own_link
from hkoji.errors import NetworkError
from hkoji.log.link_key import link_key
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.memory_service import URL, MemoryService, registered


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_new_that_broke_off_gives_the_same_link_again(when: str, tmp_path: Path) -> None:
    service = MemoryService()
    alice = registered(service, "alice", tmp_path / "alice")

    def lost(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/entries"):
            raise NetworkError(URL, "lost")

    setattr(service, when, lost)
    with pytest.raises(NetworkError):
        alice.client.new(Hanamikoji(), by_link=True)
    (game,) = service.games
    first = own_link(alice.client, game)
    assert first is not None
    setattr(service, when, lambda _method, _path: None)
    position = alice.client.new(Hanamikoji(), by_link=True)
    assert position.course.setup.game == game
    assert position.course.setup.link == link_key(first.code).public
    assert own_link(alice.client, game) == first
    assert list(service.games) == [game]
    another = alice.client.new(Hanamikoji(), by_link=True).course.setup
    other = own_link(alice.client, another.game)
    assert other is not None
    assert other.code != first.code
