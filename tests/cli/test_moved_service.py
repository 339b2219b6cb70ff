"""A service that moves to another address: its players' games move there, but never to one that has not its key."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from hkoji.cli.output import Exit
from tests.cli.test_register import typed
from tests.support.home_shell import HomeShell, key_file
from tests.support.service import Service, serving


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Moved:
    """A game that alice and bob have begun at an address that no longer answers, and their service at another one."""

    def __init__(self, folder: Path, now: Service, before: str, game: str) -> None:
        self.now = now
        self.url = f"http://localhost:{now.port}"
        self.before = before
        self.port = int(before.rpartition(":")[2])
        self.game = game
        self.alice, self.bob = HomeShell(folder / "alice"), HomeShell(folder / "bob")

    def address(self, shell: HomeShell) -> str:
        """The address to which the game is bound in a home."""
        return str(json.loads((shell.home / "games" / self.game / "secrets.json").read_text())["server"])

    def bind_to_former_address(self, *games: str) -> None:
        """Makes alice's home one that has not moved some games yet."""
        for game in games:
            file = self.alice.home / "games" / game / "secrets.json"
            file.write_text(json.dumps({**json.loads(file.read_text()), "server": self.before}))

    def files(self) -> dict[str, bytes]:
        """The files of alice's home, without locks."""
        home = self.alice.home
        return {str(each): each.read_bytes() for each in home.rglob("*") if each.is_file() and each.name != "lock"}


class Begun(NamedTuple):
    """The folder of a service that has ended, beside its players' homes; its address, and the game that they began."""

    folder: Path
    address: str
    game: str


def begin(folder: Path, then: Callable[[HomeShell, HomeShell], object]) -> Begun:
    """Lets alice and bob begin a game, and `then` do what the test is about; after that the service ends."""
    with serving(folder / "data", forked=True) as service:
        alice, bob = HomeShell(folder / "alice"), HomeShell(folder / "bob")
        for name, shell in (("alice", alice), ("bob", bob)):
            shell.run("init", name)
            shell.run("register", "--server", service.url)
        game = alice.json("new", "--invite", "bob")["game"]
        bob.run("join", game)
        alice.run("show", game)
        then(alice, bob)
    return Begun(folder, service.url, game)


@contextmanager
def serving_again(folder: Path, port: int) -> Iterator[Service]:
    """The service of a folder at a new address, which it calls itself."""
    with serving(folder / "data", port=port, forked=True, options=("--origin", f"http://localhost:{port}")) as now:
        yield now


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Begun:
    def confirm(alice: HomeShell, bob: HomeShell) -> None:
        alice.run("trust", "bob", bob.json("key")["fingerprint"])

    return begin(tmp_path_factory.mktemp("begun"), confirm)


@pytest.fixture
def moved(begun: Begun, tmp_path: Path) -> Iterator[Moved]:
    shutil.copytree(begun.folder, tmp_path, dirs_exist_ok=True)
    with serving_again(tmp_path, free_port()) as now:
        yield Moved(tmp_path, now, begun.address, begun.game)


def test_a_script_moves_the_games(moved: Moved) -> None:
    for shell in (moved.alice, moved.bob):
        done = shell.run("register", "--server", moved.url)
        assert "1 game here is bound to an earlier address of this service" in done.stderr
        command = f"hkoji register --server {moved.url} --move-games"
        assert command in done.stderr
        assert moved.address(shell) == moved.before
        assert command in shell.fails(Exit.NETWORK, "resign", moved.game, "--yes")
        assert shell.json("register", "--server", moved.url, "--move-games")["moved"] == [moved.game]
        assert moved.address(shell) == moved.url
        again = shell.run("register", "--server", moved.url, "--move-games")
        assert again.stderr == "no game here is bound to an earlier address of this service\n"
    shown = moved.alice.json("show", moved.game)
    mover = moved.alice if shown["actor"] == shown["seat"] else moved.bob
    move = next(each for each in mover.json("show", moved.game)["legal"] if each.startswith("1"))
    mover.run("move", moved.game, move)


