"""The times of a log: whether its times of record fit together, and whether each clock was kept.

docs/spec/log.md, "Audit", step 5. No rules of a game are needed: a clock follows from who wrote which kind of entry,
and when. The audit, the client and the audit of evidence all ask a `TimedLog` three times, each time for the lines
that still stand: an entry can be judged only when what it refers to holds.

`worded` is the last entry that has the service's word: the service has signed it or a later one, or a receipt for one.
A time that a player writes counts only with that word, because a player can write any `seen`. `settled` is the last
entry of which the service has also said what follows it: an entry is late only if no credit follows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from hkoji.audit.checks import (
    verify_in_time,
    verify_joined_in_time,
    verify_lapse,
    verify_over,
    verify_own_time,
    verify_seen,
)
from hkoji.audit.credit_checks import (
    Caller,
    verify_both_signed,
    verify_clock_runs,
    verify_gift,
    verify_outages,
    verify_ways,
)
from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED
from hkoji.game.clock import Effect, GameClock, Pace, Way, came_by, counted
from hkoji.game.course import Course
from hkoji.game.entry_kinds import EntryBody
from hkoji.game.held_keys import verify_gateway, verify_mail
from hkoji.log.line import SERVER_NAME, Line
from hkoji.log.mail_claim import MailGrade
from hkoji.log.public_key import PublicKey
from hkoji.rules.events import Seat


class TimedLine(NamedTuple):
    """A line with its parsed body, and what is known about its time."""

    line: Line
    body: EntryBody

    @property
    def own_time(self) -> str | None:
        """The time of record as the service states it here: in the receipt, or as its own entry's time."""
        return _own_time(self.line)


def _own_time(line: Line) -> str | None:
    if line.receipt is not None:
        return line.receipt.receipt.at
    return line.entry.at if line.entry.by == SERVER_NAME else None


def stated_time(lines: Sequence[Line], number: int, worded: int) -> str | None:
    """The time of record of an entry; None if nobody whose word counts has stated it.

    `worded` is the last entry that has the service's word.
    """
    own = _own_time(lines[number])
    if own is not None:
        return own
    return lines[number + 1].entry.seen if number < worded else None


def held_keys(timed: Sequence[TimedLine]) -> list[Mapping[str, MailGrade | None]]:
    """For each entry the players of whom the service holds a key there, by name.

    The value is the grade that the player demands of mails; None if the held key is their only one.
    """
    now: Mapping[str, MailGrade | None] = {}
    found: list[Mapping[str, MailGrade | None]] = []
    for (entry, _, _), body in timed:
        changes = isinstance(body, entry_kinds.Delegate | entry_kinds.Revoke)
        if body.certificate is not None and not changes:  # a newcomer, whose key signs this entry too
            now = {**now, entry.by: None}
        found.append(now)
        if changes:
            ended = body.name if isinstance(body, entry_kinds.Revoke) else entry.by
            now = {name: least for name, least in now.items() if name != ended}
        if isinstance(body, entry_kinds.Delegate) and body.gateway is not None:
            now = {**now, entry.by: body.grade}
    return found


class TimePass(Enum):
    """The three passes, in order."""

    RECORD = auto()
    """Times of record, joins and lapses."""
    STATEMENTS = auto()
    """The gift, outages and signatures of a `credit` or `annul`."""
    CLOCKS = auto()
    """Whether timeouts were due, and other entries in time."""


class TimeFault(NamedTuple):
    """Why the times of a log do not hold, with the number of the entry that is wrong.

    `convicts` says whether it convicts the service; else nobody.
    """

    entry: int
    error: HkojiError
    convicts: bool = True


class ClockTurn(NamedTuple):
    """A turn on the clock: whose, from when to when, the counted seconds less credits, and the reserve after it.

    `until` is None, and the rest as of the last known time, for a turn that goes on.
    """

    seat: Seat
    begin: str
    until: str | None
    spent: int
    reserve: int


def last_worded(lines: Sequence[Line]) -> int:
    """The last entry that has the service's word; -1 if none has."""
    for number in range(len(lines) - 1, -1, -1):
        if lines[number].receipt is not None or lines[number].entry.by == SERVER_NAME:
            return number
    return -1


