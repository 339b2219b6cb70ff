"""The agreement of two players beside the rules, in sentences: the clock, and whether the game is rated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hkoji.game.agreement import Agreement, TimeControl, format_duration, format_time_control, rest_days
from hkoji.messages.text import Speaker, tell


def clock_words(control: TimeControl | None) -> str:
    """Returns a control as a message: `3d/14d`, with its rest days; `none` for no clock."""
    if control is None or not control.rest:
        return format_time_control(control)
    return tell("{clock} without {days} at {zone}", clock=control.text, days=rest_days(control), zone=control.zone)


def terms_lines(agreement: Agreement, say: Speaker) -> list[str]:
    """Returns the clock that two players agree on, and whether the game is rated.

    The first line has the clock as it is typed, and what its numbers mean for each player.
    """
    control = agreement.clock
    if control is None:
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
