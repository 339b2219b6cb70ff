"""Messages between the players of a game, as statements in an open transaction. See `TalkStore`.

Whoever adds a message holds the row of its game first. So two messages that come at once get different numbers.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
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
from hkoji_server.store.notice_contract import NewNotice
from hkoji_server.store.notices import add_notices
from hkoji_server.store.tables import GAME, OUTBOX, TALK
from hkoji_server.store.talk_contract import MOST_A_DAY, MOST_MESSAGES, TALK_EVENT, KeptMessage, NewMessage

_RETRY: Final = 3600


def add_message(connection: Connection, new: NewMessage, since: str) -> tuple[KeptMessage, bool]:
    """Keeps a message: see `TalkStore.add_message`."""
    if not _hold(connection, new.game):
        raise NotFoundError(tell("game"), new.game)
    own = (TALK.c.game == new.game, TALK.c.name == new.name)
    same = connection.execute(select(*TALK.c).where(*own, TALK.c.text == new.text)).first()
    if same is not None:
        return KeptMessage._make(same), False
    lately = connection.execute(select(func.count()).select_from(TALK).where(*own, TALK.c.at >= since)).scalar_one()
    if lately >= MOST_A_DAY:
        raise TooManyError(
            _RETRY, tell("you have sent {most} messages about this game in a day, which is the most", most=MOST_A_DAY)
        )
    last = connection.execute(select(func.max(TALK.c.number)).where(TALK.c.game == new.game)).scalar() or 0
    if last >= MOST_MESSAGES:
        raise TalkClosedError(new.game, tell("this game has {most} messages, and can have no more", most=MOST_MESSAGES))
    kept = KeptMessage(new.game, last + 1, new.name, new.text, new.sig, new.at)
    connection.execute(insert(TALK).values(**kept._asdict()))
    add_notices(connection, (NewNotice(new.game, kept.number, TALK_EVENT, new.to, new.at),))
    return kept, True


def delete_message(connection: Connection, game: str, number: int, name: str) -> None:
    """Deletes text and signature of a message: see `TalkStore.delete_message`."""
    place = (TALK.c.game == game, TALK.c.number == number)
    _hold(connection, game)  # as whoever writes a notice of the game does
    found = connection.execute(select(TALK.c.name).where(*place)).first()
    if found is None:
        raise NotFoundError(tell("message"), str(number))
    if found[0] != name:
        raise ForbiddenError(
            tell("message {number} is by {author}", number=number, author=found[0]),
            hint=tell("nothing was deleted; you can delete your own messages"),
        )
    connection.execute(update(TALK).where(*place).values(text=None, sig=None))
    told = (OUTBOX.c.game == game, OUTBOX.c.seq == number, OUTBOX.c.event == TALK_EVENT)
    connection.execute(delete(OUTBOX).where(*told))


def _hold(connection: Connection, game: str) -> bool:
    """Holds the row of a game until the transaction ends. Returns whether it is there."""
    held = select(GAME.c.game).where(GAME.c.game == game).with_for_update(key_share=True)
    return connection.execute(held).first() is not None


def last_of_others(games: Select[Any]) -> Select[tuple[str, int, str]]:
    """Returns the statement that finds the last message in each of those `games` that `b_player` has not written."""
    found = games.subquery()
    last = func.max(TALK.c.number)
    return (
        select(TALK.c.game, last, TALK.c.name)
        .join(found, found.c.game == TALK.c.game)
        .where(TALK.c.name != bindparam("b_player"), TALK.c.text.is_not(None))
        .group_by(TALK.c.game, TALK.c.name)
        .order_by(TALK.c.game)
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


def remove_talk(connection: Connection, ended_before: str, begun_before: str, most: int) -> int:
    """Removes the messages of games that ended long ago: see `TalkStore.remove_talk`."""
    found = old_talk(ended_before, begun_before).order_by(TALK.c.at).limit(most)
    games = [row[0] for row in connection.execute(found)]
    if games:
        connection.execute(delete(TALK).where(TALK.c.game.in_(games)))
    return len(games)
