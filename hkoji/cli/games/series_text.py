"""Series and scores in words: `Game 2 of 3 of series 8b1f: alice 1, bob 0.`"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hkoji.cli.language import _, translate
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.rematch import SeriesPlace
    from hkoji.game.agreement import Series
    from hkoji.game.rematch import SeriesScore

SHORT = 8
"""So many digits of a series' id are shown, as of a game's."""


def standing_text(standing: SeriesScore) -> str:
    """Returns a score: `alice 2, bob 0`; with the games that nobody has won."""
    scores = ", ".join(f"{name} {won}" for name, won in standing.won.items())
    if standing.drawn:
        return tell("{scores}, {drawn} shared", scores=scores, drawn=standing.drawn)
    return scores


def place_line(series: Series) -> str:
    """Returns a game's place in its series as a sentence, without the score."""
    return _("Game {number} of {games} of series {id}.", **_values(series))


def series_line(place: SeriesPlace) -> str:
    """Returns a game's place in its series as a sentence, with the score if that is known here."""
    series, standing = place.series, place.standing
    if standing is None:
        return place_line(series)
    given = _values(series)
    score = translate(standing_text(standing))
    if not standing.over:
        return _("Game {number} of {games} of series {id}: {score}.", **given, score=score)
    if standing.winner is None:
        return _("Game {number} of {games} of series {id}: {score}. Nobody has won it.", **given, score=score)
    return _(
        "Game {number} of {games} of series {id}: {score}. {name} has won it.",
        **given,
        score=score,
        name=standing.winner,
    )


def _values(series: Series) -> dict[str, str | int]:
    return {"number": series.number, "games": series.games, "id": series.id[:SHORT]}
