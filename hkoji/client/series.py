"""Series of games as this player's logs have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hkoji.client.kept_game import KeptGame
from hkoji.errors import HkojiError
from hkoji.game.agreement import Series
from hkoji.game.course import Course
from hkoji.game.rematch import Known, SeriesScore, standing_at
from hkoji.log.canonical import JsonValue


class SeriesPlace(NamedTuple):
    """The place of a game in its series, and the score with it; None where a game before it is not known here."""

    series: Series
    standing: SeriesScore | None

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the place for programs. docs/json.md."""
        return {**self.series.to_json(), "score": None if self.standing is None else self.standing.to_json()}


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
