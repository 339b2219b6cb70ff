"""The lists of games, as statements for every backend: walks in an index, never a scan of all games."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, literal_column, or_, select, tuple_, union

from hkoji_server.store.contract import Query
from hkoji_server.store.statements import GAME, SUMMARY_COLUMNS

# Statuses are written out where a partial index needs to see them.
_SHOWN = GAME.c.status != literal_column("'offered'")


def listed(query: Query) -> Select[Any]:  # Any: columns of any type, here and below
    """Games that match, newest first. Games that have not been opened are in no list."""
    if query.status == "open":
        wanted: list[ColumnElement[bool]] = [GAME.c.status == literal_column("'open'")]
    else:
        wanted = [_SHOWN]
        if query.status:
            wanted.append(GAME.c.status == query.status)
    if query.prefix:
        wanted.append(GAME.c.game.between(query.prefix, query.prefix + "g"))
    if query.after:
        created, _, game = query.after.partition("~")
        wanted.append(tuple_(GAME.c.created, GAME.c.game) < tuple_(created, game))
    if query.waiting:
        return _newest([*wanted, GAME.c.to_move == query.player], query.limit)
    if query.player:
        return _newest_of(query.player, wanted, query.limit)
    return _newest(wanted, query.limit)


def going_on(player: str, since: str, limit: int) -> Select[Any]:
    """A player's listed games that are not over, or have ended at `since` or later, newest first."""
    going = GAME.c.status.in_(("open", "playing"))
    return _newest_of(player, [_SHOWN, or_(going, GAME.c.updated >= since)], limit)


def _newest(wanted: list[ColumnElement[bool]], limit: int) -> Select[Any]:
    newest = (GAME.c.created.desc(), GAME.c.game.desc())
    return select(*SUMMARY_COLUMNS).where(*wanted).order_by(*newest).limit(limit)


def _newest_of(player: str, wanted: list[ColumnElement[bool]], limit: int) -> Select[Any]:
    """One ordered walk in an index for each part a player can have."""
    parts = [
        select(_newest([*wanted, column == player], limit).subquery())
        for column in (GAME.c.host, GAME.c.guest, GAME.c.invite)
    ]
    found = union(*parts).subquery()
    return select(found).order_by(found.c.created.desc(), found.c.game.desc()).limit(limit)
