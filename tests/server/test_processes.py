"""`hkoji serve` as one process and as several: dying workers, stops, slow clients and too many, and its log."""

from __future__ import annotations

import errno
import itertools
import json
import multiprocessing
import os
import random
import re
import select
import signal
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from hkoji_server.process import workers as process_workers
from hkoji_server.process.server import bind_listener, default_origin
from hkoji_server.process.workers import Workers

from hkoji.errors import StorageError
from hkoji.log.private_key import PrivateKey
from tests.support.conditions import PATIENCE, until
from tests.support.forked import ForkedCall, ForkedProcess, run_forked
from tests.support.ledger import Ledger, dumped, half_done, lost
from tests.support.load import AWAY, NotNowError, Pair, Wire, busy
from tests.support.metrics import free_port, read
from tests.support.processes import alive, parent
from tests.support.service import Service, begin, serving, start, two_players
from tests.support.sockets import WHOLE, connected, everything, healthy, served


def workers(service: Service) -> set[int]:
    """The process ids of the workers that are ready."""
    said = [json.loads(line) for line in service.said() if line.startswith("{")]
    return {line["pid"] for line in said if line["event"] == "ready"}


def still_served(sock: socket.socket) -> bool:
    """Whether the worker of a connection lives."""
    try:
        return healthy(sock)
    except OSError:
        return False


# --- several processes ------------------------------------------------------------------------------------------------


def test_workers_are_one_service_and_one_that_dies_is_replaced(tmp_path: Path) -> None:
    port = free_port()
    options = ("--workers", "2", "--metrics", f"127.0.0.1:{port}")
    service = start(tmp_path / "data", log_level="debug", options=options)
    ledger = Ledger()
    pairs = [Pair(number, Wire(lambda: service.port), ledger, random.Random(number)) for number in range(4)]
    unexpected: list[Exception] = []

    def failed(_: Pair, error: Exception) -> None:
        if not isinstance(error, (NotNowError, *AWAY)):
            unexpected.append(error)

    first = workers(service)
    assert len(first) == 2
    threads = busy(pairs, lambda _: False, failed)
    until(lambda: sum(pair.accepted for pair in pairs) >= 20)
    os.kill(min(first), signal.SIGKILL)
    until(lambda: len(workers(service)) == 3)
    assert [alive(pid) for pid in sorted(first)] == [False, True]
    assert service.process.poll() is None
    before = sum(pair.accepted for pair in pairs)
    until(lambda: sum(pair.accepted for pair in pairs) >= before + 20)
    living = {f'hkoji_resident_bytes{{pid="{pid}"}}' for pid in workers(service) if alive(pid)}
    until(lambda: {name for name in read(port) if name.startswith("hkoji_resident_bytes")} == living)
    figures = read(port)  # of all three, including the one that has died
    accepted = 'hkoji_requests_total{method="POST",route="/v1/games/{game}/entries",status="201"}'
    taken = figures['hkoji_appends_total{outcome="taken"}']
    assert taken >= 40
    assert abs(taken - figures[accepted]) <= 10  # some are being answered, and some were when the worker was killed
    service.stop()
    for thread in threads:
        thread.join(PATIENCE)
    assert unexpected == []
    assert service.process.returncode == 0
    assert not any(alive(pid) for pid in workers(service))
    assert [each.name for each in service.data.iterdir()] == ["hkoji.sqlite3"]
    log = service.log.read_text()
    known = {player.token for pair in pairs for player in pair.players if player.token}  # a player held up has none
    assert [each for each in known | secrets_of(service.data) if each in log] == []
    dump = dumped(service.data / "hkoji.sqlite3")
    assert sum(fact.table == "entry" for fact in ledger.facts) >= 40
    assert [*lost(dump, ledger.facts), *half_done(dump, ledger.sent.__contains__)] == []
    for pair in pairs:
        assert isinstance(pair.asked, Wire)
        pair.asked.close()


