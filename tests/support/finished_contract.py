"""The tests of the list of finished games that every store must pass. docs/spec/http.md, "Finished games"."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import pytest
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.games.views import GameViews
from hkoji_server.service.time.service_time import APART, ClockAndEntropy, ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Append
from hkoji_server.store.time_contract import OLDEST, StaleDecisionError

from hkoji.errors import ClockError
from hkoji.log.private_key import PrivateKey
from tests.support.loops import run
from tests.support.service_in_process import Clock
from tests.support.table import Table
from tests.support.time_contract import MOMENT, Clocked
from tests.support.times import log_time
from tests.support.waiting_contract import new_game, next_line

FAR: Final = int(APART) - 1
"""By how many seconds a trusted clock may be wrong."""
NO_OUTAGE: Final = 10**7
LONG: Final = 1000
GAMES: Final = 24
KEY: Final = PrivateKey.from_seed(bytes(32))


def ending(table: Table, at: str, status: str = "finished", **changes: Any) -> Append:  # Any: fields of the summary
    """The append that ends a game of one line at the time `at`."""
    made = next_line(table, 0, status=status, updated=at, reason="resign", winner=0, **changes)
    return replace(made, at=at)


def reader(store: Store, clock: Clock) -> GameViews:
    """The list as a process shows it that has this clock."""
    sources = ClockAndEntropy(clock, boot=clock.elapsed)
    time = ServiceTime(store, sources, outage_after=NO_OUTAGE)
    return GameViews(store, LoadedGames(store, 1), time, sources, KEY, cached=1)


class FinishedContract:
    """The promises of `Store.finished`, and of the list that is made of it."""

    def test_games_come_in_the_order_of_their_end_however_they_ended(self, clocked: Clocked) -> None:
        at = [log_time(MOMENT + timedelta(seconds=seconds)) for seconds in (3, 1, 2, 1, 1)]
        with clocked(MOMENT) as (store, _):
            tables = [new_game(store, seed) for seed in range(len(at) + 2)]
            for number, (table, time) in enumerate(zip(tables, at, strict=False)):
                run(store.append(ending(table, time, "cancelled" if number % 2 else "finished")))
            run(store.append(replace(next_line(tables[-1], 0), at=at[0])))  # one that goes on, and one that is not open
            ended = sorted((time, table.game) for time, table in zip(at, tables, strict=False))
            start, later = ("", ""), log_time(MOMENT + timedelta(seconds=9))
            found = run(store.finished(later, start, 50))
            assert [(each.ended, each.summary.game) for each in found] == ended
            assert [each.summary for each in found] == [run(store.summary(game)) for _, game in ended]
            for number, place in enumerate(ended):
                rest = run(store.finished(later, place, 2))
                assert [(each.ended, each.summary.game) for each in rest] == ended[number + 1 : number + 3]
            assert run(store.finished(at[1], start, 50)) == ()
            assert [each.ended for each in run(store.finished(at[2], start, 50))] == [at[1]] * 3

    def test_a_reader_who_goes_on_at_the_last_place_gets_every_game_once(self, clocked: Clocked) -> None:
        """The clocks of the processes may differ, and decisions may be written in any order."""
        rng, refused, moment = random.Random(11), 0, MOMENT
        with clocked(MOMENT) as (store, show):
            waiting = [new_game(store, number) for number in range(GAMES)]
            under_way: list[Append] = []
            readers = [(Clock(), wrong) for wrong in (FAR, -FAR)]
            lists = [reader(store, clock) for clock, _ in readers]
            seen: list[tuple[str, str]] = []
            place: str | None = None
            while waiting or under_way:
                step = rng.choice(("decide", "write", "pass", "read", "read"))
                if step == "decide" and waiting:
                    decided = moment + timedelta(seconds=rng.choice((-FAR, 0, FAR, rng.randint(-FAR, FAR))))
                    under_way.append(ending(waiting.pop(), log_time(decided)))
                elif step == "write" and under_way:
                    append = under_way.pop(rng.randrange(len(under_way)))
                    try:
                        run(store.append(append))
                    except StaleDecisionError:  # too old: it is decided anew
                        refused += 1
                        at = log_time(moment)
                        under_way.append(replace(append, at=at, summary=append.summary._replace(updated=at)))
                elif step == "pass":
                    moment += timedelta(seconds=rng.choice((1, 7, OLDEST - FAR, OLDEST - FAR - 1, 150)))
                    show(moment)
                elif step == "read":
                    place = self._read(lists, readers, moment, rng, seen, place)
            assert len(seen) > GAMES // 4  # while others ended
            moment += timedelta(seconds=LONG)
            show(moment)
            for _ in range(GAMES):
                place = self._read(lists, readers, moment, rng, seen, place)
            everything = run(store.finished("9", ("", ""), GAMES + 1))
            assert seen == [(each.ended, each.summary.game) for each in everything]
            assert len({game for _, game in seen}) == len(seen) == GAMES
        assert refused > 0

    @staticmethod
    def _read(
        lists: list[GameViews],
        readers: list[tuple[Clock, int]],
        moment: datetime,
        rng: random.Random,
        seen: list[tuple[str, str]],
        place: str | None,
    ) -> str | None:
        """Asks one of the processes for what comes after the last place, and adds it to `seen`."""
        number = rng.randrange(len(lists))
        clock, wrong = readers[number]
        clock.pass_by((moment + timedelta(seconds=wrong) - clock.now).total_seconds() + 2)
        clock.jump(-2)
        page = run(lists[number].finished(place, rng.choice((1, 3, 50))))
        seen += [(each.ended, each.summary.game) for each in page.games]
        assert all(each.ended < page.before for each in page.games)
        assert page.last == (f"{seen[-1][0]}~{seen[-1][1]}" if seen else None)
        return page.last

    def test_a_clock_that_cannot_be_trusted_lists_nothing(self, store: Store) -> None:
        clock = Clock()
        listed = reader(store, clock)
        with pytest.raises(ClockError):
            run(self._after_a_jump(store, listed, clock))

    @staticmethod
    async def _after_a_jump(store: Store, listed: GameViews, clock: Clock) -> None:
        now = await store.clock()
        if now is not None:
            clock.jump((datetime.fromisoformat(now) - clock.now).total_seconds())
        assert (await listed.finished(None, 50)).games == ()
        clock.jump(1000)
        clock.pass_by(2)
        await listed.finished(None, 50)
