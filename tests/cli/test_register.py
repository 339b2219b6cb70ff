"""`hkoji register` at a service that calls itself something other than its address: at a terminal and without one."""

from __future__ import annotations

import json
import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji.cli.output import Exit
from tests.support.forked import ForkedTerminal
from tests.support.home_shell import HomeShell
from tests.support.service import Service, serving

ORIGIN = "https://hanamikoji.example"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service behind a name that does not lead to it from here."""
    with serving(tmp_path_factory.mktemp("register") / "data", options=("--origin", ORIGIN), forked=True) as running:
        yield running


@pytest.fixture
def alice(tmp_path: Path, request: pytest.FixtureRequest) -> HomeShell:
    shell = HomeShell(tmp_path / "alice")
    shell.run("init", f"alice-{abs(hash(request.node.name)) % 10**6}")
    return shell


def typed(shell: HomeShell, answer: str, *words: str) -> tuple[int, str]:
    """The exit code of a command with a terminal, at which somebody types `answer`, and what it shows there."""
    master, slave = pty.openpty()
    process = ForkedTerminal(words, slave, env=shell.environment)
    os.close(slave)
    os.write(master, f"{answer}\n".encode())
    shown = b""
    while True:
        try:
            data = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
    os.close(master)
    return process.wait(300), shown.decode().replace("\r\n", "\n")


def pinned(shell: HomeShell) -> dict[str, object]:
    file = shell.home / "pins.json"
    return json.loads(file.read_text()) if file.exists() else {}


def test_at_a_terminal_the_user_types_the_origin(service: Service, alice: HomeShell) -> None:
    for answer in ("", "y", "yes", ORIGIN[:-1], service.url):
        code, shown = typed(alice, answer, "register", "--server", service.url)
        assert code == Exit.AUDIT
        assert f"The service at {service.url} says its address is {ORIGIN}." in shown
        assert "nothing was signed" in shown
        assert pinned(alice) == {}
    code, shown = typed(alice, ORIGIN, "register", "--server", service.url)
    assert code == Exit.OK
    assert "logins here are signed for that name" in shown
    assert pinned(alice)[service.url]["origin"] == ORIGIN  # type: ignore[index] # JSON
    alice.run("games")
    alice.run("register", "--server", service.url)  # confirmed once: it is not asked again
    alice.run("games")


def test_without_a_terminal_an_option_names_the_origin(service: Service, alice: HomeShell) -> None:
    said = alice.fails(Exit.AUDIT, "register", "--server", service.url)
    assert f"--origin {ORIGIN}" in said
    for other in (service.url, "https://hanamikoji.example:444", "http://hanamikoji.example", ORIGIN + "/"):
        assert "not " + other in alice.fails(Exit.AUDIT, "register", "--server", service.url, "--origin", other)
    assert pinned(alice) == {}
    alice.run("register", "--server", service.url, "--origin", ORIGIN)
    alice.run("games")


def test_another_address_of_the_same_service_is_confirmed_anew(service: Service, alice: HomeShell) -> None:
    alice.run("register", "--server", service.url, "--origin", ORIGIN)
    other = service.url.replace("127.0.0.1", "localhost")
    before = pinned(alice)
    alice.fails(Exit.AUDIT, "register", "--server", other)
    assert pinned(alice) == before
    alice.run("register", "--server", other, "--origin", ORIGIN)
    alice.run("games")


def test_in_a_batch_nobody_is_asked(service: Service, alice: HomeShell) -> None:
    command = f"register --server {service.url}"
    done = alice.run("batch", stdin=f"{command}\n{command} --origin {ORIGIN}\n", code=Exit.AUDIT)
    refused, accepted = (json.loads(line) for line in done.stdout.splitlines())
    assert refused["error"]["code"] == "trust"
    assert accepted["ok"]


def test_one_address_is_written_in_many_ways(tmp_path: Path, alice: HomeShell) -> None:
    """Nobody is asked about an address that differs from the origin in its form alone."""
    with serving(tmp_path / "data", forked=True) as service:
        for form in (service.url + "/", service.url.replace("http", "HTTP", 1), service.url):
            alice.run("register", "--server", form)
        said = alice.fails(Exit.AUDIT, "register", "--server", service.url.replace("127.0.0.1", "localhost"))
        assert service.url in said
