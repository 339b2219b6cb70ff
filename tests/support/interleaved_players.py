"""Commands of several players at one service, whose requests a test interleaves as it likes; any may be the last one.

Each command runs in a thread, and exactly one thread runs at a time: until its next request, or its end. The service is
called by the test's own thread. So a seed decides everything that happens.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.client.transport import HttpAnswer
from tests.support.commands import Commands, NearTransport
from tests.support.service_in_process import Inside

URL: Final = "http://inside"

Request = Callable[[], HttpAnswer]


class KilledHereError(BaseException):
    """The command ends here, as if its process were killed. Nothing in the product catches it."""


class Running:
    """A command in a thread of its own, which waits before each request until it is told to go on."""

    def __init__(self, command: Callable[[], object]) -> None:
        self.result: object = None
        self.error: BaseException | None = None
        self.request: Request | None = None
        """Its next request; None if it has ended."""
        self._answer: HttpAnswer | None = None
        self._killed = False
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, args=(command,), daemon=True)
        self._thread.start()
        self._stopped.acquire()

    def _run(self, command: Callable[[], object]) -> None:
        try:
            self.wait(_nothing)
            self.result = command()
        except BaseException as error:  # the test looks at it
            self.error = error
        self.request = None
        self._stopped.release()

    def wait(self, request: Request) -> HttpAnswer:
        """Called by the command: stops until the test has made the request, and returns the answer."""
        self.request = request
        self._stopped.release()
        self._go.acquire()
        if self._killed:
            raise KilledHereError
        assert self._answer is not None
        return self._answer

    def step(self, *, kill: str = "") -> None:
        """Makes the request, and lets the command run to its next one. `kill` ends it `before` or `after` that."""
        assert self.request is not None
        self._killed = bool(kill)
        if kill != "before":
            self._answer = self.request()
        self._go.release()
        self._stopped.acquire()


def _nothing() -> HttpAnswer:
    return HttpAnswer(204, b"")


class SteppedTransport(NearTransport):
    """A transport to a service in this process. While a command of `player` runs, each request waits for its turn."""

    def __init__(self, player: SteppedPlayer) -> None:
        super().__init__(URL)
        self._player = player

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        def ask() -> HttpAnswer:
            self._player.sent += method == "POST" and path.endswith("/entries")
            answer = self._player.service.ask(method, path, token=token, raw=body or b"")
            return HttpAnswer(answer.status, answer.body)

        return self._player.take_turn(ask)


@dataclass
class SteppedPlayer(Commands):
    """A player with a new client for each command."""

    service: Inside
    name: str
    path: Path
    said: list[str] = field(default_factory=list)
    running: Running | None = None
    sent: int = 0
    """How many entries have been sent to the service."""

    @property
    def client(self) -> Client:
        return Client(Home(self.path), connect=lambda _: SteppedTransport(self), say=self.said.append)

    def take_turn(self, request: Request) -> HttpAnswer:
        """Makes a request when it is this player's turn; at once outside of interleaved commands."""
        return request() if self.running is None else self.running.wait(request)

    def pause(self, _seconds: float) -> None:
        """Stands in for `time.sleep`."""
        self.take_turn(_nothing)


def stepped_player(service: Inside, name: str, folder: Path) -> SteppedPlayer:
    """A registered player."""
    player = SteppedPlayer(service, name, folder / name)
    create(Home(player.path), name, None, random.Random(name).randbytes(32))
    player.client.register(URL)
    return player


def interleave(
    rng: random.Random,
    commands: Mapping[str, tuple[SteppedPlayer, Callable[[], object]]],
    *,
    kills: float = 0.0,
    order: Callable[[list[str]], str] | None = None,
) -> dict[str, object]:
    """Runs commands at the same time, and returns their results by name. Raises what a command raises.

    With the probability `kills`, a request is the last one of its command; the player then gives the command again.
    `order` chooses who goes on; by default anybody.
    """
    going = {}
    for name, (player, command) in commands.items():
        going[name] = player.running = Running(command)
    try:
        while waiting := sorted(name for name, each in going.items() if each.request is not None):
            name = order(waiting) if order else rng.choice(waiting)
            player, command = commands[name]
            kill = rng.choice(("before", "after")) if rng.random() < kills else ""
            going[name].step(kill=kill)
            if kill:
                assert isinstance(going[name].error, KilledHereError)
                going[name] = player.running = Running(command)
            elif (error := going[name].error) is not None:
                raise error
    finally:
        for player, _ in commands.values():
            player.running = None
    return {name: each.result for name, each in going.items()}
