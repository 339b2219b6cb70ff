"""Talk: the messages of the two players of a game, which stand beside its log.

docs/spec/http.md, "Talk". No append reads or changes messages.

- *A number is given once.* The messages of a game are numbered from 1 in the order in which they were kept. A message
  that its author deletes leaves its number, and neither its text nor its signature. Each addition holds the row of the
  game first, so two messages that come at once get different numbers.
- *Nobody is told of a message that is not kept, or twice of the same*: the notice is written in its transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)

from hkoji.errors import ForbiddenError, NotFoundError, TalkClosedError, TooManyError
from hkoji.messages.text import tell
from hkoji_server.store.game_lists import going_on
from hkoji_server.store.game_values import NewNotice
from hkoji_server.store.notices import add_notices
from hkoji_server.store.sql_steps import SqlSteps, holding, within
from hkoji_server.store.tables import GAME, OUTBOX, TALK, KeptMessage, one_of, row_of, rows_of

MOST_MESSAGES: Final = 2000
"""How many messages a game may have, with those that were deleted."""
MOST_A_DAY: Final = 100
"""How many messages about one game a player may send in a day."""
TALK_EVENT: Final = "talk"
"""The event of the notice about a message. Its number stands for the number of an entry."""
_RETRY: Final = 3600


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


_MESSAGES: Final = (
    select(*TALK.c)
    .where(TALK.c.game == bindparam("b_game"), TALK.c.number > bindparam("b_after", type_=BigInteger))
    .order_by(TALK.c.number)
    .limit(bindparam("b_limit", type_=BigInteger))
    .offset(literal_column("0"))
)


def old_talk(ended_before: ColumnElement[str] | str, begun_before: ColumnElement[str] | str) -> Select[tuple[str]]:
    """Returns the statement that finds the games whose messages are to be removed.

    The index of first messages has a row for each game with messages. So finished games without any are not read.
    """
    return (
        select(TALK.c.game)
        .join(GAME, GAME.c.game == TALK.c.game)
        # A literal, so that the database sees that its index has all of them.
        .where(TALK.c.number == literal_column("1"), TALK.c.at < begun_before)
        # Not the bare column: there is an index of it, in which a database might walk through all finished games.
        .where(func.coalesce(GAME.c.ended, literal_column("'9'")) < ended_before)
    )


_ANY_OLD: Final = (
    old_talk(bindparam("b_ended", type_=Text), bindparam("b_begun", type_=Text))
    .limit(literal_column("1"))
    .offset(literal_column("0"))
)


@cache
def last_of_others(limit: int) -> Select[Any]:  # Any: columns
    """Returns the statement for the last message that `b_player` has not written, in each of at most `limit` games."""
    found = going_on(limit, 0).subquery()
    last = func.max(TALK.c.number)
    return (
        select(TALK.c.game, last, TALK.c.name)
        .join(found, found.c.game == TALK.c.game)
        .where(TALK.c.name != bindparam("b_player"), TALK.c.text.is_not(None))
        .group_by(TALK.c.game, TALK.c.name)
        .order_by(TALK.c.game)
    )


class TalkStore(SqlSteps):
    """The area of the store that is about talk."""

    @within("_holding", wakes=True)
    def add_message(self, connection: Connection, new: NewMessage, since: str) -> tuple[KeptMessage, bool]:
        """Keeps a message under the next number of its game, with a notice for its reader. Returns it, and True.

        Returns the message that is kept, and False, if its author has said the same text before: then nothing changes.
        Changes nothing if it raises: `NotFoundError`; `TooManyError` if the author has said `MOST_A_DAY` at the time
        `since` or later; `TalkClosedError` if the game has `MOST_MESSAGES`.
        """
        if not _hold(connection, new.game):
            raise NotFoundError(tell("game"), new.game)
        own = (TALK.c.game == new.game, TALK.c.name == new.name)
        found = connection.execute(select(*TALK.c).where(*own, TALK.c.text == new.text))
        if (same := one_of(KeptMessage, found)) is not None:
            return same, False
        lately = select(func.count()).select_from(TALK).where(*own, TALK.c.at >= since)
        if connection.execute(lately).scalar_one() >= MOST_A_DAY:
            raise TooManyError(
                _RETRY,
                tell("you have sent {most} messages about this game in a day, which is the most", most=MOST_A_DAY),
            )
        last = connection.execute(select(func.max(TALK.c.number)).where(TALK.c.game == new.game)).scalar() or 0
        if last >= MOST_MESSAGES:
            full = tell("this game has {most} messages, and can have no more", most=MOST_MESSAGES)
            raise TalkClosedError(new.game, full)
        kept = row_of(KeptMessage, game=new.game, number=last + 1, name=new.name, text=new.text, sig=new.sig, at=new.at)
        connection.execute(insert(TALK).values(kept.model_dump()))
        add_notices(connection, (NewNotice(new.game, kept.number, TALK_EVENT, new.to, new.at),))
        return kept, True

    async def messages(self, game: str, after: int, limit: int) -> tuple[KeptMessage, ...]:
        """Returns the messages of a game with numbers greater than `after`, in order: at most `limit`."""
        return rows_of(KeptMessage, await self._read(_MESSAGES, b_game=game, b_after=after, b_limit=limit))

    async def last_messages(self, player: str, since: str, limit: int) -> tuple[LastMessage, ...]:
        """Returns the last message of each of a player's games that another has written and not deleted, by game.

        Of the games that go on or ended at the time `since` or later: at most `limit`, of which those that go on come
        first.
        """
        rows = await self._read(last_of_others(limit), b_player=player, b_since=since)
        return tuple(map(LastMessage._make, rows))

    @holding
    def delete_message(self, connection: Connection, game: str, number: int, name: str) -> None:
        """Deletes text and signature of a message of player `name`; also if they are deleted already.

        A notice about it that was not sent is deleted too.

        Changes nothing if it raises: `NotFoundError` for a message that is not there, `ForbiddenError` for one of
        another player.
        """
        place = (TALK.c.game == game, TALK.c.number == number)
        _hold(connection, game)  # as every writer of a notice of the game does
        author = connection.execute(select(TALK.c.name).where(*place)).scalar()
        if author is None:
            raise NotFoundError(tell("message"), str(number))
        if author != name:
            raise ForbiddenError(
                tell("message {number} is by {author}", number=number, author=author),
                hint=tell("nothing was deleted; you can delete your own messages"),
            )
        connection.execute(update(TALK).where(*place).values(text=None, sig=None))
        told = (OUTBOX.c.game == game, OUTBOX.c.seq == number, OUTBOX.c.event == TALK_EVENT)
        connection.execute(delete(OUTBOX).where(*told))

    async def remove_talk(self, ended_before: str, begun_before: str, most: int) -> int:
        """Removes all messages of games that ended before a time, of at most `most` games. Returns of how many.

        Only of games whose first message was kept before the time `begun_before`, so that few games are looked at.
        """

        def work(connection: Connection) -> int:
            found = old_talk(ended_before, begun_before).order_by(TALK.c.at).limit(most)
            games = connection.execute(found).scalars().all()
            connection.execute(delete(TALK).where(TALK.c.game.in_(games)))
            return len(games)

        # Nearly always there is nothing to remove, and a read disturbs no writer.
        if not await self._read(_ANY_OLD, b_ended=ended_before, b_begun=begun_before):
            return 0
        return await self._transaction(work)


def _hold(connection: Connection, game: str) -> bool:
    """Holds the row of a game until the transaction ends. Returns whether it is there."""
    held = select(GAME.c.game).where(GAME.c.game == game).with_for_update(key_share=True)
    return connection.execute(held).first() is not None
