"""`hkoji games --with` and `--series`: games that have been played, with results in words, and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.cli.games.game_words import SHORT, scored
from hkoji.cli.games.told import ask_or_keep
from hkoji.cli.language import _, translate
from hkoji.cli.output import client, out
from hkoji.errors import HkojiError, NotFoundError, UsageError
from hkoji.game.course import OVER
from hkoji.log.canonical import begins_hex, is_name, name_fault
from hkoji.messages.text import Text, tell

if TYPE_CHECKING:
    from hkoji.client.kept_game import KeptGame
    from hkoji.game.rematch import SeriesGame, SeriesScore

Summary = dict[str, Any]  # Any: JSON

_SERIES_DIGITS: Final = 32


class Tally(NamedTuple):
    """How many finished games a player has won and lost, and how many nobody has won."""

    won: int = 0
    lost: int = 0
    drawn: int = 0

    def text(self) -> Text:
        """Returns the counts in words."""
        return tell("{won} won, {lost} lost, {drawn} shared", won=self.won, lost=self.lost, drawn=self.drawn)


def tally(games: Sequence[Summary], me: str) -> Tally:
    """Counts the finished games of a list for the player `me`. Cancelled games do not count."""
    ended = [each for each in games if each["status"] == "finished" and me in (each["host"], each["guest"])]
    winners = [each["result"]["winner"] for each in ended]
    mine = [(each["host"], each["guest"]).index(me) for each in ended]
    won = sum(winner == seat for winner, seat in zip(winners, mine, strict=True))
    drawn = winners.count(None)
    return Tally(won, len(ended) - won - drawn, drawn)


# --- games with one opponent ------------------------------------------------------------------------------------------


def games_with(name: str, *, status: str | None, offline: bool) -> None:
    """Lists the player's games with one opponent, invitations included, and the score."""
    from hkoji.cli.games.lists import listing, verify_status

    verify_status(status)
    if not is_name(name):
        raise UsageError(name_fault(name), hint=tell("give the name of another player"))
    if name == client().identity.name:
        raise UsageError(tell("{name} is your own name", name=name), hint=tell("give the name of another player"))

    wanted = OVER if status == "finished" else (status,)

    def show(found: Sequence[Summary]) -> None:
        every_game = [each for each in found if name in (each["host"], each["guest"], each["invite"])]
        games = [each for each in every_game if status is None or each["status"] in wanted]
        me = client().identity.name
        # The score is of all games, whichever are listed.
        every, rated = tally(every_game, me), tally([each for each in every_game if each["agreement"]["rated"]], me)
        value = {"with": name, "games": games, "score": {**every._asdict(), "rated": rated._asdict()}}

        def text() -> str:
            if not every_game:
                return _("No games with {name}.", name=name)
            listed = listing(games) if games else _("No such game with {name}.", name=name)
            return f"{listed}\n{_score_line(name, every, rated)}"

        out.result(value, text)

    def show_kept() -> list[KeptGame]:
        kept = client().kept_games()
        show([each.summary for each in kept])
        return kept

    ask_or_keep(client().games, show, show_kept, offline=offline)


def _score_line(name: str, every: Tally, rated: Tally) -> str:
    if rated == every or rated == Tally():
        return _("Against {name}: {score}.", name=name, score=translate(every.text()))
    return _(
        "Against {name}: {score}; rated: {rated}.",
        name=name,
        score=translate(every.text()),
        rated=translate(rated.text()),
    )


# --- a series ---------------------------------------------------------------------------------------------------------


def games_of_series(prefix: str, *, offline: bool) -> None:
    """Lists the games of a series in their order, and the score, which is counted from their logs."""
    wanted = prefix.lower()
    if not begins_hex(wanted, _SERIES_DIGITS):
        raise _no_series(prefix)

    def show(found: Sequence[Summary]) -> None:
        games = [each for each in found if (each["agreement"]["series"] or {}).get("id", "").startswith(wanted)]
        ids = sorted({each["agreement"]["series"]["id"] for each in games})
        if not ids:
            raise _no_series(prefix)
        if len(ids) > 1:
            names = ", ".join(each[: len(wanted) + 4] for each in ids)
            raise UsageError(
                tell("{prefix} begins more than one series: {names}", prefix=prefix, names=names),
                hint=tell("give more digits"),
            )
        games.sort(key=lambda each: (each["agreement"]["series"]["number"], each["created"], each["game"]))
        standing = _standing(games, offline=offline)
        value = {
            "series": ids[0],
            "length": standing.games,
            "games": games,
            "score": standing.to_json(),
        }
        out.result(value, lambda: _series_text(ids[0], games, standing))

    def show_kept() -> list[KeptGame]:
        kept = client().kept_games()
        show([each.summary for each in kept])
        return [each for each in kept if each.position.course.setup.agreement.series is not None]

    ask_or_keep(client().games, show, show_kept, offline=offline)


def _no_series(prefix: str) -> NotFoundError:
    return NotFoundError(
        tell("series"),
        prefix,
        hint=tell("a series is named by the first digits of its id, as `hkoji show` has it; begin one with "
                  "`hkoji new --series 3`"),
    )  # fmt: skip


def _standing(games: Sequence[Summary], *, offline: bool) -> SeriesScore:
    """Returns the score of a series, from the verified logs of its games."""
    from hkoji.game.rematch import standing_of

    names = dict.fromkeys(name for each in games for name in (each["host"], each["guest"]) if name is not None)
    ended = [_read_ended(each["game"], offline=offline) for each in games if each["status"] in OVER]
    return standing_of(games[0]["agreement"]["series"]["games"], list(names), ended)


def _read_ended(game: str, *, offline: bool) -> SeriesGame:
    from hkoji.game.position import time_of_record
    from hkoji.game.rematch import series_game

    try:
        kept = client().kept_game(game)
        if offline or kept.position.over:
            return series_game(kept.position.course, kept.recorded)
    except HkojiError:  # it is not kept here, or not wholly
        if offline:
            raise
    with client().game(game) as held:
        course = held.current().course
        return series_game(course, time_of_record(held.lines()[-1]))


def _series_text(series: str, games: Sequence[Summary], standing: SeriesScore) -> str:
    from hkoji.cli.games.lists import listing

    line = scored(_("Series {id}, best of {games}", id=series[:SHORT], games=standing.games), standing)
    return f"{listing(games)}\n{line}"
