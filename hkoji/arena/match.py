"""Playing a match: its deals, the two games of each deal, and the decisions of bots that see only their seat's view.

A referee (`hkoji.arena.referees`) runs each game; the game is the same with any referee. Time is measured but decides
nothing, so games are the same on every machine.

A pool of processes plays the deals; with one job, this process plays them itself. The games are the same with any
number of processes; they come in any order, identified by their deal's number. Each worker has a pipe and always one
more deal waiting. A worker ignores the interrupt of a terminal, which the parent handles; when the parent stops
listening, for whatever reason, its workers end. Workers are spawned, not forked, so that every bot gets a fresh
interpreter on every system.
"""

from __future__ import annotations

import signal
import sys
import threading
from array import array
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import PurePath
from time import perf_counter
from traceback import extract_tb
from types import FrameType
from typing import Final, NamedTuple, NoReturn

from hkoji.arena.plan import TABLES, MatchPlan, seated
from hkoji.arena.referees import LoggingReferee, MatchReferee, RulesReferee
from hkoji.bots.protocol import Bot, Watcher
from hkoji.bots.registry import make_bot
from hkoji.errors import BotError, HkojiError, SeatedBotError
from hkoji.messages.text import tell
from hkoji.rules.events import SEATS, Draw, Event, Seat
from hkoji.rules.transcript import format_rounds

Clock = Callable[[], float]
"""A monotonic clock, in seconds."""


class MatchGame(NamedTuple):
    """The facts of one game for the figures. Bots are 0 and 1, as in the plan."""

    deal: int
    table: str
    winner: int | None
    """None for a shared win."""
    reason: str
    starter: int
    """The bot that had the first turn."""
    rounds: int
    moves: tuple[int, int]
    """The number of decisions that each bot made."""


class PlayedGame(NamedTuple):
    """A deal, played at both tables."""

    games: tuple[MatchGame, MatchGame]
    times: tuple[array[float], array[float]]
    """The time of each decision in milliseconds, by bot."""
    logs: tuple[str, ...] = ()
    """The signed logs of both games, if requested."""


def play_deal(plan: MatchPlan, number: int, clock: Clock, *, keep: bool = False) -> PlayedGame:
    """Plays a deal at both tables; `keep` also makes the signed logs. Raises `SeatedBotError`."""
    terms, seed = plan.deal(number)
    times: tuple[array[float], array[float]] = (array("f"), array("f"))
    games: list[MatchGame] = []
    scribes = [LoggingReferee(plan, number, table) for table in TABLES] if keep else []
    for index, table in enumerate(TABLES):
        referee: MatchReferee
        if keep:
            referee = scribes[index]
        else:
            dealer = terms.dealer("", plan.ruleset, seed, (None, None))
            assert dealer is not None
            referee = RulesReferee(plan.ruleset, dealer)
        games.append(_play(plan, number, table, referee, times, clock))
    # The logs may reveal the deal's seed only now, after the games at both tables have ended.
    return PlayedGame((games[0], games[1]), times, tuple(scribe.unseal() for scribe in scribes))


def _play(
    plan: MatchPlan,
    number: int,
    table: str,
    referee: MatchReferee,
    times: tuple[array[float], array[float]],
    clock: Clock,
) -> MatchGame:
    watchers = (Watcher(plan.ruleset, 0), Watcher(plan.ruleset, 1))
    moves = [0, 0]
    with ExitStack() as stack:
        bots: list[Bot] = []
        for seat in SEATS:
            bots.append(_seat(plan, number, table, seat, stack))
        happened = referee.begin()
        starter = _first_turn(happened)
        while True:
            for watcher in watchers:
                watcher.watch(happened)
            state = referee.state
            actor = state.actor
            if actor is None:
                break
            bot = seated(table, actor)
            try:
                start = clock()
                action = bots[actor].decide(watchers[actor].seen)
                times[bot].append(1000 * (clock() - start))
                happened = _decide(referee, action)
            except Exception as error:
                raise _failed(plan, number, table, watchers[actor], error) from error
            moves[bot] += 1
            if starter is None:
                starter = _first_turn(happened)
    outcome = state.outcome
    assert outcome is not None
    assert starter is not None
    winner = None if outcome.winner is None else seated(table, outcome.winner)
    return MatchGame(number, table, winner, outcome.reason, seated(table, starter), state.round, (moves[0], moves[1]))


def _seat(plan: MatchPlan, number: int, table: str, seat: Seat, stack: ExitStack) -> Bot:
    index = seated(table, seat)
    try:
        bot = make_bot(plan.bots[index], plan.bot_seed(number, table, index))
    except HkojiError as error:
        raise _failed(plan, number, table, Watcher(plan.ruleset, seat), error) from error
    stack.callback(bot.close)
    return bot