def test_workers_share_connections_and_end_when_their_supervisor_has_gone(tmp_path: Path) -> None:
    port = free_port()
    options = ("--workers", "2", "--metrics", f"127.0.0.1:{port}")
    service = start(tmp_path / "data", log_level="debug", options=options, forked=True)
    shuffler = random.Random(5)

    def shared() -> list[float]:
        return sorted(value for name, value in read(port).items() if name.startswith("hkoji_connections"))

    with ExitStack() as stack:
        kept = [stack.enter_context(connected(service)) for _ in range(20)]
        assert all(map(healthy, kept))
        until(lambda: shared() == [10, 10])
        shuffler.shuffle(kept)
        for sock in kept[:12]:
            sock.close()
        until(lambda: sum(shared()) == 8)
        kept[:12] = [stack.enter_context(connected(service)) for _ in range(12)]
        assert all(map(healthy, kept))
        until(lambda: shared() == [10, 10])

        first = workers(service)
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        until(lambda: service.log.read_text().count('"worker died"') == 2)
        assert healthy(stack.enter_context(connected(service)))  # it waits for a new worker
        until(lambda: len(workers(service)) == 4)
    service.process.kill()
    service.process.wait()
    until(lambda: not any(alive(pid) for pid in workers(service)))
    with pytest.raises(ConnectionRefusedError):
        connected(service)


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from another process on Linux only")
def test_workers_outlive_the_process_that_forks_them_and_are_then_replaced_and_stopped_as_ever(tmp_path: Path) -> None:
    service = start(tmp_path / "data", log_level="debug", options=("--workers", "2"), forked=True)
    with served(service) as one, served(service) as other:  # each worker has one of them
        dying, staying = sorted(workers(service))
        os.kill(parent(dying), signal.SIGKILL)
        assert healthy(one)
        assert healthy(other)
        os.kill(dying, signal.SIGKILL)
        until(lambda: len(workers(service)) == 3)
        assert service.log.read_text().count('"worker died"') == 1
        assert sorted(map(still_served, (one, other))) == [False, True]
        assert alive(staying)
    service.stop()
    assert service.process.returncode == 0
    assert not any(alive(pid) for pid in workers(service))
    assert "did not stop" not in service.log.read_text()


def test_the_remains_of_a_killed_service_are_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fork server has a socket in the folder for temporary files, whose path may have 107 bytes."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("TMPDIR", folder)
        killed = start(tmp_path / "data", log_level="debug", options=("--workers", "2"), forked=True)
        first = workers(killed)
        killed.process.kill()
        killed.process.wait()
        until(lambda: not any(alive(pid) for pid in first))
        (left,) = Path(folder).iterdir()
        again = start(tmp_path / "data", log_level="debug", options=("--workers", "2"), forked=True)
        assert not left.exists()
        assert len(list(Path(folder).iterdir())) == 1
        again.stop()
        assert list(Path(folder).iterdir()) == []
    assert again.process.returncode == 0


def starve(*refused: int) -> None:
    """Lets the process start no worker at these of its attempts."""
    attempts = itertools.count(1)
    start_worker = process_workers.start_worker

    def starved(*given: Any, **named: Any) -> BaseProcess:  # Any: the arguments of start_worker
        if next(attempts) in refused:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        return start_worker(*given, **named)

    process_workers.start_worker = starved


def test_a_worker_that_cannot_be_replaced_at_once_is_replaced_later_and_the_other_one_serves_on(tmp_path: Path) -> None:
    options = ("--workers", "2")
    service = start(tmp_path / "data", log_level="debug", options=options, forked=True, prepare=partial(starve, 3, 4))
    first = workers(service)
    os.kill(min(first), signal.SIGKILL)
    until(lambda: '"could not start a worker"' in service.log.read_text())
    with connected(service) as sock:
        assert healthy(sock)
    until(lambda: len(workers(service)) == 3)
    log = service.log.read_text()
    assert log.count('"could not start a worker"') == 2
    assert "Traceback" not in log
    assert alive(max(first))
    service.stop()
    assert service.process.returncode == 0


