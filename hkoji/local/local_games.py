"""All local games of one player: a service over a folder, and which game is played against which bot.

The player and each bot are clients with homes and keys of their own; each sees its seat's view and nothing else. All
that a game needs is on disk as soon as it is offered, so an interrupted game continues where it was.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from hkoji.bots.registry import BOTS, make_bot
from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.client.kept.files import read_json, write_json
from hkoji.client.service import utc_now
from hkoji.errors import HkojiError, NotFoundError, StorageError
from hkoji.game.course import Course
from hkoji.game.entry_kinds import Invite
from hkoji.local.local_service import LocalService, LocalStore, LocalTransport, unreadable
from hkoji.log.line import parse_line
from hkoji.messages.text import tell
from hkoji.rules.protocol import Ruleset

URL: Final = "http://play.localhost"
"""The local service's URL: a name that never leaves this machine (RFC 6761)."""

_BOTS: Final = "-bot"
_INTERPRETERS: Final = ("python", "node", "sh", "bash", "ruby", "perl", "java")


class LocalSeats(NamedTuple):
    """The opponent in a local game: the bot's name or command, its seed, its name as a player; and the start (UTC)."""

    game: str
    bot: str
    seed: int
    opponent: str
    ruleset: str
    started: str


class LocalGames:
    """The local games under `folder`. `name` is the player's name if this is their first local game."""

    def __init__(
        self, folder: Path, name: str = "player", *, entropy: Callable[[int], bytes] = secrets.token_bytes
    ) -> None:
        self.folder: Final = folder
        self.store: Final = LocalStore(folder / "service")
        self._name = "player" if name.endswith(_BOTS) else name  # no player has a bot's name
        self._entropy = entropy
        self._service = LocalService(self.store, URL, entropy, utc_now)
        self._clients: dict[Path, Client] = {}

    @property
    def player(self) -> Client:
        """The player's client."""
        return self._client(self.folder / "player", self._name)

    def opponent(self, seats: LocalSeats) -> Client:
        """Returns the client of a game's bot."""
        return self._client(self.folder / "bots" / seats.opponent, seats.opponent)

    def _client(self, folder: Path, name: str) -> Client:
        """Returns the client of a home, whose player is registered at the local service."""
        if folder not in self._clients:
            home = Home(folder)
            if not home.config_file.exists():
                create(home, name, None, self._entropy(32))
            client = Client(home, entropy=self._entropy, connect=lambda url: LocalTransport(url, self._service))
            if "server" not in home.config():
                client.register(URL)
            self._clients[folder] = client
        return self._clients[folder]

    # --- games ----------------------------------------------------------------------------------------------------

    def begin(self, ruleset: Ruleset, bot: str) -> LocalSeats:
        """Begins a game with the player as host. Raises `UsageError` for an unknown bot."""
        seed = int.from_bytes(self._entropy(6), "big")
        make_bot(bot, seed).close()
        opponent = player_name(bot)
        game = self.player.new(ruleset, Invite(opponent)).course.setup.game
        seats = LocalSeats(game, bot, seed, opponent, ruleset.name, utc_now())
        write_json(self._file(game), seats._asdict())
        return seats

    def all_seats(self) -> tuple[LocalSeats, ...]:
        """Returns the games begun here, the latest first. Raises `StorageError` if a file is damaged."""
        found = []
        for file in self.folder.glob("games/*.json"):
            try:
                found.append(LocalSeats(**read_json(file)))
            except TypeError as error:
                raise StorageError(
                    tell("{file} is damaged", file=file), hint=tell("move it away: it says only which bot plays")
                ) from error
        return tuple(sorted(found, key=lambda each: (each.started, each.game), reverse=True))

    def find(self, prefix: str) -> LocalSeats:
        """Returns the game whose id begins with `prefix`. Raises `NotFoundError` if none or more than one does."""
        found = [each for each in self.all_seats() if prefix and each.game.startswith(prefix.lower())]
        if len(found) != 1:
            raise NotFoundError(tell("local game"), prefix, hint=tell("list them with `hkoji play --list`"))
        return found[0]

    def is_over(self, game: str) -> bool:
        """Returns whether a game's log has its end. Raises `StorageError` if it is damaged."""
        file = self.log_file(game)
        try:
            *_, last = file.read_bytes().splitlines()
            return parse_line(last.decode()).entry.kind == "end"
        except (OSError, ValueError, HkojiError) as error:
            raise unreadable(file, error) from error

    def course(self, game: str) -> Course:
        """Returns a game as the service knows it. Show only what both seats may know. Raises `NotFoundError`."""
        with self.store.locked():
            kept = self.store.load(game)
        if kept is None:
            raise NotFoundError(tell("local game"), game)
        return kept.refereed.course

    def lock_file(self, game: str) -> Path:
        """Returns the file that a terminal locks while it plays a game."""
        return self._file(game).with_suffix(".lock")

    def log_file(self, game: str) -> Path:
        """Returns the file of a game's public log, with receipts, which `hkoji replay` and `hkoji audit` read."""
        return self.store.log_file(game)

    def _file(self, game: str) -> Path:
        return self.folder / "games" / f"{game}.json"


def player_name(bot: str) -> str:
    """Returns a bot's name as a player: its own or its program's, in the letters that names may have, and `-bot`."""
    if bot in BOTS:
        return f"{bot.partition(':')[0]}{_BOTS}"
    words = [word for word in bot.rpartition(":")[2].split() if not word.startswith("-")]
    word = words[1] if len(words) > 1 and words[0].rpartition("/")[2].startswith(_INTERPRETERS) else "".join(words[:1])
    stem = word.rpartition("/")[2].partition(".")[0].lower()
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in stem).strip("-")
    return f"{plain[:28]}{_BOTS}" if plain else f"program{_BOTS}"
