"""A sealed game with a clock: time passes by hand, there are gifts and outages, and time can run out."""

from __future__ import annotations

from typing import Self

from hkoji import referee
from hkoji.game.agreement import Agreement
from hkoji.game.clock import Outage, Way, add_seconds, parse_time
from hkoji.game.course import EntryBody
from hkoji.game.entry_kinds import GivenTime
from hkoji.game.replay import replay
from hkoji.game.sealed_parts import GivePart
from hkoji.log import sshsig
from hkoji.log.game_statements import make_gift
from hkoji.referee import Accepted
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset
from tests.support.sealed_table import NAMES, SealedTable


class TimedSealedTable(SealedTable):
    """One game. The service knows all `gifts`, with their givers, and all `outages`. No entry takes time by itself."""

    def __init__(
        self,
        ruleset: Ruleset,
        seed: int = 0,
        *,
        agreement: Agreement,
        seconds: int = 0,
        deposit: tuple[bool, bool] = (False, False),
    ) -> None:
        super().__init__(ruleset, seed, agreement=agreement, seconds=seconds, deposit=deposit)
        self.gifts: tuple[tuple[Seat, GivenTime], ...] = ()
        self.outages: tuple[Outage, ...] = ()

    def wait(self, seconds: int) -> Self:
        """Lets time pass."""
        self.at = add_seconds(self.at, seconds)
        return self

    def gifts_for(self, seat: Seat) -> list[GivenTime]:
        """The gifts that the opponent of a seat has made."""
        return [gift for giver, gift in self.gifts if giver != seat]

    def send(
        self, seat: Seat, body: EntryBody, *, seconds: int | None = None, deposit: GivePart | None = None
    ) -> Accepted:
        """As any table; gifts and outages help."""
        at = add_seconds(self.at, self.seconds if seconds is None else seconds)
        accepted = referee.accept(
            self.refereed,
            self.submission(seat, body)._replace(deposit=deposit),
            signer=self.server,
            at=at,
            gifts=self.gifts_for(seat),
            outages=self.outages,
        )
        return self._append(accepted)

    def time_out(self, seconds: int | None = None) -> Accepted:
        """The service ends the game so many seconds from now, by default one second after the deadline."""
        actor = self.course.actor
        assert actor is not None
        at = add_seconds(self.at, self.seconds_left() + 1 if seconds is None else seconds)
        gifts = self.gifts_for(actor)
        return self._append(
            referee.timeout(self.refereed, signer=self.server, at=at, gifts=gifts, outages=self.outages)
        )

    def give(self, giver: Seat, seconds: int, head: str = "") -> GivenTime:
        """A player gives the other one time, at the last head by default."""
        head = head or self.course.head
        statement = make_gift(game=self.game, head=head, name=NAMES[giver], seconds=seconds)
        gift = GivenTime(head, seconds, self.keys[giver].sign(sshsig.GIVE, statement.message))
        self.gifts = (*self.gifts, (giver, gift))
        return gift

    def lose(self, begin: int, until: int) -> Outage:
        """The service takes nothing between these seconds from now."""
        outage = Outage(add_seconds(self.at, begin), add_seconds(self.at, until), Way.HTTP)
        self.outages = (*self.outages, outage)
        return outage

    def seconds_left(self) -> int:
        """The seconds from now to the deadline, as the referee states it."""
        actor = self.course.actor
        assert actor is not None
        due = referee.deadline(self.refereed, gifts=self.gifts_for(actor), outages=self.outages)
        assert due is not None
        return parse_time(due) - parse_time(self.at)

    def _append(self, accepted: Accepted) -> Accepted:
        self.at, self.refereed = accepted.refereed.at, accepted.refereed
        self.lines.extend(accepted.lines)
        self.public = replay(accepted.lines, after=self.public)
        return accepted
