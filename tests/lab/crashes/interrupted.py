"""Two real clients with their homes on disk, whose service goes away and comes back on another port."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.client.transport import HttpAnswer, Transport
from hkoji.errors import IllegalError, NotYourTurnError
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.commands import current, make_move
from tests.support.ledger import Ledger, lines_told

URL: Final = "http://127.0.0.1:9"
"""Where the clients think that the service is."""


class Noting(Transport):
    """The client's transport: records what is sent and acknowledged, and finds the service's current port."""

    def __init__(self, url: str, where: Callable[[], int], ledger: Ledger) -> None:
        super().__init__(url)
        self._where = where
        self._ledger = ledger
        self._inner: tuple[int, Transport] | None = None

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        port = self._where()
        if self._inner is None or self._inner[0] != port:
            self.close()
            self._inner = port, Transport(f"http://127.0.0.1:{port}")
        entry = method == "POST" and path.endswith("/entries")
        if entry:
            self._ledger.sending(json.loads(body or b"")["entry"])
        answer = self._inner[1].request(method, path, body, token)
        if entry and answer.status in (200, 201):
            self._ledger.add(lines_told(answer.json()["lines"]))
        return answer

    def close(self) -> None:
        if self._inner is not None:
            self._inner[1].close()


class Clients:
    """Two real clients that play one game after another; a command that was interrupted is given again."""

    def __init__(self, folder: Path, number: int, where: Callable[[], int], ledger: Ledger, rng: random.Random) -> None:
        self.rng = rng
        self.games: list[str] = []
        self.moves = 0
        self._again: Callable[[], object] | None = None
        self._game: str | None = None
        self._clients = []
        self._before = 0
        self._ledger = ledger
        self._where = where
        self._registered = False
        for side in ("alice", "bob"):
            home = Home(folder / side)
            create(home, f"{side}-{number}", None, rng.randbytes(32))
            self._clients.append(Client(home, connect=lambda url: Noting(url, where, ledger)))

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def step(self) -> None:
        """Gives the next command. Raises `NetworkError`."""
        if self._again:
            try:
                self._again()
            except (IllegalError, NotYourTurnError):
                # Its answer had come; only the command's later requests had not been answered.
                if self._told() == self._before:
                    raise
            self._again = None
            return
        alice, bob = self._clients
        if not self._registered:
            # The origin stays that of the first start, and this may be a later one, on another port.
            with closing(Noting(URL, self._where, self._ledger)) as asking:
                origin = asking.request("GET", "/v1/service").json()["origin"]
            for client in self._clients:
                client.register(URL, origin=origin)
            self._registered = True
        elif self._game is None:
            self._do(self._new)
        else:
            position = current(alice, self._game)
            if position.over:
                self._game = None
            elif position.course.setup.names[1] is None:
                game = self._game
                self._do(lambda: _join(bob, game))
            else:
                self._move(self._game)

    def _new(self) -> None:
        self._game = self._clients[0].new(Hanamikoji()).course.setup.game
        self.games.append(self._game)

    def _move(self, game: str) -> None:
        for client in self._clients:
            position = current(client, game)
            if position.mine and position.legal:
                self._do(partial(make_move, client, game, self.rng.choice(position.legal)))
                self.moves += 1
                return

    def _told(self) -> int:
        """The number of entries of the game known to be acknowledged."""
        return sum(fact.table == "entry" and fact.key[0] == self._game for fact in self._ledger.facts)

    def _do(self, command: Callable[[], object]) -> None:
        self._again, self._before = command, self._told()
        command()
        self._again = None


def _join(client: Client, game: str) -> None:
    with client.game(game) as held:
        held.join()
