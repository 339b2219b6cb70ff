"""Blocks and settings of players, as statements in an open transaction. `choice_contract` says what they do."""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, insert, select, update

from hkoji.errors import IllegalError, NotFoundError
from hkoji.messages.text import tell
from hkoji_server.store.choice_contract import MOST_BLOCKS
from hkoji_server.store.tables import BLOCK, PLAYER, SETTING


def set_settings(connection: Connection, player: str, text: str) -> None:
    """Replaces what a player has set."""
    changed = update(SETTING).where(SETTING.c.player == player).values(json=text)
    if connection.execute(changed).rowcount == 0:
        connection.execute(insert(SETTING).values(player=player, json=text))


def add_block(connection: Connection, player: str, other: str) -> None:
    """Blocks a player, unless that is done already."""
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


def remove_block(connection: Connection, player: str, other: str) -> bool:
    """Removes a block. Returns False if there is none."""
    gone = delete(BLOCK).where(BLOCK.c.player == player, BLOCK.c.other == other)
    return connection.execute(gone).rowcount == 1
