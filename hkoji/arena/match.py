"""Playing a match: its deals, the two games of each deal, and the decisions of bots that see only their seat's view.

A referee (`hkoji.arena.referees`) runs each game; the game is the same with any referee. Time is measured but decides
nothing, so games are the same on every machine.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import PurePath
from traceback import extract_tb
from typing import NamedTuple

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
