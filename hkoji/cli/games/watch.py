"""`hkoji watch`: prints a line for each entry of games as it arrives."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from hkoji.cli.games import plan_runs
from hkoji.cli.games.news import message_line, note_end, noting, tell_news
from hkoji.cli.games.time_text import local_time, until_text
from hkoji.cli.games.watch_commands import WatchCommands
from hkoji.cli.language import _
from hkoji.cli.output import CommandOutput
from hkoji.cli.step_text import step_text
from hkoji.client import Client, watching
from hkoji.client.news import Untold
from hkoji.client.talk_messages import UnreadMessage
from hkoji.client.watching import WatchedEntry
from hkoji.errors import UsageError
from hkoji.game.result_text import closing_body, lapse_json
from hkoji.messages.text import tell
from hkoji.rules.events import DECISIONS

if TYPE_CHECKING:
    from hkoji.client.kept_game import GameTime

_MINUTES: Final = len("2026-11-20 12:00")


def watch(
    client: Client,
    out: CommandOutput,
    game: str | None,
    after: int | None,
    *,
    all_: bool,
    commands: WatchCommands = WatchCommands(),  # noqa: B008 # it does not change
    plans: bool = False,
    delay: str | None = None,
) -> None:
    """Watches a game until it is over, or all games of the player until interrupted.

    `commands` says what else is done at each entry. With `plans` the player's plans are run as well, after a `delay`.
    """
    if out.keep:
        raise UsageError(tell("watch does not work in a batch"), hint=tell("run it on its own"))
    if (game is None) is not all_:
        raise UsageError(tell("give a game, or --all"), hint=tell("as in `hkoji watch 2714`"))
    if plans and not all_:
        raise UsageError(tell("--plans is for all games"), hint=tell("as in `hkoji watch --all --plans`"))
    if game is None:
        if after is not None:
            raise UsageError(tell("--after is for one game"), hint=tell("as in `hkoji watch 2714 --after 7`"))
        tell_news(client, out, _print)
        happened: Generator[WatchedEntry | UnreadMessage, None, None] = watching.watch_all(client)
    else:
        happened = watching.watch_game(client, client.find(game), after)
    with plan_runs.beside(client, out, plans=plans, delay=delay) as passed_on, closing(happened):
        _tell(client, out, passed_on(happened), commands)


def _tell(
    client: Client, out: CommandOutput, happened: Iterable[WatchedEntry | UnreadMessage], commands: WatchCommands
) -> None:
    for each in happened:
        if isinstance(each, UnreadMessage):
            _tell_message(client, out, each, commands)
            continue
        position = each.position
        time = client.kept_game(position.game).time if each.seq == position.course.seq else None
        if out.json:
            out.line(happened_json(each, time))
        else:
            _print(happened_text(each, out, time))
        sys.stdout.flush()
        if each.step.course.finished and position.seat is not None:
            note_end(client, out, position)
        commands.run(each, happened_json(each, time), out.say)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def message_json(message: UnreadMessage) -> dict[str, Any]:  # Any: JSON
    """Returns a new message, for programs. docs/json.md."""
    return {"game": message.game, "kind": "talk", "number": message.number, "by": message.name}


def _tell_message(client: Client, out: CommandOutput, message: UnreadMessage, commands: WatchCommands) -> None:
    """Tells that the opponent has written."""
    if out.json:
        out.line(message_json(message))
        sys.stdout.flush()
    else:
        _print(message_line(message))
        with noting(out):
            client.news.tell(Untold((message,)))
    commands.show(message_line(message), message.game, out.say)


def happened_json(happened: WatchedEntry, time: GameTime | None = None) -> dict[str, Any]:  # Any: JSON
    """Returns an entry that has arrived, for programs. `time` is that of the last entry. docs/json.md."""
    step, seat = happened.step, happened.position.seat
    course = step.course
    action = next((event.action for event in step.events if isinstance(event, DECISIONS)), None)
    outcome = course.outcome if course.finished else None
    return {
        "game": course.setup.game,
        "seq": happened.seq,
        "head": step.entry.head,
        "at": step.entry.at,
        "by": step.entry.by,
        "kind": step.entry.kind,
        "action": action,
        "status": course.status,
        "to_move": course.to_move,
        "mine": happened.mine,
        "seat": seat,
        "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
        "lapse": lapse_json(step.body),
        "clock": time.to_json() if time else None,
    }


def happened_text(happened: WatchedEntry, out: CommandOutput, time: GameTime | None = None) -> str:
    """Returns an entry that has arrived, in one line; of the last entry with the time until the next is due."""
    step, position = happened.step, happened.position
    closed = closing_body(each.body for each in position.replay.steps) if step.course.finished else None
    at = local_time(step.entry.at)[:_MINUTES]
    told = f"{position.short}  {happened.seq:>3}  {at}  {step_text(step, closed=closed)}"
    if happened.mine and happened.seq == position.course.seq:
        told += "  " + out.style.paint(_("your turn"), "bold")
    deadline = time.reading.deadline if time else None
    if time is None or deadline is None:
        return told
    if time.overdue:
        return f"{told}  {_('overdue since {time}', time=local_time(deadline))}"
    return f"{told}  {_('until {time} ({left})', time=local_time(deadline), left=until_text(time))}"
