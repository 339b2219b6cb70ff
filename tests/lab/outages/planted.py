"""Faults to plant in the service; the judgement has to find each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final
from unittest.mock import patch

from hkoji_server.service.time import service_time
from hkoji_server.service.time.service_time import ServiceTime
from hkoji_server.store import game_statements, outages
from hkoji_server.store.contract import Store
from hkoji_server.store.sqlite import store
from hkoji_server.store.sqlite import store as sqlite_store
from hkoji_server.store.time_contract import StaleDecisionError

from hkoji.game.clock import Outage, Way, format_time, parse_time
from tests.support.timed_laboratory import PlantedFault


def _any_age() -> None:
    """A decision of any age is written."""
    from hkoji_server.store.postgres import statements

    for module in (store, sqlite_store, game_statements, statements):
        patch.object(module, "latest", lambda _: datetime(9000, 1, 1, tzinfo=UTC)).start()


def _recorded_without_lock() -> None:
    """The newest entry is looked up before the transaction that records the outage, and nothing is locked."""

    async def close_gap(self: Any, way: Way, beat: str | None, now: str) -> Any:  # Any: the store
        ((newest,),) = await self._rows("SELECT max(updated) FROM game", {})
        begin = format_time(parse_time(max(beat or "", newest or "", "2000-01-01T00:00:00Z")) + 1)

        def work(connection: Any) -> Any:
            if outages._last_beat(connection, way) != beat:
                raise StaleDecisionError
            outage = Outage(begin, now, way)
            if beat is None or begin >= now:
                outage = None  # type: ignore[assignment] # nothing to record
            else:
                outages._record(connection, outage)
            if beat is None or beat < now:
                outages._set_beat(connection, way, beat, now)
            return outage

        return await self._transaction(work)

    patch.object(Store, "close_gap", close_gap).start()


def _begins_after_the_beat() -> None:
    """An outage begins after the time that was noted last, whatever was taken since then."""
    patch.object(outages, "_newest_time", lambda _connection, _way, known: known).start()


def _nothing_drained() -> None:
    """A head has the time now, whatever is still being written."""

    async def drained(self: Any) -> str:  # Any: the service's time
        now: str = await self.now()
        return now

    patch.object(ServiceTime, "drained", drained).start()


def _clock_trusted() -> None:
    """The time that the clock shows is always true."""
    patch.object(service_time, "JUMP", float("inf")).start()
    patch.object(service_time, "BEFORE_BEAT", 10**7).start()
    patch.object(ServiceTime, "_compare", lambda *_: None).start()


PLANTED: Final[dict[str, PlantedFault]] = {
    "decisions of any age are written": PlantedFault(
        _any_age, "one waits long before an append", "contradicts the head"
    ),
    "outages are recorded without the lock": PlantedFault(
        _recorded_without_lock,
        "one stops before its commit, and the other before that",
        "lies in the outage",
        only_on_postgres=True,  # a file has one writer
    ),
    "outages begin after the last beat": PlantedFault(_begins_after_the_beat, "both stand still", "lies in the outage"),
    "heads wait for nothing": PlantedFault(
        _nothing_drained, "one waits long before its commit", "contradicts the head"
    ),
    "the clock is trusted": PlantedFault(
        _clock_trusted,
        "a clock goes wrong by an hour",
        "contradicts the head",
        only_on_postgres=True,  # the processes of a file have one clock
    ),
}
