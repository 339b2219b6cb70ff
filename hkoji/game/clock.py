"""The clock of a game: how much time each player has used, and by when the entry that is due must come.

docs/spec/log.md, "Clock". A turn of a player is a run of `seed` and `move` entries by one author, and `join`, `chance`
and `reveal` end it. So the clock needs no rules: it is a fold over who wrote which kind of entry, and when. T, the time
of record of an entry, is stated by the `seen` of the entry after it. Times in values are texts of the log. This module
does no I/O, and knows no course of a game and no signatures.

    a turn of p begins at T:     bank[p] = min(cap, bank[p] + add);  spent = 0;  since = T
    p's seed or move comes at T: spent += counted(since, T) - credits recorded right after it;  since = T
    the turn ends:               bank[p] = max(0, bank[p] - max(0, spent - move))
    the deadline D:              the last second with  spent + counted(since, D) - credits <= move + bank[p]

Entries of players come to the service by HTTP and by mail. Each way has beats and outages of its own ("Outages"),
because each may work while the other does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, StrEnum, auto
from functools import lru_cache
from typing import Final, NamedTuple

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.game.agreement import DAY, TimeControl, zone_offset
from hkoji.log.canonical import JsonValue, exactly, is_time
from hkoji.log.line import SERVER_NAME, Entry
from hkoji.messages.text import tell
from hkoji.rules.events import Seat


class Way(StrEnum):
    """How entries of players come to the service."""

    HTTP = "http"
    MAIL = "mail"


def read_way(value: JsonValue) -> Way:
    """Reads a way. Raises `MalformedError` if it is no text, or `NotUnderstoodError` for another word."""
    if not isinstance(value, str):
        raise MalformedError(tell("outage"), tell("way is not a word"))
    if value not in set(Way):
        raise NotUnderstoodError(tell("outage"), value)
    return Way(value)


def came_by(entry: Entry) -> Way | None:
    """The way on which an entry came, as its text says; None for one that nobody sent.

    With `mail` a player sent a mail, unless its grade is `none`; without it the player's own client sent the entry. The
    service writes its own entries, and some in place of a player, without having received anything.
    """
    if entry.by == SERVER_NAME:
        return None
    match entry.body.get("mail"):
        case None:
            return Way.HTTP
        case {"grade": "dkim" | "token"}:
            return Way.MAIL
        case _:
            return None


_WEEK: Final = 7 * DAY
_WEEKDAYS: Final = "1234567"


# --- times as numbers -------------------------------------------------------------------------------------------------


# The clocks of a game look at the same few times again and again.
@lru_cache(maxsize=4096)
def parse_time(time: str) -> int:
    """The seconds from a Monday, 00:00:00 UTC, long ago, to a time of the log, whose form has been checked."""
    return _begin_of_day(time[:10]) + int(time[11:13]) * 3600 + int(time[14:16]) * 60 + int(time[17:19])


def format_time(seconds: int) -> str:
    """The time of the log of a number from `parse_time`."""
    day, second = divmod(seconds, DAY)
    return f"{_date_of_day(day)}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


@lru_cache(maxsize=1024)
def _date_of_day(days: int) -> str:
    # A year begins in March here, so the day that only leap years have is its last.
    era, day = divmod(days - 2, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    year += 400 * era + (month > 9)
    month += -9 if month > 9 else 3
    return f"{year:04}-{month:02}-{day + 1:02}"


# Most times of a log are of few days.
@lru_cache(maxsize=1024)
def _begin_of_day(date: str) -> int:
    year, month, day = int(date[:4]), int(date[5:7]), int(date[8:10])
    if month > 2:
        month -= 3
    else:
        month += 9
        year -= 1
    # Day 0 would be Wednesday, 1 March of the year 0; so 2 is added for a Monday.
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day + 1
    return days * DAY


LAST_TIME: Final = "8999-12-31T23:59:59Z"
"""The last time that the log can state."""
_LAST: Final = parse_time(LAST_TIME)


def add_seconds(time: str, seconds: int) -> str:
    """The time of the log that is `seconds` after another one; at most `LAST_TIME`."""
    later = parse_time(time) + seconds
    return format_time(later) if later < _LAST else LAST_TIME


# --- what counts ------------------------------------------------------------------------------------------------------


class _Week(NamedTuple):
    """The week of a control with rest days, from Monday 00:00:00 in its zone."""

    offset: int
    """The seconds from UTC to the zone."""
    working: tuple[int, ...]
    """The days that count, from 0 for Monday."""
    before: tuple[int, ...]
    """For each day of the week, the counted seconds of the days before it."""
    counts: tuple[bool, ...]
    """For each day of the week, whether it counts."""

    def count(self, seconds: int) -> int:
        """The counted seconds before a moment, from `parse_time`, since the beginning."""
        weeks, rest = divmod(seconds + self.offset, _WEEK)
        day, second = divmod(rest, DAY)
        return weeks * len(self.working) * DAY + self.before[day] + (second if self.counts[day] else 0)

    def find(self, count: int) -> int:
        """The last moment with so many counted seconds before it. It is itself the beginning of a counted second."""
        days, second = divmod(count, DAY)
        weeks, working = divmod(days, len(self.working))
        return weeks * _WEEK + self.working[working] * DAY + second - self.offset


@lru_cache(maxsize=256)
def _week(rest: str, zone: str) -> _Week:
    counts = tuple(day not in rest for day in _WEEKDAYS)
    return _Week(
        zone_offset(zone),
        tuple(day for day in range(7) if counts[day]),
        tuple(sum(counts[:day]) * DAY for day in range(7)),
        counts,
    )


def counted(control: TimeControl, begin: str, until: str) -> int:
    """The seconds of [begin, until) that are not in a rest day; the negative of [until, begin) if that comes first."""
    if begin == until:
        return 0
    if not control.rest:
        return parse_time(until) - parse_time(begin)
    week = _week(control.rest, control.zone)
    return week.count(parse_time(until)) - week.count(parse_time(begin))


def add_counted(control: TimeControl, begin: str, seconds: int) -> str:
    """The last second with that many counted seconds from `begin` to it, negative if it lies before; see `deadline`."""
    if control.rest:
        week = _week(control.rest, control.zone)
        last = week.find(week.count(parse_time(begin)) + seconds)
    else:
        last = parse_time(begin) + seconds
    return format_time(last) if last < _LAST else LAST_TIME


class Outage(NamedTuple):
    """A time [begin, until) in which the service took no entries that came one way."""

    begin: str
    until: str
    way: Way

    def holds(self, at: str) -> bool:
        """Whether a time lies in the outage."""
        return self.begin <= at < self.until

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the outage as it stands in a `credit`."""
        return {"from": self.begin, "until": self.until, "way": self.way.value}


