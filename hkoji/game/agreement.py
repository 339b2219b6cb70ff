"""The agreement: what both players of a game agree on beside the rules. docs/spec/log.md, "Agreement".

The offer contains it, and both players sign it through the chain of hashes. This module knows its form only: whether a
service allows so short a clock, and whether the guest came in time, others decide.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.errors import MalformedError
from hkoji.game.time_control import TimeControl, read_time_control
from hkoji.log.canonical import JsonValue
from hkoji.log.entry import exactly, is_time, read_hex
from hkoji.messages.text import tell

_ID_DIGITS: Final = 32
SERIES_LENGTHS: Final = (3, 5, 7, 9)
"""How many games a series may have at most."""


class Series(NamedTuple):
    """The place of a game in a series: it is game `number`, from 1, of at most `games`. `id` has 32 hex digits."""

    games: int
    id: str
    number: int

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the place as it stands in an agreement."""
        return {"games": self.games, "id": self.id, "number": self.number}


class Agreement(NamedTuple):
    """The agreement of both. `expires` is the time after which nobody can join; `rematch` the game before this."""

    clock: TimeControl | None = None
    expires: str | None = None
    rated: bool = False
    rematch: str | None = None
    series: Series | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the agreement as it stands in an offer."""
        return {
            "clock": None if self.clock is None else self.clock.to_json(),
            "expires": self.expires,
            "rated": self.rated,
            "rematch": self.rematch,
            "series": None if self.series is None else self.series.to_json(),
        }


UNTIMED: Final = Agreement()
"""The agreement of arena and local play: no clock, no expiry, not rated."""


def read_agreement(value: JsonValue) -> Agreement:
    """Reads an agreement as it stands in an offer. Raises `MalformedError`, or `NotUnderstoodError` for another key."""
    what = tell("agreement")
    fields = exactly(value, what, ("clock", "expires", "rated", "rematch", "series"))
    clock = None if fields["clock"] is None else read_time_control(fields["clock"])
    expires, rated, rematch = fields["expires"], fields["rated"], fields["rematch"]
    if expires is not None and not (isinstance(expires, str) and is_time(expires)):
        raise MalformedError(what, tell("{key} is neither a time nor null", key="expires"))
    if not isinstance(rated, bool):
        raise MalformedError(what, tell("{key} is neither true nor false", key="rated"))
    if rated and clock is None:
        raise MalformedError(what, tell("a game without a clock is not rated"))
    return Agreement(
        clock,
        expires,
        rated,
        None if rematch is None else read_hex(rematch, tell("game id"), _ID_DIGITS),
        None if fields["series"] is None else _read_series(fields["series"]),
    )


def _read_series(value: JsonValue) -> Series:
    what = tell("series")
    fields = exactly(value, what, ("games", "id", "number"))
    games, number = fields["games"], fields["number"]
    if type(games) is not int or games not in SERIES_LENGTHS:
        raise MalformedError(what, tell("{key} is not 3, 5, 7 or 9", key="games"))
    if type(number) is not int or not 1 <= number <= games:  # isinstance would take true, which equals 1
        raise MalformedError(what, tell("{key} is not from 1 to {games}", key="number", games=games))
    return Series(games, read_hex(fields["id"], tell("series id"), _ID_DIGITS), number)
