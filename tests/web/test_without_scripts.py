"""Pages as a reader without scripts has them: complete, well-formed, in both languages, and without private cards."""

from __future__ import annotations

import gzip
import http.client
import re
from collections.abc import Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest
from hkoji_server.routes.problems import problem
from hkoji_server.web.rendering import ErrorPages, preferred
from hkoji_server.web.static_files import POLICY
from starlette.types import Message, Receive, Scope, Send

from hkoji.errors import TooManyError
from hkoji.game.agreement import UNTIMED, parse_time_control
from hkoji.log.link_key import link_key
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support import loops
from tests.support.sealed_service import ServedTable
from tests.support.service import Answer, Player, Service, begin, play, serving, two_players
from tests.support.strict_html import StrictPage
from tests.support.table import CODE

BROWSER: Final = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
BOTH: Final = (Hanamikoji(), GeishasRoad())
_NO_SUCH = "0" * 32


def open_page(service: Service, path: str, headers: Mapping[str, str] = BROWSER, method: str = "GET") -> Answer:
    """Opens an address as a browser does."""
    with closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)) as connection:
        connection.request(method, path, headers=dict(headers))
        got = connection.getresponse()
        return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())


def read(service: Service, path: str, **headers: str) -> StrictPage:
    answer = open_page(service, path, {**BROWSER, **{name.replace("_", "-"): each for name, each in headers.items()}})
    assert answer.status == 200, answer
    return StrictPage(answer.body.decode())


@pytest.fixture(scope="module")
def players(service: Service) -> tuple[Player, Player]:
    return two_players(service)


@pytest.fixture(scope="module", params=BOTH, ids=lambda ruleset: ruleset.name)
def finished(players: tuple[Player, Player], request: pytest.FixtureRequest) -> str:
    """A game that is over."""
    game = begin(*players, request.param)
    play(*players, game)
    return game


@pytest.mark.parametrize("ruleset", BOTH, ids=lambda ruleset: ruleset.name)
def test_a_page_at_an_entry_depends_on_nothing_after_it(
    service: Service, players: tuple[Player, Player], ruleset: Ruleset
) -> None:
    """Every page is the same before and after further moves, a gift, and the end."""
    host, guest = players
    game = begin(host, guest, ruleset, UNTIMED._replace(clock=parse_time_control("3d/14d")))

    def pages(last: int) -> list[str]:
        asked = (f"/g/{game}?at={n}{side}" for n in range(last + 1) for side in ("", "&side=guest&lang=it"))
        return [sha256(open_page(service, each).body).hexdigest() for each in asked]

    begun = pages(host.head(game)[0])
    course = play(host, guest, game, 3)
    assert pages(host.head(game)[0])[: len(begun)] == begun
    moved = pages(course.seq)
    assert course.actor is not None
    giver = players[1 - course.actor]
    clock, tag = (open_page(service, f"/g/{game}") for _ in range(2))
    assert giver.give(game, course.head, 3600).status in (200, 201)
    assert pages(course.seq) == moved
    given = open_page(service, f"/g/{game}")
    assert given.body != clock.body, "the page without a place shows the clock as it is now"
    assert given.headers["etag"] != tag.headers["etag"]
    play(host, guest, game)
    assert pages(course.seq) == moved


def test_the_steps_of_a_page(service: Service, finished: str) -> None:
    """The next entry is always linked, also where there is none yet: then its page says so and leads back."""
    last = len(open_page(service, f"/v1/games/{finished}/log").body.splitlines()) - 1
    for seq in (0, 4, 9, last):
        links = read(service, f"/g/{finished}?at={seq}").values("href")
        assert {f"/g/{finished}?at={seq + 1}", f"/g/{finished}?at={max(seq - 1, 0)}", f"/g/{finished}"} <= set(links)
    beyond = open_page(service, f"/g/{finished}?at={last + 1}")
    assert beyond.status == 404
    page = StrictPage(beyond.body.decode())
    assert f"/g/{finished}" in page.values("href")
    assert str(last) in page.text


@pytest.mark.parametrize(
    "query", ["at=-1", "at=x", "at=01", "at=1e3", "at=9999999999", "side=", "side=left", "eyes=", "eyes=bob", "at="]
)
def test_a_place_that_is_none(service: Service, finished: str, query: str) -> None:
    answer = open_page(service, f"/g/{finished}?{query}")
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert f"/g/{finished}" in StrictPage(answer.body.decode()).values("href")


def test_eyes_of_a_game_that_goes_on(service: Service, players: tuple[Player, Player]) -> None:
    """Nobody's cards are shown before the end, from no side and at no entry."""
    game = begin(*players)
    play(*players, game, 3)
    for eyes in ("host", "guest", "all"):
        for rest in ("", "&at=3", "&side=guest"):
            answer = open_page(service, f"/g/{game}?eyes={eyes}{rest}")
            assert answer.status == 422
            assert "nobody's cards" in StrictPage(answer.body.decode()).text
    assert not any("eyes=" in each for each in read(service, f"/g/{game}").values("href"))


