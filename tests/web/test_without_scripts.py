"""Pages as a reader without scripts has them: complete, well-formed, in both languages, and without private cards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.service import Service, begin, play, serving, two_players


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("web") / "data", forked=True) as running:
        yield running


def test_a_page_at_an_entry_depends_on_nothing_after_it(service: Service) -> None:
    host, guest = two_players(service)
    game = begin(host, guest)
    play(host, guest, game, 4)
    before = service.ask("GET", f"/g/{game}?at=6")
    assert before.status == 200
    play(host, guest, game)
    assert service.ask("GET", f"/g/{game}?at=6").body == before.body
