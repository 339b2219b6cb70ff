"""`hkoji plans run` and `hkoji watch --plans`: make the moves that plans decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from hkoji.cli.exits import exit_code
from hkoji.cli.games.time_text import local_time
from hkoji.cli.language import _, translate
from hkoji.cli.output import CommandOutput, error_json
from hkoji.cli.settings import plays_only_move
from hkoji.client import Client
from hkoji.client.plans import USUAL_DELAY, Delay, PlanRun, PlanRunner, PlanThread, parse_delay, plan_ended
from hkoji.client.talk_messages import UnreadMessage
from hkoji.client.watching import WatchedEntry
from hkoji.errors import UsageError
from hkoji.messages.text import tell

_Happened: TypeAlias = WatchedEntry | UnreadMessage


def read_delay(text: str | None) -> Delay:
    """Returns the delay that the command line gives, or the usual one. Raises `UsageError`."""
    return USUAL_DELAY if text is None else parse_delay(text)


def run(client: Client, out: CommandOutput, delay: Delay) -> int:
    """Makes the moves that are due in all games, and returns the exit code: that of the first game that failed."""
    found = PlanRunner(client, only=plays_only_move(), delay=delay).run()

    def text() -> str:
        lines = [line for each in found for line in _lines(each)]
        return "\n".join(lines) if lines else _("No plan has anything to play now.")

    out.result({"games": [_json(each) for each in found]}, text)
    errors = [each.error for each in found if each.error is not None]
    return int(exit_code(errors[0])) if errors else 0


@contextmanager
def beside(
    client: Client, out: CommandOutput, *, plans: bool, delay: str | None
) -> Iterator[Callable[[Iterable[_Happened]], Iterable[_Happened]]]:
    """Runs plans during the block if `plans`. What it gives passes watched entries on, and has plans look at them."""
    if not plans:
        if delay is not None:
            raise UsageError(tell("--delay is for plans"), hint=tell("as in `hkoji watch --all --plans --delay 0`"))
        yield lambda happened: happened
        return
    other = client.another()
    runner = PlanRunner(other, only=plays_only_move(), delay=read_delay(delay))

    def told(found: PlanRun) -> None:
        for move in found.made:
            out.say(tell("game {game}: {line}", game=found.game[:8], line=_made_text(move.seq, move.action, move.line)))
        if found.ended is not None:
            out.say(plan_ended(found.game[:8], found.ended))

    try:
        with PlanThread(other, runner, told) as thread:

            def passed_on(happened: Iterable[_Happened]) -> Iterator[_Happened]:
                for each in happened:
                    if isinstance(each, WatchedEntry):
                        thread.notice(each.position.game)
                    yield each

            yield passed_on
    finally:
        other.close()


def _made_text(seq: int, action: str, line: int | None) -> str:
    if line is None:
        return tell("entry {seq} is made: {action}, the only legal move", seq=seq, action=action)
    return tell("entry {seq} is made: {action}, by line {line} of the plan", seq=seq, action=action, line=line)


def _lines(found: PlanRun) -> Iterator[str]:
    short = found.game[:8]
    for move in found.made:
        yield f"{short}  {translate(_made_text(move.seq, move.action, move.line))}"
    if found.ended is not None:
        yield f"{short}  {_('the plan has ended: {reason}', reason=translate(found.ended))}"
    if found.due is not None:
        yield f"{short}  {_('the next move is due at {time}', time=local_time(found.due))}"
    if found.error is not None:
        yield f"{short}  {translate(found.error.message)}"


def _json(found: PlanRun) -> dict[str, Any]:  # Any: JSON
    return {
        "game": found.game,
        "made": [move._asdict() for move in found.made],
        "due": found.due,
        "ended": found.ended,
        "error": None if found.error is None else error_json(found.error),
    }
