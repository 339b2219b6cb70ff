"""How many offers a player may ask for in a day. The caller counts them in the transaction that adds the game.

Beside that transaction the same player adds no other game: on SQLite one transaction writes at a time, and on
PostgreSQL it holds the player's row.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Delete, Insert, Select, bindparam, delete, func, insert, select

from hkoji.errors import TooManyGamesError
from hkoji.game.clock import add_seconds
from hkoji.game.time_control import DAY
from hkoji.messages.text import plural, tell
from hkoji_server.store.contract import NewGame, OfferQuota
from hkoji_server.store.tables import OFFER, PLAYER


class CountedOffers(NamedTuple):
    """How many offers of a player count, the time of the first one of them, and when the player registered."""

    number: int
    first: str | None
    registered: str | None


def counting() -> Select[tuple[int, str, str]]:
    """Selects a row of `CountedOffers` of `b_player` after `b_since`, without the game `b_game`."""
    registered = select(PLAYER.c.registered).where(PLAYER.c.name == bindparam("b_player")).scalar_subquery()
    return select(func.count(), func.min(OFFER.c.at), registered).where(
        OFFER.c.player == bindparam("b_player"),
        OFFER.c.at > bindparam("b_since"),
        OFFER.c.game != bindparam("b_game"),
    )


def noting() -> Insert:
    """Inserts the offer of the game `b_game` for `b_player` at `b_at`."""
    return insert(OFFER).values(player=bindparam("b_player"), at=bindparam("b_at"), game=bindparam("b_game"))


def forgetting() -> Delete:
    """Deletes the offers of `b_player` up to `b_since`, which no longer count."""
    return delete(OFFER).where(OFFER.c.player == bindparam("b_player"), OFFER.c.at <= bindparam("b_since"))


def quota_values(new: NewGame, quota: OfferQuota) -> dict[str, str]:
    """Returns the parameters of these statements."""
    return {"b_player": new.offered_to, "b_since": quota.since, "b_game": new.summary.game, "b_at": new.at}


def verify_may_offer(player: str, quota: OfferQuota, counted: CountedOffers) -> None:
    """Raises `TooManyGamesError` if the player has asked for as many games as the quota allows."""
    young = counted.registered is not None and counted.registered > quota.since
    new = young and quota.most_of_new < quota.most
    limit = quota.most_of_new if new else quota.most
    if counted.number < limit:
        return
    # A new name may ask for more as soon as it is no longer new.
    first = min(filter(None, (counted.first, counted.registered if new else None)), default=quota.since)
    again = add_seconds(first, DAY)
    raise TooManyGamesError(
        plural(
            "{name} has asked for {n} game within 24 hours, which is the limit",
            "{name} has asked for {n} games within 24 hours, which is the limit",
            limit,
            name=player,
        )
        if not new
        else plural(
            "{name} has asked for {n} game, which is the limit for the first 24 hours after registering",
            "{name} has asked for {n} games, which is the limit for the first 24 hours after registering",
            limit,
            name=player,
        ),
        hint=tell("nothing was created; ask again after {time}", time=again),
    )