def test_a_service_whose_first_workers_cannot_be_started_says_so(tmp_path: Path) -> None:
    words = ["serve", "--data", str(tmp_path / "data"), "--port", "0", "--workers", "2"]
    said = tmp_path / "said"
    process = ForkedProcess(words, env={**os.environ}, stderr=said, daemon=False, prepare=partial(starve, 2))
    assert process.wait(PATIENCE) != 0
    assert "a worker could not start: Resource temporarily unavailable" in said.read_text()
    assert "Traceback" not in said.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="the processors that a process may use are set on Linux only")
def test_workers_are_as_many_as_the_service_may_use_processors(tmp_path: Path) -> None:
    allowed = os.sched_getaffinity(0)
    options = ("--workers", "auto", "--host", "0.0.0.0")
    for processors in ({min(allowed)}, {*sorted(allowed)[:2]}):
        few = partial(os.sched_setaffinity, 0, processors)
        service = start(tmp_path / "data", log_level="debug", options=options, forked=True, prepare=few)
        service.stop()  # it was ready, and so were all of its workers
        assert len(workers(service)) == len(processors)
        assert service.log.read_text().count("players use: hkoji register --server http://") == 1


def test_workers_that_cannot_start_end_the_service(tmp_path: Path) -> None:
    process = ForkedCall(serve_broken, tmp_path / "log", daemon=False)  # it starts the workers' fork server
    assert process.wait(PATIENCE) == 0
    assert "TypeError" in (tmp_path / "log").read_text()


