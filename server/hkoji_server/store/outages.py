"""Beats and outages.

docs/spec/log.md, "Outages". Where a function says that nothing may be appended meanwhile, the caller's transaction
excludes all others that append, add a game or keep a statement, and each of its statements sees what was committed
before the transaction excluded them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    ScalarSelect,
    bindparam,
    exists,
    func,
    insert,
    literal_column,
    select,
    update,
)

from hkoji import __version__
from hkoji.errors import IllegalError, UsageError
from hkoji.game.clock import Outage, Way, came_by, format_time, parse_time
from hkoji.log.line import parse_entry
from hkoji.messages.text import tell
from hkoji_server.store.mail_tables import INCOMING
from hkoji_server.store.sql_steps import Row, SqlSteps, transaction, within
from hkoji_server.store.tables import BEAT, ENTRY, GAME, OUTAGE
from hkoji_server.store.time_contract import Beat, StaleDecisionError

_AT: Final = '{"at":"'
"""How the text of a receipt begins; then the time follows."""
_TIME: Final = len("2026-01-01T00:00:00Z")
_PAGE: Final = 500
"""How many rows are read together."""
EVERY_OUTAGE: Final = select(OUTAGE.c["from"], OUTAGE.c.until, OUTAGE.c.way).order_by(OUTAGE.c.until, OUTAGE.c.way)
"""Reads all outages, in the order in which they ended."""
_BEAT: Final = select(BEAT.c.at).where(BEAT.c.way == bindparam("b_way"))


def read_outage(row: Row) -> Outage:
    """Returns the outage of a row of `EVERY_OUTAGE`."""
    return Outage(row[0], row[1], Way(row[2]))


def outage_number() -> ScalarSelect[int]:
    """Returns the expression for how many outages are recorded."""
    return select(func.coalesce(func.max(OUTAGE.c.number), literal_column("0"))).scalar_subquery()


def no_more_outages() -> ColumnElement[bool]:
    """Returns the condition that there are no more outages than were decided with: one look into the index.

    Those of both ways count, since an append depends on both: its own T must lie in no outage of the way on
    which it came, and its credits and its deadlines are those of the ways that are open to the seats.
    """
    return ~exists().where(OUTAGE.c.number > bindparam("b_outages", type_=Integer))


class OutageStore(SqlSteps):
    """The area of the store that is about beats and outages. `BeatStore` documents the methods that it has too."""

    @abstractmethod
    async def drained(self) -> None: ...

    @abstractmethod
    async def clock(self) -> str | None: ...

    @abstractmethod
    def _own_clock(self, connection: Connection) -> str | None:
        """Returns the time of the database; None if it has no clock of its own."""

    @transaction
    def beat(self, connection: Connection, way: Way, at: str) -> Beat:
        before = _last_beat(connection, way)
        if before is None or before < at:
            _set_beat(connection, way, before, at)
        return Beat(max(before or at, at), self._own_clock(connection))

    async def last_beat(self, way: Way) -> str | None:
        rows = await self._read(_BEAT, b_way=way)
        return rows[0][0] if rows else None

    async def outages(self) -> tuple[Outage, ...]:
        return tuple(map(read_outage, await self._read(EVERY_OUTAGE)))

    @within("_alone")
    def close_gap(self, connection: Connection, way: Way, beat: str | None, now: str) -> Outage | None:
        if _last_beat(connection, way) != beat:
            raise StaleDecisionError
        outage = None if beat is None else Outage(_begin_of_gap(connection, way, beat), now, way)
        if outage is not None and outage.begin < outage.until:
            _record(connection, outage)
        else:
            outage = None
        if beat is None or beat < now:
            _set_beat(connection, way, beat, now)
        return outage

    async def add_outage(self, outage: Outage, now: str) -> None:
        """Records an outage that the operator states. Appends wait meanwhile.

        Changes nothing if it raises: `UsageError` for an outage that is empty or ends after `now`, `IllegalError` if
        the T of an entry that came the same way lies within it, or it touches another outage of that way.
        """
        begin, until, way = outage
        if begin >= until:
            raise UsageError(tell("the outage must end after it begins"), hint=tell("nothing was recorded"))
        if until > now:
            raise UsageError(
                tell("the outage must have ended; {until} is in the future", until=until),
                hint=tell("nothing was recorded"),
            )

        def work(connection: Connection) -> None:
            touching = select(OUTAGE.c["from"], OUTAGE.c.until).where(
                OUTAGE.c.way == way, OUTAGE.c["from"] <= until, OUTAGE.c.until >= begin
            )
            if found := connection.execute(touching).first():
                raise IllegalError(
                    tell("it touches the outage from {begin} until {until}", begin=found[0], until=found[1]),
                    hint=tell(
                        "nothing was recorded; choose a time that ends before it begins, or begins after it ends"
                    ),
                )
            if (taken := _time_within(connection, outage)) is not None:
                raise IllegalError(
                    tell("the service took an entry that came by {way} within that time, at {at}", way=way, at=taken),
                    hint=tell("nothing was recorded; choose a time in which it took none"),
                )
            _record(connection, outage)

        await self._alone(work)


def _begin_of_gap(connection: Connection, way: Way, beat: str) -> str:
    """Returns the second after all of these: `beat`, the ends of outages of a way, and the T of what came that way.

    By mail, also the time at which the newest mail came, whatever has become of it. Nothing may be appended meanwhile.
    """
    ended: str | None = connection.execute(select(func.max(OUTAGE.c.until)).where(OUTAGE.c.way == way)).scalar()
    received: str | None = None
    if way is Way.MAIL:
        received = connection.execute(select(func.max(INCOMING.c.received))).scalar()
    return _second_after(_newest_time(connection, way, max(filter(None, (beat, ended, received)))))


def _newest_time(connection: Connection, way: Way, known: str) -> str:
    """Returns the newest of the time `known` and of the T of all entries that came that way."""
    return _last_time(connection, way, _second_after(known)) or known


def _time_within(connection: Connection, outage: Outage) -> str | None:
    """Returns the T of an entry that came the way of the outage, and lies within it; None if there is none.

    By mail, also the time at which a mail came.
    """
    if outage.way is Way.MAIL:
        within = INCOMING.c.received.between(outage.begin, outage.until), INCOMING.c.received < outage.until
        found: str | None = connection.execute(select(INCOMING.c.received).where(*within).limit(1)).scalar()
        if found is not None:
            return found
    return _last_time(connection, outage.way, outage.begin, outage.until)


def _last_time(connection: Connection, way: Way, begin: str, until: str | None = None) -> str | None:
    """Returns the newest T in [begin, until) of an entry that came that way; None if there is none.

    T is stored as the time of the receipt. It never decreases within a game: games that were last changed before
    `begin` have none after it.
    """
    time = func.substr(ENTRY.c.receipt, len(_AT) + 1, _TIME)
    found = (
        select(time, ENTRY.c.text)
        .join(GAME, GAME.c.game == ENTRY.c.game)
        .where(GAME.c.updated >= begin, time >= begin)
        .order_by(time.desc())
    )
    if until is not None:
        found = found.where(time < until)
    with connection.execute(found, execution_options={"yield_per": _PAGE}) as rows:
        return next((at for at, text in rows if came_by(parse_entry(text)) is way), None)


def _record(connection: Connection, outage: Outage) -> None:
    number = connection.execute(select(outage_number())).scalar_one() + 1
    row = {"way": outage.way, "from": outage.begin, "until": outage.until, "number": number}
    connection.execute(insert(OUTAGE).values(row))


def _last_beat(connection: Connection, way: Way) -> str | None:
    # The row stays locked: no other process notes a time between this look and the change.
    noted: str | None = connection.execute(select(BEAT.c.at).where(BEAT.c.way == way).with_for_update()).scalar()
    return noted


def _set_beat(connection: Connection, way: Way, before: str | None, at: str) -> None:
    if before is None:
        connection.execute(insert(BEAT).values(way=way, at=at, version=__version__))
    else:
        connection.execute(update(BEAT).where(BEAT.c.way == way).values(at=at, version=__version__))


def _second_after(time: str) -> str:
    return format_time(parse_time(time) + 1)
