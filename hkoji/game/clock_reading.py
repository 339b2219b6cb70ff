"""A reading of the clock of a game: whose time runs, from when, until when, the reserves; and the longest game.

docs/spec/log.md, "Clock". A reading depends on the log alone, except for what it says about a moment: how long there
still is, and whether the time is over. Times are texts of the log, lengths are seconds.

A turn takes at most `move` and what is in reserve. So the longest round and the longest game follow from the control
and the rules; rest days, gifts and outages come on top.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.game.agreement import TimeControl, format_time_control
from hkoji.game.clock import add_counted, counted, parse_time
from hkoji.game.course import Course
from hkoji.log.canonical import JsonValue
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset

SLACK_SECONDS: Final = 120
"""How long after a deadline a service writes a `timeout`, if it does not state another time."""


class ClockReading(NamedTuple):
    """The clock of a game as of its last entry.

    `deadline` is that of `seat`, which owes the next entry; of a game that waits for a guest (`seat` is None) it is the
    time when the offer expires. `since` is the time from which the time of `seat` runs on, after the `spent` seconds of
    the same turn. `reserve` has both players' reserves, that of `seat` as of the beginning of its turn; it is None
    where no clock runs. `credits` are the seconds that gifts and outages, as far as they are known, take off the turn.
    """

    control: TimeControl | None
    seat: Seat | None = None
    since: str | None = None
    deadline: str | None = None
    reserve: tuple[int, int] | None = None
    spent: int = 0
    credits: int = 0

    @property
    def text(self) -> str:
        """The control without rest days and zone; `none` for a game without a clock."""
        return format_time_control(self.control)

    @property
    def free_until(self) -> str | None:
        """The last second in which the turn that runs takes nothing out of the reserve; None if no time runs."""
        if self.control is None or self.since is None:
            return None
        return add_counted(self.control, self.since, self.control.move + self.credits - self.spent)

    def left(self, now: str) -> int | None:
        """The seconds from `now` to the deadline, rest days included; negative after it, None without one."""
        return None if self.deadline is None else parse_time(self.deadline) - parse_time(now)

    def spent_at(self, now: str) -> int:
        """The counted seconds of the turn that runs, up to `now`; 0 if no time runs."""
        if self.control is None or self.since is None:
            return 0
        return self.spent + max(0, counted(self.control, self.since, now))

    def reserve_at(self, now: str) -> tuple[int, int] | None:
        """Both reserves, less what the turn that runs has taken out of them by `now`."""
        if self.control is None or self.reserve is None or self.seat is None:
            return self.reserve
        host, guest = self.reserve
        taken = max(0, self.spent_at(now) - self.credits - self.control.move)
        return (max(0, host - taken), guest) if self.seat == 0 else (host, max(0, guest - taken))

    def is_overdue(self, now: str, slack: int = SLACK_SECONDS) -> bool:
        """Whether the service should have ended the game by `now`: the deadline and `slack` seconds have passed."""
        left = self.left(now)
        return left is not None and left + slack < 0

    def to_json(self, now: str, slack: int = SLACK_SECONDS) -> dict[str, JsonValue]:
        """Returns the reading for programs. docs/json.md."""
        return {
            "text": self.text,
            "seat": self.seat,
            "since": self.since,
            "spent": self.spent,
            "deadline": self.deadline,
            "reserve": None if self.reserve is None else list(self.reserve),
            "overdue": self.is_overdue(now, slack),
        }


def read_clock(course: Course, at: str, credits: int = 0) -> ClockReading:
    """Returns what the clock of a course shows.

    `at` is the time of record of the last entry, and `credits` are the seconds given to the seat that owes the next
    one, by gifts and outages that are known.
    """
    control, actor = course.setup.agreement.clock, course.actor
    deadline = None if course.finished else course.deadline(at, credits)
    if course.clock is None or actor is None or course.finished:
        return ClockReading(control, None, None, deadline)
    pace = course.clock.settled(at).due(course.clock.control, actor)
    return ClockReading(control, actor, pace.since, deadline, pace.banks, pace.spent, credits)


_SEED_TURNS = 2
"""Before the first round each player reveals entropy, which is a turn."""


def longest_round(ruleset: Ruleset, control: TimeControl) -> int:
    """The most counted seconds of one round. No reserve is above its limit when the round begins."""
    return ruleset.most_turns * (control.move + control.add) + 2 * control.cap


def longest_game(ruleset: Ruleset, control: TimeControl) -> int | None:
    """The most counted seconds of a game, from the join to its end; None if nothing limits them."""
    if control.move == control.add == 0:
        return 2 * control.bank
    if ruleset.most_rounds is None:
        return None
    turns = _SEED_TURNS + ruleset.most_rounds * ruleset.most_turns
    return turns * (control.move + control.add) + 2 * control.bank