def test_eyes_of_a_game_that_is_over(service: Service, finished: str) -> None:
    page = read(service, f"/g/{finished}")
    assert {f"/g/{finished}?eyes={each}" for each in ("host", "guest", "all")} <= set(page.values("href"))
    host, guest, spectator = (read(service, f"/g/{finished}?at=5{eyes}") for eyes in ("&eyes=host", "&eyes=guest", ""))
    assert len({host.text, guest.text, spectator.text}) == 3
    assert "alice holds" in host.text
    assert "holds" not in spectator.text
    assert not any("eyes=" in each for each in spectator.values("href"))


@pytest.mark.parametrize("language", ["en", "it"])
def test_every_page_is_well_formed_in_its_language(service: Service, finished: str, language: str) -> None:
    """A language that the address names stays in all links."""
    other = {"en": "it", "it": "en"}[language]
    games = (f"/g/{finished}", f"/g/{finished}?at=3", f"/g/{finished}?eyes=all", f"/g/{finished}?side=guest&at=7")
    rules = ("/rules/hanamikoji", "/rules/geishas-road")
    for path in ("/", *games, f"/i/{finished}", "/p/alice", *rules, "/check", "/me"):
        page = read(service, path, Accept_Language=f"{language};q=0.9, {other};q=0.4")
        assert page.values("lang")[0] == language
        named = f"{path}{'&' if '?' in path else '?'}lang={language}"
        page = read(service, named, Accept_Language=other)
        assert page.values("lang")[0] == language
        inside = [each for each in page.values("href") if re.match(r"/(\?|$|g/|p/|rules|me|check)", each)]
        assert inside
        for link in inside:
            assert "lang=" in link, (path, link)


def test_an_error_of_the_framework_is_in_the_language_of_the_reader(service: Service) -> None:
    assert "a questo indirizzo non c&#39;è niente" in open_page(service, "/none?lang=it").body.decode()


def test_both_languages_say_something_else(service: Service, finished: str) -> None:
    english, italian = (read(service, f"/g/{finished}?lang={each}") for each in ("en", "it"))
    shared = set(english.texts) & set(italian.texts)
    assert not any(word in text for text in shared for word in ("the ", "Moves", "played", "charm"))


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("it", "it"),
        ("it-IT,it;q=0.9,en;q=0.8", "it"),
        ("de, en;q=0.5, it;q=0.7", "it"),
        ("en-GB, it", "en"),
        ("it;q=0, en;q=0.1", "en"),
        ("it;q=x", "en"),
        ("*", "en"),
        (";;,=,q", "en"),
    ],
)
def test_the_language_that_a_browser_prefers(accepted: str, language: str) -> None:
    assert preferred(accepted) == language


def test_one_page_for_every_invitation(service: Service, players: tuple[Player, Player], finished: str) -> None:
    games = (finished, players[0].new(), _NO_SUCH)
    for headers in (BROWSER, {}, {**BROWSER, "Accept-Language": "it", "Accept-Encoding": "gzip"}):
        first, *others = (open_page(service, f"/i/{each}", headers) for each in games)
        assert first.status == 200
        for other in others:
            assert other.body == first.body
            assert {**other.headers, "x-request-id": "", "hkoji-time": "", "date": ""} == {
                **first.headers,
                "x-request-id": "",
                "hkoji-time": "",
                "date": "",
            }
    page = read(service, f"/i/{finished}")
    properties = page.values("property")
    assert {"og:title", "og:description", "og:image"} <= set(properties)
    assert '<a href="?lang=it" hreflang="it" lang="it" hidden>' in open_page(service, "/i/" + finished).body.decode()


def test_a_page_that_has_not_changed_is_not_sent_again(service: Service, finished: str) -> None:
    for path in ("/check", f"/g/{finished}", f"/g/{finished}?at=4", f"/g/{finished}?eyes=guest"):
        first = open_page(service, path)
        tag = first.headers["etag"]
        for known in (tag, tag.removeprefix("W/"), f'"x", {tag}'):
            again = open_page(service, path, {**BROWSER, "If-None-Match": known})
            assert (again.status, again.body) == (304, b"")
            assert again.headers["etag"] == tag
            assert again.headers["content-security-policy"] == POLICY
        assert open_page(service, path, {**BROWSER, "If-None-Match": '"x"'}).body == first.body
        italian = open_page(service, path, {**BROWSER, "Accept-Language": "it", "If-None-Match": tag})
        assert italian.status == 200
        small = open_page(service, path, {**BROWSER, "Accept-Encoding": "br, gzip"})
        assert gzip.decompress(small.body) == first.body
        assert open_page(service, path, {**BROWSER, "Accept-Encoding": "gzip;q=0"}).body == first.body


