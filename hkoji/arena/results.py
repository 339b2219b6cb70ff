"""The results of a match: its figures, and its files.

A shared win is half a win. There are two intervals of 95 %. Wilson's counts every game as one trial (with half wins it
is too wide rather than too narrow). The interval over deals counts each deal, played with both seatings, as one trial,
which removes the luck of the cards: judge bots by this one. docs/arena.md.

Anyone can check the files: a signed log of every game, the keys, and a summary.

    arena.json     bots, ruleset, seed, and each game with its file, head and result
    keys.txt       a line for each signer, in the format of `ssh-keygen -Y verify -f`
    0001-a.jsonl   the first deal with the first bot as host; 0001-b.jsonl: with the seats exchanged

The same match gives the same bytes: the files hold no clock times and no durations.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Sequence
from math import ceil, sqrt
from pathlib import Path
from typing import Any, Final, NamedTuple

from hkoji.arena.match import MatchGame, PlayedGame
from hkoji.arena.plan import MatchPlan, seated
from hkoji.arena.referees import bot_key, service_key
from hkoji.errors import StorageError
from hkoji.log.line import SERVER_NAME, parse_log
from hkoji.messages.text import tell
from hkoji.study.shares import Z95, wilson


class Interval(NamedTuple):
    """A confidence interval of 95 % for a score between 0 and 1."""

    low: float
    high: float


class MatchSide(NamedTuple):
    """The results of one bot. Times are in milliseconds per decision, None if it made none."""

    wins: int
    score: float
    """(wins + shared wins / 2) / games."""
    by_games: Interval
    by_deals: Interval | None
    """None for fewer than two deals."""
    moves: int
    median: float | None
    p95: float | None


class MatchFigures(NamedTuple):
    """The figures of a match, or of as much of it as was played."""

    deals: int
    shared: int
    sides: tuple[MatchSide, MatchSide]
    starter: float
    """The score of the bots that had the first turn."""
    sweeps: tuple[int, int]
    """The number of deals that each bot won at both tables."""

    @property
    def games(self) -> int:
        """The number of games played."""
        return 2 * self.deals

    @property
    def moves(self) -> int:
        """The number of decisions made."""
        return self.sides[0].moves + self.sides[1].moves


class MatchTally:
    """Collects the played deals of a match. The figures do not depend on the order of the deals."""

    def __init__(self) -> None:
        self._played: dict[int, tuple[MatchGame, MatchGame]] = {}
        self._times: tuple[array[float], array[float]] = (array("f"), array("f"))

    def add(self, played: PlayedGame) -> None:
        """Adds a deal."""
        self._played[played.games[0].deal] = played.games
        for times, more in zip(self._times, played.times, strict=True):
            times.extend(more)

    @property
    def games(self) -> tuple[MatchGame, ...]:
        """All games, in the order of their deals."""
        return tuple(game for number in sorted(self._played) for game in self._played[number])

    def figures(self) -> MatchFigures:
        """Returns the figures so far. Raises `ValueError` if nothing has been played."""
        games = self.games
        if not games:
            raise ValueError("no deal has been played")
        deals = [(one, other) for one, other in zip(games[::2], games[1::2], strict=True)]
        sweeps = [sum(one.winner == other.winner == bot for one, other in deals) for bot in (0, 1)]
        sides = [_results_of(bot, games, self._times[bot]) for bot in (0, 1)]
        starter = _mean(_points(game, game.starter) for game in games)
        shared = sum(game.winner is None for game in games)
        return MatchFigures(len(deals), shared, (sides[0], sides[1]), starter, (sweeps[0], sweeps[1]))


def _results_of(bot: int, games: Sequence[MatchGame], times: array[float]) -> MatchSide:
    points = [_points(game, bot) for game in games]
    by_deal = [(one + other) / 2 for one, other in zip(points[::2], points[1::2], strict=True)]
    ordered = sorted(times)
    return MatchSide(
        wins=sum(game.winner == bot for game in games),
        score=_mean(points),
        by_games=Interval(*wilson(sum(points), len(points))),
        by_deals=student(by_deal),
        moves=sum(game.moves[bot] for game in games),
        median=quantile(ordered, 0.5),
        p95=quantile(ordered, 0.95),
    )


def _points(game: MatchGame, bot: int) -> float:
    return 0.5 if game.winner is None else float(game.winner == bot)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def student(scores: Sequence[float]) -> Interval | None:
    """Returns Student's interval for the mean of `scores`, each between 0 and 1; None for fewer than two.

    If all scores are equal, the interval has no width: such deals say nothing about how much scores vary.
    """
    trials = len(scores)
    if trials < 2:
        return None
    mean = sum(scores) / trials
    variance = sum((score - mean) ** 2 for score in scores) / (trials - 1)
    half = student_quantile(trials - 1) * sqrt(variance / trials)
    return Interval(max(0.0, mean - half), min(1.0, mean + half))


_EXACT: Final = (12.706205, 4.302653, 3.182446)


def student_quantile(freedom: int) -> float:
    """Returns the two-sided 95 % quantile of Student's distribution.

    A table gives it up to 3 degrees of freedom. Above, the expansion in Abramowitz and Stegun, 26.7.5, is accurate to
    three digits.
    """
    if freedom <= len(_EXACT):
        return _EXACT[freedom - 1]
    z, n = Z95, float(freedom)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + first / n + second / n**2 + third / n**3 + fourth / n**4


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Returns the smallest of the sorted values that at least `share` of them do not exceed; None if there are none."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


VERSION: Final = 1


class Export:
    """The folder into which a match is written while it is played.

    Raises `StorageError` if the folder cannot be written or is not empty.
    """

    def __init__(self, plan: MatchPlan, folder: Path) -> None:
        self._plan = plan
        self._folder = folder
        self._digits = max(4, len(str(plan.deals)))
        self._facts: dict[tuple[int, str], dict[str, Any]] = {}  # Any: JSON
        self._keys = {
            SERVER_NAME: service_key(plan).public.text,
            **{label: bot_key(plan, bot).public.text for bot, label in enumerate(plan.labels)},
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            taken = any(folder.iterdir())
        except OSError as error:
            raise _not_written(folder, error) from error
        if taken:
            raise StorageError(
                tell("{folder} is not empty", folder=folder), hint=tell("an export needs a new folder, or an empty one")
            )
        self._write("keys.txt", "".join(f"{name} {key}\n" for name, key in self._keys.items()))

    def add(self, played: PlayedGame) -> None:
        """Writes the logs of a deal."""
        for game, text in zip(played.games, played.logs, strict=True):
            name = f"{game.deal:0{self._digits}}-{game.table}.jsonl"
            self._facts[game.deal, game.table] = self._describe(game, name, text)
            self._write(name, text)

    def finish(self, tally: MatchTally) -> None:
        """Writes the manifest of the match, or of as much as was played.

        Removes the files of a deal that is not in `tally`: an interrupt can leave some.
        """
        plan, games = self._plan, tally.games
        for place in set(self._facts) - {(game.deal, game.table) for game in games}:
            self._remove(self._facts.pop(place)["file"])
        manifest: dict[str, Any] = {  # Any: JSON
            "v": VERSION,
            "bots": [{"bot": bot, "name": name} for bot, name in zip(plan.bots, plan.labels, strict=True)],
            "ruleset": plan.ruleset.to_json(),
            "seed": plan.seed,
            "keys": self._keys,
            "deals": plan.deals,
            "complete": len(games) == plan.games,
            "games": [self._facts[place] for place in sorted(self._facts)],
        }
        if games:
            figures = tally.figures()
            manifest["result"] = {
                "games": figures.games,
                "shared": figures.shared,
                "wins": [side.wins for side in figures.sides],
            }
        self._write("arena.json", json.dumps(manifest, indent=1, sort_keys=True) + "\n")

    def _describe(self, game: MatchGame, name: str, text: str) -> dict[str, Any]:  # Any: JSON
        plan = self._plan
        last = parse_log(text.splitlines(keepends=True)[-1])[0].entry
        host, guest = (plan.labels[seated(game.table, seat)] for seat in (0, 1))
        return {
            "deal": game.deal,
            "deal_id": plan.deal(game.deal)[0].deal,
            "file": name,
            "game": last.game,
            "head": last.head,
            "host": host,
            "guest": guest,
            "reason": game.reason,
            "winner": None if game.winner is None else plan.labels[game.winner],
        }

    def _write(self, name: str, text: str) -> None:
        """Writes a file completely or not at all: a reader never sees half of it."""
        path, draft = self._folder / name, self._folder / f"{name}.part"
        try:
            draft.write_text(text, encoding="ascii", newline="\n")
            os.replace(draft, path)
        except OSError as error:
            raise _not_written(path, error) from error

    def _remove(self, name: str) -> None:
        for path in (self._folder / name, self._folder / f"{name}.part"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> StorageError:
    return StorageError(
        tell("cannot write {path}: {reason}", path=path, reason=error.strerror or str(error)),
        hint=tell("give another folder with --export"),
    )
