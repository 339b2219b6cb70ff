"""A table whose games have a clock: time passes by hand, and there are gifts, outages, timeouts and other ends."""

from __future__ import annotations

from dataclasses import dataclass

from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.clock import Outage, Way, format_time, parse_time
from hkoji.game.entry_kinds import GivenTime
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.table import Table

MINUTES = TimeControl(60, 120, 0, 120)
"""60 seconds a turn, and 120 in reserve."""

RATED = Agreement(MINUTES, rated=True)


def later(at: str, seconds: int) -> str:
    """The time so many seconds after `at`."""
    return format_time(parse_time(at) + seconds)


@dataclass
class TimedTable(Table):
    """A table with a clock, whose players write the true time into their entries."""

    agreement: Agreement = RATED

    def entry(self, seat: int, content: entry_kinds.EntryBody, **changes: object) -> Submission:
        """A signed submission of `seat`, written now; `changes` replace fields of the entry."""
        return super().entry(seat, content, **{"at": self.now, **changes})

    def gift(self, seconds: int, head: str = "", seat: int | None = None, key: PrivateKey | None = None) -> GivenTime:
        """A gift of `seat`, by default of the opponent of who must act, at the last head by default."""
        actor = self.course.actor
        giver = seat if seat is not None else 1 - actor if actor is not None else 0
        head = head or self.course.head
        statement = make_gift(game=self.game, head=head, name=self.names[giver], seconds=seconds)
        return GivenTime(head, seconds, (key or self.keys[giver]).sign(sshsig.GIVE, statement.message))

    def give_time(self, seconds: int) -> GivenTime:
        """A seat that need not act gives time to the one that must; returns the gift."""
        self.give(seconds)
        return self.gifts[-1]

    def lose(self, begin: int, until: int) -> Outage:
        """The service has taken no entries from `begin` to `until`, in seconds after now."""
        lost = Outage(later(self.now, begin), later(self.now, until), Way.HTTP)
        self.outages = (*self.outages, lost)
        return lost

    def calls_off(self, seat: int, key: PrivateKey | None = None) -> bytes:
        """A player's signature that the game is to be called off at the last head."""
        statement = make_annul(game=self.game, head=self.course.head, name=self.names[seat])
        return (key or self.keys[seat]).sign(sshsig.ANNUL, statement.message)

    def last_body(self) -> entry_kinds.EntryBody:
        """The body of the last entry."""
        entry = self.lines[-1].entry
        return entry_kinds.parse_body(entry.kind, entry.body)


def timed_game(seed: int = 0, ruleset: Ruleset | None = None) -> TimedTable:
    """A game with a clock, up to its first decision."""
    return TimedTable(ruleset or Hanamikoji(), seed).begin()


def too_late(table: TimedTable) -> str:
    """The first second after the deadline of the seat that must act."""
    due = table.deadline()
    assert due is not None
    return later(due, 1)
