"""Clocks, the time of one game and that of a service, computed slowly from docs/spec/log.md and docs/spec/http.md.

It shares nothing with the project. Zones are in whole quarter hours, so a quarter hour of UTC lies in one local day.
Turns are found here by the rules, not by authors: a turn of a seat begins when it comes to owe an entry and did not owe
the one before, or after a `reveal` or `chance`.

There are two clocks: the one that shows the time, which somebody may set, and the one that nobody sets. A service that
has noted no time for `outage_after` seconds took no entries meanwhile, so it records that as an outage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from tests.lab.machine.naive_log import Object

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


@dataclass
class GameTime:
    """`agreement` is what the offer says, and `outages` are all that the service knows."""

    game: str
    agreement: Object
    outages: list[Object]
    clock: NaiveClock | None = None
    """None before the join, in a game without a clock, and after the end."""
    statements: list[Object] = field(default_factory=list)
    """The gifts and wishes that were taken: `head`, `kind`, `name`, `seconds`, `sig`."""
    listed: str | None = None
    """The deadline in lists, which may be too early after an outage."""
    _heads: list[str] = field(default_factory=list)
    """The heads that a gift for the entry that is due may name."""

    def record(self, before: str, now: str) -> str:
        """The time of record of an entry that is decided now, after one of the time `before`."""
        return outside(max(before, now), self.outages)

    @property
    def since(self) -> str | None:
        """Since when the time of the seat that owes the next entry runs."""
        if self.clock is None or self.clock.turn is None:
            return None
        return to_moment(self.clock.since).strftime("%Y-%m-%dT%H:%M:%SZ")

    def gifts(self) -> list[Object]:
        """The gifts that count for the entry that is due."""
        return [each for each in self.statements if each["kind"] == "give" and each["head"] in self._heads]

    def wishes(self, head: str) -> dict[str, Object]:
        """The wishes to call the game off that are about the last entry, by name."""
        return {each["name"]: each for each in self.statements if each["kind"] == "annul" and each["head"] == head}

    def lost(self, until: str | None = None) -> list[Object]:
        """The outages since the time runs, up to a time."""
        since = self.since
        if since is None:
            return []
        return [each for each in self.outages if each["from"] > since and (until is None or each["until"] <= until)]

    def _seconds(self, lost: list[Object]) -> int:
        assert self.clock is not None
        given = max((each["seconds"] for each in self.gifts()), default=0)
        outages = [self.clock.counted(to_number(each["from"]), to_number(each["until"])) for each in lost]
        return int(given) + sum(outages)

    def deadline(self, until: str | None = None) -> str | None:
        """The last second for the entry that is due, with the outages up to a time; None where no clock runs."""
        return (
            None if self.since is None or self.clock is None else self.clock.deadline(self._seconds(self.lost(until)))
        )

    def is_late(self, at: str) -> bool:
        """Whether an entry with that time of record comes too late."""
        deadline = self.deadline(at)
        return deadline is not None and at > deadline

    def credit(self, at: str) -> Object | None:
        """The credit for an entry of that time; None if there is none."""
        if self.since is None:
            return None
        largest = max(self.gifts(), key=lambda gift: gift["seconds"], default=None)
        gift = {name: largest[name] for name in ("head", "seconds", "sig")} if largest else None
        lost = self.lost(at)
        return {"gift": gift, "outages": lost} if gift or lost else None

    def take(self, kind: str, by: int | None, at: str, head: str, owes: int | None) -> None:
        """An entry of that time; then `head` is the last one, and the seat `owes` owes an entry."""
        if kind in ("rekey", "revoke"):
            self._heads.append(head)
            return
        if kind == "join" and self.agreement["clock"]:
            self.clock = NaiveClock(**self.agreement["clock"])
        if self.clock is not None:
            credits = self._seconds(self.lost(at)) if kind in ("seed", "move") else 0
            late = self.clock.take(kind, by, at, credits, owes)
            assert not late
        self._heads = [head]
        if owes is None and kind == "end":
            self.clock = None


JUMP: Final = 30
"""A clock that differs so many seconds from what it should be has been set."""
BACK: Final = 60
"""A clock may be so many seconds before the time that was noted."""


class NotTrustedError(Exception):
    """The clock cannot be trusted, so nothing is decided."""


@dataclass
class NaiveTime:
    """`outage_after` is in seconds. `beat` is the time that was noted last."""

    outage_after: int
    wall: datetime = datetime.min
    """The time that the clock shows."""
    elapsed: float = 0
    """The time that the clock shows that nobody sets."""
    beat: str | None = None
    outages: list[dict[str, str]] = field(default_factory=list)
    _set_to: float | None = None
    """The difference between the clocks when the time was last trusted; None in a process that has just started."""
    _noted: float | None = None
    """When this process noted the time, by the clock that nobody sets."""

    @property
    def shown(self) -> str:
        """The time that the clock shows, right or wrong."""
        return _text(self.wall)

    def restart(self) -> None:
        """A new process knows only what is stored."""
        self._set_to = self._noted = None

    def now(self, newest: str) -> str:
        """The time in which something can be decided; `newest` is the last time of record of a player's entry."""
        difference = to_number(self.shown) - self.elapsed
        if self._set_to is not None and abs(difference - self._set_to) >= JUMP:
            raise NotTrustedError
        if self.beat is not None and to_number(self.shown) < to_number(self.beat) - BACK:
            raise NotTrustedError
        self._set_to = difference
        if self._noted is None or self.elapsed - self._noted > self.outage_after:
            self._come_back(newest)
        return self.shown

    def note(self, newest: str) -> None:
        """The work of a service in every minute."""
        at = self.now(newest)
        self.beat = max(at, self.beat or at)
        self._noted = self.elapsed

    def _come_back(self, newest: str) -> None:
        """Nobody may have taken entries since the last beat."""
        at, before = self.shown, self.beat
        if before is not None and to_number(at) - to_number(before) > self.outage_after:
            last = max([before, newest, *(each["until"] for each in self.outages)])
            begin = _text(to_moment(to_number(last) + 1))
            if begin < at:
                self.outages.append({"from": begin, "until": at, "way": "http"})
        self.beat = max(at, before or at)
        self._noted = self.elapsed

    def before(self, seconds: int) -> str:
        """The time so many seconds before the one that the clock shows."""
        return _text(self.wall - timedelta(seconds=seconds))


def outside(at: str, outages: list[dict[str, str]]) -> str:
    """The first time from `at` on in which the service took entries."""
    for outage in outages:
        if outage["from"] <= at < outage["until"]:
            return outage["until"]
    return at


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
