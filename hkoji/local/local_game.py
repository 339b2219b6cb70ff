"""Bots as players: `step` makes a bot's next entry in any game, `LocalGame` is a local game against a bot."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hkoji.bots.protocol import Bot, see
from hkoji.bots.registry import make_bot
from hkoji.client import Client, MadeMove, Position
from hkoji.client.kept.files import make_folder
from hkoji.errors import StorageError, UsageError
from hkoji.game.course import Stage
from hkoji.messages.text import tell

if TYPE_CHECKING:  # `hkoji bot run` needs no local service
    from hkoji.client.seats import SealedWish
    from hkoji.local.local_games import LocalGames, LocalSeats


def decide(bot: Bot, position: Position) -> str:
    """Returns the move of `bot` in a position in which its seat must decide. Raises the bot's errors."""
    assert position.seat is not None
    return bot.decide(see(position.course.setup.ruleset, position.events, position.seat))


def step(client: Client, bot: Bot, game: str, sealed: SealedWish | None = None) -> MadeMove | None:
    """Joins, reveals the player's entropy and moves as `bot` decides, each if it is due. Returns None without a move.

    A sealed game is joined only with a `sealed` wish.

    Signs only legal moves: a bot that fails leaves the game as it was. Raises the bot's errors, and `NotYourTurnError`
    in a game between others.
    """
    with client.game(game) as held:
        position = held.current()
        if position.course.stage is Stage.JOIN and position.seat is None:
            position = held.join(sealed=sealed)
    if not position.over:
        position.verify_player(hint=tell("nothing was sent"))
    if not position.legal:
        return None
    notation = decide(bot, position)  # can take long: other commands may use the game meanwhile
    with client.game(game) as held:
        return held.move(notation)


class LocalGame:
    """The game `seats` of `games`. Use `taken` around everything that plays.

    `thinking` is called whenever the bot is about to be asked, which can take a while.
    """

    def __init__(self, games: LocalGames, seats: LocalSeats, thinking: Callable[[], None] = lambda: None) -> None:
        self.games: Final = games
        self.seats: Final = seats
        self.game: Final = seats.game
        self._thinking = thinking
        self._bot: Bot | None = None

    @property
    def client(self) -> Client:
        """The player's client."""
        return self.games.player

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Keeps the game to one terminal while the block runs. Raises `UsageError` if another one has it."""
        file = self.games.lock_file(self.game)
        make_folder(file.parent)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(
                    tell("game {game} is being played in another terminal", game=self.game[:8]),
                    hint=tell("continue there, or begin another with `hkoji play --new`"),
                ) from error
            yield
        finally:
            os.close(handle)

    def close(self) -> None:
        """Closes the bot."""
        if self._bot is not None:
            self._bot.close()
            self._bot = None

    def wait(self) -> Position:
        """Returns the game once the player must decide, or at its end. Raises the bot's errors."""
        position = self._position()
        while not (position.over or position.legal):
            if self._bot is None:
                self._bot = make_bot(self.seats.bot, self.seats.seed)
            self._thinking()
            step(self.games.opponent(self.seats), self._bot, self.game)
            before, position = position, self._position()
            if position.course.seq == before.course.seq:
                raise StorageError(
                    tell(
                        "game {game} cannot continue: a file in {folder} is missing",
                        game=self.game[:8],
                        folder=self.games.folder,
                    ),
                    hint=tell("restore it from a backup, or begin another game with `hkoji play --new`"),
                )
        return position

    def _position(self) -> Position:
        with self.client.game(self.game) as held:
            return held.current()
