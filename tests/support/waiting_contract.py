"""The tests of waiting that every store must pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Append, GamePlace, GameSummary, Hint, NewGame
from hkoji_server.store.talk import NewMessage

from hkoji.errors import ConflictError
from tests.support.loops import run
from tests.support.table import AT, Table
from tests.support.times import now

PATIENCE = 120.0
"""Seconds within which an expected hint must arrive: generous, for a busy machine."""


def new_game(store: Store, seed: int, **changes: Any) -> Table:  # Any: fields of the summary by name
    """A game whose first line is in the store."""
    table = Table(seed=seed).begin().play(4)
    summary = _summary(table, 0)._replace(**changes)
    run(store.add_game(NewGame(summary, table.lines[0], "5e" * 32, "alice", now(), outages=0)))
    return table


def next_line(table: Table, seq: int, **changes: Any) -> Append:  # Any: fields of the summary by name
    """The append of the line after entry number `seq`."""
    made = _summary(table, seq + 1)._replace(status="playing", host="alice", guest="bob")
    return Append(
        game=table.game,
        seq=seq,
        head=table.lines[seq].entry.head,
        lines=(table.lines[seq + 1],),
        openings=(),
        summary=made._replace(**changes),
        outline=True,
        at=now(),
        outages=0,
        deadline=None,
    )


def _summary(table: Table, seq: int) -> GameSummary:
    head = table.lines[seq].entry.head
    return GameSummary(table.game, "{}", "{}", "offered", None, None, None, seq, head, 0, None, None, AT, AT)


@contextmanager
def heard(store: Store) -> Iterator[tuple[list[Hint], Callable[[Callable[[Hint], bool]], Any]]]:
    """The hints of a store, and a coroutine that returns when a wanted hint has come. In a running loop."""
    hints: list[Hint] = []
    came = asyncio.Event()

    def notice(hint: Hint) -> None:
        hints.append(hint)
        came.set()

    async def until(wanted: Callable[[Hint], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not any(map(wanted, hints)):
                came.clear()
                await came.wait()

    stop = store.listen(notice)
    try:
        yield hints, until
    finally:
        stop()


class WaitingContract:
    """The promises of `hkoji_server.store.contract` about waiting."""

    def test_heads_are_those_of_the_games_that_there_are(self, store: Store) -> None:
        tables = [new_game(store, seed) for seed in range(3)]
        run(store.append(next_line(tables[1], 0)))
        asked = [table.game for table in tables]
        assert run(store.heads([*asked, "0" * 32])) == dict(zip(asked, (0, 1, 0), strict=True))
        assert run(store.heads(asked[1:2])) == {asked[1]: 1}
        assert run(store.heads([])) == {}
        many = [f"{number:032x}" for number in range(2000)]
        assert run(store.heads([*many, *asked])) == dict(zip(asked, (0, 1, 0), strict=True))

    def test_places_are_those_of_games_that_go_on_or_have_just_ended(self, store: Store) -> None:
        days = [f"2026-01-0{day}T00:00:00Z" for day in range(1, 9)]
        rows: list[dict[str, Any]] = [  # Any: fields by name
            {"status": "playing", "host": "alice", "guest": "bob"},
            {"status": "open", "host": "bob", "invite": "alice"},
            {"status": "finished", "host": "carol", "guest": "alice", "updated": days[3]},
            {"status": "finished", "host": "alice", "guest": "bob", "updated": days[2]},
            {"status": "finished", "host": "bob", "guest": "carol", "updated": days[6]},
            {"status": "open", "host": "carol"},
            {"status": "offered"},
            {"status": "cancelled", "host": "alice", "updated": days[3], "reason": "cancel"},
        ]
        games = [new_game(store, n, created=days[n], **row).game for n, row in enumerate(rows)]
        going, invited = GamePlace(0, AT, False), GamePlace(0, AT, False)

        def places(since: str, limit: int = 9, invitations: int = 9) -> dict[str, GamePlace]:
            return dict(run(store.places("alice", since, limit, invitations)))

        assert places("9999") == {games[0]: going, games[1]: invited}
        just = {games[0]: going, games[1]: invited, games[2]: GamePlace(0, days[3], True)}
        just[games[7]] = GamePlace(0, days[3], True)
        assert places(days[3]) == just
        assert places(days[2]) == {**just, games[3]: GamePlace(0, days[2], True)}
        assert places(days[3], 1) == {games[0]: going, games[1]: invited}
        assert places(days[3], 2, 0) == {games[0]: going, games[7]: GamePlace(0, days[3], True)}
        assert dict(run(store.places("dave", days[0], 9, 9))) == {}

    def test_an_append_is_hinted_at_once_it_is_there_and_a_refused_one_is_not(self, store: Store) -> None:
        one, two = new_game(store, 1), new_game(store, 2)

        async def work() -> list[Hint]:
            with heard(store) as (hints, until):
                with pytest.raises(ConflictError):
                    await store.append(replace(next_line(two, 0), head="00" * 32))
                await store.append(next_line(one, 0, invite="carol"))
                await until(lambda hint: hint.game == one.game)
                assert (await store.heads([one.game]))[one.game] == 1
            await store.append(next_line(one, 1))
            return hints

        hints = run(work())
        named = [hint for hint in hints if hint.game is not None]
        assert [(hint.game, set(hint.players)) for hint in named] == [(one.game, {"alice", "bob", "carol"})]

    def test_a_sender_of_notices_is_woken_by_one_of_another_process(
        self, opened: Callable[[], AbstractContextManager[Store]], store: Store
    ) -> None:
        game = new_game(store, 1).game

        async def work(other: Store) -> None:
            with heard(store) as (hints, until):
                hints.clear()
                await other.add_message(NewMessage(game, "alice", "bob", "hello", "sig", AT), AT)
                await until(lambda hint: hint.waits)

        with opened() as other:
            run(work(other))

    def test_writes_of_another_process_are_hinted_at(
        self, opened: Callable[[], AbstractContextManager[Store]], store: Store
    ) -> None:
        ours, theirs = new_game(store, 1), new_game(store, 2)

        async def work(other: Store) -> None:
            with heard(store) as (hints, until):
                for seq in range(3):  # with and without our own writes just before
                    if seq:
                        await store.append(next_line(ours, seq - 1))
                    hints.clear()
                    await other.append(next_line(theirs, seq))
                    await until(lambda hint: hint.anywhere or hint.game == theirs.game)
                # A listener that stops does not keep others from hearing.
                with heard(store) as (_, until_too):
                    await other.append(next_line(theirs, 3))
                    await until_too(lambda hint: hint.anywhere or hint.game == theirs.game)

        with opened() as other:
            run(work(other))
