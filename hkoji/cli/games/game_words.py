"""A game in words: its time and clock, its place in a series, and the players who answer by mail.

JSON has times in UTC and lengths in seconds; people read local times with the zone, and lengths as they type them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from hkoji.cli.language import _, translate
from hkoji.game.agreement import format_duration
from hkoji.game.clock import parse_time
from hkoji.game.held_keys import BRIEF_GRADES
from hkoji.messages.text import tell
from hkoji.show.terms import terms_lines

if TYPE_CHECKING:
    from hkoji.client.kept_game import GameTime
    from hkoji.client.rematch import SeriesPlace
    from hkoji.game.agreement import Agreement, Series
    from hkoji.game.position import Position
    from hkoji.game.rematch import SeriesScore


def held_line(name: str) -> str:
    """Returns what a player has to know before a game with a player for whom the service signs."""
    return tell(
        "{name} plays by mail: the service signs for {name}. It can sign what {name} has not written, and nobody can "
        "prove that. It draws {name}'s part in the shuffle too; with yours, the deal is random all the same.",
        name=name,
    )


def grades_cell(by_mail: Mapping[str, str], me: str) -> str:
    """Returns for whom the service has signed in a game, and with what grades, in a few words; empty for nobody.

    `by_mail` is as in the summary of a game. A grade that this version does not know is shown as it is.
    """
    words: Mapping[str, str] = {grade.value: text for grade, text in BRIEF_GRADES.items()}
    return ", ".join(
        f"{_('you') if name == me else name} ({translate(words.get(grade, grade))})" for name, grade in by_mail.items()
    )


SHORT = 8
"""So many digits of a series' id are shown, as of a game's."""


def standing_text(standing: SeriesScore) -> str:
    """Returns a score: `alice 2, bob 0`; with the games that nobody has won."""
    scores = ", ".join(f"{name} {won}" for name, won in standing.won.items())
    if standing.drawn:
        return tell("{scores}, {drawn} shared", scores=scores, drawn=standing.drawn)
    return scores


def scored(place: str, standing: SeriesScore) -> str:
    """Returns a place in a series, in words, with the score, and once that is certain with the winner."""
    said = f"{place}: {translate(standing_text(standing))}."
    if not standing.over:
        return said
    if standing.winner is None:
        return f"{said} {_('Nobody has won it.')}"
    return f"{said} {_('{name} has won it.', name=standing.winner)}"


def _place(series: Series) -> str:
    given = {"number": series.number, "games": series.games, "id": series.id[:SHORT]}
    return _("Game {number} of {games} of series {id}", **given)


def series_line(place: SeriesPlace) -> str:
    """Returns a game's place in its series as a sentence, with the score if that is known here."""
    said = _place(place.series)
    return f"{said}." if place.standing is None else scored(said, place.standing)


_EPOCH: Final = parse_time("1970-01-01T00:00:00Z")
_HOUR: Final = 3600
_UNITS: Final = (86400, _HOUR, 60, 1)
_SHOWN: Final = 2


def local_time(text: str, *, seconds: bool = False) -> str:
    """Returns a time of the log as people read it here: the local time, with the name of its zone."""
    form = "%Y-%m-%d %H:%M:%S %Z" if seconds else "%Y-%m-%d %H:%M %Z"
    return time.strftime(form, time.localtime(parse_time(text) - _EPOCH)).strip()


def short_time(text: str, now: str) -> str:
    """Returns a time of the log as local time for a table: without the year, if that is the year of `now`."""
    shown = local_time(text)
    year = local_time(now)[:5]
    return shown.removeprefix(year)


def length(seconds: int) -> str:
    """Returns a length of time in at most two neighbouring units, rounded down: `2d3h`, `59m`, `0s`."""
    for place, unit in enumerate(_UNITS):
        if seconds >= unit:
            least = _UNITS[min(place + _SHOWN, len(_UNITS)) - 1]
            return format_duration(seconds - seconds % least)
    return format_duration(0)


