"""Beats and outages, as statements in an open transaction.

docs/spec/log.md, "Outages". Where a function says that nothing may be appended meanwhile, the caller's transaction
excludes all others that append, add a game or keep a statement, and each of its statements sees what was committed
before the transaction excluded them.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, func, insert, select, update

from hkoji.errors import IllegalError, UsageError
from hkoji.game.clock import Outage, format_time, parse_time
from hkoji.messages.text import tell
from hkoji_server.store.statements import outage_number
from hkoji_server.store.tables import BEAT, ENTRY, GAME, OUTAGE
from hkoji_server.store.time_contract import StaleDecisionError

_AT: Final = '{"at":"'
"""How the text of a receipt begins; then the time follows."""
_TIME: Final = len("2026-01-01T00:00:00Z")


def note_beat(connection: Connection, at: str) -> str:
    """Notes the time `at` unless a later one is noted. Returns the one that is noted then."""
    before = _last_beat(connection)
    if before is not None and before >= at:
        return before
    _set_beat(connection, before, at)
    return at


def close_gap(connection: Connection, beat: str | None, now: str) -> Outage | None:
    """Records the outage from `beat` until `now`, while nothing may be appended: see `TimeStore.close_gap`."""
    if _last_beat(connection) != beat:
        raise StaleDecisionError
    outage = None
    if beat is not None:
        times = (connection.execute(select(func.max(each))).scalar() for each in (GAME.c.updated, OUTAGE.c.until))
        newest = max((beat, *(time for time in times if time is not None)))
        outage = Outage(_second_after(newest), now)
    if outage is not None and outage.begin < outage.until:
        _record(connection, outage)
    else:
        outage = None
    if beat is None or beat < now:
        _set_beat(connection, beat, now)
    return outage


def add_outage(connection: Connection, outage: Outage, now: str) -> None:
    """Records the operator's outage, while nothing may be appended: see `TimeStore.add_outage`."""
    begin, until = outage
    if begin >= until:
        raise UsageError(tell("the outage must end after it begins"), hint=tell("nothing was recorded"))
    if until > now:
        raise UsageError(
            tell("the outage must have ended; {until} is in the future", until=until), hint=tell("nothing was recorded")
        )
    touching = select(OUTAGE.c["from"], OUTAGE.c.until).where(OUTAGE.c["from"] <= until, OUTAGE.c.until >= begin)
    if found := connection.execute(touching).first():
        raise IllegalError(
            tell("it touches the outage from {begin} until {until}", begin=found[0], until=found[1]),
            hint=tell("nothing was recorded; choose a time that ends before it begins, or begins after it ends"),
        )
    if (taken := _time_within(connection, outage)) is not None:
        raise IllegalError(
            tell("the service took an entry within that time, at {at}", at=taken),
            hint=tell("nothing was recorded; choose a time in which it took none"),
        )
    _record(connection, outage)


def _time_within(connection: Connection, outage: Outage) -> str | None:
    """Returns a T that lies within the outage: the time of a receipt, which is how an entry's T is stored."""
    begin, until = outage
    time = func.substr(ENTRY.c.receipt, len(_AT) + 1, _TIME)
    of_game = select(time).where(ENTRY.c.game == GAME.c.game, time >= begin, time < until).limit(1)
    # T never decreases within a game: games that were last changed before the outage have none within it.
    found = select(of_game.scalar_subquery().label("at")).where(GAME.c.updated >= begin).subquery()
    within: str | None = connection.execute(select(found.c.at).where(found.c.at.is_not(None)).limit(1)).scalar()
    return within


def _record(connection: Connection, outage: Outage) -> None:
    number = connection.execute(select(outage_number())).scalar_one() + 1
    connection.execute(insert(OUTAGE).values({"number": number, "from": outage.begin, "until": outage.until}))


def _last_beat(connection: Connection) -> str | None:
    # The row stays locked: no other process notes a time between this look and the change.
    noted: str | None = connection.execute(select(BEAT.c.at).with_for_update()).scalar()
    return noted


def _set_beat(connection: Connection, before: str | None, at: str) -> None:
    if before is None:
        connection.execute(insert(BEAT).values(id=1, at=at))
    else:
        connection.execute(update(BEAT).values(at=at))


def _second_after(time: str) -> str:
    return format_time(parse_time(time) + 1)