def read_outage(value: JsonValue) -> Outage:
    """Reads an outage. Raises `MalformedError`, or `NotUnderstoodError` for another key or another way."""
    what = tell("outage")
    fields = exactly(value, what, ("from", "until", "way"))
    begin, until, way = fields["from"], fields["until"], fields["way"]
    if not (isinstance(begin, str) and isinstance(until, str) and is_time(begin) and is_time(until)):
        raise MalformedError(what, tell("from or until is not a time"))
    if begin >= until:
        raise MalformedError(what, tell("it does not end after its beginning"))
    return Outage(begin, until, read_way(way))


def after_outages(at: str, outages: Iterable[Outage], way: Way) -> str:
    """The time `at`, or the end of the outage of that way that it lies in.

    No entry that came some way has a time of record in an outage of that way.
    """
    return next((each.until for each in outages if each.way is way and each.holds(at)), at)


def outages_between(outages: Iterable[Outage], way: Way, since: str, until: str | None = None) -> tuple[Outage, ...]:
    """The parts of the outages of one way that lie in [since, until), in order; without `until` all after `since`."""
    cut = (
        Outage(max(each.begin, since), each.until if until is None else min(each.until, until), way)
        for each in outages
        if each.way is way
    )
    return tuple(sorted(each for each in cut if each.begin < each.until))


# --- the clocks -------------------------------------------------------------------------------------------------------


class Effect(Enum):
    """The effect of an entry of some kind on the clocks."""

    NONE = auto()
    """It does nothing, and a gift stays good across it: `rekey`, `revoke`."""
    CREDITS = auto()
    """It gives seconds back for the entry before it: `credit`. A gift for the next entry names this one or a later."""
    PLAYS = auto()
    """It is the entry that a player owed: `seed`, `move`."""
    RELEASES = auto()
    """It gives cards that a player owed, in a turn of its own, and the other player's goes on: `release`."""
    SETTLES = auto()
    """It gives such cards, and ends the running turn as well: a `release` with `close`."""
    BREAKS = auto()
    """It ends the running turn, also if the same player goes on: `join`, `chance`, `reveal`."""
    ENDS = auto()
    """It ends the game, and with it the running turn; after it no clock runs.

    A turn in which nothing was played yet counts as never begun: without the rules nobody can tell whose it was.
    """

    @property
    def owed(self) -> bool:
        """Whether it is an entry that a player owed, and that can be late."""
        return self in (Effect.PLAYS, Effect.RELEASES, Effect.SETTLES)


