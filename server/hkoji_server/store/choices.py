"""Choices of players: settings, blocks, and the channels by which they want to be told of events.

A transaction that changes a channel and its notices changes the channel first, so that two of them wait for each other
in one order.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from hkoji.errors import ExistsError, IllegalError, NotFoundError
from hkoji.messages.text import tell
from hkoji_server.store.mail_tables import BOUNCE, MAILBOX, REPLY
from hkoji_server.store.player_tables import BLOCK, PLAYER, SETTING
from hkoji_server.store.sql_steps import SqlSteps, holding, transaction
from hkoji_server.store.tables import CHANNEL, GAME, OUTBOX, Channel, one_of, rows_of

MOST_BLOCKS: Final = 1000
"""How many players one player may block."""

_SETTINGS: Final = select(SETTING.c.json).where(SETTING.c.player == bindparam("b_player"))
_BLOCKS: Final = select(BLOCK.c.other).where(BLOCK.c.player == bindparam("b_player")).order_by(BLOCK.c.other)
_BLOCK: Final = select(BLOCK.c.other).where(
    BLOCK.c.player == bindparam("b_player"), BLOCK.c.other == bindparam("b_other")
)
_FINISHED_PAIR: Final = select(
    or_(
        *(
            exists().where(
                GAME.c.status == literal_column("'finished'"),
                GAME.c.host == bindparam(host),
                GAME.c.guest == bindparam(guest),
            )
            for host, guest in (("b_player", "b_other"), ("b_other", "b_player"))
        )
    )
)
_OPEN_INVITATIONS: Final = select(GAME.c.game).where(
    GAME.c.host == bindparam("b_host"),
    GAME.c.status == literal_column("'open'"),
    GAME.c.invite == bindparam("b_invite"),
)


class ChoiceStore(SqlSteps):
    """The area of the store that is about settings and blocks."""

    async def settings(self, player: str) -> str | None:
        """Returns what a player has set, as text; None if that is nothing."""
        rows = await self._read(_SETTINGS, b_player=player)
        return rows[0][0] if rows else None

    @transaction
    def set_settings(self, connection: Connection, player: str, text: str) -> None:
        """Replaces what a registered player has set."""
        changed = update(SETTING).where(SETTING.c.player == player).values(json=text)
        if connection.execute(changed).rowcount == 0:
            connection.execute(insert(SETTING).values(player=player, json=text))

    async def blocks(self, player: str) -> tuple[str, ...]:
        """Returns the names of those whom a player has blocked, in order."""
        return tuple(name for (name,) in await self._read(_BLOCKS, b_player=player))

    @transaction
    def add_block(self, connection: Connection, player: str, other: str) -> None:
        """Blocks `other` for a registered player. If that is done already, nothing changes.

        Changes nothing if it raises: `NotFoundError` if no player has the name `other`, `IllegalError` if the player
        has blocked `MOST_BLOCKS` others.
        """
        if connection.execute(select(PLAYER.c.name).where(PLAYER.c.name == other)).first() is None:
            raise NotFoundError(tell("player"), other, hint=tell("nothing was changed; is the name right?"))
        mine = BLOCK.c.player == player
        if connection.execute(select(BLOCK.c.other).where(mine, BLOCK.c.other == other)).first() is not None:
            return
        if connection.execute(select(func.count()).select_from(BLOCK).where(mine)).scalar_one() >= MOST_BLOCKS:
            raise IllegalError(
                tell("you have blocked {limit} players, which is the most", limit=MOST_BLOCKS),
                hint=tell("nothing was changed; remove a block with `hkoji block NAME --remove`"),
            )
        connection.execute(insert(BLOCK).values(player=player, other=other))

    async def remove_block(self, player: str, other: str) -> bool:
        """Removes a block. Returns False if there is none."""
        gone = delete(BLOCK).where(BLOCK.c.player == player, BLOCK.c.other == other)
        return await self._change(gone) == 1

    async def is_blocked(self, player: str, other: str) -> bool:
        """Returns whether `player` has blocked `other`."""
        return bool(await self._read(_BLOCK, b_player=player, b_other=other))

    async def have_finished(self, one: str, other: str) -> bool:
        """Returns whether two players have finished a game with each other; one that was cancelled does not count."""
        ((found,),) = await self._read(_FINISHED_PAIR, b_player=one, b_other=other)
        return bool(found)

    async def open_invitations(self, host: str, invited: str) -> tuple[str, ...]:
        """Returns the open games of `host` that invite the player `invited`: a few, because a host may open few."""
        return tuple(game for (game,) in await self._read(_OPEN_INVITATIONS, b_host=host, b_invite=invited))


PUSH_KIND: Final = "push"
"""The kind of the channels to browsers. There are more of these, since each browser of a player has one."""
MOST_CHANNELS: Final = 3
"""How many channels of other kinds a player may have."""
MOST_BROWSERS: Final = 5
"""How many channels to browsers."""
_WANTS_NONE: Final = "blocked"
"""The state of a mailbox whose owner was asked, and wants no letters."""
_CHANNEL: Final = select(*CHANNEL.c).where(CHANNEL.c.id == bindparam("b_id"))
_CHANNELS: Final = (
    select(*CHANNEL.c).where(CHANNEL.c.player == bindparam("b_player")).order_by(CHANNEL.c.created, CHANNEL.c.id)
)


def channel_exists(channel: str) -> ExistsError:
    """Returns the error about an address for which the player has a channel, with its id."""
    return ExistsError(
        tell("channel"),
        channel,
        hint=tell("nothing was changed; to change what it is told, remove it and add it again"),
    )


def most_channels(kind: str) -> int:
    """Returns how many channels a player may have that count with those of a kind."""
    return MOST_BROWSERS if kind == PUSH_KIND else MOST_CHANNELS


class ChannelStore(SqlSteps):
    """The area of the store that is about channels."""

    @holding
    def add_channel(self, connection: Connection, channel: Channel) -> bool:
        """Adds a channel of a registered player. Returns False if the player has `most_channels`; nothing changes.

        One of the player with the same kind and target that was not confirmed makes way for it. Raises `ExistsError`,
        and changes nothing, if there is one that was. Of several calls at once the last one counts.
        """
        # Of two that are added at once on PostgreSQL, each holds the row of the player in turn.
        held = select(PLAYER.c.name).where(PLAYER.c.name == channel.player).with_for_update(key_share=True)
        connection.execute(held).all()
        mine = CHANNEL.c.player == channel.player
        same = (mine, CHANNEL.c.kind == channel.kind, CHANNEL.c.target == channel.target)
        for name, confirmed in connection.execute(select(CHANNEL.c.id, CHANNEL.c.confirmed).where(*same)).all():
            if confirmed is not None:
                raise channel_exists(name)
            _remove(connection, channel.player, name)
        alike = CHANNEL.c.kind == PUSH_KIND if channel.kind == PUSH_KIND else CHANNEL.c.kind != PUSH_KIND
        counted = select(func.count()).select_from(CHANNEL).where(mine, alike)
        if connection.execute(counted).scalar_one() >= most_channels(channel.kind):
            return False
        connection.execute(insert(CHANNEL).values(channel.model_dump()))
        return True

    async def channel(self, channel: str) -> Channel | None:
        """Returns a channel."""
        return one_of(Channel, await self._read(_CHANNEL, b_id=channel))

    async def channels(self, player: str) -> tuple[Channel, ...]:
        """Returns the channels of a player, the oldest first."""
        return rows_of(Channel, await self._read(_CHANNELS, b_player=player))

    async def confirm_channel(self, player: str, channel: str, digest: str, at: str) -> bool:
        """Confirms a channel of the player with the code of this digest, and uses the code up.

        Returns False, and changes nothing, if there is no such channel, or it does not wait for that code.
        """
        waits = (*_own(player, channel), CHANNEL.c.confirmed.is_(None), CHANNEL.c.code == digest)
        confirmed = update(CHANNEL).where(*waits).values(confirmed=at, code=None)
        return await self._change(confirmed) == 1

    async def reset_channel(self, player: str, channel: str) -> bool:
        """Forgets the failures of a player's channel, and sends to it again. Returns False if there is none."""
        reset = update(CHANNEL).where(*_own(player, channel)).values(failures=0, off=None)
        return await self._change(reset) == 1

    async def set_channel_settings(self, channel: str, settings: str) -> bool:
        """Replaces the settings of a channel. Returns False if there is none."""
        return await self._holding(lambda connection: set_settings(connection, channel, settings))

    async def remove_channel(self, player: str, channel: str) -> bool:
        """Removes a channel of the player and what was to be sent to it. Returns False if there is none.

        A mailbox whose owner wants no letters stays blocked.
        """
        return await self._holding(lambda connection: _remove(connection, player, channel))


