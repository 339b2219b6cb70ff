"""Faults to plant in the service; the judgement has to find each."""

from __future__ import annotations

from typing import Any, Final
from unittest.mock import patch

from hkoji_server.service.games.keeper import Keeper
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.store.contract import Store
from hkoji_server.store.sqlite import store

from hkoji import referee
from hkoji.errors import TimeOverError
from hkoji.game.clock import format_time, parse_time
from tests.support.timed_laboratory import PlantedFault


def _no_deadline_compared() -> None:
    """Compare-and-swap looks at the head only, and so overlooks a gift that was kept meanwhile."""
    from hkoji_server.store.postgres import statements

    unfair = store.ADVANCE.replace(" AND game.deadline IS :b_deadline", "")
    assert unfair != store.ADVANCE, store.ADVANCE
    patch.object(store, "ADVANCE", unfair).start()
    compared = " AND game.deadline IS NOT DISTINCT FROM %(b_deadline)s::VARCHAR"
    made = statements._appends

    def appends(**parts: bool) -> str:
        statement = made(**parts)
        assert compared in statement, statement
        return statement.replace(compared, "")

    patch.object(statements, "_appends", appends).start()


def _gifts_move_nothing() -> None:
    """A gift does not move the deadline of its game, and the keeper does not look at gifts."""
    add, read, end = Store.add_statement, LoadedGames.read, Keeper._end

    async def add_statement(self: Any, new: Any, **given: Any) -> bool:  # Any: as in the original, here and below
        return await add(self, new, **{**given, "after": given["deadline"]})

    async def read_less(self: Any, game: str) -> Any:
        return (await read(self, game))._replace(statements=())

    async def end_early(self: Any, *given: Any) -> bool:
        with patch.object(LoadedGames, "read", read_less):
            return await end(self, *given)

    patch.object(Store, "add_statement", add_statement).start()
    patch.object(Keeper, "_end", end_early).start()


def _three_seconds_early() -> None:
    """The deadline of each game is three seconds early."""
    real = referee.deadline

    def deadline(refereed: Any, **given: Any) -> str | None:
        due = real(refereed, **given)
        return due if due is None or refereed.course.joinable else format_time(parse_time(due) - 3)

    patch.object(referee, "deadline", deadline).start()


def _late_is_taken() -> None:
    """An entry is taken at any time."""
    real = referee._verify_in_time

    def verify(*given: Any) -> Any:
        try:
            return real(*given)
        except TimeOverError:
            return None

    patch.object(referee, "_verify_in_time", verify).start()


def _gift_not_kept() -> None:
    """A gift is acknowledged, and not kept."""

    async def add_statement(*_: Any, **__: Any) -> bool:
        return True

    patch.object(Store, "add_statement", add_statement).start()


PLANTED: Final[dict[str, PlantedFault]] = {
    "the store does not compare deadlines": PlantedFault(_no_deadline_compared, "gifts", "is not 1 s after"),
    "gifts do not move the deadline": PlantedFault(_gifts_move_nothing, "gifts", "is not 1 s after"),
    "timeouts come early": PlantedFault(_three_seconds_early, "nobody moves", "the deadline of the log"),
    "late entries are taken": PlantedFault(_late_is_taken, "late moves", "is late"),
    "gifts are acknowledged and not kept": PlantedFault(_gift_not_kept, "gifts", "is not 1 s after|was credited 0 s"),
}
