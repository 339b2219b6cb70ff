"""A game of the reader's, as letters of every kind tell of it: in full, or as a row of a list."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.game.clock_reading import ClockReading
from hkoji.game.position import Position


class SeatFacts(NamedTuple):
    """A game as the reader knows it, now.

    `position` is that of the reader's seat (`read_position`), and `clock` that of the game's last entry (`read_clock`).
    With `cards` False the letter shows no cards. `held` says that the service signs for the reader, `opponent_held`
    that it signs for the other seat. `silent` and `opponent_silent` are the times since which letters to the reader
    and to the other player do not arrive, None if they do. With `signs` False the service can sign nothing for the
    reader's seat: the key that it holds is revoked if `held`, or else the reader's own key is the only one. `own` says
    that the reader has a key of their own now, which is to take the place of that one. `zone` is the reader's time zone
    (`+01:00`), empty if it is not known.
    """

    position: Position
    clock: ClockReading
    now: str
    cards: bool = True
    held: bool = True
    opponent_held: bool = False
    silent: str | None = None
    opponent_silent: str | None = None
    signs: bool = True
    own: bool = False
    zone: str = ""


class GameRow(NamedTuple):
    """A game in a list: its id, the opponent (None while there is none), the ruleset's name, and until when.

    `mine` says that the reader owes the next entry; `deadline` is that of whoever owes it.
    """

    game: str
    opponent: str | None
    ruleset: str
    mine: bool
    deadline: str | None = None
