"""Channels and the outbox, as statements in an open transaction, on either database.

A transaction that changes a channel and its notices changes the channel first, so that two of them wait for each other
in one order. Whoever holds a lease names it by its end and its number: one that was written anew has another number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Insert,
    Integer,
    Select,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal_column,
    select,
    update,
)

from hkoji_server.store.mail_tables import BOUNCE, MAILBOX, REPLY
from hkoji_server.store.notice_contract import MOST_CHANNELS, Channel, LeasedNotice, NewNotice, channel_exists
from hkoji_server.store.tables import CHANNEL, OUTBOX, PLAYER

Row = Sequence[Any]  # Any: a row has the columns that the statement selects

KEY: Final = ("game", "seq", "event", "channel")
"""The key of the outbox."""
RENEWED: Final = ("kind", "due", "not_before", "tries")
"""The columns that a notice takes over that is written anew."""
_WANTS_NONE: Final = "blocked"
"""The state of a mailbox whose owner was asked, and wants no letters."""


# --- channels ---------------------------------------------------------------------------------------------------------


def working() -> tuple[ColumnElement[bool], ...]:
    """Returns the conditions under which notices are sent to a channel."""
    return CHANNEL.c.confirmed.is_not(None), CHANNEL.c.off.is_(None)


def read_channel(row: Row) -> Channel:
    """Returns the channel of a row with all columns."""
    name, player, kind, target, events, *rest = row
    return Channel(name, player, kind, target, tuple(events.split()), *rest)


def add_channel(connection: Connection, new: Channel) -> bool:
    """Adds a channel: see `NoticeStore.add_channel`."""
    # Of two that are added at once on PostgreSQL, each holds the row of the player in turn.
    connection.execute(select(PLAYER.c.name).where(PLAYER.c.name == new.player).with_for_update(key_share=True)).all()
    same = (CHANNEL.c.player == new.player, CHANNEL.c.kind == new.kind, CHANNEL.c.target == new.target)
    for name, confirmed in connection.execute(select(CHANNEL.c.id, CHANNEL.c.confirmed).where(*same)).all():
        if confirmed is not None:
            raise channel_exists(name)
        remove_channel(connection, new.player, name)
    count = select(func.count()).select_from(CHANNEL).where(CHANNEL.c.player == new.player)
    if connection.execute(count).scalar_one() >= MOST_CHANNELS:
        return False
    values = {name: getattr(new, name) for name in CHANNEL.c.keys()}  # noqa: SIM118 # not a dict
    connection.execute(insert(CHANNEL).values({**values, "events": f" {' '.join(new.events)} "}))
    return True


def confirm_channel(connection: Connection, player: str, channel: str, digest: str, at: str) -> bool:
    """Confirms a channel: see `NoticeStore.confirm_channel`."""
    waits = (*_own(player, channel), CHANNEL.c.confirmed.is_(None), CHANNEL.c.code == digest)
    return connection.execute(update(CHANNEL).where(*waits).values(confirmed=at, code=None)).rowcount == 1


def reset_channel(connection: Connection, player: str, channel: str) -> bool:
    """Lets a channel work again: see `NoticeStore.reset_channel`."""
    return connection.execute(update(CHANNEL).where(*_own(player, channel)).values(failures=0, off=None)).rowcount == 1


def set_channel_settings(connection: Connection, channel: str, settings: str) -> bool:
    """Replaces the settings of a channel: see `NoticeStore.set_channel_settings`."""
    return connection.execute(update(CHANNEL).where(CHANNEL.c.id == channel).values(settings=settings)).rowcount == 1


def remove_channel(connection: Connection, player: str, channel: str) -> bool:
    """Removes a channel: see `NoticeStore.remove_channel`."""
    if connection.execute(delete(CHANNEL).where(*_own(player, channel))).rowcount != 1:
        return False
    _remove_rest(connection, channel)
    return True


def remove_channels(connection: Connection, player: str) -> None:
    """Removes all channels of a player, and what was to be sent to them."""
    removed = delete(CHANNEL).where(CHANNEL.c.player == player).returning(CHANNEL.c.id)
    for (channel,) in connection.execute(removed).all():
        _remove_rest(connection, channel)


def _remove_rest(connection: Connection, channel: str) -> None:
    """Removes what was to be sent to a channel that is removed; of a mailbox also what makes it one.

    That its owner wants no letters stays: whoever has named it could else remove it, and have them asked again.
    """
    for table in (OUTBOX, REPLY, BOUNCE):
        connection.execute(delete(table).where(table.c.channel == channel))
    connection.execute(delete(MAILBOX).where(MAILBOX.c.channel == channel, MAILBOX.c.state != _WANTS_NONE))


def _own(player: str, channel: str) -> tuple[ColumnElement[bool], ...]:
    return CHANNEL.c.id == channel, CHANNEL.c.player == player


# --- what is written with an entry, a statement or a message ----------------------------------------------------------


def wanting() -> Select[tuple[str, str, str, str]]:
    """Returns the statement that finds the working channels of one or two players: one look into the index each."""
    named = CHANNEL.c.player.in_((bindparam("b_player"), bindparam("b_other")))
    return select(CHANNEL.c.id, CHANNEL.c.kind, CHANNEL.c.player, CHANNEL.c.events).where(named, *working())


def wanting_values(notices: Sequence[NewNotice]) -> dict[str, str]:
    """Returns the parameters of `wanting`; the notices are for at most two players."""
    players = {each.player for each in notices}
    assert 1 <= len(players) <= 2
    return {"b_player": min(players), "b_other": max(players)}


def add_notices(connection: Connection, notices: Sequence[NewNotice]) -> None:
    """Writes notices, which are for at most two players, for each of their channels that works and wants the event.

    The caller's transaction holds the game, so that nobody else writes notices of it.
    """
    if notices and (found := connection.execute(wanting(), wanting_values(notices)).all()):
        rows = outbox_rows(notices, found)
        if rows:
            connection.execute(writing(connection.dialect.name), rows)


def outbox_rows(notices: Iterable[NewNotice], channels: Iterable[Row]) -> list[dict[str, Any]]:  # Any: column values
    """Returns the rows of notices for those of the `channels`, rows of `wanting`, that want the event."""
    return [
        outbox_row(each.game, each.seq, each.event, channel, kind, each.not_before)
        for each in notices
        for channel, kind, player, events in channels
        if player == each.player and f" {each.event} " in events
    ]


def outbox_row(game: str, seq: int, event: str, channel: str, kind: str, not_before: str) -> dict[str, Any]:
    """Returns the row of a notice to a channel."""
    return {
        "game": game,
        "seq": seq,
        "event": event,
        "channel": channel,
        "kind": kind,
        "due": not_before,
        "not_before": not_before,
        "tries": 0,
    }


def writing(dialect: str) -> Insert:
    """Returns the statement that writes a row of the outbox, in place of an earlier one with its key."""
    # Each dialect loads all its drivers.
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql as own
    else:
        from sqlalchemy.dialects import sqlite as own  # type: ignore[no-redef] # one of the two
    upsert = own.insert(OUTBOX)
    renewed = {name: upsert.excluded[name] for name in RENEWED}
    return upsert.on_conflict_do_update(index_elements=KEY, set_=renewed)


# --- what is sent -----------------------------------------------------------------------------------------------------


def next_notice() -> Select[tuple[str]]:
    """Returns the statement for when the first notice to channels of a kind is to be sent."""
    of_kind = select(OUTBOX.c.not_before).where(OUTBOX.c.kind == bindparam("b_kind"))
    return of_kind.order_by(OUTBOX.c.not_before).limit(literal_column("1")).offset(literal_column("0"))


def due_channels() -> Select[Any]:
    """Returns the statement that finds the channels of a kind to which something is to be sent now."""
    oldest = func.min(OUTBOX.c.not_before)
    none: ColumnElement[str] = literal_column("''")
    place = (func.coalesce(CHANNEL.c[name], none) for name in ("player", "target"))
    found = (
        select(OUTBOX.c.channel, OUTBOX.c.kind, *place)
        .select_from(OUTBOX.outerjoin(CHANNEL, CHANNEL.c.id == OUTBOX.c.channel))
        .where(OUTBOX.c.kind == bindparam("b_kind"), OUTBOX.c.not_before <= bindparam("b_now"))
        .group_by(OUTBOX.c.channel, OUTBOX.c.kind, CHANNEL.c.player, CHANNEL.c.target)
    )
    return (
        found.order_by(oldest, OUTBOX.c.channel).limit(bindparam("b_limit", type_=Integer)).offset(literal_column("0"))
    )


def lease_notices(
    connection: Connection, kinds: Collection[str], now: str, until: str, most: int, of: Collection[str] | None
) -> tuple[LeasedNotice, ...]:
    """Leases notices: see `NoticeStore.lease_notices`."""
    leased: list[LeasedNotice] = []
    # One kind after the other, so that each look is one range of the index.
    for kind in kinds:
        found = select(OUTBOX).where(OUTBOX.c.kind == kind, OUTBOX.c.not_before <= now)
        if of is not None:
            found = found.where(OUTBOX.c.channel.in_(of))
        leased += _lease(connection, found, until, most - len(leased))
    return tuple(leased)


def lease_channel(connection: Connection, channel: str, now: str, until: str, most: int) -> tuple[LeasedNotice, ...]:
    """Leases notices of one channel: see `NoticeStore.lease_channel`."""
    found = select(OUTBOX).where(OUTBOX.c.channel == channel, OUTBOX.c.not_before <= now)
    return tuple(_lease(connection, found, until, most))


def _lease(connection: Connection, found: Select[Any], until: str, most: int) -> list[LeasedNotice]:
    # On PostgreSQL two processes that look at once get different rows. On SQLite one writes at a time.
    found = found.order_by(OUTBOX.c.not_before).limit(most).with_for_update(skip_locked=True)
    leased = [
        LeasedNotice(row.game, row.seq, row.event, row.channel, row.due, until, row.tries + 1)
        for row in connection.execute(found)
    ]
    for each in leased:
        connection.execute(update(OUTBOX).where(*_key(each)).values(not_before=until, tries=each.tries))
    return leased


def delete_notice(connection: Connection, leased: LeasedNotice, *, sent: bool) -> bool:
    """Deletes a notice: see `NoticeStore.delete_notice`."""
    if sent:
        failed = (CHANNEL.c.id == leased.channel, CHANNEL.c.failures > 0)
        connection.execute(update(CHANNEL).where(*failed).values(failures=0))
    return connection.execute(delete(OUTBOX).where(*_as_leased(leased))).rowcount == 1


def put_off_notice(connection: Connection, leased: LeasedNotice, not_before: str, *, anew: bool, tried: bool) -> bool:
    """Gives a lease back: see `NoticeStore.put_off_notice`."""
    values: dict[str, Any] = {"not_before": not_before, "tries": leased.tries - (not tried)}  # Any: column values
    if anew:
        values.update(due=not_before, tries=0)
    return connection.execute(update(OUTBOX).where(*_as_leased(leased)).values(values)).rowcount == 1


def give_up_notice(connection: Connection, leased: LeasedNotice, now: str, most: int) -> bool:
    """Gives a notice up: see `NoticeStore.give_up_notice`."""
    place = select(CHANNEL.c.player, CHANNEL.c.failures, CHANNEL.c.off).where(CHANNEL.c.id == leased.channel)
    found = connection.execute(place.with_for_update()).first()
    if connection.execute(delete(OUTBOX).where(*_as_leased(leased))).rowcount != 1 or found is None:
        return False
    player, failures, off = found
    if off is not None:
        return False
    turned_off = bool(failures + 1 >= most)
    values = {"failures": failures + 1, "off": now if turned_off else None}
    connection.execute(update(CHANNEL).where(CHANNEL.c.id == leased.channel).values(values))
    if turned_off:
        connection.execute(delete(OUTBOX).where(OUTBOX.c.channel == leased.channel))
        add_notices(connection, [NewNotice(leased.game, leased.seq, "failing", player, now)])
    return turned_off


def any_stray_notice() -> Select[tuple[int]]:
    """Returns the statement that finds a row if there is a notice to a channel that was removed."""
    found: Select[tuple[int]] = select(literal_column("1")).select_from(OUTBOX).where(_stray())
    return found.limit(literal_column("1")).offset(literal_column("0"))


def remove_stray_notices(connection: Connection) -> int:
    """Deletes the notices to channels that were removed."""
    return connection.execute(delete(OUTBOX).where(_stray())).rowcount


def _stray() -> ColumnElement[bool]:
    # An append may see a channel that is being removed, and write a notice after the others are deleted.
    return ~exists().where(CHANNEL.c.id == OUTBOX.c.channel)


def _key(leased: LeasedNotice) -> tuple[ColumnElement[bool], ...]:
    return tuple(OUTBOX.c[name] == getattr(leased, name) for name in KEY)


def _as_leased(leased: LeasedNotice) -> tuple[ColumnElement[bool], ...]:
    return (*_key(leased), OUTBOX.c.not_before == leased.until, OUTBOX.c.tries == leased.tries)
