"""`hkoji clock`, `give` and `annul`: the time of a game, a gift of time, and calling the game off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hkoji.cli.games.game_words import agreement_lines, annul_lines, length, local_time, silent_lines, time_sentence
from hkoji.cli.games.told import ask_or_keep
from hkoji.cli.language import _, translate
from hkoji.cli.output import client, out
from hkoji.client import Position
from hkoji.errors import UsageError
from hkoji.game.agreement import format_duration, parse_duration
from hkoji.game.entry_kinds.time import credited_seconds
from hkoji.game.result_text import closing_body, course_result
from hkoji.log.game_statements import MAX_GIFT_SECONDS
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.kept_game import GameTime, KeptGame


def clock(game: str, *, offline: bool = False) -> None:
    """Shows what is agreed about time, and how it stands."""

    def ask() -> tuple[Position, GameTime]:
        with client().game(client().find(game)) as held:
            return held.look()

    def show(found: tuple[Position, GameTime]) -> None:
        position, time = found
        out.result(lambda: time_json(position, time), lambda: time_text(position, time))

    def show_kept() -> list[KeptGame]:
        kept = client().kept_game(client().find(game, offline=True))
        position, time = kept.position, kept.time
        out.result(lambda: {**time_json(position, time), **kept.age}, lambda: time_text(position, time))
        return [kept]

    ask_or_keep(ask, show, show_kept, offline=offline)


def give(game: str, duration: str) -> None:
    """Gives the opponent time for the entry that is due."""
    seconds = parse_duration(duration)
    if seconds > MAX_GIFT_SECONDS:
        raise UsageError(
            tell("a gift of time is at most {most}", most=format_duration(MAX_GIFT_SECONDS)),
            hint=tell("nothing was sent; you can give more in a later turn"),
        )
    with client().game(client().find(game)) as held:
        held.current()
        time = held.time.give(seconds)
        position = held.stored()
    name = position.course.setup.names[1 - (position.seat or 0)]
    counts = max((gift.seconds for gift in time.gifts), default=seconds)

    def text() -> str:
        said = _("You have given {name} {time} for this turn.", name=name, time=format_duration(max(counts, seconds)))
        if counts > seconds:
            said += " " + _("That was an earlier gift; it is larger, so it is the one that counts.")
        return f"{said}\n{_sentence(position, time)}"

    out.result(lambda: {**time_json(position, time), "given": seconds}, text)


def annul(game: str, *, withdraw: bool) -> None:
    """Wishes to call a game off, or with `withdraw` takes the wish back."""
    with client().game(client().find(game)) as held:
        held.unsettled()  # the opponent's request is about the last entry; entropy after it would make it void
        time = held.time.withdraw() if withdraw else held.time.annul()
        position = held.stored()
    course = position.course
    name = course.setup.names[1 - (position.seat or 0)]

    def text() -> str:
        if course.finished:
            return _("The game is over: {result}.", result=translate(_result(position)))
        if withdraw:
            return _(
                "The service was asked to forget your request. It could still use your signature until the next move."
            )
        if position.seat is not None and course.setup.held(1 - position.seat):
            return _(
                "You have asked to call game {game} off. It ends without a winner if, before the next move, {name} "
                "answers the letter about it with: call off",
                game=position.short,
                name=name,
            )
        return _(
            "You have asked to call game {game} off. It ends without a winner if, before the next move, {name} runs: "
            "hkoji annul {game}",
            game=position.short,
            name=name,
        )

    out.result(lambda: {**time_json(position, time), "status": course.status}, text)


def time_json(position: Position, time: GameTime) -> dict[str, Any]:  # Any: JSON
    """Returns the time of a game for programs. docs/json.md."""
    names, reading = position.course.setup.names, time.reading
    return {
        "game": position.game,
        "agreement": time.agreement.to_json(),
        "clock": time.to_json(),
        "now": time.now,
        "spent": reading.spent_at(time.now) if reading.seat is not None else None,
        "gifts": [
            {"name": names[1 - (reading.seat or 0)], "seconds": each.seconds, "head": each.head} for each in time.gifts
        ],
        "outages": [each.to_json() for each in time.outages],
        "annul": list(time.annul),
        "silent": dict(time.silent),
    }


def _result(position: Position) -> str:
    return course_result(position.course, closing_body(step.body for step in position.replay.steps))


def _sentence(position: Position, time: GameTime) -> str:
    return time_sentence(time, position.course.setup.names, position.seat)


def _spent(time: GameTime) -> int:
    """Returns the seconds of the turn that runs, without those in which the service was away."""
    control, spent = time.reading.control, time.reading.spent_at(time.now)
    return spent if control is None else max(0, spent - credited_seconds(control, None, time.outages))


def time_text(position: Position, time: GameTime) -> str:
    """Returns the time of a game for people."""
    course, reading = position.course, time.reading
    names = [name or _("nobody yet") for name in course.setup.names]
    lines = agreement_lines(time.agreement if course.joinable else time.agreement._replace(expires=None))
    sentence = _sentence(position, time)
    if sentence and reading.seat is not None:
        lines.append(sentence)
    elif course.finished:
        lines.append(_("The game is over: {result}.", result=translate(_result(position))))
    if reading.seat is not None:
        lines.append(_("Spent in this turn so far: {time}.", time=length(_spent(time))))
    reserve = reading.reserve_at(time.now)
    if reserve is not None and reading.control is not None and reading.control.cap:
        for name, left in zip(names, reserve, strict=True):
            lines.append(_("Reserve of {name}: {time}.", name=name, time=length(left)))
    for gift in time.gifts:
        giver = names[1 - (reading.seat or 0)]
        lines.append(_("{name} has given {time} for this turn.", name=giver, time=format_duration(gift.seconds)))
    for outage in time.outages:
        lines.append(
            _(
                "The service was away from {begin} to {until}; that time does not count.",
                begin=local_time(outage.begin, seconds=True),
                until=local_time(outage.until, seconds=True),
            )
        )
    lines.extend(annul_lines(time, position))
    lines.extend(silent_lines(time))
    return "\n".join(lines)