def test_other_methods_are_refused_in_a_page(service: Service) -> None:
    answer = open_page(service, "/check", BROWSER, "POST")
    assert answer.status == 405
    assert "GET" in answer.headers["allow"]
    StrictPage(answer.body.decode())


@pytest.mark.parametrize("answers", [True, False])
def test_a_failure_of_the_service_is_a_page_once(answers: bool) -> None:
    sent: list[Message] = []

    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        if answers:  # as the framework does: it answers, and passes the exception on to the server
            await problem(TooManyError(7))(scope, receive, send)
        raise ZeroDivisionError

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"accept", BROWSER["Accept"].encode())]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
    with pytest.raises(ZeroDivisionError):
        loops.run(ErrorPages(failing)(scope, receive, send))
    start, body = sent
    assert start["status"] == (429 if answers else 500)
    assert dict(start["headers"]).get(b"retry-after") == (b"7" if answers else None)
    assert StrictPage(body["body"].decode()).attributes


def test_a_browser_at_the_address_of_the_api_is_sent_to_the_page(service: Service, finished: str) -> None:
    answer = open_page(service, f"/v1/games/{finished}")
    assert (answer.status, answer.headers["location"]) == (303, f"/g/{finished}")
    assert open_page(service, f"/v1/games/{finished}", {}).json["game"] == finished


def test_a_player(service: Service, players: tuple[Player, Player]) -> None:
    page = read(service, "/p/alice")
    key = service.ask("GET", "/v1/players/alice").json["key"]
    assert key in page.texts
    assert players[0].key.public.fingerprint in page.texts
    assert "/p/alice" not in page.values("href")


def test_lists_name_a_game_of_a_link_when_somebody_has_joined_it(
    service: Service, players: tuple[Player, Player]
) -> None:
    host, guest = players
    public, hidden = host.new(), host.new(link=link_key(CODE))
    lists = ("/", "/p/alice", "/v1/games?player=alice")
    for path in lists:
        page = open_page(service, path).body.decode()
        assert hidden not in page
        assert public in page
    guest.join(hidden, link_key(CODE))
    assert all(hidden in open_page(service, path).body.decode() for path in lists)


def test_a_service_without_pages(tmp_path: Path) -> None:
    """The pages that are left say what to type. They have no script and no style, and load nothing."""
    url = "https://hkoji.example/install"
    with serving(tmp_path / "data", forked=True, options=["--no-web"], settings={"install_url": url}) as service:
        assert service.ask("GET", "/v1/service").json["web"] is False
        players = two_players(service)
        game = begin(*players)
        for path in ("/", f"/i/{game}", f"/g/{game}"):
            answer = open_page(service, path)
            assert answer.status == 200, path
            assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
            page = StrictPage(answer.body.decode())
            elements = {name for name, _, _ in page.attributes}
            assert not elements & {"script", "link", "img", "style", "form"}, path
            assert "hkoji " in page.text
        assert url in read(service, f"/i/{game}").values("href")
        assert open_page(service, f"/i/{game}").body == open_page(service, f"/i/{_NO_SUCH}").body
        for path in ("/p/alice", "/rules/hanamikoji", "/check", "/me", "/static/0000000000000000/start.js", "/sw.js"):
            assert open_page(service, path).status == 404, path


@pytest.mark.parametrize("ruleset", [Hanamikoji(max_rounds=2), GeishasRoad()], ids=lambda ruleset: ruleset.name)
def test_a_sealed_game_can_be_watched_and_says_how_it_is_played(
    service: Service, players: tuple[Player, Player], ruleset: Ruleset
) -> None:
    table = ServedTable(players, ruleset)
    table.go_on()
    path = f"/g/{table.game}"
    assert f"hkoji join {table.game[:8]}" in open_page(service, path).body.decode()
    table.finish()
    for at in (*range(len(table.lines)), None):
        for language in ("en", "it"):
            page = open_page(service, f"{path}?lang={language}" + ("" if at is None else f"&at={at}"))
            assert page.status == 200, (at, page)
            StrictPage(page.body.decode())
            text = page.body.decode()
            assert {"en": "This is a sealed game", "it": "Questa è una partita sigillata"}[language] in text
            assert re.search(f"hkoji (show|join) {table.game[:8]}", text)
            assert "eyes=" not in text
            assert 't-play"' not in text
    scored = [line.entry.seq for line in table.lines if "close" in line.entry.body and line.entry.kind == "release"]
    assert scored
    last = open_page(service, path).body.decode()
    assert last.count('data-ended="') == len(scored)
    assert open_page(service, f"{path}?eyes=host").status == 422
    assert "Sealed." in open_page(service, "/").body.decode()
