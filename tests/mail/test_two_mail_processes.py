"""Two mail processes on one database: whatever they do at the same time, an order is done once and a letter is one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from hkoji_server.store.contract import Store
from hkoji_server.store.postgres.connections import LostError
from hkoji_server.store.tables import GAME, OFFER
from psycopg import OperationalError
from sqlalchemy import Connection, create_engine, func, select
from sqlalchemy.exc import DBAPIError

from hkoji.game.agreement import DAY
from tests.support.mail.list_world import ListWorld, list_world, unread
from tests.support.mail.mail_hosts import mail_host
from tests.support.mail.mail_table import MailTable, mail

NEW = "new hanamikoji friend{number} friend{number}@example.com"


class InterruptedStore:
    """The calls of a store; before the call of a number from 0 something else is done, by another process."""

    def __init__(self, store: Store, before: int, other: Callable[[], Awaitable[object]]) -> None:
        self.calls = 0
        self._before, self._other = before, other
        for name in dir(Store):
            if not name.startswith("_"):
                call = getattr(store, name)
                setattr(self, name, self._interrupted(call) if iscoroutinefunction(call) else call)

    def _interrupted(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def interrupted(*given: Any, **named: Any) -> Any:  # Any: whatever the call takes and returns
            number, self.calls = self.calls, self.calls + 1
            if number == self._before:
                await self._other()
            return await call(*given, **named)

        return interrupted


def games_and_offers(world: ListWorld) -> tuple[int, int]:
    """How many games there are, unopened ones too, and how many offers count."""
    location = world.service.database or f"sqlite:///{world.service.data / 'hkoji.sqlite3'}"
    engine = create_engine(location.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with engine.connect() as connection:
            counts = (
                connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (GAME, OFFER)
            )
            return cast("tuple[int, int]", tuple(counts))
    finally:
        engine.dispose()


def test_a_new_game_is_made_once_wherever_another_process_takes_the_mail_too(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world, world.beside() as other:
        bob, commands = mail_host(world)
        real, point = world.store, 0
        while True:
            before = games_and_offers(world)[0]
            world.processes = False
            bob.write(commands, "a game", NEW.format(number=point))
            mail = world.taken[-1]
            interrupted = InterruptedStore(real, point, partial(other.parts.orders.process, mail))
            world.restart(cast("Store", interrupted))
            world.run(world.parts.orders.process(mail))
            world.restart(real)
            assert json.loads(world.incoming().result)["answer"] == "on record", (point, world.incoming().result)
            games, offers = games_and_offers(world)
            assert games == before + 1, point
            assert offers == 1, point
            assert sorted(world.deliver(61)) == ["answer", "invited"], point
            (answer,) = unread(bob)
            world.processes = True
            bob.answer(answer, "cancel")
            world.deliver(61)
            unread(bob)
            if interrupted.calls <= point:
                break
            point += 2  # every other call is enough: those of one step are several
            world.clock.pass_by(DAY)  # invitations and offers of the day before no longer count
        assert point > 10


def test_a_new_game_is_made_once_by_processes_on_a_postgresql(tmp_path: Path, postgres: str) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example", database=postgres) as world, world.beside() as other:
        bob, commands = mail_host(world)
        world.processes = False
        for number in range(1, 4):
            bob.write(commands, "a game", NEW.format(number=number))
            mail = world.taken[-1]

            async def both(mail: int = mail) -> None:
                await asyncio.gather(*(each.parts.orders.process(mail) for each in (world, other)))

            world.run(both())
            assert json.loads(world.incoming().result)["answer"] == "on record"
            assert games_and_offers(world) == (number, number)


def test_an_order_is_done_once_though_the_connection_is_lost_at_the_commit(tmp_path: Path, postgres: str) -> None:
    """Nobody knows then whether it was written, and the process goes on."""
    commit, losing = Connection.commit, list[bool]()

    def lost(connection: Connection) -> None:
        commit(connection)
        if losing:
            losing.clear()
            connection.invalidate()
            raise DBAPIError("COMMIT", None, OperationalError("lost"), connection_invalidated=True)

    with list_world(tmp_path / "data", mail="play@hkoji.example", database=postgres) as world:
        table = MailTable(world)
        world.processes = False
        for lines in (("show",), (table.line, "lang it")):
            before = table.head()[0]
            world.take(mail("bob@example.org", table.to, *lines, number=len(world.taken)), table.to)
            with patch.object(Connection, "commit", lost):
                losing.append(True)
                with suppress(LostError):
                    world.process()
                assert losing == []
            assert world.process() == []
            assert table.head()[0] == before + len(lines) - 1
            assert len(table.answers()) == 1
        assert world.box("bob").lang == "it"
        assert len(world.run(world.store.evidence(table.game, "bob"))) == 2
