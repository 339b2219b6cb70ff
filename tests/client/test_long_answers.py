"""A service that answers at endless length costs the client little memory: it is refused before anything is parsed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hkoji.client import answers
from hkoji.client.transport import MOST_BYTES, MOST_OF_A_PROBLEM
from hkoji.errors import TooLargeError
from tests.support.memory_service import LocalPlayer, MemoryService, begin, play_on

MIB = 2**20
REQUESTS = {
    "description": ("service.describe()", answers.SHORT_ANSWER),
    "challenge": ("service.requests.login()", answers.SHORT_ANSWER),
    "keys": ("service.player('bob')", answers.LONGEST_PAGE),
    "list": ("service.list_games()", answers.LONGEST_PAGE),
    "offer": ("service.offer(Hanamikoji(), UNTIMED)", answers.SHORT_ANSWER),
    "head": ("service.head('0' * 32)", answers.SHORT_ANSWER),
    "view": ("service.view('0' * 32, -1)", answers.LONGEST_VIEW),
    "log": ("service.log('0' * 32)", MOST_BYTES),
    "wait": ("service.log('0' * 32, 5, 20)", MOST_BYTES),
    "recovery": ("service.recover_seat('0' * 32, b'')", answers.LONGEST_VIEW),
}
"""The requests of a client, and how long each answer may be."""

ASKING = """
import re, sys
from pathlib import Path
import cryptography.hazmat.primitives.asymmetric.ed25519  # what signing loads is not the answer's
from hkoji.client.kept.home import Home
from hkoji.client.identity import Identity, OwnKey
from hkoji.client.transport import Transport
from hkoji.errors import HkojiError
from hkoji.game.agreement import UNTIMED
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.commands import without_player

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

service = without_player(Transport(sys.argv[1]))
service.pins._kept = {"origin": sys.argv[1]}
service.requests._identity = lambda: Identity("me", OwnKey(PrivateKey.from_seed(bytes(32)).public, Path("/nowhere")))
service.pins._kept = {"origin": service.url}
before = peak()
try:
    {request}
except HkojiError as error:
    print(type(error).__name__, peak() - before)
"""


@contextmanager
def lying(size: int, status: int = 200) -> Iterator[str]:
    """A server that answers everything with so many bytes of lists in a list; the URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            left = size
            try:
                self._send(b"[[]")
                while left > 0:
                    self._send(b",[]" * (min(left, MIB) // 3))
                    left -= MIB
                self._send(b"]")
                self.wfile.write(b"0\r\n\r\n")
            except OSError:  # the client has left
                self.close_connection = True

        do_POST = do_GET  # noqa: N815 # the library calls it so

        def _send(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(300)


def asked(url: str, request: str) -> tuple[str, int]:
    """The error that a client of its own process meets, and the bytes by which its memory grew at most."""
    program = ASKING.replace("{request}", request)
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, timeout=300, check=True)
    name, grown = done.stdout.split()
    return name, int(grown)


@pytest.mark.parametrize("what", REQUESTS)
def test_an_answer_longer_than_any_true_one_is_refused_before_it_is_parsed(what: str) -> None:
    request, most = REQUESTS[what]
    with lying(max(31 * MIB, most + MIB)) as url:
        error, grown = asked(url, request)
    assert error == "TooLargeError"
    assert grown < 2 * most + 8 * MIB


@pytest.mark.parametrize("what", ["view", "list", "log"])
def test_the_longest_answer_that_is_parsed_needs_little_memory(what: str) -> None:
    request, most = REQUESTS[what]
    with lying(most - MIB // 4) as url:
        error, grown = asked(url, request)
    assert error == "ServiceError"
    assert grown < 160 * MIB


def test_a_refusal_is_short() -> None:
    with lying(MIB, status=422) as url:
        error, grown = asked(url, REQUESTS["view"][0])
    assert error == "TooLargeError"
    assert grown < MOST_OF_A_PROBLEM + 8 * MIB


def test_after_a_long_absence_the_log_is_read_before_the_view(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    """More new lines than a view may have are read from the log, which may be longer."""
    game = begin(alice, bob)
    alice.position(game)
    kept = alice.client.kept(game)
    play_on((alice, bob), game, 1)  # alice's only
    alice.folder(game).joinpath("log.jsonl").write_text("".join(_lines(service, game)[: len(kept)]))
    bob.move(game, bob.position(game).legal[0])
    views: list[str] = []

    def limit(method: str, path: str) -> None:
        if "/view" in path:
            views.append(path)
            if len(views) == 1:
                raise TooLargeError("the answer", 5)

    service.before = limit
    position = alice.position(game)
    assert position.course.seq == 6
    assert [path.rpartition("=")[2] for path in views] == [str(kept[-1].entry.seq), "6"]


def _lines(service: MemoryService, game: str) -> list[str]:
    text = service.answer("GET", f"/v1/games/{game}/log?after=-1", None, None).body.decode()
    return text.splitlines(keepends=True)


def test_a_view_that_is_always_too_long_is_refused(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)

    def limit(method: str, path: str) -> None:
        if "/view" in path:
            raise TooLargeError("the answer", 5)

    service.before = limit
    with pytest.raises(TooLargeError):
        alice.position(game)


def test_true_answers_are_far_below_the_limits(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = begin(alice, bob)
    play_on((alice, bob), game, 100)
    summary = len(json.dumps(alice.client.games()[0]))
    assert 200 * summary * 3 < answers.LONGEST_PAGE
    log = service.answer("GET", f"/v1/games/{game}/log?after=-1", None, None).body
    assert len(log) * 100 < MOST_BYTES
