"""Series of games: each game names the one before it, which both players have signed.

So the score is counted from logs alone, and nobody can add a game to a series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from hkoji.game.agreement import Series
from hkoji.game.course import Course
from hkoji.game.rematch import SeriesGame, SeriesScore, next_place, series_game, standing_of

MOST_GAMES: Final = 100
"""The most games of a series that are read, those included that were cancelled and played again."""

Known = tuple[Course, str]
"""A game, and the time of its last entry."""
ReadGame = Callable[[str], Known]
"""Returns a game by its id. Raises `HkojiError`."""


def played_before(known: Known, read: ReadGame) -> Iterator[SeriesGame]:
    """Yields the games of a series that are over, from this one back to the first. Raises what `read` raises."""
    course, ended = known
    for _ in range(MOST_GAMES):
        setup = course.setup
        series, before = setup.agreement.series, setup.agreement.rematch
        if series is None:
            return
        if course.finished:
            yield series_game(course, ended)
        if before is None:
            return
        earlier, ended = read(before)
        place = earlier.setup.agreement.series
        if place is None or (place.id, place.games) != (series.id, series.games):
            return
        if set(earlier.setup.names) != set(setup.names) and None not in setup.names:
            return
        course = earlier


def standing_at(known: Known, read: ReadGame) -> SeriesScore:
    """Returns the score of a game's series up to this game. Raises what `read` raises."""
    setup = known[0].setup
    assert setup.agreement.series is not None
    names = [name for name in (*setup.names, setup.invited) if name is not None]
    return standing_of(setup.agreement.series.games, list(dict.fromkeys(names)), list(played_before(known, read)))


def next_in_series(known: Known, read: ReadGame) -> tuple[Series | None, SeriesScore | None]:
    """Returns the place of a game's rematch in its series; if there is none because that is over, the score.

    Raises what `read` raises.
    """
    series = known[0].setup.agreement.series
    if series is None:
        return None, None
    standing = standing_at(known, read)
    place = next_place(series, series_game(*known), standing)
    return place, None if place else standing
