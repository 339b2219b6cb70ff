"""A rematch: what it has in common with the game before it, and its place in a series.

docs/cli.md, "Rematches and series". Both players' clients compute this from the log of the game before, and so both
propose the same. Each game of a series names the one before it, which both players have signed. So the score is counted
from logs alone, and nobody can add a game to a series.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from hkoji.game.agreement import Agreement, Series
from hkoji.game.course import Course
from hkoji.log.canonical import JsonValue
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import parse_ruleset

_OTHER: Final = {"host": "guest", "guest": "host"}
"""The values of the option `first` that name a seat, each with the other one."""


class SeriesGame(NamedTuple):
    """A game of a series that is over: its number in it, and the name of its winner.

    `winner` is None for a shared win. A cancelled game does not count. `ended` is the time of its last entry.
    """

    number: int
    game: str
    ended: str
    winner: str | None
    counts: bool = True


class SeriesScore(NamedTuple):
    """The score of a series of at most so many `games`: how many each player has won, by name, and how many nobody."""

    games: int
    won: dict[str, int]
    drawn: int

    @property
    def played(self) -> int:
        """How many games count."""
        return sum(self.won.values()) + self.drawn

    @property
    def over(self) -> bool:
        """Whether one player has won more than half of the games that there can be, or all have been played."""
        return self.played >= self.games or any(2 * won > self.games for won in self.won.values())

    @property
    def winner(self) -> str | None:
        """The player with more games once the series is over; None if it is not, or nobody has more."""
        best = max(self.won.values())
        leaders = [name for name, won in self.won.items() if won == best]
        return leaders[0] if self.over and len(leaders) == 1 else None

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the score for programs. docs/json.md."""
        return {"won": dict(self.won), "drawn": self.drawn, "over": self.over, "winner": self.winner}


def standing_of(games: int, names: Sequence[str], ended: Sequence[SeriesGame]) -> SeriesScore:
    """Returns the score of a series of `games` games between the players `names`, of whose games these have `ended`.

    A number counts once. If more than one game has it, the one that ended first counts.
    """
    counted: dict[int, SeriesGame] = {}
    for each in sorted(ended, key=lambda one: (one.ended, one.game)):
        if each.counts and 1 <= each.number <= games:
            counted.setdefault(each.number, each)
    wins = Counter(each.winner for each in counted.values())
    return SeriesScore(games, {name: wins[name] for name in names}, wins[None])


def series_game(course: Course, ended: str) -> SeriesGame:
    """Returns a game that is over as one of its series."""
    series, outcome = course.setup.agreement.series, course.outcome
    assert series is not None
    assert outcome is not None
    winner = None if outcome.winner is None else course.setup.names[outcome.winner]
    return SeriesGame(series.number, course.setup.game, ended, winner, counts=not outcome.cancelled)


def next_place(series: Series, last: SeriesGame, standing: SeriesScore) -> Series | None:
    """Returns the place of the game after `last`; None if the series is over.

    A cancelled game is played again, with the same number. `standing` is that up to `last`.
    """
    if not last.counts:
        return series
    if standing.over or series.number == series.games:
        return None
    return series._replace(number=series.number + 1)


def rematch_ruleset(ruleset: Ruleset, *, seats_change: bool) -> Ruleset:
    """Returns the game with the same options, in which the player who started first goes second.

    That is so already if the players change seats. A start that is drawn at random, or that a game does not have as an
    option, stays as it is.
    """
    options: dict[str, Any] = dict(ruleset.to_json())  # Any: JSON
    first = options.get("first")
    if seats_change or first not in _OTHER:
        return ruleset
    return parse_ruleset({**options, "first": _OTHER[first]})


def rematch_ruleset_of(course: Course, host: Seat) -> Ruleset:
    """Returns the ruleset of the rematch after a game, if the player in seat `host` opens it."""
    return rematch_ruleset(course.setup.ruleset, seats_change=host != 0)


def rematch_agreement(course: Course, series: Series | None) -> Agreement:
    """Returns the agreement of the rematch after a game, without the time at which its offer expires."""
    before = course.setup.agreement
    return Agreement(before.clock, None, before.rated, course.setup.game, series)


def has_terms(rematch: Course, before: Course, host: Seat, series: Series | None) -> bool:
    """Tells whether a rematch has the rules and the agreement that the player in seat `host` of `before` had to offer.

    Only the time at which the offer expires is the host's choice. `series` is the place of the rematch in its series.
    """
    agreed = rematch.setup.agreement._replace(expires=None)
    return (rematch.setup.ruleset, agreed) == (rematch_ruleset_of(before, host), rematch_agreement(before, series))


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
