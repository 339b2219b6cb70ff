"""One local game with the player at it: whatever the bot owes it does, before the player is asked again."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from hkoji.bots.protocol import Bot
from hkoji.bots.registry import make_bot
from hkoji.client import Client, Position
from hkoji.client.files import make_folder
from hkoji.errors import StorageError, UsageError
from hkoji.local.bot_seat import step
from hkoji.local.local_games import LocalGames, LocalSeats
from hkoji.messages.text import tell


class LocalGame:
    """The game `seating` of `house`. Use `taken` around everything that plays.

    `thinking` is called whenever the bot is about to be asked, which can take a while.
    """

    def __init__(self, house: LocalGames, seating: LocalSeats, thinking: Callable[[], None] = lambda: None) -> None:
        self.house: Final = house
        self.seating: Final = seating
        self.game: Final = seating.game
        self._thinking = thinking
        self._bot: Bot | None = None

    @property
    def client(self) -> Client:
        """The player's client."""
        return self.house.player

    @contextmanager
    def taken(self) -> Iterator[None]:
        """While this lasts nobody else sits here, in whichever terminal. Raises `UsageError` if somebody does."""
        file = self.house.lock_file(self.game)
        make_folder(file.parent)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(
                    tell("game {game} is being played in another terminal", game=self.game[:8]),
                    hint=tell("go on there, or begin another with `hkoji play --new`"),
                ) from error
            yield
        finally:
            os.close(handle)

    def close(self) -> None:
        """Lets the bot go."""
        if self._bot is not None:
            self._bot.close()
            self._bot = None

    def wait(self) -> Position:
        """The game once the player has something to decide, or its end. Raises what the bot raises."""
        position = self.client.position(self.game)
        while not (position.over or position.legal):
            if self._bot is None:
                self._bot = make_bot(self.seating.bot, self.seating.seed)
            self._thinking()
            step(self.house.opponent(self.seating), self._bot, self.game)
            before, position = position, self.client.position(self.game)
            if position.course.seq == before.course.seq:
                raise StorageError(
                    tell(
                        "game {game} does not go on: a file of {folder} is missing",
                        game=self.game[:8],
                        folder=self.house.folder,
                    ),
                    hint=tell("restore it from a backup, or begin another game with `hkoji play --new`"),
                )
        return position
