"""Talk: signed messages of the two players of a game to each other. docs/spec/http.md, "Talk".

The service keeps what a player has signed, and shows it to the other. It does not keep it for ever, and nobody else
learns of it, not even that there is any.
"""

from __future__ import annotations

from typing import Final

from hkoji.errors import BlockedError, ForbiddenError, MalformedError, NotFoundError, TalkClosedError
from hkoji.game.agreement import DAY
from hkoji.game.course import Course
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.talk import parse_talk
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.contract import Store
from hkoji_server.store.players import verify_not_revoked
from hkoji_server.store.tables import KeptMessage
from hkoji_server.store.talk import LastMessage, NewMessage

WRITTEN: Final = 7 * DAY
"""How many seconds after the end of a game its players can still write."""
KEPT: Final = 90 * DAY
"""How many seconds after the end of a game its messages are deleted."""
MOST_GAMES: Final = 500
"""In how many of a player's games the last messages are looked for: first in those that go on, then in the newest."""


class Talk:
    """Use cases about messages. Each is for the player with the name that has logged in."""

    def __init__(self, store: Store, held: LoadedGames, sources: ClockAndEntropy) -> None:
        self._store = store
        self._held = held
        self._sources = sources

    async def say(self, game: str, player: str, text: str, sig: str) -> tuple[KeptMessage, bool]:
        """Keeps a message that the player has signed, and returns it; False if it was kept before. `sig` is base64.

        Raises `MalformedError`, `NotFoundError` for anybody but the two players, `ForbiddenError` for another author,
        `SignatureError`, `RevokedError`, `TalkClosedError` before a guest has joined and long after the end,
        `BlockedError`, `TooManyError`.
        """
        course, seat, at = await self._of_player(game, player)
        statement, blob = parse_talk(text), decode_base64(sig, "signature")
        if statement.game != game:
            raise MalformedError("message", tell("it does not belong to the game in the address"))
        if statement.name != player:
            raise ForbiddenError(
                tell("the message is by {name}, but you have logged in as {player}", name=statement.name, player=player)
            )
        key, other = course.setup.keys[seat], course.setup.names[1 - seat]
        assert key is not None
        sshsig.verify(blob, key, sshsig.TALK, statement.message, player)
        verify_not_revoked(await self._store.retired(key.text))
        if other is None:
            raise TalkClosedError(game, tell("nobody has joined yet, so there is nobody to talk to"))
        if course.finished and at < self._sources.at(-WRITTEN):
            raise TalkClosedError(game, tell("the game ended more than a week ago, and nothing more can be written"))
        if await self._store.is_blocked(other, player):
            raise BlockedError(
                tell("{name} does not want messages from you", name=other), hint=tell("nothing was sent")
            )
        new = NewMessage(game, player, other, text, encode_base64(blob), self._sources.at())
        return await self._store.add_message(new, self._sources.at(-DAY))

    async def heard(self, game: str, player: str, after: int, limit: int) -> tuple[KeptMessage, ...]:
        """Returns messages of a game with numbers greater than `after`. Raises `NotFoundError` as `say` does."""
        await self._of_player(game, player)
        return await self._store.messages(game, after, limit)

    async def last_heard(self, player: str) -> tuple[LastMessage, ...]:
        """Returns the last message of the opponent in each of a player's games, of at most `MOST_GAMES`."""
        return await self._store.last_messages(player, self._sources.at(-KEPT), MOST_GAMES)

    async def take_back(self, game: str, player: str, number: int) -> None:
        """Deletes a message of the player. Raises `NotFoundError`, `ForbiddenError` for one of the other player."""
        await self._of_player(game, player)
        await self._store.delete_message(game, number, player)

    async def _of_player(self, game: str, player: str) -> tuple[Course, Seat, str]:
        """Returns a game, the seat of its player, and the time of its last entry.

        Raises the same `NotFoundError` for anybody who does not play in it as for a game that is not there.
        """
        refereed = (await self._held.current(game)).refereed
        seat = refereed.course.setup.seat_of(player)
        if seat is None:
            raise NotFoundError(tell("game"), game)
        return refereed.course, seat, refereed.at
