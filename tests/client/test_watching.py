"""Watching and waiting show what the log has, each entry once and in order, whatever a service sends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from hkoji.client import Client, Home
from hkoji.client.requests import ServerSentEvent, read_events
from hkoji.client.transport import LONGEST_LINE, HttpAnswer, Transport
from hkoji.client.watching import WatchedEntry, wait, watch_all, watch_game
from hkoji.errors import CancelledError, NetworkError, ServiceError, TrustError, UsageError
from hkoji.log.line import Line, format_line
from tests.support.memory_service import URL, LocalPlayer, LocalTransport, MemoryService, begin, play_on

Lie = Callable[[list[bytes]], list[bytes]]
"""The service's change to the blocks of a stream."""


def block(line: Line) -> bytes:
    return f"event: entry\ndata: {format_line(line)}\nid: {line.entry.seq}\n\n".encode()


LIES: dict[str, Lie] = {
    "none": lambda blocks: blocks,
    "each twice": lambda blocks: [each for one in blocks for each in (one, one)],
    "backwards": lambda blocks: blocks[::-1],
    "some left out": lambda blocks: blocks[1::2],
    "nothing": lambda _: [],
    "only signs of life": lambda _: [b":\n\n"] * 5,
    "no stream": lambda _: [b"<html>\n", b"no\n"],
    "another format": lambda blocks: [b"entry\n\n", *blocks],
    "no entry": lambda _: [b"event: entry\ndata: {}\n\n"],
    "not plain": lambda _: [b"event: entry\ndata: \xff\x1b[2J\n\n"],
    "endless comments": lambda _: [b": " + b"x" * 1000 + b"\n"] * 200,
    "an endless event": lambda _: [b"event: entry\n", *([b"data: " + b"x" * 1000 + b"\n"] * 400)],
    "an end": lambda blocks: [b'event: end\ndata: {"reason":"time"}\n\n', *blocks],
    "a place that is too long": lambda blocks: [b"id: " + b"7" * 17_000 + b"\n\n", *blocks],
    "later ones first": lambda blocks: [blocks[-1], *blocks] if blocks else [],
}


@dataclass
class Stream:
    """A service's streams: after each move a part of one, changed by the service."""

    service: MemoryService
    lie: Lie = LIES["none"]
    places: list[str | None] = field(default_factory=list)
    refuse: HttpAnswer | None = None

    def follow(self, path: str, place: str | None) -> tuple[HttpAnswer, Generator[bytes, None, None]]:
        self.places.append(place)
        if self.refuse is not None:
            return self.refuse, self._lines([])
        game = path.split("/")[3] if "/games/" in path else next(iter(self.service.games))
        after = int(path.partition("after=")[2] or -1)
        return HttpAnswer(200, b""), self._lines(
            self.lie([block(each) for each in self.service.games[game].lines[after + 1 :]])
        )

    def _lines(self, blocks: list[bytes]) -> Generator[bytes, None, None]:
        for each in blocks:
            yield from each.splitlines(keepends=True)


class StreamTransport(LocalTransport):
    def __init__(self, url: str, service: MemoryService, stream: Stream) -> None:
        super().__init__(url, service)
        self._stream = stream

    def follow(
        self, path: str, token: str | None, place: str | None, patience: float
    ) -> tuple[HttpAnswer, Generator[bytes, None, None]]:
        return self._stream.follow(path, place)


def watching(seat: LocalPlayer, stream: Stream) -> Client:
    return Client(Home(seat.path), connect=lambda url: StreamTransport(url, seat.service, stream), say=seat.said.append)


@pytest.fixture
def goes_on(alice: LocalPlayer, bob: LocalPlayer, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[float]]:
    """Lets a game go on whenever a client pauses: two moves each time, and then its end. Returns the pauses."""

    def begin_at(game: str, moves: int = 5) -> list[float]:
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            assert len(pauses) < 100, "it never ends"
            if len(pauses) < moves:
                play_on((alice, bob), game, 1, seed=len(pauses))
            elif len(pauses) == moves:
                bob.resign(game)

        monkeypatch.setattr("hkoji.client.watching.time.sleep", sleep)
        return pauses

    return begin_at