def serve_broken(log: Path) -> None:
    out = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(out, 2)
    ready: list[bool] = []
    listener = bind_listener("127.0.0.1", 0)
    broken: Any = os.getpid  # it fails with a worker's argument
    with pytest.raises(StorageError, match="a worker could not start; its exit code is 1"):
        Workers(2, broken, listener, lambda _: None).run(lambda: ready.append(True))
    assert ready == []
    assert listener.fileno() == -1
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_to_all_processes_of_a_service_lets_running_requests_finish(
    tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    """As a process manager or a terminal sends it."""
    options = ("--workers", "2")
    service = start(tmp_path / "data", log_level="debug", options=options, forked=True, prepare=os.setsid)
    starters = {parent(pid) for pid in workers(service)} if sys.platform == "linux" else set()
    with connected(service) as sock:
        sock.sendall(
            b"POST /v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        assert sock.recv(1000).startswith(b"HTTP/1.1 100 ")  # now it is running
        os.killpg(service.process.pid, sent)
        until(lambda: '"stopping"' in service.log.read_text())
        assert [pid for pid in starters if not alive(pid)] == []  # without it the service would not wait
        sock.sendall(b"{}")
        assert everything(sock).startswith(b"HTTP/1.1 400 ")
    assert service.process.wait(PATIENCE) == code
    assert "worker died" not in service.log.read_text()
    assert not any(alive(pid) for pid in workers(service))


def test_a_signal_that_does_not_interrupt_the_wait_ends_the_service() -> None:
    """As one does not that comes just before the wait. Here another thread gets it, while the first one waits."""
    main, over, late = threading.get_ident(), threading.Event(), threading.Event()

    def stop() -> None:
        time.sleep(0.5)  # so that the first thread waits; without it the test would only see less
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        if not over.wait(20):
            late.set()
            signal.pthread_kill(main, signal.SIGTERM)

    listener = bind_listener("127.0.0.1", 0)
    thread = threading.Thread(target=stop)
    thread.start()
    nothing: Any = None  # no worker, so no target
    assert Workers(0, nothing, listener, lambda _: None).run(lambda: None) == signal.SIGTERM
    over.set()
    thread.join()
    assert not late.is_set()
    assert signal.set_wakeup_fd(-1) == -1


# --- slow and too many ------------------------------------------------------------------------------------------------


def test_a_service_without_a_name_has_its_address_or_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two friends' services that listen on all addresses are not the same to their players."""
    monkeypatch.setattr(socket, "gethostname", lambda: "alices-machine")
    with closing(bind_listener("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert default_origin(listener, "127.0.0.1") == f"http://127.0.0.1:{port}"
        assert default_origin(listener, "0.0.0.0") == f"http://alices-machine:{port}"
        assert default_origin(listener, "::") == f"http://alices-machine:{port}"
        monkeypatch.setattr(socket, "gethostname", lambda: "ALICES-PC")
        assert default_origin(listener, "0.0.0.0") == f"http://alices-pc:{port}"
        assert default_origin(listener, "LOCALHOST") == f"http://localhost:{port}"
        monkeypatch.setattr(socket, "gethostname", lambda: "alice's machine")  # no statement could contain it
        assert default_origin(listener, "0.0.0.0") == f"http://0.0.0.0:{port}"


def test_a_service_says_by_which_address_players_know_it_where_that_is_another_than_its_own(tmp_path: Path) -> None:
    def told(*options: str) -> tuple[str, str]:
        with serving(tmp_path / "data", options=options, forked=True) as service:
            origin = service.ask("GET", "/v1/service").json["origin"]
            return service.log.read_text(), f"hkoji register --server {origin}"

    said, register = told("--host", "0.0.0.0")
    assert f"players use: {register}; " in said
    assert "0.0.0.0" not in register
    said, register = told()  # the origin of the first start is kept, with its port
    assert f"players use: {register}; " in said
    with serving(tmp_path / "other", forked=True) as service:
        said = service.log.read_text()
        port = service.port
    assert "players use" not in said
    with serving(tmp_path / "other", port=port, options=("--origin", "https://my.example"), forked=True) as service:
        assert "players use: hkoji register --server https://my.example\n" in service.log.read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_service_starts_and_stops_where_its_log_cannot_be_written(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd, Path("/dev/full").open("w") as full:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(PATIENCE)
        words = ["serve", "--data", str(tmp_path / "data"), "--port", "0"]
        environment = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")}
        process = ForkedProcess(words, env=environment, stderr=full.fileno())
        try:
            until(lambda: process.poll() is not None or bool(select.select([systemd], [], [], 0)[0]))
            assert process.poll() is None
            assert systemd.recv(100) == b"READY=1"
            process.terminate()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    options = ("--max-connections", "8", "--request-timeout", "4", "--max-body", "4000", "--log-format", "text")
    folder = tmp_path_factory.mktemp("strict")
    with serving(folder / "data", log_level="debug", options=options, forked=True) as service:
        yield service


def raw(service: Service, *parts: bytes) -> bytes:
    """The answer to raw bytes, until the service closes."""
    with connected(service) as sock:
        for part in parts:
            sock.sendall(part)
        return everything(sock)


def test_a_request_that_does_not_come_whole_is_ended_and_a_quiet_connection_is_kept(strict: Service) -> None:
    slow = {
        "nothing": b"",
        "half a head": b"GET /healthz HTTP/1.1\r\nHos",
        "half a body": b"POST /v1/login/challenge HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
        "half a second": WHOLE + WHOLE[:9],
    }
    with ExitStack() as stack:
        socks = {name: stack.enter_context(connected(strict)) for name in ("quiet", *slow)}
        assert healthy(socks["quiet"])
        for name, sent in slow.items():
            socks[name].sendall(sent)
        for name in slow:
            answer = everything(socks[name])
            assert (b"HTTP/1.1 200 " in answer) == (name == "half a second"), name
            assert b"HTTP/1.1 408 " in answer, name
            assert b'"code": "too-slow"' in answer, name
        assert healthy(socks["quiet"])  # longer than a request's time limit


def test_a_request_that_does_not_come_whole_is_logged_and_counted_by_its_answer(tmp_path: Path) -> None:
    port = free_port()
    options = ("--request-timeout", "1", "--metrics", f"127.0.0.1:{port}")
    half = b"POST /v1/login/challenge HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
    with serving(tmp_path / "data", log_level="info", options=options, forked=True) as service:
        with connected(service) as leaving:
            leaving.sendall(half)
            assert leaving.recv(1000).startswith(b"HTTP/1.1 100 ")
        with connected(service) as slow:
            slow.sendall(half)
            assert b"HTTP/1.1 408 " in everything(slow)
        until(lambda: len(requests_logged(service)) == 2)
        figures = read(port)
    assert requests_logged(service) == [499, 408]
    counted = 'hkoji_requests_total{method="POST",route="/v1/login/challenge",status="%s"}'
    assert [figures.get(counted % status) for status in (408, 499, 500)] == [1, 1, None]


def requests_logged(service: Service) -> list[int]:
    """The status of each request in the log."""
    said = [json.loads(line) for line in service.said() if line.startswith("{")]
    return [line["status"] for line in said if line["event"] == "request"]


def test_one_connection_too_many_is_refused_and_no_other(strict: Service) -> None:
    with ExitStack() as stack:
        kept = [stack.enter_context(served(strict)) for _ in range(8)]
        answer = raw(strict)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 5\r\n" in answer
        assert healthy(kept[0])
    until(lambda: raw(strict, WHOLE[:-2] + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200 "))


def test_a_request_that_is_no_http_is_refused(strict: Service) -> None:
    answer = raw(strict, b"\x16\x03\x01 hello\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in answer


def test_the_largest_body_is_a_setting(strict: Service) -> None:
    answer = strict.ask("POST", "/v1/players", raw=b"{" + b" " * 4000)
    assert (answer.status, answer.json["code"]) == (413, "too-large")
    assert strict.ask("POST", "/v1/players", raw=b"{" + b" " * 3999).status == 400


# --- logs -------------------------------------------------------------------------------------------------------------


def secrets_of(data: Path) -> set[str]:
    """All confidential values in the database, which no log may contain."""
    with closing(sqlite3.connect(data / "hkoji.sqlite3")) as database:
        key = database.execute("SELECT private_key FROM service").fetchone()[0].splitlines()[1:-1]
        seeds = [row[0] for row in database.execute("SELECT seed FROM secret")]
        salts = [row[0] for row in database.execute("SELECT salt FROM opening")]
        digests = [row[0] for row in database.execute("SELECT digest FROM token UNION SELECT digest FROM code")]
        return {*key, *seeds, *salts, *digests}


def test_the_most_talkative_log_holds_no_secrets(strict: Service) -> None:
    service = strict
    alice, bob = two_players(service)
    known = {alice.token, bob.token, alice.entropy, bob.entropy}
    game = begin(alice, bob)
    hands = set()
    for player in (alice, bob):  # both lay a card face down
        course = player.course(game)
        held: Any = course.state.to_json()["hands"]
        hands.add(held[player is bob])
        assert player.send(player.make_move(course, f"1{held[player is bob][0]}")).status == 201
    # Also failures: illegal, signed by another, not understood, no token, a false one, too large.
    assert alice.send(alice.make_move(alice.course(game), "1A")).status == 422
    bob.key, kept = PrivateKey.from_seed(b"x" * 32), bob.key
    assert bob.send(bob.make_move(bob.course(game), "1A")).status in (403, 409)
    bob.key = kept
    for body in (b"{", b'{"entry": "' + alice.token.encode() + b'"}', b"{" * 20_000):
        assert service.ask("POST", f"/v1/games/{game}/entries", raw=body).status in (400, 413)
    assert service.ask("GET", f"/v1/games/{game}/view?after={alice.token}", token=alice.token).status == 400
    assert service.ask("GET", f"/v1/games/{game}/view", token=alice.token[:-1] + "x").status == 401
    revoked = run_forked(["admin", "revoke", "bob", "--data", str(service.data), "--json"], env=dict(os.environ))
    known.add(json.loads(revoked.stdout)["code"])
    assert service.ask("POST", "/v1/logout", token=alice.token).status == 204
    known |= secrets_of(service.data)
    salts = {opening.salt for player in (alice, bob) for opening in player.openings[game]}
    assert len(salts & known) == 2
    known |= salts  # also of the moves that were refused
    log = service.log.read_text()
    assert len(re.findall("/v1/games/" + game, log)) > 20
    assert [each for each in known if each in log] == []
    assert [len(hand) for hand in hands if hand in log] == []
    said = r"(?m)^\S+Z info    request method=GET ms=\S+ path=\S+ request=([0-9a-f]{16}) status=200$"
    numbers = re.findall(said, log)
    assert len(numbers) > 20
    assert len(set(numbers)) == len(numbers)
