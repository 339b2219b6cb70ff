"""The part of the store's contract that is about talk: the messages of the two players of a game.

docs/spec/http.md, "Talk". Messages stand beside the log: no append reads or changes them.

- *A number is given once.* The messages of a game are numbered from 1 in the order in which they were kept. A message
  that its author deletes leaves its number, and neither its text nor its signature.
- *Nobody is told of a message that is not kept, or twice of the same*: the notice is written in its transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

MOST_MESSAGES: Final = 2000
"""How many messages a game may have, with those that were deleted."""
MOST_A_DAY: Final = 100
"""How many messages about one game a player may send in a day."""

TALK_EVENT: Final = "talk"
"""The event of the notice about a message. Its number stands for the number of an entry."""


class KeptMessage(NamedTuple):
    """A message of player `name`, which was kept at the time `at`; `text` and `sig` are None once it is deleted.

    `sig` is the signature in base64.
    """

    game: str
    number: int
    name: str
    text: str | None
    sig: str | None
    at: str


class LastMessage(NamedTuple):
    """The last message of a game that a player has not written themselves; its number, and its author's `name`."""

    game: str
    number: int
    name: str


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to keep, of player `name` to the player `to`. It arrived at the time `at`."""

    game: str
    name: str
    to: str
    text: str
    sig: str
    at: str


class TalkStore(Protocol):
    """The methods of a store that are about talk."""

    async def add_message(self, new: NewMessage, since: str) -> tuple[KeptMessage, bool]:
        """Keeps a message under the next number of its game, with a notice for its reader. Returns it, and True.

        Returns the message that is kept, and False, if its author has said the same text before: then nothing changes.
        Changes nothing if it raises: `NotFoundError`; `TooManyError` if the author has said `MOST_A_DAY` at the time
        `since` or later; `TalkClosedError` if the game has `MOST_MESSAGES`.
        """

    async def messages(self, game: str, after: int, limit: int) -> tuple[KeptMessage, ...]:
        """Returns the messages of a game with numbers greater than `after`, in order: at most `limit`."""

    async def last_messages(self, player: str, since: str, limit: int) -> tuple[LastMessage, ...]:
        """Returns the last message of each of a player's games that another has written and not deleted, by game.

        Of the games that go on or ended at the time `since` or later: at most `limit`, of which those that go on come
        first.
        """

    async def delete_message(self, game: str, number: int, name: str) -> None:
        """Deletes text and signature of a message of player `name`; also if they are deleted already.

        A notice about it that was not sent is deleted too.

        Changes nothing if it raises: `NotFoundError` for a message that is not there, `ForbiddenError` for one of
        another player.
        """

    async def remove_talk(self, ended_before: str, begun_before: str, most: int) -> int:
        """Removes all messages of games that ended before a time, of at most `most` games. Returns of how many.

        Only of games whose first message was kept before the time `begun_before`, so that few games are looked at.
        """
