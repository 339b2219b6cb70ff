"""Removal of rows that a database no longer needs, in an open transaction: offers that nobody opens, and what expired.

An offer is removed only while nobody opens it. On SQLite one transaction writes at a time. On PostgreSQL an append
holds the row of its game: a game whose row is held is left out here, and an append that comes while the row is being
removed waits and then finds no game.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import ColumnElement, Connection, Select, delete, exists, literal_column, or_, select

from hkoji_server.store.contract import Removed
from hkoji_server.store.tables import CHALLENGE, CODE, ENTRY, GAME, OFFER, OPENING, SECRET, STATEMENT, TOKEN

_EXPIRING: Final = (TOKEN, CHALLENGE, CODE)


def _unopened(before: ColumnElement[str] | str) -> tuple[ColumnElement[bool], ...]:
    # A literal, so that the database sees that its index for offers has all of them.
    return GAME.c.status == literal_column("'offered'"), GAME.c.created < before


def any_expired(now: ColumnElement[str], offered_before: ColumnElement[str]) -> Select[tuple[int]]:
    """Returns the statement that finds a row if there is something to remove."""
    return select(literal_column("1")).where(
        or_(
            exists().where(*_unopened(offered_before)), *(exists().where(table.c.expires <= now) for table in _EXPIRING)
        )
    )


def remove_expired(connection: Connection, now: str, offered_before: str, most: int) -> Removed:
    """Removes up to `most` offers that are older and were not opened, and all codes, logins and challenges expired."""
    found = select(GAME.c.game).where(*_unopened(offered_before)).order_by(GAME.c.created).limit(most)
    games = [row[0] for row in connection.execute(found.with_for_update(skip_locked=True))]
    _remove_offers(connection, games)
    logins, challenges, codes = (
        connection.execute(delete(table).where(table.c.expires <= now)).rowcount for table in _EXPIRING
    )
    return Removed(len(games), logins, challenges, codes)


def withdraw_offer(connection: Connection, game: str, player: str) -> None:
    """Removes an offer of the player's that is not opened. It no longer counts for the player's limit."""
    status = connection.execute(select(GAME.c.status).where(GAME.c.game == game).with_for_update()).scalar()
    if status == "offered":
        _remove_offers(connection, [game])
        connection.execute(delete(OFFER).where(OFFER.c.player == player, OFFER.c.game == game))


def _remove_offers(connection: Connection, games: list[str]) -> None:
    for table in (STATEMENT, OPENING, ENTRY, SECRET, GAME) if games else ():
        connection.execute(delete(table).where(table.c.game.in_(games)))