def test_a_service_that_does_not_answer_any_more_may_have_moved(moved: Moved) -> None:
    hint = "; if the service has moved: hkoji register --server URL\n"
    files = moved.files()
    assert moved.alice.fails(Exit.NETWORK, "games", "--open").endswith(f"give the same command again later{hint}")
    assert moved.alice.run("show", moved.game, code=Exit.NETWORK).stderr.endswith(hint)
    assert moved.files() == files
    assert moved.alice.fails(Exit.NETWORK, "resign", moved.game, "--yes").endswith(hint)
    # An address at which nobody has registered may be mistyped.
    refused = moved.alice.fails(Exit.NETWORK, "register", "--server", f"http://localhost:{free_port()}")
    assert refused.endswith("nothing is lost; give the same command again later\n")
    moved.alice.environment["http_proxy"] = moved.before
    refused = moved.alice.fails(Exit.NETWORK, "games", "--open")
    assert "check http_proxy" in refused
    assert "moved" not in refused


def test_the_knowledge_of_players_moves_with_the_games(moved: Moved) -> None:
    moved.alice.run("register", "--server", moved.url, "--move-games")
    pins = json.loads((moved.alice.home / "pins.json").read_text())
    for what in ("players", "trusted"):
        assert pins[moved.url][what]["bob"] == pins[moved.before][what]["bob"]
    assert pins[moved.url]["former"] == [moved.before]
    assert "confirmed" in next(line for line in moved.alice.run("keys").stdout.splitlines() if "bob" in line)


def test_games_that_are_over_are_not_counted(moved: Moved) -> None:
    for shell in (moved.alice, moved.bob):
        shell.run("register", "--server", moved.url, "--move-games")
    over = moved.alice.json("new", "--invite", "bob")["game"]
    moved.bob.run("join", over)
    moved.alice.run("resign", over, "--yes")
    moved.bind_to_former_address(moved.game, over)
    assert "1 game here is bound to an earlier address" in moved.alice.run("register", "--server", moved.url).stderr
    (found,) = (each for each in doctor_of(moved.alice, 1) if each["name"] == "games")
    assert (moved.game[:8] in found["said"], over[:8] in found["said"]) == (True, False)
    done = moved.alice.run("register", "--server", moved.url, "--move-games")
    assert "1 game is bound to" in done.stderr
    moved.bind_to_former_address(over)
    assert moved.alice.run("register", "--server", moved.url).stderr == ""
    assert all(each["name"] != "games" for each in doctor_of(moved.alice, 0))
    assert moved.alice.json("register", "--server", moved.url, "--move-games")["moved"] == [over]


@pytest.mark.parametrize(("answer", "moves"), [("y", True), ("n", False), ("", False)])
def test_a_terminal_asks(moved: Moved, answer: str, *, moves: bool) -> None:
    code, shown = typed(moved.alice, answer, "register", "--server", moved.url)
    assert code == Exit.OK
    assert f"Move it to {moved.url}?" in shown
    assert moved.address(moved.alice) == (moved.url if moves else moved.before)


def test_a_new_key_that_was_signed_at_the_earlier_address_is_followed(tmp_path: Path) -> None:
    begin(tmp_path, lambda _, bob: bob.run("rekey"))
    alice, bob = HomeShell(tmp_path / "alice"), HomeShell(tmp_path / "bob")
    with serving_again(tmp_path, free_port()) as now:
        for shell in (alice, bob):
            shell.run("register", "--server", f"http://localhost:{now.port}", "--move-games")
        second = bob.json("new", "--invite", "alice")["game"]
        alice.run("join", second)  # the key of its host is not the one that alice has seen first


def doctor_of(shell: HomeShell, code: int) -> list[dict[str, str]]:
    """The checks of `hkoji doctor`, which exits with `code`."""
    found: list[dict[str, str]] = json.loads(shell.run("doctor", "--json", code=code).stdout)["checks"]
    return found


def test_doctor_looks_at_the_address_of_each_game(moved: Moved) -> None:
    def checked(shell: HomeShell, code: int) -> dict[str, dict[str, str]]:
        return {each["name"]: each for each in doctor_of(shell, code)}

    assert checked(moved.alice, 1)["service"]["verdict"] == "fail"
    moved.alice.run("register", "--server", moved.url)
    found = checked(moved.alice, 1)["games"]
    assert (found["verdict"], found["hint"]) == ("fail", f"hkoji register --server {moved.url} --move-games")
    moved.alice.run("register", "--server", moved.url, "--move-games")
    assert "games" not in checked(moved.alice, 0)


