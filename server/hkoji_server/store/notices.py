"""Notices: what tells a player that something has happened, as rows of the outbox.

A row is written in the same transaction as what has happened, and deleted when it has been sent. So a notice is sent
at least once.

- *A notice is written exactly if its entry, statement or message is.* It is written for each of the player's channels
  that works and wants the event, as they are in that transaction.
- *Only the holder of a lease sends a notice.* A lease is the time until which nobody else takes it. It ends by itself,
  so a process that dies with a lease only delays the notice.
- *What has changed meanwhile is not deleted.* A notice that was written anew after it was read or leased (a larger
  gift) is another one: with the time and the number of tries of the row that was read, nobody leases it, deletes it or
  puts it off.
- *A letter is written with its lease.* The lease of a letter, and all rows of the letter, are one transaction before
  the letter goes out (`LetterStore.lease_letter`).

The rows hold references and times, no cards and no texts. Times are texts of the log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Insert,
    Integer,
    Select,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal_column,
    select,
    update,
)

from hkoji_server.store.choices import working
from hkoji_server.store.game_values import NewNotice
from hkoji_server.store.sql_steps import Row, SqlSteps, holding, within
from hkoji_server.store.tables import CHANNEL, OUTBOX

KEY: Final = ("game", "seq", "event", "channel")
"""The key of the outbox."""
RENEWED: Final = ("kind", "due", "not_before", "tries")
"""The columns that a notice takes over that is written anew."""


class WaitingNotice(NamedTuple):
    """A row of the outbox, as it was read: it was to be sent at the time `due`, and was tried `tries` times before.

    A lease, and any other change of it, says which row was read, and changes nothing if the row is another one by now.
    """

    game: str
    seq: int
    event: str
    channel: str
    due: str
    not_before: str
    tries: int

    @property
    def tried(self) -> int:
        """How often it was tried, with this time."""
        return self.tries + 1


class LeasedNotice(WaitingNotice):
    """A row of the outbox that this process alone may send, until `not_before`. This is lease number `tries` of it."""

    __slots__ = ()

    @property
    def tried(self) -> int:
        return self.tries


class DueChannel(NamedTuple):
    """A channel to which a notice is to be sent now. Of one that was removed, player and target are empty."""

    channel: str
    kind: str
    player: str
    target: str


WANTING: Final = select(CHANNEL.c.id, CHANNEL.c.kind, CHANNEL.c.player, CHANNEL.c.events).where(
    CHANNEL.c.player.in_((bindparam("b_player"), bindparam("b_other"))), *working()
)
"""Finds the working channels of one or two players: one look into the index each."""
_NEXT: Final = (
    select(OUTBOX.c.not_before)
    .where(OUTBOX.c.kind == bindparam("b_kind"))
    .order_by(OUTBOX.c.not_before)
    .limit(literal_column("1"))
    .offset(literal_column("0"))
)


def _due_channels() -> Select[Any]:
    none: ColumnElement[str] = literal_column("''")
    place = (func.coalesce(CHANNEL.c[name], none) for name in ("player", "target"))
    found = (
        select(OUTBOX.c.channel, OUTBOX.c.kind, *place)
        .select_from(OUTBOX.outerjoin(CHANNEL, CHANNEL.c.id == OUTBOX.c.channel))
        .where(OUTBOX.c.kind == bindparam("b_kind"), OUTBOX.c.not_before <= bindparam("b_now"))
        .group_by(OUTBOX.c.channel, OUTBOX.c.kind, CHANNEL.c.player, CHANNEL.c.target)
        .order_by(func.min(OUTBOX.c.not_before), OUTBOX.c.channel)
    )
    return found.limit(bindparam("b_limit", type_=Integer)).offset(literal_column("0"))


_DUE_CHANNELS: Final = _due_channels()
_DUE: Final = (
    select(*(OUTBOX.c[name] for name in WaitingNotice._fields))
    .where(OUTBOX.c.channel == bindparam("b_channel"), OUTBOX.c.not_before <= bindparam("b_now"))
    .order_by(OUTBOX.c.not_before, OUTBOX.c.game, OUTBOX.c.seq)
    .limit(literal_column("1"))
    .offset(literal_column("0"))
)
# An append may see a channel that is being removed, and write a notice after the others are deleted.
_STRAY: Final = ~exists().where(CHANNEL.c.id == OUTBOX.c.channel)
_ANY_STRAY: Final[Select[Any]] = (
    select(literal_column("1")).select_from(OUTBOX).where(_STRAY).limit(literal_column("1")).offset(literal_column("0"))
)


class NoticeStore(SqlSteps):
    """The area of the store that is about notices."""

    async def next_notice(self, kinds: Collection[str]) -> str | None:
        """Returns when the first notice to channels of these kinds is to be sent; None if there is none."""
        found = [row for kind in kinds for row in await self._read(_NEXT, b_kind=kind)]
        return min(found)[0] if found else None

    async def due_channels(self, kinds: Collection[str], now: str, most: int) -> tuple[DueChannel, ...]:
        """Returns at most `most` channels of each kind to which something is to be sent by now.

        Those come first for which it has waited longest. Notices that another process holds do not count.
        """
        found: list[Row] = []
        for kind in kinds:
            found += await self._read(_DUE_CHANNELS, b_kind=kind, b_now=now, b_limit=most)
        return tuple(map(DueChannel._make, found))

    async def due_notice(self, channel: str, now: str) -> WaitingNotice | None:
        """Returns the notice to a channel that is to be sent by now and has waited longest; None if there is none."""
        return next(map(WaitingNotice._make, await self._read(_DUE, b_channel=channel, b_now=now)), None)

    @holding
    def lease_notice(self, connection: Connection, notice: WaitingNotice, until: str) -> LeasedNotice | None:
        """Leases a notice. Returns None if it is no longer as it was read: another process has it, or it is gone."""
        return lease(connection, notice, until)

    @holding
    def delete_notice(self, connection: Connection, notice: WaitingNotice, *, sent: bool) -> bool:
        """Deletes a notice. If it was `sent`, the failures of its channel are forgotten.

        Returns False if it is no longer as it was read or leased; then it stays.
        """
        if sent:
            failed = (CHANNEL.c.id == notice.channel, CHANNEL.c.failures > 0)
            connection.execute(update(CHANNEL).where(*failed).values(failures=0))
        return connection.execute(delete(OUTBOX).where(*_as_read(notice))).rowcount == 1

    async def put_off_notice(self, notice: WaitingNotice, not_before: str, *, anew: bool = False) -> bool:
        """Has a notice sent at that time or later; a lease of it ends. This time counts among its tries.

        With `anew` it counts as due only then, and as not tried before. Returns False, and changes nothing, if it is no
        longer as it was read or leased.
        """
        values: dict[str, Any] = {"not_before": not_before, "tries": notice.tried}  # Any: column values
        if anew:
            values.update(due=not_before, tries=0)
        put_off = update(OUTBOX).where(*_as_read(notice)).values(values)
        return await self._change(put_off) == 1

    async def hold_back(self, channel: str, now: str, not_before: str) -> None:
        """Has all notices to a channel that are to be sent by now sent at that time or later."""
        due = (OUTBOX.c.channel == channel, OUTBOX.c.not_before <= now)
        await self._change(update(OUTBOX).where(*due).values(not_before=not_before))

    @within("_holding", wakes=True)
    def give_up_notice(self, connection: Connection, notice: WaitingNotice, now: str, most: int) -> bool:
        """Deletes a notice that could not be sent, and counts a failure of its channel.

        After `most` failures in a row the channel is off: what was to be sent to it is deleted, and a notice of the
        event `failing` for each other channel of its player that wants it is written, at the same game and number.
        Returns whether the channel has been turned off by this. If the notice is no longer as it was read or leased, it
        stays.
        """
        place = select(CHANNEL.c.player, CHANNEL.c.failures, CHANNEL.c.off).where(CHANNEL.c.id == notice.channel)
        found = connection.execute(place.with_for_update()).first()
        if connection.execute(delete(OUTBOX).where(*_as_read(notice))).rowcount != 1 or found is None:
            return False
        player, failures, off = found
        if off is not None:
            return False
        turned_off = bool(failures + 1 >= most)
        values = {"failures": failures + 1, "off": now if turned_off else None}
        connection.execute(update(CHANNEL).where(CHANNEL.c.id == notice.channel).values(values))
        if turned_off:
            connection.execute(delete(OUTBOX).where(OUTBOX.c.channel == notice.channel))
            add_notices(connection, [NewNotice(notice.game, notice.seq, "failing", player, now)])
        return turned_off

    async def remove_stray_notices(self) -> int:
        """Deletes the notices to channels that were removed. Returns how many there were."""
        # Nearly always there is none, and a read disturbs no writer.
        if not await self._read(_ANY_STRAY):
            return 0
        return await self._change(delete(OUTBOX).where(_STRAY))


# --- what is written with an entry, a statement or a message ----------------------------------------------------------


def wanting_values(notices: Sequence[NewNotice]) -> dict[str, str]:
    """Returns the parameters of `WANTING`; the notices are for at most two players."""
    players = {each.player for each in notices}
    assert 1 <= len(players) <= 2
    return {"b_player": min(players), "b_other": max(players)}


def add_notices(connection: Connection, notices: Sequence[NewNotice]) -> None:
    """Writes notices, which are for at most two players, for each of their channels that works and wants the event.

    The caller's transaction holds the game, so that nobody else writes notices of it.
    """
    if notices and (found := connection.execute(WANTING, wanting_values(notices)).all()):
        rows = outbox_rows(notices, found)
        if rows:
            connection.execute(writing(connection.dialect.name), rows)


def outbox_rows(notices: Iterable[NewNotice], channels: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Returns the rows of notices for those of the `channels`, rows of `WANTING`, that want the event."""
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
    return upsert.on_conflict_do_update(index_elements=KEY, set_=renewal(dict(upsert.excluded)))


def renewal(written: Mapping[str, ColumnElement[Any]]) -> dict[str, ColumnElement[Any]]:
    """Returns what a row of the outbox becomes that is `written` anew: one that nobody has read before.

    It counts as tried once if it would be the same otherwise, because both times are in one second.
    """
    zero: ColumnElement[int] = literal_column("0")
    same = (OUTBOX.c.not_before == written["not_before"]) & (OUTBOX.c.tries == zero)
    tries = case((same, literal_column("1")), else_=zero)
    return {**{name: written[name] for name in RENEWED}, "tries": tries}


def lease(connection: Connection, notice: WaitingNotice, until: str) -> LeasedNotice | None:
    """Leases a notice: see `NoticeStore.lease_notice`."""
    leased = LeasedNotice(*notice)._replace(not_before=until, tries=notice.tried)
    taken = update(OUTBOX).where(*_as_read(notice)).values(not_before=until, tries=leased.tries)
    return leased if connection.execute(taken).rowcount == 1 else None


def _as_read(notice: WaitingNotice) -> tuple[ColumnElement[bool], ...]:
    return tuple(OUTBOX.c[name] == getattr(notice, name) for name in (*KEY, "not_before", "tries"))