class TimedLog:
    """The lines of a log whose signatures hold. Its clock is followed once, for all questions.

    `worded` is the last entry that has the service's word. `courses` are the game after each of the first entries, if
    their times have been judged before: then the clock is followed from there on.
    """

    def __init__(self, timed: Sequence[TimedLine], worded: int, courses: Sequence[Course] = ()) -> None:
        self._timed = timed
        self._worded = worded
        offer = timed[0].body if timed else None
        self._agreement = offer.agreement if isinstance(offer, entry_kinds.Offer) else UNTIMED
        offers = (each.body.server_key for each in timed if isinstance(each.body, entry_kinds.Offer))
        self._server = next(offers, None)
        self._names: list[str] = []  # host and guest, as far as they have come
        self._keys: dict[str, PublicKey] = {}
        self._held = held_keys(timed)
        self._clocks = [course.clock for course in courses]  # after each entry that has been followed
        if courses:
            setup = courses[-1].setup
            for name, key in zip(setup.names, setup.keys, strict=True):
                if name is not None and key is not None:
                    self._names.append(name)
                    self._keys[name] = key

    def find_fault(self, which: TimePass, *, settled: int, first: int = 0) -> TimeFault | None:
        """The first fault that one pass finds from entry `first` on; None if it finds none."""
        for number in range(first, len(self._timed)):
            match which:
                case TimePass.RECORD:
                    error = self._record_error(number)
                case TimePass.STATEMENTS:
                    error = self._statement_error(number)
                case TimePass.CLOCKS:
                    error = self._clock_error(number, settled)
            if error is not None:
                # A `seen` that only a player has signed convicts nobody.
                return TimeFault(number, error, number <= self._worded)
        return None

    # --- following ------------------------------------------------------------------------------------------------

    def _clock_after(self, number: int) -> GameClock | None:
        """The clock after entry `number`; None if none runs by then."""
        while len(self._clocks) <= number:
            self._clocks.append(self._follow(len(self._clocks)))
        return self._clocks[number] if number >= 0 else None

    def _follow(self, number: int) -> GameClock | None:
        (entry, _, _), body = self._timed[number]
        if (key := body.newcomer_key()) is not None:
            self._keys[entry.by] = key
        joins = len(self._names) == 1 and isinstance(body, entry_kinds.Join)
        if joins or (not self._names and isinstance(body, entry_kinds.Open)):
            self._names.append(entry.by)
        if isinstance(body, entry_kinds.Rekey | entry_kinds.Revoke):
            self._keys[body.name if isinstance(body, entry_kinds.Revoke) else entry.by] = body.key
        clock, control = self._clocks[-1] if self._clocks else None, self._agreement.clock
        if control is None or entry.seen is None:
            return None
        if clock is None:
            return GameClock.joined(control, entry.head, entry.seen) if joins else None
        if clock.last is Effect.ENDS:
            return clock  # what follows the end of a game cannot start its clock again
        seat, effect = self._seat(entry.by), body.effect
        if isinstance(body, _BEFORE_THE_CLOCK):  # in a wrong place, which step 8 finds: here as of a stranger
            seat, effect = None, Effect.PLAYS
        return clock.follow(effect, seat, entry.head, entry.seen, body.credited(control))

    def _seat(self, name: str) -> Seat | None:
        return self._names.index(name) if name in self._names else None

    def _time(self, number: int) -> str | None:
        """The time of record of an entry; None if nobody whose word counts has stated it."""
        if (own := self._timed[number].own_time) is not None:
            return own
        return self._timed[number + 1].line.entry.seen if number < self._worded else None

    def _only_held(self, number: int, name: str) -> bool:
        """Whether the service holds the only key of a player at entry `number`."""
        held = self._held[number]
        return name in held and held[name] is None

    # --- the passes -----------------------------------------------------------------------------------------------

    def _record_error(self, number: int) -> HkojiError | None:
        """The error in the times of entry `number` itself."""
        (entry, _, signed), body = self._timed[number]
        try:
            if number:
                before = self._timed[number - 1]
                verify_seen(entry, before.own_time, before.line.entry.seen)
            if entry.by == SERVER_NAME:
                same = entry.kind in _DEPENDENT
                verify_own_time(entry, signed.receipt if signed else None, same=same)
            expires = self._agreement.expires
            at = self._time(number)
            if isinstance(body, entry_kinds.Join) and at is not None:
                verify_joined_in_time(expires, at)
            if isinstance(body, entry_kinds.Lapse) and at is not None:
                verify_lapse(body, at, expires, invited=self._invited(number))
            if self._server is not None and body.certificate is not None:
                verify_gateway(body.certificate, entry.by, self._server)
            if entry.by != SERVER_NAME:
                held = self._held[number]
                verify_mail(entry.by, body.mail, held=entry.by in held, least=held.get(entry.by))
        except HkojiError as error:
            return error
        return None

    def _statement_error(self, number: int) -> HkojiError | None:
        """The error in the gift, the outages and the signatures that entry `number` contains."""
        self._clock_after(number)
        (entry, _, _), body = self._timed[number]
        if not isinstance(body, entry_kinds.Credit | entry_kinds.Annul):
            return None
        assert entry.seen is not None
        seat: Seat | None
        try:
            if isinstance(body, entry_kinds.Annul):
                due, seat, after_play = number, body.seat, True
                callers = [Caller(name, self._keys[name], self._only_held(number, name)) for name in self._names]
                verify_both_signed(entry, body, callers)
                if body.gift is None and not body.outages:
                    return None
            else:  # a credit helps the entry before it
                due = number - 1
                played = self._timed[due]
                seat = self._seat(played.line.entry.by)
                after_play = played.body.effect.owed and seat is not None
            clock, seen = self._clock_after(due - 1), self._timed[due].line.entry.seen
            clock = verify_clock_runs(clock, after_play=after_play)
            assert seen is not None
            if body.gift is not None:
                assert seat is not None
                giver = self._names[1 - seat]
                held = self._only_held(number, giver)
                verify_gift(body.gift, clock.heads, entry.game, giver, self._keys[giver], held=held)
            if body.outages:
                assert seat is not None
                way = Way.MAIL if self._only_held(number, self._names[seat]) else Way.HTTP
                verify_ways(body.outages, way)
                if (until := self._time(due)) is not None:
                    since = clock.settled(seen).since
                    verify_outages(body.outages, since, until, self._times_since(since, due, way))
        except HkojiError as error:
            return error
        return None

    def _clock_error(self, number: int, settled: int) -> HkojiError | None:
        """Whether entry `number` came too early or too late."""
        clock = self._clock_after(number - 1)
        (entry, _, _), body = self._timed[number]
        at = self._time(number)
        try:
            if isinstance(body, entry_kinds.Timeout):
                verify_clock_runs(clock)
            if clock is None or clock.last is Effect.ENDS or entry.seen is None or at is None:
                return None
            pace = clock.settled(entry.seen)
            if isinstance(body, entry_kinds.Timeout):
                verify_over(at, pace.deadline(clock.control, body.seat))
            if isinstance(body, entry_kinds.Annul):
                credits = body.credited_before(clock.control)
                verify_in_time(at, pace.deadline(clock.control, body.seat, credits))
            seat = self._seat(entry.by)
            if body.effect.owed and number <= settled and seat is not None:
                credit = self._credit_after(number)
                if pace.is_late(clock.control, seat, at, credit):  # to write the deadline as text takes longer
                    verify_in_time(at, pace.deadline(clock.control, seat, credit))
        except HkojiError as error:
            return error
        return None

    # --- parts ----------------------------------------------------------------------------------------------------

    def _credit_after(self, number: int) -> int:
        """The seconds that the entry after entry `number` credits for it."""
        control = self._agreement.clock
        if control is None or number + 1 >= len(self._timed):
            return 0
        return self._timed[number + 1].body.credited(control)

    def _times_since(self, since: str, last: int, way: Way) -> Iterator[str]:
        """The times of record from `since` on, up to that of entry `last`, of entries that came that way."""
        for number in range(last, -1, -1):
            at = self._time(number)
            if at is not None:
                if at < since:
                    return
                if came_by(self._timed[number].line.entry) is way:
                    yield at

    def _invited(self, number: int) -> bool:
        opened = (each.body for each in self._timed[:number] if isinstance(each.body, entry_kinds.Open))
        first = next(opened, None)
        return first is not None and isinstance(first.invite, entry_kinds.Invite)

    def reserves(self) -> tuple[int, int] | None:
        """Both reserves in seconds, after the last turns that have ended; None if no clock has run."""
        left: tuple[int, int] | None = None
        for number in range(len(self._timed)):
            clock, at = self._clock_after(number), self._time(number)
            if clock is None or at is None:
                continue
            pace = clock.settled(at, self._credit_after(number))
            host, guest = pace.banks
            if left is not None and pace.seat is not None:  # what was added for a turn that goes on is not counted
                host, guest = (left[0], guest) if pace.seat == 0 else (host, left[1])
            left = host, guest
        return left

    def turns(self) -> Iterator[ClockTurn]:
        """The turns of a game with a clock, in order, as far as the times of record are known."""
        control, begin = self._agreement.clock, ""
        pace: Pace | None = None
        for number, (_, body) in enumerate(self._timed):
            clock, at = self._clock_after(number), self._time(number)
            if control is None or clock is None or at is None:
                continue
            paces = [clock.settled(at, self._credit_after(number))]
            if pace is not None and isinstance(body, entry_kinds.Timeout):
                # The turn that was not played in time: to a reserve it makes no difference any more.
                paces.insert(0, pace.played(control, body.seat, at))
            if pace is not None and clock.last in (Effect.RELEASES, Effect.SETTLES) and clock.seat is not None:
                # A turn of its own, within one of the other seat's or between two turns.
                spent = counted(control, pace.since, at) - self._credit_after(number)
                yield ClockTurn(clock.seat, pace.since, at, spent, paces[-1].banks[clock.seat])
            for after in paces:
                if pace is not None and pace.seat is not None and pace.seat != after.seat:
                    yield ClockTurn(pace.seat, begin, pace.since, pace.spent, after.banks[pace.seat])
                if after.seat is not None and (pace is None or pace.seat != after.seat):
                    begin = pace.since if pace else at
                pace = after
        if pace is not None and pace.seat is not None:
            yield ClockTurn(pace.seat, begin, None, pace.spent, pace.banks[pace.seat])


_BEFORE_THE_CLOCK = (
    entry_kinds.Offer,
    entry_kinds.Open,
    entry_kinds.Join,
    entry_kinds.Cancel,
    entry_kinds.Lapse,
    entry_kinds.Unseal,
)
"""The kinds of entry that change no clock that runs; `unseal` comes after it."""

_DEPENDENT = frozenset({"credit", "chance", "reveal", "release", "end"})
"""The kinds of entry that belong to the one before, and have its time of record."""
