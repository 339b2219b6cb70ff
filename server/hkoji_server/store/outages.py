"""Beats and outages, as statements in an open transaction.

docs/spec/log.md, "Outages". Where a function says that nothing may be appended meanwhile, the caller's transaction
excludes all others that append, add a game or keep a statement, and each of its statements sees what was committed
before the transaction excluded them.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, func, insert, select, update

from hkoji import __version__
from hkoji.errors import IllegalError, UsageError
from hkoji.game.clock import Outage, Way, came_by, format_time, parse_time
from hkoji.log.entry import parse_entry
from hkoji.messages.text import tell
from hkoji_server.store.mail_tables import INCOMING
from hkoji_server.store.statements import outage_number
from hkoji_server.store.tables import BEAT, ENTRY, GAME, OUTAGE
from hkoji_server.store.time_contract import StaleDecisionError

_AT: Final = '{"at":"'
"""How the text of a receipt begins; then the time follows."""
_TIME: Final = len("2026-01-01T00:00:00Z")
_PAGE: Final = 500
"""How many rows are read together."""


def note_beat(connection: Connection, way: Way, at: str) -> str:
    """Notes the time `at` of a way unless a later one is noted. Returns the one that is noted then."""
    before = _last_beat(connection, way)
    if before is not None and before >= at:
        return before
    _set_beat(connection, way, before, at)
    return at


def close_gap(connection: Connection, way: Way, beat: str | None, now: str) -> Outage | None:
    """Records the outage from `beat` until `now`, while nothing may be appended: see `TimeStore.close_gap`."""
    if _last_beat(connection, way) != beat:
        raise StaleDecisionError
    outage = None
    if beat is not None:
        ended: str | None = connection.execute(select(func.max(OUTAGE.c.until)).where(OUTAGE.c.way == way)).scalar()
        known = max(filter(None, (beat, ended, _newest_received(connection, way))))
        outage = Outage(_second_after(_newest_time(connection, way, known)), now, way)
    if outage is not None and outage.begin < outage.until:
        _record(connection, outage)
    else:
        outage = None
    if beat is None or beat < now:
        _set_beat(connection, way, beat, now)
    return outage


def add_outage(connection: Connection, outage: Outage, now: str) -> None:
    """Records the operator's outage, while nothing may be appended: see `TimeStore.add_outage`."""
    begin, until, way = outage
    if begin >= until:
        raise UsageError(tell("the outage must end after it begins"), hint=tell("nothing was recorded"))
    if until > now:
        raise UsageError(
            tell("the outage must have ended; {until} is in the future", until=until), hint=tell("nothing was recorded")
        )
    touching = select(OUTAGE.c["from"], OUTAGE.c.until).where(
        OUTAGE.c.way == way, OUTAGE.c["from"] <= until, OUTAGE.c.until >= begin
    )
    if found := connection.execute(touching).first():
        raise IllegalError(
            tell("it touches the outage from {begin} until {until}", begin=found[0], until=found[1]),
            hint=tell("nothing was recorded; choose a time that ends before it begins, or begins after it ends"),
        )
    if (taken := _time_within(connection, outage)) is not None:
        raise IllegalError(
            tell("the service took an entry that came by {way} within that time, at {at}", way=way, at=taken),
            hint=tell("nothing was recorded; choose a time in which it took none"),
        )
    _record(connection, outage)


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


def _newest_received(connection: Connection, way: Way) -> str | None:
    """Returns when the newest mail came, whatever has become of it; for the other way None."""
    if way is not Way.MAIL:
        return None
    newest: str | None = connection.execute(select(func.max(INCOMING.c.received))).scalar()
    return newest


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
