"""Real clients and the real service agree with the model, in a sample of the state machine; planted bugs are found.

measure.py runs any number of steps and plants all bugs.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.lab.machine import (
    expected,
    handmade_entries,
    machine,
    naive_game,
    naive_log,
    naive_service,
    naive_statements,
    naive_time,
    operations,
    seen,
)
from tests.lab.machine.naive_game import NaiveGame
from tests.lab.machine.planted import PLANTED, PLANTED_IN_TIME
from tests.support import naive_geishas_road, naive_hanamikoji

TIMED = 16
"""The options of a game with a clock."""
Course = Callable[[machine.Machine, NaiveGame], None]
MODEL = (
    *(naive_log, naive_time, naive_game, naive_statements, naive_service, expected, seen),
    *(naive_hanamikoji, naive_geishas_road),
)
ALLOWED = {"__future__", "base64", "binascii", "collections", "copy", "cryptography", "dataclasses", "datetime"} | {
    "fractions", "hashlib", "hmac", "itertools", "json", "re", "struct", "typing", "urllib"
}  # fmt: skip


def sample(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def test_clients_and_service_do_what_the_model_says() -> None:
    operations.STEPS.clear()
    run_state_machine_as_test(machine.Machine, settings=sample(4))
    assert operations.STEPS["play"] > 0
    assert operations.STEPS.total() > 100


def begin(options: int = 0, moves: int = 0) -> tuple[machine.Machine, NaiveGame]:
    """A game of alice and bob after some moves, checked like any course of the machine."""
    made = machine.Machine()
    made.start(0, options, 0)
    (game,) = made.games
    made.sit_down(1, game)
    made.look_at(made.device(0), game)
    for _ in range(moves):
        made.step_on(0, 0)
    return made, game


def raw_sort(sort: str, choice: int = 0) -> Course:
    return lambda made, game: handmade_entries.submit(made.world, game, sort, choice)


def retry(made: machine.Machine, game: NaiveGame) -> None:
    made.world.pass_time(10, absent=False)
    handmade_entries.submit(made.world, game, "old entry", 1)


def lost_move(made: machine.Machine, game: NaiveGame) -> None:
    """The move's request is lost: the submission is the second of two requests."""
    made.device(0).fault = ("request", 1)
    made.step_on(0, 0)
    made.world.pass_time(10, absent=False)
    made.step_on(0, 0)


def invitation(made: machine.Machine, _: NaiveGame) -> None:
    made.start(0, 0, 5)
    made.list_of(made.device(1), waiting=True)


def old_login(made: machine.Machine, game: NaiveGame) -> None:
    token = made.device(0).home.token(made.device(0).client.server)
    made.world.pass_time(3600, absent=False)
    made.world.ask("GET", f"/v1/games/{game.game}/view", token=token)


def clock_back(made: machine.Machine, _: NaiveGame) -> None:
    made.world.pass_time(20, absent=False)
    made.step_on(0, 0)
    made.world.set_clock(-29)
    made.step_on(0, 0)


def resignation(made: machine.Machine, game: NaiveGame) -> None:
    made.quit(made.device(1), game, "resign")
    made.world.ask("GET", f"/v1/games/{game.game}")


def late_move(made: machine.Machine, game: NaiveGame) -> None:
    made.world.pass_until(game.deadline() or "", 60)
    made.step_on(0, 0)


def gift(made: machine.Machine, game: NaiveGame) -> None:
    assert game.actor is not None
    made.give_time(made.device_of(game.names[1 - game.actor] or "", 0), game, 500)
    made.step_on(0, 0)


def outage(made: machine.Machine, _: NaiveGame) -> None:
    made.world.pass_time(400, absent=True)
    made.step_on(0, 0)


def no_timeout_yet(made: machine.Machine, game: NaiveGame) -> None:
    made.world.pass_until(game.deadline() or "", 60)


def clock_set(made: machine.Machine, _: NaiveGame) -> None:
    made.world.set_clock(-40)
    made.step_on(0, 0)


@pytest.mark.parametrize(
    ("bug", "moves", "course"),
    [
        ("the service takes an entry that follows another head", 1, raw_sort("stale head")),
        ("the same entry again gets another receipt", 0, retry),
        ("an invitation is not among the games that wait", 0, invitation),
        ("anybody's resignation is taken", 1, raw_sort("foreign resignation", 1)),
        ("receipts go back in time with the clock", 0, clock_back),
        ("a login does not expire", 0, old_login),
        ("lists do not notice that a game has ended", 0, resignation),
        ("a salt may be used twice", 2, raw_sort("salt again")),
        ("a client signs a lost move anew", 0, lost_move),
        ("a client sends before it has kept", 0, lost_move),
        ("a late move is taken", 1, late_move),
        ("a gift is not written into the log", 1, gift),
        ("an outage moves no deadline", 1, outage),
        ("a timeout comes without slack", 1, no_timeout_yet),
        ("a clock that has jumped is trusted", 1, clock_set),
    ],
)
def test_a_planted_bug_is_found(bug: str, moves: int, course: Course) -> None:
    for planted in (False, True):
        made, game = begin(TIMED if bug in PLANTED_IN_TIME else 0, moves)
        try:
            if planted:
                with PLANTED[bug](), pytest.raises(AssertionError):
                    course(made, game)
            else:
                course(made, game)
        finally:
            made.world.close()
            shutil.rmtree(made.folder)


def test_a_game_offered_when_the_clock_went_back_into_an_outage_is_dated_after_it() -> None:
    made, _ = begin(TIMED, 1)
    try:
        made.world.pass_time(400, absent=True)
        made.world.beat()
        made.world.set_clock(-20)
        made.start(1, TIMED, 0)
        (outage,) = made.model.time.outages
        assert made.games[-1].created == outage["until"] > made.world.time()
    finally:
        made.world.close()
        shutil.rmtree(made.folder)


def test_the_model_shares_nothing_with_the_project() -> None:
    own = {module.__name__ for module in MODEL}
    for module in MODEL:
        assert module.__file__ is not None
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if isinstance(node, ast.Import):
                assert {name.name.partition(".")[0] for name in node.names} <= ALLOWED, module
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                source = str(node.module)
                inside = {f"{source}.{name.name}" for name in node.names} <= own or source in own
                assert inside or source.partition(".")[0] in ALLOWED, (module, source)