def told(happened: Iterator[WatchedEntry]) -> list[tuple[int, str]]:
    return [(each.seq, each.step.entry.head) for each in happened]


@pytest.mark.parametrize("lie", LIES)
def test_the_log_is_told_whatever_events_say(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, goes_on: Callable[[str], list[float]], lie: str
) -> None:
    game = begin(alice, bob)
    first = len(service.games[game].lines)
    pauses = goes_on(game)
    found = told(watch_game(watching(alice, Stream(service, LIES[lie])), game))
    assert found == [(line.entry.seq, line.entry.head) for line in service.games[game].lines[first:]]
    assert found[-1][1] == alice.client.stored(game).course.head
    assert all(0 < pause <= 30 for pause in pauses)


def test_an_older_service_is_asked_again_and_again(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, goes_on: Callable[[str], list[float]]
) -> None:
    game = begin(alice, bob)
    goes_on(game)
    stream = Stream(service, refuse=HttpAnswer(404, b'{"code":"not-found","detail":"Not Found"}'))
    found = told(watch_game(watching(alice, stream), game, after=2))
    assert found == [(line.entry.seq, line.entry.head) for line in service.games[game].lines[3:]]
    assert len(stream.places) == 1


def test_a_service_that_has_no_room_is_asked_later(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, goes_on: Callable[[str], list[float]]
) -> None:
    game = begin(alice, bob)
    first = len(service.games[game].lines)
    pauses = goes_on(game)
    busy = HttpAnswer(503, b'{"code":"too-busy","detail":"no","retry_after":7}')
    with pytest.raises(AssertionError, match="never ends"):  # it does not give up
        list(watch_game(watching(alice, Stream(service, refuse=busy)), game))
    assert min(pauses[:5]) >= 7
    assert len(service.games[game].lines) > first
    assert len([each for each in alice.said if "trying again" in each]) == 1