def _decide(referee: MatchReferee, action: object) -> tuple[Event, ...]:
    if not isinstance(action, str):
        raise TypeError(f"a decision is text, not {type(action).__name__}")
    return referee.decide(action)


def _first_turn(events: tuple[Event, ...]) -> Seat | None:
    return next((event.seat for event in events if isinstance(event, Draw)), None)


def _failed(plan: MatchPlan, number: int, table: str, watcher: Watcher, error: Exception) -> SeatedBotError:
    """Makes the error that says which bot failed, where and how, and shows the game as it saw it."""
    seen = watcher.seen
    if isinstance(error, BotError):
        reason = error.reason
    elif isinstance(error, HkojiError):
        reason = error.message
    else:
        last = extract_tb(error.__traceback__)[-1]
        reason = tell(
            "{name}: {reason} ({file}, line {line})",
            name=type(error).__name__,
            reason=error,
            file=PurePath(last.filename).name,
            line=last.lineno,
        )
    return SeatedBotError(
        plan.labels[seated(table, seen.seat)],
        reason,
        deal=number,
        table=table,
        seat=seen.seat,
        position=tuple(format_rounds(plan.ruleset, seen.events)),
    )


AHEAD: Final = 2
"""The number of deals that a worker has received but not yet played, including the current one."""

FAREWELL: Final = 5.0
"""The time that a worker has to end its bots' programs, in seconds."""


def play(plan: MatchPlan, *, jobs: int = 1, keep: bool = False) -> Generator[PlayedGame]:
    """Plays all deals of `plan`, in no particular order if `jobs` is more than 1.

    Raises `SeatedBotError` if a bot fails, and `HkojiError` if a process dies. Closing the generator ends all
    processes.
    """
    numbers = range(1, plan.deals + 1)
    if min(jobs, plan.deals) <= 1:
        return (play_deal(plan, number, perf_counter, keep=keep) for number in numbers)
    return _spread(plan, iter(numbers), min(jobs, plan.deals), keep)


def _spread(plan: MatchPlan, numbers: Iterator[int], jobs: int, keep: bool) -> Generator[PlayedGame]:
    workers: dict[Connection, BaseProcess] = {}
    waiting: dict[Connection, int] = {}
    try:
        with _uninterrupted():
            for _ in range(jobs):
                pipe, process = _start(plan, keep)
                workers[pipe], waiting[pipe] = process, 0
        for pipe in AHEAD * list(workers):
            _give(pipe, numbers, waiting)
        while any(waiting.values()):
            for ready in wait([pipe for pipe, count in waiting.items() if count]):
                assert isinstance(ready, Connection)
                pipe = ready
                answer = _receive(pipe)
                waiting[pipe] -= 1
                if isinstance(answer, SeatedBotError):
                    raise answer
                _give(pipe, numbers, waiting)
                yield answer
    finally:
        # All are terminated before any is joined, so that they close their bots at the same time.
        for process in workers.values():
            process.terminate()
        for pipe, process in workers.items():
            process.join(FAREWELL)
            process.kill()
            process.join()
            pipe.close()


def _start(plan: MatchPlan, keep: bool) -> tuple[Connection, BaseProcess]:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, plan, keep), daemon=True)
    process.start()
    # With a copy left open here, a worker's death would not end the pipe, and `_receive` would wait for ever.
    theirs.close()
    return ours, process


def _give(pipe: Connection, numbers: Iterator[int], waiting: dict[Connection, int]) -> None:
    number = next(numbers, None)
    if number is None:
        return
    try:
        pipe.send(number)
    except OSError as error:
        raise _died() from error
    waiting[pipe] += 1


def _receive(pipe: Connection) -> PlayedGame | SeatedBotError:
    try:
        answer: PlayedGame | SeatedBotError = pipe.recv()
    except (EOFError, OSError) as error:
        raise _died() from error
    return answer


def _died() -> HkojiError:
    return HkojiError(
        tell("a process of the match has died"), hint=tell("with --jobs 1 everything runs in this process")
    )


def _work(pipe: Connection, plan: MatchPlan, keep: bool) -> None:
    """Runs a worker until the parent closes its end of the pipe."""
    signal.signal(signal.SIGTERM, _leave)
    while True:
        try:
            number = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(play_deal(plan, number, perf_counter, keep=keep))
        except SeatedBotError as error:
            pipe.send(error)
        except BrokenPipeError:
            return


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Exits through `SystemExit`, so that a worker closes its bots before it ends."""
    sys.exit(0)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignores interrupts within a `with` block. Processes that are started there keep ignoring them."""
    # Only the main thread may set signal handlers.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