class Pace(NamedTuple):
    """The clocks as of one entry. `banks` are the reserves in seconds; of the seat that plays, at its turn's beginning.

    `seat` is whose run of seeds and moves goes on, None after a break. `spent` are the seconds of that turn so far,
    negative if credits were more; `since` is the time of record of the last entry that has an effect.
    """

    banks: tuple[int, int]
    seat: Seat | None
    spent: int
    since: str

    def played(self, control: TimeControl, seat: Seat, at: str, credits: int = 0) -> Pace:
        """The clocks after a seed or move of `seat` with time of record `at`; `credits` are seconds."""
        pace = self.due(control, seat)
        return Pace(pace.banks, seat, pace.spent + counted(control, pace.since, at) - credits, at)

    def released(self, control: TimeControl, seat: Seat, at: str, credits: int = 0) -> Pace:
        """The clocks after a release of `seat` with time of record `at`; `credits` are seconds.

        It is a turn of its own, so `add` may pay for what it has taken beyond `move`, but never raises a reserve. If
        the other seat's turn runs, that seat gets the time back in which it could not act.
        """
        before = self.due(control, seat)
        passed = counted(control, self.since, at)
        over = max(0, before.spent + passed - credits - control.move)
        bank = max(0, min(self.banks[seat], self.banks[seat] + control.add - over))
        banks = (bank, self.banks[1]) if seat == 0 else (self.banks[0], bank)
        spent = max(min(self.spent, 0), self.spent - passed) if self.seat == 1 - seat else self.spent
        return Pace(banks, self.seat, spent, at)

    def broken(self, control: TimeControl, at: str) -> Pace:
        """The clocks after an entry that ends the running turn, with time of record `at`."""
        return Pace(self._banks_after(control), None, 0, at)

    def due(self, control: TimeControl, actor: Seat) -> Pace:
        """The clocks with the turn of `actor` running: as they are, or with that turn begun at `since`."""
        if actor == self.seat:
            return self
        banks = self._banks_after(control)
        bank = min(control.cap, banks[actor] + control.add)
        return Pace((bank, banks[1]) if actor == 0 else (banks[0], bank), actor, 0, self.since)

    def deadline(self, control: TimeControl, actor: Seat, credits: int = 0) -> str:
        """D, the last second in which the entry that `actor` owes is not late; `credits` are seconds.

        If D falls on the first second of a rest day, it moves to the end of the rest days. If it would be after
        `LAST_TIME`, it is that: no entry can have a later time, so none is late. If an entry of this turn was late
        already, D is before `since`.
        """
        pace = self.due(control, actor)
        left = control.move + pace.banks[actor] + credits - pace.spent
        return add_counted(control, pace.since, left)

    def is_late(self, control: TimeControl, actor: Seat, at: str, credits: int = 0) -> bool:
        """Whether the entry that `actor` owes is late at `at`, not before `since`: exactly if that is after D."""
        pace = self.due(control, actor)
        spent = pace.spent + counted(control, pace.since, at) - credits
        return spent > control.move + pace.banks[actor]

    def _banks_after(self, control: TimeControl) -> tuple[int, int]:
        """The reserves after the end of the running turn, if one runs."""
        over = self.spent - control.move
        if self.seat is None or over <= 0:
            return self.banks
        host, guest = self.banks
        return (max(0, host - over), guest) if self.seat == 0 else (host, max(0, guest - over))


class GameClock(NamedTuple):
    """The clocks of a game after an entry: the fold over its entries from the join on.

    The time of record of an entry is known only when the next entry states it, or from its receipt. So `pace` is as of
    the entry before the newest, and `last` and `seat` (its author; None is the service) say what the newest one does
    as soon as its time is known. `heads` are the heads that a gift for the entry that is due may name.
    """

    control: TimeControl
    pace: Pace
    last: Effect
    seat: Seat | None
    heads: tuple[str, ...]

    @classmethod
    def joined(cls, control: TimeControl, head: str, seen: str) -> GameClock:
        """The clocks right after the `join`, which has that `head` and states `seen`. They start at its own time."""
        pace = Pace((control.bank, control.bank), None, 0, seen)
        return cls(control, pace, Effect.BREAKS, None, (head,))

    def settled(self, at: str, credits: int = 0) -> Pace:
        """The clocks if the newest entry has the time of record `at`, and `credits` seconds are recorded for it."""
        if self.last is Effect.PLAYS:
            # An audit follows logs whose authors nobody has checked yet: what a stranger plays is nobody's turn.
            return self.pace if self.seat is None else self.pace.played(self.control, self.seat, at, credits)
        if self.last in (Effect.RELEASES, Effect.SETTLES):
            if self.seat is None:
                return self.pace
            pace = self.pace.released(self.control, self.seat, at, credits)
            return pace.broken(self.control, at) if self.last is Effect.SETTLES else pace
        if self.last is Effect.BREAKS or self.last is Effect.ENDS:
            return self.pace.broken(self.control, at)
        return self.pace

    def follow(self, effect: Effect, seat: Seat | None, head: str, seen: str, credits: int = 0) -> GameClock:
        """The clocks after the next entry, which states that the time of record of the newest one is `seen`.

        `seat` is its author, None the service, and `head` its hash. `credits` are the seconds that it records, if it is
        a `credit`, for the newest entry.
        """
        # A gift may be made before a release for what the same seat owes after it, also if a credit is between.
        released = self.last if effect is Effect.CREDITS else effect if seat is not None else None
        kept = effect is Effect.NONE or released in (Effect.RELEASES, Effect.SETTLES)
        heads = (*self.heads, head) if kept else (head,)
        if effect.owed and seat is None:
            effect = Effect.CREDITS  # a release by the service changes nothing; nor does what a stranger writes
        if effect is Effect.ENDS:
            heads = ()
        return GameClock(self.control, self.settled(seen, credits), effect, seat, heads)