def working() -> tuple[ColumnElement[bool], ...]:
    """Returns the conditions under which notices are sent to a channel."""
    return CHANNEL.c.confirmed.is_not(None), CHANNEL.c.off.is_(None)


def set_settings(connection: Connection, channel: str, settings: str) -> bool:
    """Replaces the settings of a channel: see `ChannelStore.set_channel_settings`."""
    changed = update(CHANNEL).where(CHANNEL.c.id == channel).values(settings=settings)
    return connection.execute(changed).rowcount == 1


def remove_channels(connection: Connection, player: str) -> None:
    """Removes all channels of a player, and what was to be sent to them."""
    for channel in connection.execute(select(CHANNEL.c.id).where(CHANNEL.c.player == player)).scalars().all():
        _remove(connection, player, channel)


def _remove(connection: Connection, player: str, channel: str) -> bool:
    """Removes a channel and what was to be sent to it; of a mailbox also what makes it one.

    That its owner wants no letters stays: the player who has named it could else remove it, and have them asked again.
    """
    if connection.execute(delete(CHANNEL).where(*_own(player, channel))).rowcount != 1:
        return False
    for table in (OUTBOX, REPLY, BOUNCE):
        connection.execute(delete(table).where(table.c.channel == channel))
    connection.execute(delete(MAILBOX).where(MAILBOX.c.channel == channel, MAILBOX.c.state != _WANTS_NONE))
    return True


def _own(player: str, channel: str) -> tuple[ColumnElement[bool], ...]:
    return CHANNEL.c.id == channel, CHANNEL.c.player == player
