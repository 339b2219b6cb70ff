"""Clocks, computed slowly from docs/spec/log.md, "Agreement" and "Clock": by quarter hours, and by who owes an entry.

It shares nothing with the project. Zones are in whole quarter hours, so a quarter hour of UTC lies in one local day.
Turns are found here by the rules, not by authors: a turn of a seat begins when it comes to owe an entry and did not owe
the one before, or after a `reveal` or `chance`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

QUARTER: Final = 900
DAY: Final = 86400
LAST: Final = datetime(8999, 12, 31, 23, 59, 59, tzinfo=UTC)
ANSWERS: Final = ("seed", "move")
FRESH: Final = ("join", "chance", "reveal")
ENDS: Final = ("resign", "timeout", "annul", "cancel", "end")
OUTSIDE: Final = ("rekey", "revoke", "delegate", "credit")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def is_control(value: object) -> bool:
    """Whether a value is the clock of an agreement, by the table of the page."""
    if not isinstance(value, dict) or set(value) != {"add", "bank", "cap", "move", "rest", "zone"}:
        return False
    move, bank, add, cap = (value[key] for key in ("move", "bank", "add", "cap"))
    if any(type(number) is not int or number < 0 for number in (move, bank, add, cap)):
        return False
    rest, zone = value["rest"], value["zone"]
    if not isinstance(rest, str) or not isinstance(zone, str):
        return False
    days = list(rest)
    if days != sorted(set(days)) or not set(days) <= set("1234567") or len(days) == 7:
        return False
    form = re.fullmatch("[+-]([0-9]{2}):([0-9]{2})", zone)
    if form is None or zone == "-00:00" or int(form[2]) not in (0, 15, 30, 45) or int(form[1]) > 14:
        return False
    if rest == "" and zone != "+00:00":
        return False
    if move > 60 * DAY or bank > 366 * DAY or cap > 366 * DAY or add > 30 * DAY:
        return False
    return bool(move + bank >= 1 and bank <= cap and add <= cap and (add > 0 or cap == bank))


@dataclass
class NaiveClock:
    """The clocks of one game. `turn` is the seat whose turn runs, `since` the time at which counting goes on."""

    move: int
    bank: int
    add: int
    cap: int
    rest: str
    zone: str
    banks: list[int] = field(init=False)
    offset: timedelta = field(init=False)
    turn: int | None = None
    spent: int = 0
    since: int = 0
    unplayed: int | None = None
    """The reserve of `turn` before it began, as long as nothing was played in it."""

    def __post_init__(self) -> None:
        self.banks = [self.bank, self.bank]
        offset = timedelta(hours=int(self.zone[1:3]), minutes=int(self.zone[4:6]))
        self.offset = offset if self.zone[0] == "+" else -offset

    def take(self, kind: str, by: int | None, at: str, credits: int = 0, owes: int | None = None) -> bool | None:
        """Takes the next entry, after which the seat `owes` owes one; returns whether a seed or move was late."""
        now, late = to_number(at), None
        if kind in OUTSIDE:
            assert owes == self.turn
            return None
        if kind in ANSWERS:
            assert by is not None
            assert by == self.turn
            self.spent += self.counted(self.since, now) - credits
            late = self.spent > self.move + self.banks[by]
            self.unplayed = None
        self.since = now
        if kind in ENDS and self.turn is not None and self.unplayed is not None:
            self.banks[self.turn] = self.unplayed  # without the rules nobody could tell whose turn it was
        if self.turn is not None and (owes != self.turn or kind in FRESH):
            self.banks[self.turn] = max(0, self.banks[self.turn] - max(0, self.spent - self.move))
            self.turn = None
        if self.turn is None and owes is not None:
            self.turn, self.spent, self.unplayed = owes, 0, self.banks[owes]
            self.banks[owes] = min(self.cap, self.banks[owes] + self.add)
        return late

    def deadline(self, credits: int = 0) -> str:
        """The last second in which the entry that is due is not late, or the last time of the log."""
        assert self.turn is not None
        left = self.move + self.banks[self.turn] - self.spent + credits
        moment = self.since
        while left < 0:  # an entry of this turn was late: back to where there was time left
            begin = (moment - 1) // QUARTER * QUARTER
            back = min(moment - begin, -left) if self.counts(begin) else 0
            left += back
            moment = moment - back if back else begin
        while to_moment(moment) < LAST:
            end = moment // QUARTER * QUARTER + QUARTER
            if not self.counts(moment):
                moment = end
            elif left >= end - moment:
                left -= end - moment
                moment = end
            else:
                moment += left
                break
        return min(to_moment(moment), LAST).strftime("%Y-%m-%dT%H:%M:%SZ")

    def counted(self, begin: int, until: int) -> int:
        """The seconds of [begin, until) that are not in a rest day, quarter hour by quarter hour."""
        total = 0
        while begin < until:
            end = min(until, begin // QUARTER * QUARTER + QUARTER)
            if self.counts(begin):
                total += end - begin
            begin = end
        return total

    def counts(self, second: int) -> bool:
        """Whether a second lies in no rest day."""
        return not self.rest or str((to_moment(second) + self.offset).isoweekday()) not in self.rest


def to_number(time: str) -> int:
    """The seconds from 1970 to a time of the log."""
    return (datetime.fromisoformat(time) - EPOCH) // timedelta(seconds=1)


def to_moment(second: int) -> datetime:
    """The moment so many seconds after the beginning of 1970."""
    return EPOCH + timedelta(seconds=second)
