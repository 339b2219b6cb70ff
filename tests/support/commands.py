"""Commands of a player with a game; each command locks the game while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from hkoji.client import Client, Home, MadeMove, Position
from hkoji.client.identity import Identity, load
from hkoji.client.service import Service
from hkoji.client.transport import Transport
from hkoji.game.submission import Submission
from hkoji.log.line import Line


class NearTransport(Transport):
    """A transport whose requests do not leave this process."""

    @property
    def exposed(self) -> bool:
        return False


def current(client: Client, game: str) -> Position:
    """`hkoji show`."""
    with client.game(game) as held:
        return held.current()


def make_move(client: Client, game: str, notation: str) -> MadeMove:
    """`hkoji move`."""
    with client.game(game) as held:
        return held.move(notation)


def without_player(
    transport: Transport,
    say: Callable[[str], None] = lambda _: None,
    pause: Callable[[float], None] = time.sleep,
) -> Service:
    """A service addressed from an empty home, but with a login."""
    home = Home(Path("/nowhere"))

    def nobody() -> Identity:
        return load(home)

    service = Service(home, transport, nobody, say, pause)
    service.requests.token = "token"
    return service


class Commands:
    """A player who uses a new client for every command, as separate processes would."""

    @property
    def client(self) -> Client:
        """A fresh client."""
        raise NotImplementedError

    def position(self, game: str) -> Position:
        return current(self.client, game)

    def move(self, game: str, notation: str) -> MadeMove:
        return make_move(self.client, game, notation)

    def join(self, game: str) -> Position:
        with self.client.game(game) as held:
            return held.join()

    def resign(self, game: str) -> MadeMove:
        with self.client.game(game) as held:
            return held.resign()

    def cancel(self, game: str) -> MadeMove:
        with self.client.game(game) as held:
            return held.cancel()

    def sign(self, game: str, notation: str) -> Submission:
        client = self.client
        client.stored(game)
        with client.game(game) as held:
            return held.sign(notation)

    def log(self, game: str) -> tuple[Line, ...]:
        with self.client.game(game) as held:
            return held.log()