def test_a_lie_in_the_log_is_refused_as_ever(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = begin(alice, bob)
    kept: list[bytes] = []

    def sleep(_: float) -> None:
        service.tamper = lambda _method, _path, answer: answer
        play_on((alice, bob), game, 1)
        kept.append(alice.folder(game).joinpath("log.jsonl").read_bytes())
        play_on((bob, bob), game, 1)
        service.tamper = lambda _method, path, answer: (
            answer._replace(body=answer.body.replace(b'"sig": "U1NI', b'"sig": "U1NJ')) if "/view" in path else answer
        )

    monkeypatch.setattr("hkoji.client.watching.time.sleep", sleep)
    found: list[int] = []
    happened = watch_game(watching(alice, Stream(service)), game)
    with pytest.raises(TrustError):  # noqa: PT012 # earlier output counts too
        for each in happened:
            found.append(each.seq)
    assert found == []
    assert len(kept) == 1
    assert alice.folder(game).joinpath("log.jsonl").read_bytes() == kept[0]
    assert len(service.games[game].lines) > len(kept[0].splitlines())


def test_all_games_are_watched_and_new_ones_from_their_beginning(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = [begin(alice, bob)]
    first = len(service.games[games[0]].lines)
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        match len(pauses):
            case 1:
                games.append(begin(alice, bob))
            case 2:
                play_on((alice, bob), games[1], 1)
            case 3:
                play_on((alice, bob), games[0], 1)
                bob.resign(games[1])
            case 6:
                raise KeyboardInterrupt

    monkeypatch.setattr("hkoji.client.watching.time.sleep", sleep)
    found: dict[str, list[int]] = {}
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 # earlier output counts too
        for each in watch_all(watching(alice, Stream(service, LIES["each twice"]))):
            assert isinstance(each, WatchedEntry)
            found.setdefault(each.position.course.setup.game, []).append(each.seq)
    assert found == {
        games[0]: list(range(first, len(service.games[games[0]].lines))),
        games[1]: list(range(len(service.games[games[1]].lines))),
    }


def test_the_news_of_one_game_is_told_though_the_next_cannot_be_read(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = [begin(alice, bob) for _ in range(2)]
    first = {game: len(service.games[game].lines) for game in games}
    asked: list[str] = []

    def fail_at_the_second(_method: str, path: str) -> None:
        asked.extend(game for game in games if game in path and game not in asked)
        if len(asked) == 2:
            service.before = lambda *_: None
            raise NetworkError(URL, "it broke")

    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            for game in games:
                play_on((alice, bob), game, 1)
            service.before = fail_at_the_second
        elif len(pauses) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("hkoji.client.watching.time.sleep", sleep)
    found: dict[str, list[int]] = {}
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 # earlier output counts too
        for each in watch_all(watching(alice, Stream(service, LIES["nothing"]))):
            assert isinstance(each, WatchedEntry)
            found.setdefault(each.position.game, []).append(each.seq)
    assert len(asked) == 2
    assert found == {game: [first[game]] for game in games}


def test_a_place_that_is_not_there_yet_is_refused(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = begin(alice, bob)
    stream = Stream(service)
    with pytest.raises(UsageError, match="no entry 99"):
        list(watch_game(watching(alice, stream), game, after=99))
    assert stream.places == []


# --- waiting for one's turn -------------------------------------------------------------------------------------------


def test_a_service_is_asked_to_wait_and_no_longer_than_the_timeout(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = begin(alice, bob)
    now = 1000.0
    monkeypatch.setattr("hkoji.client.watching.time.monotonic", lambda: now)
    asked: list[float] = []

    def waits(_method: str, path: str) -> None:
        nonlocal now
        if "wait=" in path:
            asked.append(float(path.partition("wait=")[2]))
            now += asked[-1]

    def sleep(seconds: float) -> None:
        nonlocal now
        now += max(seconds, 0.01)

    service.after = waits
    monkeypatch.setattr("hkoji.client.watching.time.sleep", sleep)
    with pytest.raises(CancelledError):
        wait(bob.client, game, 120.5)
    assert asked == [50, 50, 20]
    assert now == pytest.approx(1120.5, abs=0.1)


# --- the format -------------------------------------------------------------------------------------------------------


def lines_of(data: bytes) -> Generator[bytes, None, None]:
    yield from data.splitlines(keepends=True)


def test_events_are_read_as_the_standard_says() -> None:
    data = b"id: 4\nretry: 2000\n\n:\n\nevent: entry\r\ndata: a\r\ndata:b\r\nid:5\r\n\r\ndata: half"
    assert list(read_events(lines_of(data))) == [
        ServerSentEvent("", "", "4"),
        None,
        ServerSentEvent("entry", "a\nb", "5"),
    ]


@pytest.mark.parametrize(
    "data", [b"x: y\n", b"data: \x00\n", b"data: \xc3\xa9\n", b"\xef\xbb\xbfdata: x\n", b"id: " + b"1" * 20_000]
)
def test_a_stream_that_is_not_ours_is_refused(data: bytes) -> None:
    closed: list[bool] = []

    def lines() -> Generator[bytes, None, None]:
        try:
            yield data if data.endswith(b"\n") else data + b"\n"
        finally:
            closed.append(True)

    with pytest.raises(ServiceError):
        list(read_events(lines()))
    assert closed == [True]


@contextmanager
def speaking(said: bytes) -> Iterator[str]:
    """Serves one connection: sends `said` on it, and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(said)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(60)


_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def test_a_line_that_is_too_long_or_broken_off_is_not_given() -> None:
    with speaking(_HEAD + b"id: 1\nid: 2") as url:
        answer, lines = Transport(url).follow("/x", None, None, 60)
        assert (answer.status, list(lines)) == (200, [b"id: 1\n"])
    with speaking(_HEAD + b"id: 1\n" + b"x" * (LONGEST_LINE + 10)) as url:
        _, lines = Transport(url).follow("/x", None, "7", 60)
        assert next(lines) == b"id: 1\n"
        with pytest.raises(NetworkError, match="longer"):
            next(lines)
    with speaking(b"HTTP/1.1 503 No\r\ncontent-length: 2\r\n\r\n{}") as url:
        answer, lines = Transport(url).follow("/x", None, None, 60)
        assert (answer.status, answer.body, list(lines)) == (503, b"{}", [])
    with speaking(b"no http at all\r\n\r\n") as url, pytest.raises(NetworkError):
        Transport(url).follow("/x", None, None, 60)
