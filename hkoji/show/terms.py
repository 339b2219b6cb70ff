"""The agreement of two players beside the rules, in sentences: the clock, and whether the game is rated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce

from hkoji.game.agreement import DAY, Agreement, TimeControl, format_duration, format_time_control, rest_days
from hkoji.messages.text import Speaker, plural, tell


def length_text(seconds: int) -> str:
    """Returns a length of time as a message: `3 days`, `1 day 6 hours`."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, DAY // 3600)
    parts = (
        plural("{n} day", "{n} days", days) if days else "",
        plural("{n} hour", "{n} hours", hours) if hours else "",
        plural("{n} minute", "{n} minutes", minutes) if minutes else "",
        plural("{n} second", "{n} seconds", rest) if rest or not seconds else "",
    )
    return _joined(filter(None, parts))


def clock_sentence(control: TimeControl | None) -> str:
    """Returns a control as a message for people who type none: `3 days for each turn, and 14 days in reserve.`"""
    if control is None:
        return tell("No clock: nobody can lose on time.")
    move, bank, add, cap = map(length_text, (control.move, control.bank, control.add, control.cap))
    if control.move and control.bank:
        said = [tell("{move} for each turn, and {bank} in reserve.", move=move, bank=bank)]
    elif control.move:
        said = [tell("{move} for each turn.", move=move)]
    else:
        said = [tell("{bank} for the whole game.", bank=bank)]
    if control.add:
        said.append(tell("Each turn adds {add} to the reserve, up to {cap}.", add=add, cap=cap))
    if control.rest:
        days = rest_days(control)
        said.append(tell("These days do not count: {days} (time zone {zone}).", days=days, zone=control.zone))
    return _joined(said)


def _joined(parts: Iterable[str]) -> str:
    return reduce(lambda first, last: tell("{first} {last}", first=first, last=last), parts)


def clock_words(control: TimeControl | None) -> str:
    """Returns a control as a message: `3d/14d`, with its rest days; `none` for no clock."""
    if control is None or not control.rest:
        return format_time_control(control)
    return tell("{clock} without {days} at {zone}", clock=control.text, days=rest_days(control), zone=control.zone)


def terms_lines(agreement: Agreement, say: Speaker, *, typed: bool = True) -> list[str]:
    """Returns the clock that two players agree on, and whether the game is rated.

    The first line has the clock as it is `typed`, and what its numbers mean for each player, or the latter alone.
    """
    control = agreement.clock
    if not typed:
        lines = [say(clock_sentence(control))]
    elif control is None:
        lines = [say(tell("Clock: none. Nobody can lose on time."))]
    else:
        written = say(tell("Clock: {clock}.", clock=clock_words(control)))
        lines = [" ".join((written, *map(say, control_sentences(control))))]
    lines.append(say(tell("The game is rated.") if agreement.rated else tell("The game is not rated.")))
    return lines


def control_sentences(control: TimeControl, length: Callable[[int], str] = format_duration) -> Iterator[str]:
    """Yields what the numbers of a control mean for each player. `length` words a number of seconds."""
    move, bank = length(control.move), length(control.bank)
    if control.move and control.bank:
        yield tell(
            "Each player has {move} for each turn, and {bank} in reserve for the whole game.", move=move, bank=bank
        )
    elif control.move:
        yield tell("Each player has {move} for each turn.", move=move)
    else:
        yield tell("Each player has {bank} for the whole game.", bank=bank)
    if control.add:
        yield tell(
            "Each turn adds {add} to the reserve, up to {cap}.", add=length(control.add), cap=length(control.cap)
        )
