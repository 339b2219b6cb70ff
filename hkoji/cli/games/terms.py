"""The terms of a game that is opened or joined: reads the options for them, and says what is agreed."""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.cli.games.game_words import agreement_lines, length_in_words
from hkoji.cli.language import _
from hkoji.cli.output import out
from hkoji.cli.settings import deposits_draws
from hkoji.client.seats import SealedWish
from hkoji.errors import UsageError
from hkoji.game.agreement import (
    SERIES_LENGTHS,
    UTC_ZONE,
    Agreement,
    TimeControl,
    longest_game,
    longest_round,
    parse_duration,
    parse_time_control,
)
from hkoji.messages.text import plural, tell
from hkoji.rules.protocol import Ruleset

DEFAULT_CLOCK: Final = "3d/14d"
DEFAULT_EXPIRES: Final = "14d"


class NewTerms(NamedTuple):
    """The terms of a new game beside its rules: a clock, whether it is rated, and in how many seconds it expires."""

    clock: TimeControl | None
    rated: bool
    expires_in: int | None
    series: int | None = None
    """Of how many games at most this is the first; None for a game that is in no series."""

    @property
    def agreement(self) -> Agreement:
        """The agreement, without the time at which the offer expires."""
        return Agreement(clock=self.clock, rated=self.rated)


def read_terms(
    clock: str | None, rest: str | None, zone: str | None, expires: str | None, *, unrated: bool, series: int | None
) -> NewTerms:
    """Reads the options of `hkoji new`; None is the default. Raises `UsageError`."""
    control = parse_time_control(DEFAULT_CLOCK if clock is None else clock, rest or "", zone or UTC_ZONE)
    if series is not None and series not in SERIES_LENGTHS:
        raise UsageError(
            plural("there is no series of {n} game", "there is no series of {n} games", series),
            hint=tell(
                "nothing was sent; lengths: {lengths}; for a single game leave --series out",
                lengths=", ".join(map(str, SERIES_LENGTHS)),
            ),
        )
    return NewTerms(control, control is not None and not unrated, read_expiry(expires), series)


def read_expiry(expires: str | None) -> int | None:
    """Returns in how many seconds an offer expires; None if never. Raises `UsageError`."""
    return None if expires == "none" else parse_duration(DEFAULT_EXPIRES if expires is None else expires)


def read_wish(*, sealed: bool, deposit: bool | None, new_key: bool) -> SealedWish | None:
    """Reads the options about sealed games; None without `sealed`. Raises `UsageError`."""
    if sealed:
        return SealedWish(False if deposit is None and not deposits_draws() else deposit, new_key)
    if deposit is not None or new_key:
        raise UsageError(
            tell("--deposit-draws, --keep-draws and --new-key need --sealed"),
            hint=tell("nothing was sent; add --sealed, or leave them out"),
        )
    return None


class JoinTerms(NamedTuple):
    """The clock with which alone the player wants to join, if `asked`; origin and code for the service of a link.

    `sealed` is the wish for a sealed game, without which none is joined. With `yes` nothing is asked.
    """

    asked: bool
    clock: TimeControl | None
    origin: str | None
    code: str | None
    sealed: SealedWish | None
    yes: bool


def read_join_terms(
    clock: str | None,
    rest: str | None,
    zone: str | None,
    origin: str | None,
    code: str | None,
    sealed: SealedWish | None = None,
    *,
    yes: bool,
) -> JoinTerms:
    """Reads the options of `hkoji join`. Raises `UsageError`."""
    if clock is None and (rest is not None or zone is not None):
        raise UsageError(tell("--rest and --zone belong to --clock"), hint=tell("add --clock, or leave them out"))
    control = None if clock is None else parse_time_control(clock, rest or "", zone or UTC_ZONE)
    return JoinTerms(clock is not None, control, origin, code, sealed, yes)


def say_terms(ruleset: Ruleset, agreement: Agreement) -> None:
    """Says what two players agree on, and how long a game takes at most."""
    for line in (*agreement_lines(agreement), *_bound_lines(ruleset, agreement)):
        out.say(line)


def _bound_lines(ruleset: Ruleset, agreement: Agreement) -> list[str]:
    """Returns how long a game takes at most, in sentences."""
    control = agreement.clock
    if control is None:
        return [_("Nothing limits how long the game takes.")]
    game, round_ = longest_game(ruleset, control), length_in_words(longest_round(ruleset, control))
    if game is None:
        line = _("At the slowest, a round takes {round}.", round=round_)
    elif control.move == control.add == 0 or ruleset.most_rounds == 1:
        line = _("At the slowest, the game takes {game}.", game=length_in_words(game))
    else:
        line = _(
            "At the slowest, a round takes {round}, and the game {game}.",
            round=round_,
            game=length_in_words(game),
        )
    return [f"{line} {_('Rest days come on top.')}" if control.rest else line]