def length_in_words(seconds: int) -> str:
    """Returns a length of time in words, rounded up: `55 days`, `1 day 6 hours`."""
    from hkoji.mail.letters.page import TIE, Page

    return Page(translate).length(seconds).replace(TIE, " ")


def agreement_lines(agreement: Agreement) -> list[str]:
    """Returns what two players agree on, in sentences."""
    lines = terms_lines(agreement, translate)
    if agreement.expires is not None:
        lines.append(_("The offer expires on {time}.", time=local_time(agreement.expires)))
    if agreement.series is not None:
        lines.append(f"{_place(agreement.series)}.")
    return lines


def reserve_text(found: GameTime) -> str:
    """Returns both players' reserves now, host first; empty where no clock runs or nobody has a reserve."""
    reserve, control = found.reading.reserve_at(found.now), found.reading.control
    if reserve is None or control is None or not control.cap:
        return ""
    return " / ".join(length(each) for each in reserve)


def until_text(found: GameTime) -> str:
    """Returns how long there is, in a few words for a table: `2d3h`, `over`; empty where no time runs."""
    left = found.reading.left(found.now)
    if left is None:
        return ""
    if found.overdue:
        return _("overdue")
    return length(left) if left >= 0 else _("over")


def time_sentence(found: GameTime, names: tuple[str | None, str | None], me: int | None) -> str:
    """Returns whose time runs until when, as a sentence for the reader in seat `me`; empty where no time runs."""
    reading = found.reading
    left = reading.left(found.now)
    if left is None or reading.deadline is None:
        return ""
    when = local_time(reading.deadline, seconds=abs(left) < _HOUR)
    if reading.seat is None:
        if left < 0:
            return _("The offer expired on {time}.", time=when)
        return _("The offer expires on {time}, in {left}.", time=when, left=length(left))
    mine, name = reading.seat == me, names[reading.seat]
    if left < 0:
        text = (
            _("Your time was over on {time}.", time=when)
            if mine
            else _("{name}'s time was over on {time}.", name=name, time=when)
        )
        if found.overdue:
            return text + " " + _("The game is overdue: the service should have ended it.")
        return text
    reserve, control = reading.reserve_at(found.now), reading.control
    assert control is not None
    shown = length(left)
    if reserve is not None and control.cap:
        kept = length(reserve[reading.seat])
        shown = (
            _("{left}, including your {reserve} reserve", left=shown, reserve=kept)
            if mine
            else _("{left}, including their {reserve} reserve", left=shown, reserve=kept)
        )
    if mine:
        return _("You have until {time} ({left}).", time=when, left=shown)
    return _("{name} has until {time} ({left}).", name=name, time=when, left=shown)


def silent_lines(found: GameTime) -> list[str]:
    """Returns whose letters do not arrive, in sentences. The clock runs all the same."""
    return [
        _("{name}: mail is not arriving since {at}", name=name, at=local_time(since)) for name, since in found.silent
    ]


def annul_lines(found: GameTime, position: Position) -> list[str]:
    """Returns who has asked to call a game off, and how the reader can agree or take it back, in sentences."""
    names, seat, game = position.course.setup.names, position.seat, position.short
    lines = []
    # A command has a line of its own, so that a narrow board does not break it.
    for name in found.annul:
        if seat is not None and name == names[seat]:
            other = names[1 - seat]
            lines += [
                _("You have asked to call the game off. {name} can agree until the next move.", name=other),
                _("To take it back: {command}", command=f"hkoji annul {game} --withdraw"),
            ]
            continue
        lines.append(_("{name} has asked to call the game off.", name=name))
        if seat is not None:
            lines.append(_("To agree, before the next move: {command}", command=f"hkoji annul {game}"))
    return lines


def time_lines(found: GameTime, position: Position) -> list[str]:
    """Returns what a board says beside the position: whose time runs until when, and who asks to call the game off."""
    sentence = time_sentence(found, position.course.setup.names, position.seat)
    return [*([sentence] if sentence else []), *annul_lines(found, position), *silent_lines(found)]
