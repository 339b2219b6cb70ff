"""`--offline`, and what `show`, `next`, `games` and `log` do when the service does not answer.

They print what is kept here and say how old it is. If that was not asked for, the exit code is still that of a service
that cannot be reached, so that no script takes an old answer for a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from hkoji.cli.games.time_text import local_time
from hkoji.cli.output import CommandOutput
from hkoji.errors import HkojiError, LoginError, NetworkError, NotFoundError
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.kept_game import KeptGame, UnsentEntry

_Answer = TypeVar("_Answer")


def ask_or_keep(
    out: CommandOutput,
    ask: Callable[[], _Answer],
    show: Callable[[_Answer], None],
    show_kept: Callable[[], Sequence[KeptGame]],
    *,
    offline: bool,
) -> None:
    """Shows what `ask` gets from the service; with `offline`, or if the service is down, what is kept here.

    `show_kept` prints that, and returns what it has printed. Raises `NetworkError`, after printing, if the service was
    asked and is down.
    """
    if offline:
        say_age(out, show_kept())
        return
    try:
        answer = ask()
    except HkojiError as error:
        down = _down(error)
        if down is None:
            raise
        try:
            kept = show_kept()
        except (NotFoundError, LoginError):  # nothing is kept
            raise down from error
        say_age(out, kept)
        raise down from error
    show(answer)


def _down(error: HkojiError) -> NetworkError | None:
    """Returns the error of a service that is down, if `error` means that."""
    from hkoji.client.kept_game import service_is_down

    if isinstance(error, NetworkError):
        return error
    if not service_is_down(error):
        return None
    return NetworkError(tell("the service"), error.message, hint=error.hint)


def say_age(out: CommandOutput, kept: Sequence[KeptGame]) -> None:
    """Says how old what was printed is, and what is signed and not sent. JSON says it by itself."""
    if out.json:
        return
    times = [each.as_of for each in kept if each.as_of]
    if len(kept) == 1 and times:
        out.say(
            tell(
                "This is your saved copy, from {as_of}. Its last entry, {seq}, was recorded at {recorded}.",
                as_of=local_time(times[0], seconds=True),
                seq=kept[0].position.course.seq,
                recorded=local_time(kept[0].recorded, seconds=True),
            )
        )
    elif times:
        out.say(
            tell(
                "These are your saved copies, from {as_of} or later.",
                as_of=local_time(min(times), seconds=True),
            )
        )
    else:
        out.say(tell("This is your saved copy."))
    for game in kept:
        for entry in game.unsent:
            _say_unsent(out, game, entry)


def _say_unsent(out: CommandOutput, game: KeptGame, entry: UnsentEntry) -> None:
    what = entry.action or entry.kind
    if entry.waits:
        out.say(
            tell(
                "Game {game}: your entry {seq}, {what}, is signed and not confirmed. The next command that reaches the "
                "service sends the same bytes.",
                game=game.position.short,
                seq=entry.seq,
                what=what,
            )
        )
    else:
        out.say(
            tell(
                "Game {game}: you have signed an entry {seq}, {what}, that is not on record here.",
                game=game.position.short,
                seq=entry.seq,
                what=what,
            )
        )
