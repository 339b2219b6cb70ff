"""Remarks beside a game: news of the player's games, and how old a saved copy is.

News are told once, in one line with the command that shows more: `next`, `games`, `show`, `wait` and `watch` tell them.
With `--offline`, or if the service does not answer, `show`, `next`, `games` and `log` print what is kept here, and say
how old it is. If that was not asked for, the exit code is still that of a service that cannot be reached, so that no
script takes an old answer for a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from hkoji.cli.games.game_words import local_time
from hkoji.cli.language import _, _n, translate
from hkoji.cli.output import client, out
from hkoji.errors import HkojiError, LoginError, NetworkError, NotFoundError
from hkoji.game.result_text import closing_body, course_result, own_result_text, unplayed_text
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client import Position
    from hkoji.client.kept_game import KeptGame, UnsentEntry
    from hkoji.client.news import UnreadMessage, Untold


_MOST_ENDED: Final = 10
"""How many games that are over are told in a line each."""


def tell_news(say: Callable[[str], None] | None = None) -> None:
    """Tells a player what is new in all their games, as remarks or by `say`, and notes that it was told."""
    if out.json or out.keep:
        return
    with noting():
        untold = client().news.untold()
        for line in news_lines(untold, client().identity.name):
            (say or out.say)(line)
        client().news.tell(untold)


def tell_game_news(position: Position) -> None:
    """Tells a player what is new in a game that is shown, and notes that it was told."""
    if out.json or out.keep:
        return
    from hkoji.client.news import Untold

    with noting():
        message = client().news.unread(position.game) if position.seat is not None else None
        if message is not None:
            out.say(message_line(message))
            client().news.tell(Untold((message,)))
    if position.over:
        note_end(position)


def note_end(position: Position) -> None:
    """Notes that a player sees now that a game is over."""
    if not (out.json or out.keep):
        with noting():
            client().news.tell_end(position.game)


@contextmanager
def noting() -> Iterator[None]:
    """Says what went wrong with a note of what was told. The command itself has succeeded."""
    try:
        yield
    except HkojiError as error:
        out.say(error.message)


def news_lines(untold: Untold, me: str) -> list[str]:
    """Returns news in a line each."""
    lines = [message_line(each) for each in untold.messages]
    lines += [_end_line(each.position, me) for each in untold.ended[:_MOST_ENDED]]
    more = len(untold.ended) - _MOST_ENDED
    if more > 0:
        text = _n("{n} more game is over: {command}", "{n} more games are over: {command}", more,
                  command="hkoji games --status finished")  # fmt: skip
        lines.append(text)
    return lines


def message_line(message: UnreadMessage) -> str:
    """Returns that somebody has written."""
    command = f"hkoji talk {message.game[:8]}"
    return _(
        "{name} has written to you in game {game}: {command}", name=message.name, game=message.game[:8], command=command
    )


def _end_line(position: Position, me: str) -> str:
    """Returns how a game has ended."""
    course, command = position.course, f"hkoji show {position.short}"
    closed, names = closing_body(step.body for step in position.replay.steps), course.setup.names
    unplayed, outcome = unplayed_text(course, closed, me), course.outcome
    if unplayed is not None:
        return _(
            "Game {game}: {what} See it: {command}", game=position.short, what=translate(unplayed), command=command
        )
    assert outcome is not None
    result = course_result(course, closed)
    if outcome.winner is not None:
        result = own_result_text(outcome, course.setup.ruleset.reasons, won=names[outcome.winner] == me)
    other = next((name for name in names if name not in (None, me)), "")
    return _(
        "Game {game} against {name} is over: {result}. See it: {command}",
        game=position.short,
        name=other,
        result=translate(result),
        command=command,
    )


_Answer = TypeVar("_Answer")


def ask_or_keep(
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
        say_age(show_kept())
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
        say_age(kept)
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


def say_age(kept: Sequence[KeptGame]) -> None:
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
            _say_unsent(game, entry)


def _say_unsent(game: KeptGame, entry: UnsentEntry) -> None:
    about = {"game": game.position.short, "seq": entry.seq, "what": entry.action or entry.kind}
    if entry.waits:
        out.say(
            tell(
                "Game {game}: your entry {seq}, {what}, is signed and not confirmed. The next command that reaches the "
                "service sends the same bytes.",
                **about,
            )
        )
    else:
        out.say(tell("Game {game}: you have signed an entry {seq}, {what}, that is not on record here.", **about))
