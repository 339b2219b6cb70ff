"""Pages of a service with two workers, on SQLite and on PostgreSQL: the same from each worker, and a game by a link."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

import pytest
from hkoji_server.web.static_files import static_files

from hkoji.audit.log_audit import audit
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.page_player import page_player
from tests.support.service import Player, Service, begin, play, serving, two_players
from tests.support.strict_html import StrictPage
from tests.web.test_join import invite, play_out
from tests.web.test_without_scripts import BROWSER

CONNECTIONS = 4
"""So many at once that each worker has some: a new one goes to the worker that has the fewest."""
Given = tuple[int, str | None, bytes]
"""Status, ETag and body of an answer."""


@pytest.fixture
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    """A service with two workers on the database that a test names."""
    data, database = tmp_path / "data", None
    with ExitStack() as stack:
        if request.param == "postgres":
            cluster = request.getfixturevalue("cluster")
            name = cluster.create("migrated")
            stack.callback(cluster.drop, name)
            database = cluster.url(name)
        yield stack.enter_context(serving(data, forked=True, options=("--workers", "2"), database=database))


def from_each(service: Service, path: str, **headers: str) -> set[Given]:
    """The different answers that connections get which are open at the same time."""
    found = set()
    with ExitStack() as stack:
        made = [HTTPConnection("127.0.0.1", service.port, timeout=60) for _ in range(CONNECTIONS)]
        for connection in made:
            stack.enter_context(closing(connection)).connect()
        for connection in made:
            connection.request("GET", path, headers={**BROWSER, **headers})
            answer = connection.getresponse()
            found.add((answer.status, answer.headers["ETag"], answer.read()))
    return found


def assert_the_same_from_each(service: Service, *paths: str) -> None:
    for path in paths:
        ((status, tag, body),) = from_each(service, path)
        assert (status, bool(tag)) == (200, True), path
        StrictPage(body.decode())
        assert from_each(service, path, **{"If-None-Match": tag or ""}) == {(304, tag, b"")}, path


@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
def test_each_worker_gives_the_same_pages(service: Service) -> None:
    players = two_players(service)
    game = begin(*players)
    course = play(*players, game, 2)
    assert_the_same_from_each(
        service, "/", f"/g/{game}", f"/g/{game}?at=4&side=guest&lang=it", f"/i/{game}", "/p/alice", "/check", "/me"
    )
    for name in ("start.js", "style.css"):
        ((status, _, body),) = from_each(service, f"{static_files().base}{name}")
        assert (status, body) == (200, static_files().files[name].body)
    ((_, before, _),) = from_each(service, f"/g/{game}")
    play(*players, game, 1)
    ((_, after, body),) = from_each(service, f"/g/{game}")
    assert after != before
    (last,) = StrictPage(body.decode()).values("data-last")
    assert int(last) > course.seq


@pytest.mark.parametrize("service", ["postgres"], indirect=True)
def test_a_game_by_a_link(service: Service, tmp_path: Path) -> None:
    host = Player(service, "host").register()
    with page_player(service.url, tmp_path / "page") as page:
        game = page.arrive("page").join(invite(host, Hanamikoji(max_rounds=1)))
        host.seed(game)
        assert_the_same_from_each(service, "/", f"/g/{game}", f"/g/{game}?at=3&side=guest&lang=it", "/p/host")
        play_out(page, host, game, random.Random(2))
        assert page.do("state", game=game)["status"] == "over"
        log = "".join(f"{line}\n" for line in page.do("state", game=game)["raw"])
        assert audit(log, {}).finished
        assert log.encode() == service.ask("GET", f"/v1/games/{game}/log").body
    ((_, _, body),) = from_each(service, f"/g/{game}?eyes=all")
    assert StrictPage(body.decode()).values("data-head") == [host.head(game)[1]]