@pytest.fixture(params=["", "https://elsewhere.example"], ids=["same origin", "other origin"])
def stranger(moved: Moved, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address at which the games' service was before, where another service answers now."""
    with serving(tmp_path / "other", port=moved.port, forked=True, options=("--origin", request.param or moved.before)):
        yield moved.before


ABOUT_ONE_GAME = [
    ("show",),
    ("log",),
    ("clock",),
    ("audit",),
    ("talk",),
    ("wait", "--timeout", "1"),
    ("resign", "--yes"),
    ("move", "1A"),
]


def test_another_service_at_the_address_is_named(moved: Moved, stranger: str) -> None:
    before = moved.files()
    for command, *options in ABOUT_ONE_GAME:
        said = moved.alice.fails(Exit.AUDIT, command, moved.game, *options)
        assert f"another service answers at {stranger} now" in said
        assert "nothing was changed; check with `hkoji doctor`" in said
        assert "hkoji register --server URL --move-games" in said
        assert moved.files() == before


def test_another_service_is_named_with_the_new_address_of_the_right_one(moved: Moved, stranger: str) -> None:
    moved.alice.run("register", "--server", moved.url)
    said = moved.alice.fails(Exit.AUDIT, "show", moved.game)
    assert f"another service answers at {stranger} now" in said
    assert f"If it has moved there: hkoji register --server {moved.url} --move-games" in said
    moved.alice.run("register", "--server", moved.url, "--move-games")
    moved.alice.run("show", moved.game)


@pytest.mark.parametrize("key", ["the same key", "another key"])
def test_another_service_that_knows_the_name_is_named(moved: Moved, tmp_path: Path, key: str) -> None:
    with serving(tmp_path / "other", port=moved.port, forked=True, options=("--origin", moved.before)):
        again = HomeShell(tmp_path / "again")
        again.run("init", "alice", *(("--key", key_file(moved.alice)) if key == "the same key" else ()))
        again.run("register", "--server", moved.before)
        assert f"another service answers at {moved.before} now" in moved.alice.fails(Exit.AUDIT, "show", moved.game)


class NothingFound(BaseHTTPRequestHandler):
    """A web server that knows none of a service's addresses."""

    def do_GET(self) -> None:
        self.send_error(404)

    def do_POST(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        return


def test_a_web_server_at_the_address_is_no_service(moved: Moved) -> None:
    with ThreadingHTTPServer(("127.0.0.1", moved.port), NothingFound) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            said = moved.alice.fails(Exit.AUDIT, "show", moved.game)
        finally:
            server.shutdown()
            thread.join()
    assert f"something else than your service answers at {moved.before} now" in said
    assert "hkoji doctor" in said


def test_a_game_that_the_right_service_does_not_have_is_not_found(moved: Moved) -> None:
    moved.alice.run("register", "--server", moved.url, "--move-games")
    said = moved.alice.fails(Exit.USAGE, "show", "0" * 32)
    assert "another service" not in said


def as_pinned(moved: Moved) -> None:
    """Pins the key of another service for the game's address."""
    file = moved.alice.home / "pins.json"
    pins = json.loads(file.read_text())
    pins[moved.before]["key"] = pins[moved.before]["players"]["bob"]
    file.write_text(json.dumps(pins))


def test_games_of_another_key_stay(moved: Moved) -> None:
    as_pinned(moved)
    assert moved.alice.json("register", "--server", moved.url, "--move-games")["moved"] == []
    assert moved.address(moved.alice) == moved.before


def without_proof(_: bytes) -> bytes:
    return b""


def of_another_key(answer: bytes) -> bytes:
    value = json.loads(answer)
    sig = bytearray(value["sig"].encode())
    sig[-8] = ord("A") if sig[-8] != ord("A") else ord("B")
    return json.dumps({**value, "sig": sig.decode()}).encode()


def of_another_nonce(answer: bytes) -> bytes:
    value = json.loads(answer)
    text = json.loads(value["text"])
    value["text"] = value["text"].replace(text["nonce"], "0" * 64)
    return json.dumps(value).encode()


@pytest.mark.parametrize("change", [without_proof, of_another_key, of_another_nonce])
def test_without_a_proof_nothing_is_kept(
    moved: Moved, change: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hkoji.client.transport import HttpAnswer, Transport

    real = Transport.request

    def lying(
        self: Transport, method: str, path: str, body: bytes | None = None, token: str | None = None
    ) -> HttpAnswer:
        answer = real(self, method, path, body, token)
        return answer._replace(body=change(answer.body)) if "/proof" in path else answer

    monkeypatch.setattr(Transport, "request", lying)
    before = moved.files()
    moved.alice.run(
        "register", "--server", moved.url, "--move-games", code=Exit.FAILURE if change is without_proof else Exit.AUDIT
    )
    assert moved.files() == before
