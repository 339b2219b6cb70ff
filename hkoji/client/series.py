"""Series of games as this player's logs have them: each game names the one before it, which both players have signed.

So the score is counted from verified logs alone, and nobody can add a game to a series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from hkoji.client.kept_game import KeptGame
from hkoji.errors import HkojiError
from hkoji.game.agreement import Series
from hkoji.game.course import Course
from hkoji.game.rematch import SeriesGame, SeriesScore, series_game, standing_of
from hkoji.log.canonical import JsonValue

_MOST: Final = 100
"""The most games of a series that are read, those included that were cancelled and played again."""

Known = tuple[Course, str]
"""A game, and the time of its last entry."""
ReadGame = Callable[[str], Known]
"""Returns a game by its id. Raises `HkojiError`."""


class SeriesPlace(NamedTuple):
    """The place of a game in its series, and the score with it; None where a game before it is not known here."""

    series: Series
    standing: SeriesScore | None

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the place for programs. docs/json.md."""
        return {**self.series.to_json(), "score": None if self.standing is None else self.standing.to_json()}


def played_before(known: Known, read: ReadGame) -> Iterator[SeriesGame]:
    """Yields the games of a series that are over, from this one back to the first. Raises what `read` raises."""
    course, ended = known
    for _ in range(_MOST):
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


def kept_place(course: Course, ended: str, kept: Callable[[str], KeptGame]) -> SeriesPlace | None:
    """Returns the place of a game in its series, with the score as far as games are kept here; None without a series.

    Asks no service.
    """
    series = course.setup.agreement.series
    if series is None:
        return None

    def read(game: str) -> Known:
        found = kept(game)
        return found.position.course, found.recorded

    try:
        return SeriesPlace(series, standing_at((course, ended), read))
    except HkojiError:  # a game before it is not kept here
        return SeriesPlace(series, None)
